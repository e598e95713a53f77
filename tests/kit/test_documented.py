"""Configuration keys that document themselves."""

from dataclasses import dataclass, field
from math import inf, nan

import pytest

from evodiverse.kit.documented import Bounds, find_beyond, setting


@dataclass
class Inner:
    share: float = setting(default=0.5, above=0, most=1)
    names: list[str] = setting(default=None, choices=("cold", "hot"))


@dataclass
class Settings:
    size: int | None = setting(default=3, least=1, most=9)
    kind: str = setting(default="plain", choices=("plain", "rich"))
    anything: str = setting(default="")
    own: dict[str, int] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


@pytest.mark.parametrize(
    ("settings", "violations"),
    [
        (Settings(), []),
        (Settings(size=None), []),
        (Settings(size=0), ["task.size must be between 1 and 9, or null, got 0"]),
        (
            Settings(size=10, kind="ritch"),
            [
                "task.size must be between 1 and 9, or null, got 10",
                "task.kind=ritch is unknown; did you mean rich?",
            ],
        ),
        (Settings(inner=Inner(share=0.0)), ["task.inner.share must be above 0 and at most 1, got 0.0"]),
        (Settings(inner=Inner(share=nan)), ["task.inner.share must be above 0 and at most 1, got nan"]),
        (
            Settings(inner=Inner(names=["cold", "warm"])),
            ["task.inner.names: each value must be cold or hot, got ['cold', 'warm']"],
        ),
    ],
)
def test_every_value_outside_its_bounds_is_named(settings: Settings, violations: list[str]) -> None:
    assert list(find_beyond(settings, "task.")) == violations


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (Bounds(), ""),
        (Bounds(least=1), "at least 1"),
        (Bounds(least=1e-3, most=1e3), "between 0.001 and 1000"),
        (Bounds(above=0, below=inf), "above 0"),
        (Bounds(least=-inf), "a number"),
        (Bounds(choices=("a",)), "a"),
        (Bounds(choices=("a", "b", "c")), "a, b or c"),
    ],
)
def test_bounds_are_written_in_words(bounds: Bounds, words: str) -> None:
    assert str(bounds) == words


@pytest.mark.parametrize(
    ("value", "admitted"), [(-1, False), (0, False), (0.1, True), (2, True), (2.1, False), (nan, False)]
)
def test_bounds_admit_what_lies_within(value: float, admitted: bool) -> None:
    assert Bounds(above=0, most=2).admit(value) is admitted
