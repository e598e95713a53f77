"""The display of a run in a terminal."""

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from math import inf
from textwrap import shorten
from typing import Self, TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evodiverse.ports import Display, PoolView, Snapshot
from evodiverse.text import count_of, sparkline
from evodiverse.vocabulary import Usage


def choose_display(name: str, title: str) -> Display:
    """Return the display of this name; see `choose_kind`.

    Args:
        name: One of `evodiverse.runner.DISPLAYS`.
        title: The title that identifies the run.
    """
    kind, console = choose_kind(name)
    if kind == "rich":
        return RichDisplay(console, title)
    return NoDisplay() if kind == "none" else PlainDisplay(sys.stderr)


def choose_kind(name: str) -> tuple[str, Console]:
    """Return the kind of display that ``name`` selects, ``none``, ``plain`` or ``rich``, and the console for it.

    ``auto`` selects rich on a terminal that can draw box characters and redraw them in place, else plain.
    """
    console = Console(stderr=True)
    can_draw = console.is_terminal and not console.is_dumb_terminal and "utf" in console.encoding
    return name if name != "auto" else "rich" if can_draw else "plain", console


class NoDisplay:
    """A display that shows nothing."""

    def __enter__(self) -> Self:
        """Show nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Show nothing."""

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        """Show nothing."""

    def finish(self, snapshot: Snapshot) -> None:
        """Show nothing."""


class PlainDisplay(NoDisplay):
    """A status line. On a terminal, it is rewritten in place; elsewhere, a new line is printed every ten seconds.

    Args:
        stream: The stream that the line is written to.
        clock: A function that returns the time in seconds, for instance `time.monotonic`.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._interval = 0.5 if self._is_terminal else 10.0
        self._last = clock()
        self._width = 0

    def __exit__(self, *_: object) -> None:
        """Print a line break if the status line on the terminal does not have one yet."""
        if self._width:
            self._write("\n")

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        """Write the status line if enough time has passed since the last one."""
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            self._write_line(format_snapshot(snapshot()))

    def finish(self, snapshot: Snapshot) -> None:
        """Write the last line and the summary."""
        self._write_line(format_snapshot(snapshot))
        names_and_values = summarize(snapshot)
        width = max(len(name) for name, _ in names_and_values)
        self._write("\n" if self._width else "")
        self._write("".join(f"{name.ljust(width)}  {value}\n" for name, value in names_and_values))
        self._width = 0

    def _write_line(self, line: str) -> None:
        if not self._is_terminal:
            self._write(f"{line}\n")
            return
        line = line[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be rewritten
        self._write(f"\r{line.ljust(self._width)}")
        self._width = len(line)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # a closed pipe does not end the search
            self._interval = inf


class RichDisplay(NoDisplay):
    """A panel that is redrawn in place, at intervals long enough that drawing takes less than 1% of the run's time.

    Args:
        console: The console that the panel is drawn on.
        title: The title that identifies the run.
        clock: A function that returns the time in seconds, for instance `time.monotonic`.
    """

    def __init__(self, console: Console, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._title = title
        self._clock = clock
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._due = -inf
        self._cost = inf

    def __enter__(self) -> Self:
        """Take over the terminal; anything printed from now on appears above the panel."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the panel, and stop controlling the terminal."""
        with suppress(OSError):
            self._live.stop()

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        """Draw the panel if enough time has passed since it was last drawn."""
        began = self._clock()
        if began < self._due:
            return
        try:
            self._live.update(draw(snapshot(), self._title), refresh=True)
        except OSError:  # the terminal is gone; that does not end the search
            self._due = inf
            return
        ended = self._clock()
        self._cost = min(self._cost, ended - began)  # the first drawing is slower: it loads modules
        self._due = ended + max(0.25, 100 * self._cost)

    def finish(self, snapshot: Snapshot) -> None:
        """Replace the panel with the summary."""
        table = Table(box=box.ROUNDED, show_header=False, title=Text(self._title), title_justify="left")
        for name, value in summarize(snapshot):
            table.add_row(name, Text(value))  # not a str, in which rich would read the brackets of SMILES as markup
        with suppress(OSError):
            self._live.stop()
            self._console.print(table)


def format_snapshot(snapshot: Snapshot) -> str:
    """Return a snapshot as one line; unknown values are left out or shown as ``-``."""
    xi = "" if snapshot.xi is None else f", ξ {snapshot.xi:.3g}"
    rate = format_number(snapshot.swap_rates[-1] if snapshot.swap_rates else None)
    parts = [
        f"iteration {snapshot.iteration}",
        _count_calls(snapshot),
        f"best {format_number(snapshot.best)}",
        f"{snapshot.summary_name} {format_number(snapshot.summary)}" if snapshot.summary_name else "",
        f"swaps {rate}{xi}" if xi or snapshot.swap_rates else "",
        _describe_llm(snapshot, "llm "),
        f"{snapshot.calls_per_second:,.0f} calls/s",
        _describe_silence(snapshot),
        _describe_left(snapshot),
        shorten(snapshot.headline or "", 120, placeholder=" …"),
    ]
    return " | ".join(filter(None, parts))


