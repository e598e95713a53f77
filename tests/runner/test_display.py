import io
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from evodiverse.ports import PoolView, Snapshot
from evodiverse.runner.display import (
    NoDisplay,
    PlainDisplay,
    RichDisplay,
    choose_display,
    draw,
    format_snapshot,
    summarize,
)
from evodiverse.vocabulary import Usage

SNAPSHOT = Snapshot(
    iteration=12,
    oracle_calls=1680,
    budget=10_000,
    best=0.72,
    best_genotype="CCO",
    headline=None,
    summary_name="diverse top-10",
    summary=0.6123,
    pools=(PoolView(0.8, 0.72, 0.61, 120), PoolView(0.2, 0.5, 0.25, 117)),
    swap_rates=(0.0, None, 0.8, 0.4),
    xis=(2.5, 2.5, 2.5, 2.75),
    xi=2.75,
    rejected=0.125,
    duplicate=0.04,
    calls_per_second=312.4,
    seconds_left=3661.2,
    seconds={"wall": 70.0, "operator": 40.0, "oracle": 20.0},
)
LONE = replace(
    SNAPSHOT,
    summary_name=None,
    summary=None,
    swap_rates=(),
    xis=(),
    xi=None,
    seconds_left=None,
    best=None,
    best_genotype=None,
    pools=(PoolView(0.8, None, None, 0),),
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that a test sets by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def drawn(snapshot: Snapshot, width: int = 100, title: str = "jnk3/pt") -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(draw(snapshot, title))
    return console.file.getvalue()


# One line


def test_a_line_shows_all_known_values() -> None:
    assert format_snapshot(SNAPSHOT) == (
        "iteration 12 | 1,680/10,000 calls | best 0.720 | diverse top-10 0.612 | swaps 0.400, ξ 2.75 | 312 calls/s | "
        "1:01:01 left"
    )


def test_the_candidate_chosen_by_a_task_is_shown_everywhere() -> None:
    told = replace(SNAPSHOT, headline="y = 3 * x**2 + 1  (held-back NMSE 1.2e-05)")
    assert format_snapshot(told).endswith(" left | y = 3 * x**2 + 1 (held-back NMSE 1.2e-05)")
    assert "y = 3 * x**2 + 1" in drawn(told)
    assert ("chosen", told.headline) in summarize(told)
    long = replace(SNAPSHOT, headline=" + ".join(["x"] * 100))
    assert format_snapshot(long).endswith("x …")


def test_evaluations_that_take_long_are_shown() -> None:
    slow = replace(LONE, silent=71.0)
    assert format_snapshot(slow).endswith("312 calls/s | no evaluation has ended for 0:01:11")
    assert "no evaluation has ended for 0:01:11" in drawn(slow)


def test_a_line_leaves_out_what_a_method_does_not_have() -> None:
    assert format_snapshot(LONE) == "iteration 12 | 1,680/10,000 calls | best - | 312 calls/s"


@pytest.mark.parametrize(
    ("best", "shown"), [(0.0, "0.000"), (-0.0123, "-0.012"), (-3.87e-4, "-3.87e-04"), (-2.85e19, "-2.85e+19")]
)
def test_small_and_large_numbers_are_shown_in_scientific_notation(best: float, shown: str) -> None:
    assert f"best {shown} |" in format_snapshot(replace(LONE, best=best))


@pytest.mark.parametrize(("stream", "interval"), [(Terminal(), 0.5), (io.StringIO(), 10.0)])
def test_lines_are_written_at_most_once_per_interval(stream: io.StringIO, interval: float) -> None:
    clock, looked = Clock(), []
    display = PlainDisplay(stream, clock)
    for step in (0, interval, 0.4 * interval, 0.5 * interval, 0.2 * interval):
        clock.now += step
        display.update(lambda: looked.append(clock.now) or SNAPSHOT)
    assert looked == [100.0 + interval, 100.0 + 2.1 * interval]


def test_the_last_line_is_always_written_and_the_summary_after_it() -> None:
    stream, clock = io.StringIO(), Clock()
    with PlainDisplay(stream, clock) as display:
        clock.now += 10
        display.update(lambda: SNAPSHOT)
        display.finish(replace(SNAPSHOT, iteration=13, stopped_by="budget"))
    lines = stream.getvalue().splitlines()
    assert [line.split(" |")[0] for line in lines[:2]] == ["iteration 12", "iteration 13"]
    assert lines[2] == "stopped by      budget"


def test_a_terminal_shows_one_line_that_is_rewritten_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream, clock = Terminal(), Clock()
    display = PlainDisplay(stream, clock)
    clock.now += 1
    display.update(lambda: SNAPSHOT)
    clock.now += 1
    display.update(lambda: replace(SNAPSHOT, seconds_left=None))
    first, second = stream.getvalue().split("\r")[1:]
    assert second.endswith(" ")
    assert len(second) == len(first)


def test_a_line_is_cut_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream, clock = Terminal(), Clock()
    display = PlainDisplay(stream, clock)
    clock.now += 1
    display.update(lambda: SNAPSHOT)
    assert stream.getvalue() == f"\r{format_snapshot(SNAPSHOT)[:39]}"


def test_a_stopped_display_ends_its_line() -> None:
    stream, clock = Terminal(), Clock()
    with PlainDisplay(stream, clock) as display:
        clock.now += 1
        display.update(lambda: SNAPSHOT)
    assert stream.getvalue().endswith("\n")


def test_a_closed_stream_does_not_end_the_search() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    clock = Clock()
    with PlainDisplay(Closed(), clock) as display:
        clock.now += 10
        display.update(lambda: SNAPSHOT)
        display.finish(SNAPSHOT)


# Panel


def test_the_panel_shows_every_pool_and_the_exchange() -> None:
    text = drawn(SNAPSHOT)
    assert "1,680/10,000 calls" in text
    assert "1:01:01 left" in text
    assert [line.split()[1:6] for line in text.splitlines() if " 0.2 " in line or " 0.8 " in line] == [
        ["0", "0.8", "0.720", "0.610", "120"],
        ["1", "0.2", "0.500", "0.250", "117"],
    ]
    assert "swaps ▁▇▄ 0.40" in text
    assert "2.75" in text
    assert "rejected 12.5%" in text


def test_the_panel_leaves_out_what_a_method_does_not_have() -> None:
    text = drawn(LONE)
    assert "swaps" not in text
    assert "ξ" not in text


def test_the_panel_can_be_drawn_at_the_start_of_a_run() -> None:
    assert "0/10,000 calls" in drawn(replace(LONE, pools=(), oracle_calls=0))


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_panel_fits_a_narrow_terminal(width: int) -> None:
    assert max(len(line) for line in drawn(SNAPSHOT, width).splitlines()) <= width


def test_drawing_the_panel_takes_at_most_one_percent_of_the_time() -> None:
    clock, looked = Clock(), []

    def costly() -> Snapshot:
        looked.append(clock.now)
        clock.now += 0.05
        return SNAPSHOT

    with RichDisplay(Console(file=Terminal(), force_terminal=True, width=100), "jnk3/pt", clock) as display:
        for _ in range(1000):
            clock.now += 0.01
            display.update(costly)
    assert len(looked) == 2
    assert 5.0 <= looked[1] - looked[0] <= 5.2


def test_the_summary_replaces_the_panel() -> None:
    console = Console(file=Terminal(), width=100)
    with RichDisplay(console, "jnk3/pt", Clock()) as display:
        display.update(lambda: SNAPSHOT)
        display.finish(replace(SNAPSHOT, stopped_by="budget"))
    text = console.file.getvalue()
    assert text.index("jnk3/pt") < text.index("budget") < text.index("0.720  CCO")


def test_brackets_are_not_read_as_markup() -> None:
    console = Console(file=Terminal(), width=100)
    smiles = "c1c[nH]c[/b]1[bold]"
    with RichDisplay(console, "method.ladder=[red]", Clock()) as display:
        display.finish(replace(SNAPSHOT, stopped_by="budget", best_genotype=smiles))
    assert smiles in console.file.getvalue()
    assert console.file.getvalue().count("method.ladder=[red]") == 1
    assert "method.ladder=[red]" in drawn(SNAPSHOT, title="method.ladder=[red]")


def test_lines_printed_during_a_run_appear_above_the_panel(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(file=Terminal(), force_terminal=True, width=100)
    with RichDisplay(console, "jnk3/pt", Clock()) as display:
        display.update(lambda: SNAPSHOT)
        sys.stdout.write("a warning\n")
    assert "a warning" in console.file.getvalue()


@pytest.mark.parametrize("clock_steps", [[1e9], [-1e9], [0.0, -5.0, 1e6]])
def test_a_clock_that_jumps_is_harmless(clock_steps: list[float]) -> None:
    clock = Clock()
    with RichDisplay(Console(file=io.StringIO(), width=100), "jnk3/pt", clock) as display:
        for step in clock_steps:
            clock.now += step
            display.update(lambda: SNAPSHOT)


# The rest


def test_a_summary_shows_how_a_run_ended() -> None:
    assert dict(summarize(replace(SNAPSHOT, stopped_by="budget"))) == {
        "stopped by": "budget",
        "oracle calls": "1,680 of 10,000 in 12 iterations",
        "best": "0.720  CCO",
        "diverse top-10": "0.612",
        "pool 0": "β = 0.8: best 0.720, median 0.610, size 120",
        "pool 1": "β = 0.2: best 0.500, median 0.250, size 117",
        "swaps accepted": "0.400 on average over the last 3 exchanges",
        "attempts": "12.5% rejected, 4.0% duplicate",
        "time": "wall 0:01:10, operator 0:00:40, oracle 0:00:20",
    }


@pytest.mark.parametrize(
    ("name", "on_terminal", "expected"),
    [
        ("auto", True, RichDisplay),
        ("auto", False, PlainDisplay),
        ("rich", False, RichDisplay),
        ("plain", True, PlainDisplay),
        ("none", True, NoDisplay),
    ],
)
def test_a_display_is_chosen_by_its_name_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch, name: str, on_terminal: bool, expected: type
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal() if on_terminal else io.StringIO())
    assert type(choose_display(name, "title")) is expected


@pytest.mark.parametrize(("encoding", "kind"), [("ascii", "xterm"), ("utf-8", "dumb")])
def test_a_terminal_that_cannot_draw_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, encoding: str, kind: str
) -> None:
    terminal = Terminal()
    terminal.encoding = encoding
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr("sys.stderr", terminal)
    assert type(choose_display("auto", "title")) is PlainDisplay


