"""Reading and checking ``task.filters``, and the built-in sets of filters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.documented import join_or, nearest, setting
from evodiverse.kit.files import read_shipped
from evodiverse.kit.hints import wrong_type
from evodiverse.kit.typed import merge_typed
from evodiverse.tasks.molecules.objective.components import FINGERPRINTS, Similarity
from evodiverse.tasks.molecules.parsing import find_smarts_violations
from evodiverse.tasks.molecules.properties import ELEMENTS, PROPERTIES, in_words

SETS: Final[Mapping[str, Mapping[str, Any]]] = read_shipped(Path(__file__).with_name("sets.yaml"))
"""The filters that each name stands for, in the form of ``task.filters``."""

# In the order in which they are applied: those that reject the most molecules per unit of time come first.
CATALOGS: Final = ("BRENK", "NIH", "PAINS")
"""The names of the catalogs: BRENK (Brenk et al. 2008: unwanted in screening libraries), NIH (Doveston et al. 2015,
Jadhav et al. 2010: reactive or interfering) and PAINS (Baell and Holloway 2010: hits in many assays)."""

_KEY: Final = "task.filters"
_GROUPS: Final = ("ranges", "smarts", "require")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ -]{0,59}")


@dataclass
class SimilarTo:
    """The allowed range, with its bounds, of the Tanimoto similarity to the most similar of the given molecules.

    Attributes:
        smiles: molecules to compare with; the most similar one counts
        least: the smallest similarity allowed
        most: the largest similarity allowed
        fingerprint: fingerprint that is compared
    """

    smiles: list[str] = setting()
    least: float = setting(default=0.0, least=0, most=1)
    most: float = setting(default=1.0, least=0, most=1)
    fingerprint: str = setting(default="ECFP4", choices=tuple(FINGERPRINTS))

    @property
    def component(self) -> Similarity:
        """The component of an objective that measures the similarity."""
        return Similarity("similarity", smiles=self.smiles, fingerprint=self.fingerprint)

    def describe(self) -> str:
        """Return the condition in words."""
        return f"{self.component.describe()} {_describe_range(self.least, self.most)}"


@dataclass
class FilterSettings:
    """The content of ``task.filters``, after `read_filters` has checked it.

    The bounds of each range are included, and are infinite where there is no bound. Each of ``smarts`` is the pattern
    of a forbidden substructure, by a name of the user's choice, and each of ``require`` that of a necessary one.

    Attributes:
        elements: the allowed elements, besides hydrogen
        max_ring_size: larger rings are rejected
        novel: file of known molecules, which are rejected
        ranges: the allowed range of each property: [low, high], or null for no bound
        smarts: the forbidden substructures
        require: the substructures that a molecule must have
        similar_to: what molecules must be similar to, or different from
        catalogs: RDKit's catalogs of unwanted substructures
    """

    elements: list[str] | None = None
    max_ring_size: int | None = setting(default=None, unit="atoms", least=3)
    novel: str | None = None
    ranges: dict[str, Any] = field(default_factory=dict)
    smarts: dict[str, Any] = field(default_factory=dict)
    require: dict[str, Any] = field(default_factory=dict)
    similar_to: SimilarTo | None = None
    catalogs: list[str] | None = None

    def describe(self) -> str:
        """Return all conditions on one line, for prompts."""
        terms = [
            *([] if self.elements is None else [f"no elements but H, {', '.join(self.elements)}"]),
            *([] if self.max_ring_size is None else [f"no ring of more than {self.max_ring_size} atoms"]),
            *(f"{in_words(name)} {_describe_range(*bounds)}" for name, bounds in self.ranges.items()),
            *(f"no substructure {smarts} ({name})" for name, smarts in self.smarts.items()),
            *(f"the substructure {smarts} ({name})" for name, smarts in self.require.items()),
            *([] if self.similar_to is None else [self.similar_to.describe()]),
            *([f"no structural alert of {', '.join(self.catalogs)}"] if self.catalogs else []),
            *([] if self.novel is None else ["not a known molecule"]),
        ]
        return f"Only molecules that meet all of these conditions are scored: {'; '.join(terms)}."


def _describe_range(low: float, high: float) -> str:
    if low == -inf:
        return f"at most {high:g}"
    return f"at least {low:g}" if high == inf else f"from {low:g} to {high:g}"


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
    own = {"set": value} if isinstance(value, str) else value
    if not isinstance(own, Mapping):
        raise InputError(f"{_KEY} must be null, the name of a set ({', '.join(SETS)}) or a group of keys, got {value}")
    merged, violations = _extend_set(own)
    ranges, smarts, require = (merged.pop(name, {}) for name in _GROUPS)  # not typed, so that names may be numbers
    similar = merged.pop("similar_to", None)
    settings, wrong = merge_typed(FilterSettings, merged, f"{_KEY}.")
    if settings is None:
        raise InputError(*violations, *wrong)
    violations += wrong
    if settings.elements == []:
        violations.append(f"{_KEY}.elements must name at least one element, got []; null allows all")
    for symbol in settings.elements or ():
        if symbol not in ELEMENTS:
            violations.append(f"{_KEY}.elements: {symbol} is not an element; write a symbol such as F")
    for name in settings.catalogs or ():
        if name not in CATALOGS:
            violations.append(f"{_KEY}.catalogs: {name} is unknown; {nearest(name.upper(), CATALOGS)}")
    for name, bounds in ranges.items():
        try:
            settings.ranges[name] = _read_range(name, bounds)
        except ValueError as error:
            violations.append(f"{_KEY}.ranges.{name}{error}")
    for key, patterns in (("smarts", smarts), ("require", require)):
        for name, pattern in patterns.items():
            violations += _find_unusable(f"{_KEY}.{key}.{name}", str(name), pattern)
    if similar is not None:
        settings.similar_to, wrong = _read_similar(similar, f"{_KEY}.similar_to")
        violations += wrong
    if violations:
        raise InputError(*violations)
    settings.ranges = {name: bounds for name, bounds in settings.ranges.items() if bounds != (-inf, inf)}
    settings.smarts, settings.require = smarts, require
    settings.catalogs = [name for name in CATALOGS if name in (settings.catalogs or ())] or None
    return None if settings == FilterSettings() else settings


def _extend_set(own: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Merge ``task.filters`` with the built-in set that it names, and return the result and what is wrong with it.

    Catalogs, ranges and substructures are added to those of the set, or replace one of the same name; other keys
    replace those of the set. A key with the value null removes what the set has, and ``without`` removes catalogs.
    """
    named = own.get("set")
    merged = dict(SETS.get(str(named), {}))
    unknown = named is not None and str(named) not in SETS
    violations = [f"{_KEY}: there is no set {named}; use {join_or(tuple(SETS))}"] if unknown else []
    for key, value in own.items():
        listed = [value] if isinstance(value, str) and key in ("catalogs", "elements") else value
        if key in _GROUPS:
            if not isinstance(value, Mapping | None):
                violations.append(f"{_KEY}.{key} must be a group of keys, got {value}")
            else:
                merged[key] = {} if value is None else {**merged.get(key, {}), **value}
        elif key == "catalogs" and isinstance(listed, list):
            merged[key] = [*(merged.get(key) or []), *listed]
        elif key not in ("set", "without"):
            merged[key] = listed
    left_out = own.get("without") or []
    for name in left_out if isinstance(left_out, list) else [left_out]:
        if name in (merged.get("catalogs") or ()):
            merged["catalogs"] = [one for one in merged["catalogs"] if one != name]
        else:
            violations.append(f"{_KEY}.without: {name} is not a catalog in use; leave it out")
    return merged, violations


