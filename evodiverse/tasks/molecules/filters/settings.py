"""Reading and checking ``task.filters``, and the built-in sets of filters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.documented import documented, join_or, nearest
from evodiverse.kit.typed import merge_typed
from evodiverse.tasks.molecules.filters.catalogs import CATALOGS
from evodiverse.tasks.molecules.parsing import find_smarts_violation
from evodiverse.tasks.molecules.properties import ELEMENTS, PROPERTIES, in_words

SETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "medchem": {
            "elements": ["C", "N", "S", "O", "F", "Cl", "Br"],  # as in MOSES (Polykovskiy et al. 2020)
            "max_ring_size": 8,  # as in MOSES
            "ranges": {
                "weight": [None, 500],  # Lipinski et al. 1997, as are the next two and logp
                "donors": [None, 5],
                "acceptors": [None, 10],
                "rotatable_bonds": [None, 10],  # Veber et al. 2002, as is the next one
                "tpsa": [None, 140],
                "logp": [None, 5],  # last, as it takes longest
            },
            "catalogs": ["BRENK", "NIH", "PAINS"],
        },
    }
)
"""The filters that each name stands for, in the form of ``task.filters``."""


_KEY: Final = "task.filters"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ -]{0,59}")
_SET: Final = "set"
_LISTS: Final = ("catalogs", "elements")
# Keys that hold groups of named entries.
_NAMED: Final = ("ranges", "smarts")


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed range of a property, bounds included; an infinite bound means no bound."""

    name: str
    low: float
    high: float

    def describe(self) -> str:
        """Return the condition in words, for prompts."""
        low, high = ("" if abs(bound) == inf else f"{bound:g}" for bound in (self.low, self.high))
        told = f"from {low} to {high}" if low and high else f"at most {high}" if high else f"at least {low}"
        return f"{in_words(self.name)} {told}"


@dataclass
class PlainFilters:
    """The keys of ``task.filters`` with plain values, unlike ``smarts`` and ``ranges``, which hold named entries."""

    elements: list[str] | None = documented("the allowed elements, besides hydrogen", default=None)
    max_ring_size: int | None = documented("larger rings are rejected", default=None, unit="atoms", least=3)
    novel: str | None = documented("file of known molecules, which are rejected", default=None)
    catalogs: list[str] | None = documented("RDKit's catalogs of unwanted substructures", default=None)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The checked content of ``task.filters``.

    Attributes:
        elements: The symbols of the allowed elements, or None to allow all.
        max_ring_size: The number of atoms in the largest allowed ring, or None to allow any size.
        novel: The file of known molecules, or None.
        ranges: The allowed ranges of properties.
        smarts: The SMARTS of forbidden substructures, by name.
        catalogs: The names of RDKit's catalogs of forbidden substructures.
    """

    elements: tuple[str, ...] | None
    max_ring_size: int | None
    novel: Path | None
    ranges: tuple[Range, ...]
    smarts: Mapping[str, str]
    catalogs: tuple[str, ...]

    def describe(self) -> str:
        """Return all conditions on one line, for prompts."""
        terms = [
            *([] if self.elements is None else [f"no elements but H, {', '.join(self.elements)}"]),
            *([] if self.max_ring_size is None else [f"no ring of more than {self.max_ring_size} atoms"]),
            *(one.describe() for one in self.ranges),
            *(f"no substructure {smarts} ({name})" for name, smarts in self.smarts.items()),
            *([f"no structural alert of {', '.join(self.catalogs)}"] if self.catalogs else []),
            *([] if self.novel is None else ["not a known molecule"]),
        ]
        return f"Only molecules that meet all of these conditions are scored: {'; '.join(terms)}."


_NOTHING: Final = FilterSettings(None, None, None, (), {}, ())


def read_filters(value: object) -> FilterSettings | None:
    """Return the filters that ``task.filters`` requests, or None if it requests none.

    Args:
        value: The value of ``task.filters``: None, the name of a built-in set, or a mapping whose key ``set`` may
            name a built-in set to extend.

    Raises:
        InputError: The value is invalid. The message lists everything that is wrong with it, each fault with its key.
    """
    if value is None:
        return None
    if isinstance(value, str):
        merged, violations = _find_base(_KEY, value)
    elif isinstance(value, Mapping):
        merged, violations = _extend_base(value)
    else:
        raise InputError(f"{_KEY} must be null, the name of a set ({', '.join(SETS)}) or a group of keys, got {value}")
    named = {key: merged.pop(key, {}) for key in _NAMED}
    typed, wrong = merge_typed(PlainFilters, merged, f"{_KEY}.")
    violations += [
        *wrong,
        *_find_no_elements(typed.elements),
        *_find_no_catalogs(typed.catalogs or ()),
    ]
    ranges = []
    for name, bounds in named["ranges"].items():
        try:
            ranges.append(_read_range(str(name), bounds))
        except ValueError as error:
            violations.append(f"{_KEY}.ranges.{name}{error}")
    for name, smarts in named["smarts"].items():
        violations += _find_unusable(str(name), smarts)
    if violations:
        raise InputError(*violations)
    settings = FilterSettings(
        None if typed.elements is None else tuple(typed.elements),
        typed.max_ring_size,
        None if typed.novel is None else Path(typed.novel),
        tuple(one for one in ranges if (one.low, one.high) != (-inf, inf)),
        dict(named["smarts"]),
        tuple(name for name in CATALOGS if name in (typed.catalogs or ())),
    )
    return None if settings == _NOTHING else settings


def _find_base(key: str, name: object) -> tuple[dict[str, Any], list[str]]:
    """Return the content of a built-in set of filters for molecules, and a list of the errors in the set's name.

    The content has the keys of ``task.filters``.

    Args:
        key: The configuration key whose value is the name of the set; error messages show it.
        name: The name of the set. For None or an unknown name, the content is empty.
    """
    if name is None or (isinstance(name, str) and name in SETS):
        return dict(SETS[name]) if name else {}, []
    return {}, [f"{key}={name} is unknown; use {join_or(tuple(SETS))}"]


def _extend_base(value: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Merge ``task.filters`` with the built-in set that it names, and return the result and what is wrong with it.

    Catalogs, ranges and substructures are added to those of the set, or replace one of the same name; other keys
    replace those of the set. A key with the value null removes what the set has.
    """
    merged, violations = _find_base(f"{_KEY}.{_SET}", value.get(_SET))
    for key, own in value.items():
        if key in _NAMED and isinstance(own, Mapping):
            merged[key] = {**merged.get(key, {}), **own}
        elif key in _NAMED and own is not None:
            violations.append(f"{_KEY}.{key} must be a group of keys, got {own}")
        elif key in _NAMED:
            merged[key] = {}
        elif key in _LISTS and own is not None:
            listed = [own] if isinstance(own, str) else own
            adds = key == "catalogs" and isinstance(listed, list)
            merged[key] = [*(merged.get(key) or []), *listed] if adds else listed
        elif key != _SET:
            merged[key] = own
    return merged, violations


