"""Messages about values that OmegaConf refuses, and overrides as they must be written."""

import subprocess
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from evodiverse.kit.hints import write_override, wrong_value


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


def test_a_plain_path_needs_no_quotes() -> None:
    assert write_override("task.oracle.path", "runs/my-forest_2.npz") == "task.oracle.path=runs/my-forest_2.npz"


def test_any_text_reaches_the_run_through_bash_and_hydra() -> None:
    texts = [
        *(
            "my forest's.npz",
            "a,b=c(d)[e]{f}.npz",
            "null",
            "1e5",
            "x$y`z`.npz",
            'q"z.npz',
            "\u00e4.npz",
            "a!b#c;d&e|f<g>h.npz",
        ),
        *("~/my forest.npz", " a  b ", "a\\", 'a\\"b', "a\\\\", "a\\b", '"', "'", "*?.npz", "a\nb"),
    ]
    command = " ".join(["printf '%s\\0'", *(write_override("task.oracle.path", text) for text in texts)])
    words = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    assert [OverridesParser.create().parse_override(word).value() for word in words] == texts
