"""Configuration keys: dataclass fields with units, and with bounds for their values."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from math import inf
from operator import ge, gt, le, lt
from typing import Any, Final

MISSING: Final = "???"
"""OmegaConf's mark of a key without a value, which a YAML file must set."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds on the value of a key; for a list, the bounds on each of its items.

    Attributes:
        least: The smallest allowed value; None for no bound.
        most: The largest allowed value; None for no bound.
        above: An exclusive lower bound; None for no bound.
        below: An exclusive upper bound; None for no bound.
        choices: The allowed strings; None for any value within the other bounds.
        or_dotted: Whether strings with a dot are allowed besides the choices: names of a user's functions.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Sequence[str] | None = None
    or_dotted: bool = False

    def admit(self, value: Any) -> bool:
        """Return whether a value that is neither null nor a list lies within the bounds; NaN violates every bound."""
        if self.choices is not None:
            return value in self.choices or (self.or_dotted and isinstance(value, str) and "." in value)
        bounds = [(ge, self.least), (le, self.most), (gt, self.above), (lt, self.below)]
        return all(bound is None or bool(holds(value, bound)) for holds, bound in bounds)

    def __str__(self) -> str:
        """Return the bounds in words, such as ``at least 1``; empty if there are no bounds."""
        if self.choices is not None:
            return join_or([*self.choices, *(["module.function"] if self.or_dotted else [])])
        if self.least is not None and self.most is not None:
            return f"between {_write(self.least)} and {_write(self.most)}"
        words = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        finite = [f"{word} {_write(bound)}" for word, bound in words.items() if bound is not None and abs(bound) != inf]
        return " and ".join(finite) or ("" if self == Bounds() else "a number")


def setting(
    *, default: Any = MISSING, unit: str = "", changes_log: bool = True, is_later: bool = False, **bounds: Any
) -> Any:
    """Return a dataclass field for a configuration key, whose meaning the docstring of its class explains.

    Args:
        default: The value of the key if no YAML file sets one.
        unit: The physical or counting unit of the value.
        changes_log: Whether the key can change the log of a run. Other keys, such as those about workers or displays,
            are not part of the identity of a run.
        is_later: Whether runs were made before the key existed, with what is now its default. The default is then not
            part of the identity of a run, so that these runs keep theirs.
        bounds: The attributes of `Bounds`. Null is allowed if the type of the field allows None, whatever the bounds.
    """
    metadata = {"unit": unit, "changes_log": changes_log, "is_later": is_later, "bounds": Bounds(**bounds)}
    return field(default=default, metadata=metadata)


def derived(*, default: Any) -> Any:
    """Return a dataclass field that is not a configuration key, since it follows from others."""
    return field(default=default, metadata={"omegaconf_ignore": True})


def find_beyond(settings: Any, prefix: str) -> Iterator[str]:
    """Yield one message for each value outside the bounds of its key.

    Args:
        settings: A dataclass object whose fields are `setting`s, or are such dataclass objects themselves.
        prefix: The prefix of the keys in the messages, such as ``task.``.
    """
    for one in fields(settings):
        key, value = f"{prefix}{one.name}", getattr(settings, one.name)
        if is_dataclass(value):
            yield from find_beyond(value, f"{key}.")
            continue
        bounds: Bounds = one.metadata.get("bounds", Bounds())
        if isinstance(value, list):
            if not all(map(bounds.admit, value)):
                yield f"{key}: each value must be {bounds}, got {value}"
        elif value is not None and not bounds.admit(value):
            if bounds.choices is not None:
                yield f"{key}={value} is unknown; {nearest(value, bounds.choices)}"
            else:
                or_null = ", or null" if type(None) in getattr(one.type, "__args__", ()) else ""
                yield f"{key} must be {bounds}{or_null}, got {value}"


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a question that suggests the known word most similar to ``word``, or else a list of all known words."""
    matches = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {matches[0]}?" if matches else f"expected one of {', '.join(known)}"


def join_or(names: Sequence[str]) -> str:
    """Return names joined as alternatives, such as ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _write(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
