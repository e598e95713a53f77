"""The display of a sweep, whose runs may be in this process or in others."""

import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, TextIO

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evodiverse.runlog.record import RECORD
from evodiverse.runlog.standing import Standing, read_standing
from evodiverse.runner.display import choose_kind, format_duration, format_number
from evodiverse.text import count_of, printable

_LOOK_SECONDS: Final = 0.5
_LINE_SECONDS: Final = 10.0
_MOST_LINES: Final = 10
_STYLES: Final = {"complete": "green", "failed": "red", "running": "bold"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A run of a sweep.

    Attributes:
        number: Its number in the sweep, from 1.
        label: The settings that distinguish it from the other runs.
        path: The run directory.
    """

    number: int
    label: str
    path: Path


class Sheet:
    """A display of the runs of a sweep; this one shows nothing.

    `Overview` calls `show` twice a second, and when a run starts or ends.
    """

    def show(self, standings: Mapping[int, Standing], changed: Sequence[int]) -> None:
        """Show the states of the runs.

        Args:
            standings: The state and progress of each run, by its number.
            changed: The numbers of the runs that started or ended since the last call.
        """

    def close(self) -> None:
        """End the display."""


class Overview:
    """Watches the runs of a sweep by reading their files, whichever process writes them. Use it as a context manager.

    Args:
        listed: The runs that are about to start.
        sheet: The display that shows their states.
    """

    def __init__(self, listed: Sequence[Listed], sheet: Sheet) -> None:
        self._listed = {run.number: run for run in listed}
        self._before = {run.number: _stamp(run.path) for run in listed}
        self._sheet = sheet
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True, name="overview")
        self.standings: dict[int, Standing] = dict.fromkeys(self._listed, Standing("waiting"))

    def __enter__(self) -> Self:
        """Start the thread that watches the runs."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look at the runs once more and end the display."""
        self._is_closed.set()
        self._thread.join()
        self._look(list(self._listed))
        self._sheet.close()

    def begin(self, number: int) -> None:
        """Record that a run starts in this process."""
        with self._lock:
            self.standings[number] = Standing("running")
            self._sheet.show(self.standings, [number])

    def end(self, number: int, error: str | None) -> None:
        """Record that a run has ended; ``error`` is the message of its failure, or None if it did not fail."""
        with self._lock:
            is_shown, standing = self.standings[number].is_over, read_standing(self._listed[number].path)
            if error is not None:
                standing = replace(standing, state="failed", error=error)
            self.standings[number] = standing
            self._sheet.show(self.standings, [] if is_shown else [number])

    def _keep_looking(self) -> None:
        while not self._is_closed.wait(_LOOK_SECONDS):
            self._look([number for number, standing in self.standings.items() if not standing.is_over])

    def _look(self, numbers: Sequence[int]) -> None:
        with self._lock:
            changed = []
            for number in numbers:
                before, path = self.standings[number], self._listed[number].path
                if before.is_over or _stamp(path) == self._before[number]:
                    continue  # the record is still that of an earlier start of the same run
                self.standings[number] = read_standing(path)
                changed += [number] if self.standings[number].state != before.state else []
            self._sheet.show(self.standings, changed)


def choose_sheet(name: str, listed: Sequence[Listed], n_runs: int) -> Sheet:
    """Return the display that the setting ``display`` selects for a sweep, as `display.choose_display` does for a run.

    Args:
        name: One of `evodiverse.runner.DISPLAYS`.
        listed: The runs that are about to start.
        n_runs: The number of runs in the sweep, including those that are already complete.
    """
    kind, console = choose_kind(name)
    if kind == "rich":
        return RichSheet(listed, n_runs, console)
    return Sheet() if kind == "none" else PlainSheet(listed, n_runs, sys.stderr)


class PlainSheet(Sheet):
    """A display of a sweep: a line when a run starts or ends, and progress lines every ten seconds.

    There is a progress line for each running run that has made oracle calls, up to ten of them.

    Args:
        listed: The runs.
        n_runs: The number of runs in the sweep, including those that are already complete.
        stream: The stream that the lines are written to.
        clock: A function that returns the time in seconds, for instance `time.monotonic`.
    """

    def __init__(
        self, listed: Sequence[Listed], n_runs: int, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._listed = {run.number: run for run in listed}
        self._n_runs = n_runs
        self._stream = stream
        self._clock = clock
        self._due = clock() + _LINE_SECONDS
        self._started: set[int] = set()

    def show(self, standings: Mapping[int, Standing], changed: Sequence[int]) -> None:
        """Write a line for each change, and progress lines if they are due."""
        for number in changed:
            run, standing = self._listed[number], standings[number]
            if number not in self._started:  # a short run in another process may already be over when it is first seen
                self._started.add(number)
                self._write(number, run.label)
            if standing.is_over:
                self._write(number, f"{describe_end(standing)} | {run.path}")
        if self._clock() < self._due:
            return
        self._due = self._clock() + _LINE_SECONDS
        running = [number for number, standing in standings.items() if standing.state == "running" and standing.calls]
        for number in running[:_MOST_LINES]:
            calls, best, left = _write_progress(standings[number])
            self._write(number, f"{calls} calls | best {best}" + (f" | {left} left" if left else ""))

    def _write(self, number: int, text: str) -> None:
        with suppress(OSError):  # a closed pipe does not end the sweep
            self._stream.write(f"run {number:,} of {self._n_runs:,}: {printable(' '.join(text.split()))}\n")
            self._stream.flush()


class RichSheet(Sheet):
    """A display of a sweep: a table with one row per run, redrawn in place.

    If not all rows fit on the terminal, those of running runs take precedence.

    Args:
        listed: The runs.
        n_runs: The number of runs in the sweep, including those that are already complete.
        console: The console that the table is drawn on.
    """

    def __init__(self, listed: Sequence[Listed], n_runs: int, console: Console) -> None:
        self._listed = {run.number: run for run in listed}
        self._n_runs = n_runs
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._recent: list[int] = []

    def show(self, standings: Mapping[int, Standing], changed: Sequence[int]) -> None:
        """Draw the table again."""
        self._recent += [number for number in changed if standings[number].is_over]
        with suppress(OSError):
            self._live.update(self._draw(standings), refresh=True)

    def close(self) -> None:
        """Release the terminal."""
        with suppress(OSError):
            self._live.stop()

    def _draw(self, standings: Mapping[int, Standing]) -> Group:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
        for name in ("run", "", "state", "calls", "best", "left"):
            table.add_column(name, justify="left" if name in ("", "state") else "right", no_wrap=True)
        for number in sorted(self._choose(standings)):
            standing, run = standings[number], self._listed[number]
            state = Text(standing.state, style=_STYLES.get(standing.state, "dim"))
            table.add_row(f"{number:,}", Text(printable(run.label)), state, *_write_progress(standing))
        return Group(table, Text(summarize(standings, self._n_runs)))

    def _choose(self, standings: Mapping[int, Standing]) -> list[int]:
        """Return the numbers of the runs to show in the table: as many as fit on the terminal, or 3 if fewer fit.

        Running runs come first, then failed ones (for about a third of the rows), two waiting ones, those that ended
        most recently, and the other waiting ones.
        """
        n_rows = max(shutil.get_terminal_size().lines - 8, 3)
        states = ("running", "failed", "waiting")
        running, failed, waiting = ([number for number in standings if standings[number].state == s] for s in states)
        ranked = [*running, *failed[-n_rows // 3 :], *waiting[:2], *self._recent[::-1], *waiting]
        return list(dict.fromkeys(ranked))[:n_rows]


def summarize(standings: Mapping[int, Standing], n_runs: int) -> str:
    """Return a line with the number of runs in each state and, if possible, an estimate of the time left.

    For the estimate, runs that have not started yet are assumed to take as long as completed ones.
    """
    counts = Counter(standing.state for standing in standings.values())
    counts["complete"] += n_runs - len(standings)
    parts = [f"{count:,} {state}" for state, count in sorted(counts.items()) if count]
    done = [standing.seconds for standing in standings.values() if standing.state == "complete"]
    running = [standing for standing in standings.values() if standing.state == "running"]
    if done and running:
        work = sum(done) / len(done) * counts["waiting"] + sum(one.seconds_left or 0 for one in running)
        parts.append(f"about {format_duration(work / len(running))} left")
    return f"{count_of(n_runs, 'run')}: {', '.join(parts)}"


def describe_end(standing: Standing) -> str:
    """Return a line about how a run ended."""
    if standing.error is not None:
        return f"{standing.state}: {standing.error}"
    stopped = f", stopped by {standing.stopped_by}" if standing.stopped_by else ""
    return f"{standing.state}{stopped} | {count_of(standing.calls, 'call')} | best {format_number(standing.best)}"


def _write_progress(standing: Standing) -> tuple[str, str, str]:
    """Return the calls, the best score and the time left as text."""
    budget = f"/{standing.budget:,}" if standing.budget else ""
    left = "" if standing.seconds_left is None else format_duration(standing.seconds_left)
    return f"{standing.calls:,}{budget}", format_number(standing.best), left


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return a value that changes whenever the record of a run is written, or None if it does not exist."""
    try:
        status = (path / RECORD).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