def format_usage(usage: Usage) -> str:
    """Return a text with the number of calls to a language model and what they cost."""
    return f"{count_of(usage.calls, 'call')}, {usage.spent}"


def summarize(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the summary of a finished run, as pairs of name and value."""
    rates = [rate for rate in snapshot.swap_rates if rate is not None]
    over = "in the last exchange" if len(rates) == 1 else f"on average over the last {len(rates)} exchanges"
    calls = f"{snapshot.oracle_calls:,} of {snapshot.budget:,} in {count_of(snapshot.iteration, 'iteration')}"
    return [
        ("stopped by", str(snapshot.stopped_by)),
        ("oracle calls", calls),
        ("best", f"{format_number(snapshot.best)}  {snapshot.best_genotype or ''}".rstrip()),
        *([("chosen", snapshot.headline)] if snapshot.headline else []),
        *([(snapshot.summary_name, format_number(snapshot.summary))] if snapshot.summary_name else []),
        *(
            (f"pool {number}", "β = {}: best {}, median {}, size {}".format(*_pool_texts(pool)))
            for number, pool in enumerate(snapshot.pools)
        ),
        *([("swaps accepted", f"{sum(rates) / len(rates):.3f} {over}")] if rates else []),
        *([("language model", format_usage(snapshot.llm))] if snapshot.llm is not None else []),
        ("attempts", f"{snapshot.rejected:.1%} rejected, {snapshot.duplicate:.1%} duplicate"),
        ("time", ", ".join(f"{name} {format_duration(seconds)}" for name, seconds in snapshot.seconds.items())),
    ]


def draw(snapshot: Snapshot, title: str) -> RenderableType:
    """Return a panel that shows a snapshot."""
    bar = ProgressBar(total=snapshot.budget, completed=snapshot.oracle_calls, width=24)
    rate = f"{snapshot.calls_per_second:,.0f} calls/s"
    head = Table.grid(padding=(0, 2))
    head.add_row(bar, _count_calls(snapshot), rate, _describe_left(snapshot))
    facts = Table.grid(padding=(0, 2))
    numbers = {"iteration": str(snapshot.iteration), "best": f"[bold green]{format_number(snapshot.best)}[/]"}
    if snapshot.summary_name is not None:
        numbers[snapshot.summary_name] = f"[bold green]{format_number(snapshot.summary)}[/]"
    facts.add_row(*(f"[dim]{name}[/] {value}" for name, value in numbers.items()))
    llm, silence = _describe_llm(snapshot, "[dim]llm[/] "), _describe_silence(snapshot)
    attempts = f"[dim]rejected[/] {snapshot.rejected:.1%}  [dim]duplicate[/] {snapshot.duplicate:.1%}"
    lines: list[RenderableType] = [head, facts, Text(snapshot.headline or ""), _draw_pools(snapshot)]
    lines += [*_draw_swaps(snapshot), llm, silence, attempts]
    return Panel(
        Group(*(line for line in lines if line)),  # an unknown text is empty
        title=Text(title),
        title_align="left",
        box=box.ROUNDED,
        expand=False,
    )


def _draw_pools(snapshot: Snapshot) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("pool", "β", "best", "median", "size"):
        table.add_column(name, justify="right")
    for number, pool in enumerate(snapshot.pools):
        table.add_row(str(number), *_pool_texts(pool))
    return table


def _draw_swaps(snapshot: Snapshot) -> list[str]:
    rates = [rate for rate in snapshot.swap_rates if rate is not None]
    if not rates:
        return []
    lines = [f"[dim]swaps[/] {sparkline(rates, 0.0, 1.0)} {rates[-1]:.2f}"]
    if snapshot.xi is not None:
        lines.append(f"[dim]ξ    [/] {sparkline(snapshot.xis)} {snapshot.xi:.3g}")
    return lines


def _pool_texts(pool: PoolView) -> tuple[str, str, str, str]:
    return f"{pool.beta:g}", format_number(pool.best), format_number(pool.median), str(pool.size)


def _count_calls(snapshot: Snapshot) -> str:
    return f"{snapshot.oracle_calls:,}/{count_of(snapshot.budget, 'call')}"


def _describe_left(snapshot: Snapshot) -> str:
    return "" if snapshot.seconds_left is None else f"{format_duration(snapshot.seconds_left)} left"


def _describe_silence(snapshot: Snapshot) -> str:
    return "" if snapshot.silent is None else f"no evaluation has ended for {format_duration(snapshot.silent)}"


def _describe_llm(snapshot: Snapshot, title: str) -> str:
    """Return what the model cost, how long the last iteration waited for it, and how many replies are awaited."""
    if snapshot.llm is None:
        return ""
    text = f"{title}{format_usage(snapshot.llm)}"
    if snapshot.waited is not None:
        text += f", waited {snapshot.waited:,.0f} s"
    if snapshot.awaited is not None:
        received, asked = snapshot.awaited
        replies = count_of(asked, "reply", "replies")
        text += f" ({received:,} of {replies} received, {snapshot.under_way:,} under way)"
    return text


def format_number(value: float | None) -> str:
    """Return a score as text with few digits, or ``-`` for None."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.2e}"


def format_duration(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds, preceded by days from 24 hours on."""
    return str(timedelta(seconds=round(seconds)))
