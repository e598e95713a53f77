"""The progress of a download, as a bar on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

Report = Callable[[int, int | None], None]
"""The download calls it with the number of bytes that have arrived and the total number, None if unknown."""

ShowProgress = Callable[[], AbstractContextManager[Report]]
"""`fetch` calls it before each download. It returns a context manager that shows the download and yields a `Report`."""


@contextmanager
def show_nothing() -> Iterator[Report]:
    """Show no progress: yield a `Report` that does nothing."""
    yield _ignore


def _ignore(arrived: int, total: int | None) -> None:
    """Ignore a report."""


def show_bar(console: Console) -> ShowProgress:
    """Return a function that shows a download as a bar, from the first report to the end of the download.

    Args:
        console: The console for the bar. Nothing is shown if it is not a terminal.
    """
    if not console.is_terminal:
        return show_nothing

    @contextmanager
    def show() -> Iterator[Report]:
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        # no refresh thread is needed, since pip reports four times a second
        bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
        task = bar.add_task("", total=None)

        def report(arrived: int, total: int | None) -> None:
            with suppress(OSError):  # the download continues if the terminal is gone
                bar.update(task, completed=arrived, total=total)
                bar.start()  # has no effect after the first call
                bar.refresh()

        try:
            yield report
        finally:
            with suppress(OSError):
                bar.stop()

    return show
