"""Configuration keys that document themselves: what they mean, and which values can be meant."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from math import inf
from typing import Any, TypeAlias

Choices: TypeAlias = Sequence[str] | Callable[[], Sequence[str]]
"""The values that a text may have, or what gives them when they are asked for."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which values of a key can be meant; those of a list are its items.

    Attributes:
        least: The smallest value, None for no bound.
        most: The largest.
        above: Every value is larger than this.
        below: Every value is smaller than this.
        choices: Of a text.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Choices | None = None

    @property
    def names(self) -> Sequence[str]:
        """The values that a text may have; nothing if any will do."""
        return self.choices() if callable(self.choices) else self.choices or ()

    def admit(self, value: Any) -> bool:
        """Return whether a value that is neither null nor a list lies within; NaN lies within no bounds."""
        if self.choices is not None:
            return value in self.names
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        """Return the bounds in words, such as ``at least 1``; empty if there are none."""
        if self.choices is not None:
            return join_or(self.names)
        if self.least is not None and self.most is not None:
            return f"between {_write(self.least)} and {_write(self.most)}"
        words = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        told = [f"{word} {_write(bound)}" for word, bound in words.items() if bound is not None and abs(bound) != inf]
        return " and ".join(told) or ("" if self == Bounds() else "a number")


def documented(
    doc: str,
    *,
    default: Any = MISSING,
    unit: str = "",
    changes_log: bool = True,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Choices | None = None,
) -> Any:
    """Return a dataclass field for a configuration key.

    Args:
        doc: What the key means, as the configuration reference prints it.
        default: Its value where no YAML file sets one; for dictionaries see `documented_mapping`.
        unit: Physical or counting unit.
        changes_log: False for keys that cannot change the log of a run (workers, displays); they are no part of a run's
            identity.
        least: The smallest value that can be meant; null is checked by the type alone.
        most: The largest.
        above: Every value must be larger than this.
        below: Every value must be smaller than this.
        choices: The values that a text may have.
    """
    bounds = Bounds(least, most, above, below, choices)
    return field(default=default, metadata={"doc": doc, "unit": unit, "changes_log": changes_log, "bounds": bounds})


def documented_mapping(doc: str) -> Any:
    """Return a dataclass field for a configuration key that holds keys of others' own, none by default."""
    metadata = {"doc": doc, "unit": "", "changes_log": True, "bounds": Bounds()}
    return field(default_factory=dict, metadata=metadata)


def find_beyond(settings: Any, prefix: str) -> Iterator[str]:
    """Yield what is wrong with each value that lies beyond the bounds of its key.

    Args:
        settings: An object of a dataclass whose fields are `documented`, or such dataclasses in turn.
        prefix: What stands before the names of its keys.
    """
    for one in fields(settings):
        key, value = f"{prefix}{one.name}", getattr(settings, one.name)
        if is_dataclass(value):
            yield from find_beyond(value, f"{key}.")
            continue
        bounds: Bounds = one.metadata.get("bounds", Bounds())
        if isinstance(value, list):
            if not all(map(bounds.admit, value)):
                yield f"{key} must hold values of {bounds}, got {value}"
        elif value is not None and not bounds.admit(value):
            if bounds.choices is not None:
                yield f"{key}={value} is unknown; {nearest(value, bounds.names)}"
            else:
                or_null = ", or null" if type(None) in getattr(one.type, "__args__", ()) else ""
                yield f"{key} must be {bounds}{or_null}, got {value}"


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a question that offers the known word most like ``word``, or lists them all."""
    matches = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {matches[0]}?" if matches else f"expected one of {', '.join(known)}"


def join_or(names: Sequence[str]) -> str:
    """Return names as one says which of them will do."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _write(bound: float) -> str:
    """Return a bound as one would write it."""
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