ASKED = replace(SNAPSHOT, llm=Usage(1234, 400_000, 50_000, 0.5), awaited=(35, 140), under_way=64)


@pytest.mark.parametrize(
    ("usage", "shown"),
    [
        (Usage(1234, 400_000, 50_000, 0.5), "1,234 calls, 400,000 + 50,000 tokens, $0.5000"),
        (Usage(2, 30, 40, None), "2 calls, 30 + 40 tokens, unknown cost"),
        (Usage(2, None, 40, 0.0), "2 calls, unknown tokens, $0.0000"),
        (Usage(1, 30, 40, 0.5), "1 call, 30 + 40 tokens, $0.5000"),
        (Usage(), "0 calls, nothing spent yet"),
    ],
)
def test_the_usage_of_a_model_is_shown_and_unknown_values_are_not_zero(usage: Usage, shown: str) -> None:
    snapshot = replace(ASKED, llm=usage, awaited=None)
    assert f"| llm {shown} |" in format_snapshot(snapshot)
    assert ("language model", shown) in summarize(snapshot)
    assert f"llm {shown}" in drawn(snapshot)


def test_one_exchange_is_not_several() -> None:
    ended = dict(summarize(replace(SNAPSHOT, stopped_by="budget", swap_rates=(0.25,))))
    assert ended["swaps accepted"] == "0.250 in the last exchange"


def test_received_replies_are_counted_during_a_round() -> None:
    assert "tokens, $0.5000 (35 of 140 replies received, 64 under way)" in format_snapshot(ASKED)
    assert "(35 of 140 replies received, 64 under way)" in drawn(ASKED)


@pytest.mark.parametrize("show", [format_snapshot, drawn])
def test_the_time_that_the_last_iteration_waited_for_replies_is_shown(show: Callable[[Snapshot], str]) -> None:
    assert "$0.5000, waited 1,234 s (35 of 140" in show(replace(ASKED, waited=1234.4))


def test_a_run_without_a_model_shows_no_usage() -> None:
    assert "llm" not in format_snapshot(SNAPSHOT)
    assert "llm" not in drawn(SNAPSHOT)
