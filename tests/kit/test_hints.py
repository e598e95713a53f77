"""Messages about values that OmegaConf refuses."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from evodiverse.kit.hints import wrong_value


@dataclass
class Settings:
    """A key of each kind."""

    label: str = "a"
    names: list[str] = field(default_factory=list)
    group: dict[str, Any] = field(default_factory=lambda: {"a": 1})


def message(key: str, text: str) -> str:
    """The message about an override on the command line."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 (OmegaConf raises several classes)
        OmegaConf.update(
            OmegaConf.structured(Settings), key, OmegaConf.create({"value": yaml.safe_load(text)})["value"]
        )
    return wrong_value(key, text, raised.value)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("group", "[]", "group must be a group of keys, got []"),
        ("group", "[1]", "group must be a group of keys, got [1]"),
        ("names", "{'a': 1}", "names must be a list, got {'a': 1}"),
        ("group", "'gaussian'", "group must be a group of keys, got 'gaussian'"),
        ("names", "3", "names must be a list, got 3"),
        ("label", "[1]", "label must be text, got [1]"),
        ("label", "{'a': 1}", "label must be text, got {'a': 1}"),
    ],
)
def test_a_refused_value_is_told_with_what_the_key_must_hold(key: str, text: str, expected: str) -> None:
    assert message(key, text) == expected
