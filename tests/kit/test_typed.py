"""Conversion of nested mappings to dataclass objects: what is accepted, and one message for each invalid key."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from evodiverse.kit.typed import merge_typed


@dataclass
class Inner:
    """A group of keys."""

    size: int = 1
    label: str | None = None


@dataclass
class Settings:
    """A key of each kind."""

    inner: Inner = field(default_factory=Inner)
    share: float = 0.5
    is_on: bool = False
    names: list[str] | None = None
    extra: dict[str, Any] = field(default_factory=lambda: {"kept": 1})
    anything: Any = None


@dataclass
class Required:
    """A key without a default."""

    names: list[str]


def violations_of(values: dict[str, Any]) -> list[str]:
    return merge_typed(Settings, values, "task.")[1]


def test_values_of_the_right_type_are_taken() -> None:
    values = {
        "inner": {"size": 2, "label": "a"},
        "names": ["b", "c"],
        "extra": {"d": {"e": [1]}},
        "anything": {"f": {"g": 1}},
    }
    settings, violations = merge_typed(Settings, values, "task.")
    assert violations == []
    assert settings == Settings(Inner(2, "a"), 0.5, False, ["b", "c"], {"kept": 1, "d": {"e": [1]}}, {"f": {"g": 1}})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"names": {"a": 1}}, "task.names must be a list, got {'a': 1}"),
        ({"names": {}}, "task.names must be a list, got {}"),
        ({"names": 3}, "task.names must be a list, got 3"),
        ({"names": [{"a": 1}]}, "task.names[0] must be text, got {'a': 1}"),
        ({"names": ["a", ["b"]]}, "task.names[1] must be text, got ['b']"),
        ({"names": ["a", None]}, "task.names[1] must be a value other than null, got null"),
        ({"share": {"a": 1}}, "task.share must be a number, got {'a': 1}"),
        ({"share": [1]}, "task.share must be a number, got [1]"),
        ({"share": "much"}, "task.share must be a number, got much"),
        ({"share": None}, "task.share must be a value other than null, got null"),
        ({"is_on": {"a": 1}}, "task.is_on must be true or false, got {'a': 1}"),
        ({"inner": 3}, "task.inner must be a group of keys, got 3"),
        ({"inner": [3]}, "task.inner must be a group of keys, got [3]"),
        ({"inner": {"size": {"a": 1}}}, "task.inner.size must be an integer, got {'a': 1}"),
        ({"inner": {"label": {"a": 1}}}, "task.inner.label must be text, got {'a': 1}"),
        ({"inner": {"label": ["a"]}}, "task.inner.label must be text, got ['a']"),
        ({"extra": "a"}, "task.extra must be a group of keys, got a"),
        ({"extra": ["a"]}, "task.extra must be a group of keys, got ['a']"),
        ({"inner": {"sise": 1}}, "task.inner.sise is unknown; did you mean task.inner.size?"),
        ({"iner": {"size": 1}}, "task.iner.size is unknown; did you mean task.inner.size?"),
    ],
)
def test_a_value_of_a_wrong_type_is_one_line_with_its_key(values: dict[str, Any], expected: str) -> None:
    assert violations_of(values) == [expected]


def test_a_wrong_value_is_not_also_missing() -> None:
    assert merge_typed(Required, {"names": {"a": 1}}, "task.") == (None, ["task.names must be a list, got {'a': 1}"])
    assert merge_typed(Required, {}, "task.") == (None, ["task.names has no value; set it"])


def test_all_wrong_keys_are_told_and_the_others_kept() -> None:
    settings, violations = merge_typed(Settings, {"share": [1], "names": 3, "inner": {"size": 2}}, "")
    assert [line.partition(" ")[0] for line in violations] == ["share", "names"]
    assert (settings.share, settings.names, settings.inner.size) == (0.5, None, 2)


def test_settings_that_lack_a_whole_group_are_not_checked_further() -> None:
    assert merge_typed(Settings, {"inner": 3}, "")[0] is None


def test_null_empties_a_group_of_any_keys() -> None:
    settings, violations = merge_typed(Settings, {"extra": None}, "")
    assert (settings.extra, violations) == ({}, [])
