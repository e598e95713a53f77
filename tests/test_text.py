"""Text from elsewhere cannot control a terminal, and nouns agree with their numbers."""

import pytest

from evodiverse.text import count_of, find_answers, printable, sparkline, split_reasoning


@pytest.mark.parametrize("hostile", ["\x1b", "\n", "\r", "\t", "\x00", "\x9b", "\u202e", "\u2028", "\ud800"])
def test_characters_that_control_are_replaced(hostile: str) -> None:
    assert printable(f"a{hostile}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_all_others_stay() -> None:
    assert printable("GSK3β ± 1 → ü 漢") == "GSK3β ± 1 → ü 漢"


def test_a_noun_agrees_with_its_number() -> None:
    assert [count_of(n, "run") for n in (0, 1, 2_000)] == ["0 runs", "1 run", "2,000 runs"]
    assert [count_of(n, "reply", "replies") for n in (1, 2)] == ["1 reply", "2 replies"]


@pytest.mark.parametrize(
    ("reply", "reasoning", "rest"),
    [
        ("<think>hm</think>answer", "hm", "answer"),
        ("\n<THINKING> hm </thinking>answer", "hm", "answer"),
        ("hm</think>answer", "hm", "answer"),
        ("<think>hm</think>a<think>oh</think>b", "hm", "a<think>oh</think>b"),
        ("<think></think>answer", "", "answer"),
        ("<think>hm</think>", "hm", ""),
        ("<think>hm, answer", "", "<think>hm, answer"),
        ("draft<think>hm</think>answer", "", "draft<think>hm</think>answer"),
        ("answer", "", "answer"),
    ],
)
def test_reasoning_at_the_start_is_split_off_and_leaves_the_same_answers(reply: str, reasoning: str, rest: str) -> None:
    assert split_reasoning(reply) == (reasoning, rest)
    assert [*map(str.strip, find_answers(rest))] == [*map(str.strip, find_answers(reply))]


@pytest.mark.parametrize(
    ("values", "bars"), [([0, 0.5, 1], "▁▅█"), ([3, 3], "▁▁"), ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█")]
)
def test_a_sparkline_rises_with_its_values(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_the_largest_numbers_have_bars() -> None:
    assert sparkline([-1.7e308, 0.0, 1.7e308]) == "▁▅█"
