"""How far a download is, as a bar on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

Report = Callable[[int, int | None], None]
"""Takes the bytes that have arrived and the bytes in all, None where they are not known."""

ShowProgress = Callable[[], AbstractContextManager[Report]]
"""Opens what shows one download."""


@contextmanager
def show_nothing() -> Iterator[Report]:
    """Show nothing of a download."""
    yield _ignore


def _ignore(arrived: int, total: int | None) -> None:
    """Take a report and do nothing."""


def show_bar(console: Console) -> ShowProgress:
    """Return what shows a download as a bar; it appears with the first report and is gone at the end.

    Args:
        console: Where it is drawn. A console that is no terminal shows nothing.
    """
    if not console.is_terminal:
        return show_nothing

    @contextmanager
    def show() -> Iterator[Report]:
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        # without a thread of its own: pip reports four times a second
        bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
        task = bar.add_task("", total=None)

        def report(arrived: int, total: int | None) -> None:
            with suppress(OSError):  # the terminal is gone, which is no reason to end a download
                bar.update(task, completed=arrived, total=total)
                bar.start()  # once it is up, this does nothing
                bar.refresh()

        try:
            yield report
        finally:
            with suppress(OSError):
                bar.stop()

    return show