def _read_range(name: object, bounds: Any) -> tuple[float, float]:
    """Return the allowed range of a property.

    Raises:
        ValueError: The property is unknown or its bounds are invalid. The caller must put the key of the range before
            the message, which starts with a space.
    """
    if name not in PROPERTIES:
        raise ValueError(f" is unknown; {nearest(str(name), list(PROPERTIES))}")
    if bounds is None:
        return -inf, inf
    is_range = isinstance(bounds, list) and len(bounds) == 2
    if not is_range or not all(one is None or (type(one) in (int, float) and isfinite(one)) for one in bounds):
        raise ValueError(f" must be [low, high], each a finite number or null, got {bounds}")
    low, high = (none if bound is None else float(bound) for bound, none in zip(bounds, (-inf, inf), strict=True))
    if low > high:
        raise ValueError(f" has a lower bound of {low:g} above its upper bound of {high:g}; swap them")
    return low, high


def _read_similar(value: object, key: str) -> tuple[SimilarTo | None, list[str]]:
    """Return the condition on the similarity, and what is wrong with it."""
    if not isinstance(value, Mapping):
        return None, [wrong_type(key, "a group of keys with smiles, least and most", value)]
    if isinstance(smiles := value.get("smiles"), str):
        value = {**value, "smiles": [smiles]}
    similar, violations = merge_typed(SimilarTo, value, f"{key}.")
    if similar is not None and not violations:
        violations = list(similar.component.find_violations(f"{key}."))
        if similar.least > similar.most:
            violations.append(f"{key}.least={similar.least:g} is above {key}.most={similar.most:g}; swap them")
    return similar, violations


def _find_unusable(key: str, name: str, smarts: object) -> Iterator[str]:
    """Yield what is wrong with the name or the SMARTS of a substructure."""
    if not _NAME.fullmatch(name):
        yield f"{key}: a name may have at most 60 letters, digits, spaces, _ and -, as it appears in the log; rename it"
    elif not isinstance(smarts, str):
        yield f"{key} must be a SMARTS, got {smarts}"
    else:
        yield from find_smarts_violations(smarts, key)
