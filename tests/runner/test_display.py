import io
from dataclasses import replace

import pytest

from evodiverse.ports import Snapshot
from evodiverse.runner.display import PlainDisplay, format_snapshot

SNAPSHOT = Snapshot(
    iteration=12,
    oracle_calls=1680,
    budget=10_000,
    best=0.72,
    summary_name="diverse top-10",
    summary=0.6123,
    swap_rate=0.4,
    xi=2.75,
    calls_per_second=312.4,
    seconds_left=3661.2,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_says_all_that_is_known() -> None:
    assert format_snapshot(SNAPSHOT) == (
        "iteration 12 | 1,680/10,000 calls | best 0.720 | diverse top-10 0.612 | swaps 0.400, ξ 2.75 | 312 calls/s | "
        "1:01:01 left"
    )


def test_a_line_leaves_out_what_a_method_does_not_have() -> None:
    lone = replace(SNAPSHOT, summary_name=None, summary=None, swap_rate=None, xi=None, seconds_left=None, best=None)
    assert format_snapshot(lone) == "iteration 12 | 1,680/10,000 calls | best - | 312 calls/s"


@pytest.mark.parametrize(("stream", "interval"), [(Terminal(), 0.5), (io.StringIO(), 10.0)])
def test_lines_are_not_written_more_often_than_a_person_reads(stream: io.StringIO, interval: float) -> None:
    clock, looked = Clock(), []
    display = PlainDisplay(stream, clock)
    for step in (0, 0.4 * interval, 0.5 * interval, 0.2 * interval):
        clock.now += step
        display.update(lambda: looked.append(clock.now) or SNAPSHOT)
    assert looked == [100.0, 100.0 + 1.1 * interval]


def test_the_last_line_is_always_written() -> None:
    stream, clock = io.StringIO(), Clock()
    display = PlainDisplay(stream, clock)
    display.update(lambda: SNAPSHOT)
    display.update(lambda: replace(SNAPSHOT, iteration=13), final=True)
    assert [line.split(" |")[0] for line in stream.getvalue().splitlines()] == ["iteration 12", "iteration 13"]


def test_a_terminal_shows_one_line_that_is_rewritten_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream, clock = Terminal(), Clock()
    display = PlainDisplay(stream, clock)
    display.update(lambda: SNAPSHOT)
    display.update(lambda: replace(SNAPSHOT, seconds_left=None), final=True)
    first, second = stream.getvalue().split("\r")[1:]
    assert second.endswith(" \n")
    assert len(second.rstrip("\n")) == len(first)


def test_a_line_is_cut_where_the_terminal_would_wrap_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    PlainDisplay(stream, Clock()).update(lambda: SNAPSHOT)
    assert stream.getvalue() == f"\r{format_snapshot(SNAPSHOT)[:39]}"