def _find_no_elements(symbols: list[str] | None) -> Iterator[str]:
    """Yield an error for an empty list, and one for each symbol that is not an element."""
    if symbols is not None and not symbols:
        yield f"{_KEY}.elements must name at least one element, got []; null allows all"
    for symbol in symbols or ():
        if symbol not in ELEMENTS:
            yield f"{_KEY}.elements: {symbol} is not an element; write a symbol such as F"


def _find_no_catalogs(names: Sequence[str]) -> Iterator[str]:
    """Yield an error for each name that is not the name of a catalog."""
    for name in names:
        if name not in CATALOGS:
            yield f"{_KEY}.catalogs: {name} is unknown; {nearest(name.upper(), CATALOGS)}"


def _read_range(name: str, bounds: object) -> Range:
    """Return the allowed range of a property.

    Raises:
        ValueError: The property is unknown or its bounds are invalid. The caller must put the key of the range before
            the message, which starts with a space.
    """
    if name not in PROPERTIES:
        raise ValueError(f" is unknown; {nearest(name, list(PROPERTIES))}")
    if bounds is None:
        return Range(name, -inf, inf)
    if not isinstance(bounds, list) or len(bounds) != 2 or not all(map(_is_bound, bounds)):
        raise ValueError(f" must be [low, high], each a finite number or null, got {bounds}")
    low, high = bounds
    if low is not None and high is not None and low > high:
        raise ValueError(f" has a lower bound of {low:g} above its upper bound of {high:g}; swap them")
    return Range(name, -inf if low is None else float(low), inf if high is None else float(high))


def _is_bound(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value))


def _find_unusable(name: str, smarts: object) -> Iterator[str]:
    """Yield what is wrong with the name or the SMARTS of a substructure."""
    key = f"{_KEY}.smarts.{name}"
    if not _NAME.fullmatch(name):
        yield f"{key}: a name may have at most 60 letters, digits, spaces, _ and -, as it appears in the log; rename it"
    elif not isinstance(smarts, str):
        yield f"{key} must be a SMARTS, got {smarts}"
    elif violation := find_smarts_violation(smarts, key):
        yield violation
