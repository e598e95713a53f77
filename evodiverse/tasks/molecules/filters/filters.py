"""Applying the filters of a run to molecules, and drawing initial molecules that pass them."""

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Self

import numpy as np
from rdkit import Chem

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.catalogs import Alerts
from evodiverse.tasks.molecules.filters.known import Known, read_known
from evodiverse.tasks.molecules.filters.settings import FilterSettings
from evodiverse.tasks.molecules.initial import AnyLibrary, Molecule
from evodiverse.tasks.molecules.parsing import molecule_of, parse_smiles, read_smarts
from evodiverse.tasks.molecules.properties import PROPERTIES
from evodiverse.text import count_of
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# The properties that take longer than a catalog.
_SLOW = ("qed",)
_MOST_DECIMALS = 9


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """The filters of a run, which can be sent to worker processes.

    Attributes:
        settings: The settings of the filters.
        known: The molecules of the file ``settings.novel``, or None without such a file.
    """

    settings: FilterSettings
    known: Known | None

    @classmethod
    def build(cls, settings: FilterSettings) -> Self:
        """Return the filters that the settings describe, after reading the file of known molecules if they name one.

        Raises:
            InputError: The file of known molecules cannot be used.
        """
        return cls(settings, None if settings.novel is None else read_known(settings.novel))

    def find_faults(self, smiles: str) -> Iterator[str]:
        """Yield what each filter objects to in a molecule, the fastest filters first.

        A catalog reports only the first of its substructures that the molecule has.
        """
        molecule, settings = molecule_of(smiles), self.settings
        alerts = Alerts(molecule)
        yield from _find_elements(molecule, settings.elements)
        yield from _find_ring(molecule, settings.max_ring_size)
        if self.known is not None and smiles in self.known:
            yield f"in {self.known.name}"
        for name, pattern in settings.smarts.items():
            if molecule.HasSubstructMatch(read_smarts(pattern)):
                yield f"smarts {name}"
        for name, bounds in settings.ranges.items():
            if name not in _SLOW:
                yield from _find_outside(molecule, name, *bounds)
        for catalog in settings.catalogs or ():
            alert = next(alerts.find(catalog), None)
            if alert is not None:
                yield f"{catalog} {alert}"
        for name in _SLOW:
            if name in settings.ranges:
                yield from _find_outside(molecule, name, *settings.ranges[name])


def parse_filtered(text: str, max_heavy_atoms: int, filters: Filters | None) -> Hypothesis | Rejection:
    """Return the molecule that a SMILES represents, or why `parse_smiles` or a filter rejects it."""
    parsed = parse_smiles(text, max_heavy_atoms)
    if filters is None or isinstance(parsed, Rejection):
        return parsed
    return find_rejection(filters, parsed.key) or parsed


@lru_cache(maxsize=20_000)  # children recur, and initial molecules are judged when drawn and when evaluated
def find_rejection(filters: Filters, smiles: str) -> Rejection | None:
    """Return which filter rejects a molecule, given as canonical isomeric SMILES, or None if it passes."""
    fault = next(filters.find_faults(smiles), None)
    return None if fault is None else Rejection(Reason.FILTERED, fault)


def _find_elements(molecule: Chem.Mol, allowed: list[str] | None) -> Iterator[str]:
    """Yield one fault for each element that is not allowed, in the order of the atoms; hydrogen is always allowed."""
    if allowed is not None:
        symbols = dict.fromkeys(atom.GetSymbol() for atom in molecule.GetAtoms())
        yield from (f"element {symbol}" for symbol in symbols if symbol not in (*allowed, "H"))


def _find_ring(molecule: Chem.Mol, at_most: int | None) -> Iterator[str]:
    """Yield a fault if the largest ring of the smallest set of smallest rings is too large."""
    if at_most is not None:
        largest = max(map(len, molecule.GetRingInfo().AtomRings()), default=0)
        if largest > at_most:
            yield f"ring of {largest} atoms, at most {at_most}"


def _find_outside(molecule: Chem.Mol, name: str, low: float, high: float) -> Iterator[str]:
    """Yield a fault if a property is outside its range; NaN is outside every range."""
    value = float(PROPERTIES[name](molecule))
    if value > high:
        yield f"{name} {_write_apart(value, high)} above {high:g}"
    elif not value >= low:
        yield f"{name} {_write_apart(value, low)} below {low:g}"


def _write_apart(value: float, bound: float) -> str:
    """Format a value with one decimal, or with more if it would look equal to ``bound``; whole numbers get none."""
    if value.is_integer():
        return f"{value:.0f}"
    texts = (f"{value:.{decimals}f}" for decimals in range(1, _MOST_DECIMALS))
    return next(
        (text for text in texts if (float(text) > bound) == (value > bound) and float(text) != bound), f"{value}"
    )


# The number of molecules drawn, of which enough must pass: _MOST_EACH for each molecule requested, at least _LEAST.
_MOST_EACH: Final = 4
_LEAST: Final = 12_000
_MOST_TOLD: Final = 4

_LOG = logging.getLogger("evodiverse.tasks.molecules")


@dataclass(frozen=True, slots=True)
class FilteredLibrary:
    """A view of a library without the molecules that filters reject; molecules are filtered as they are drawn.

    Attributes:
        library: The library to draw from.
        filters: The filters that molecules must pass.
        max_heavy_atoms: The maximum number of heavy atoms; larger molecules are skipped, too.
        needed: The number of molecules that a pool starts from. If more than this number are requested and too few
            pass, `sample` returns fewer than requested. It raises an error only if fewer than ``needed`` pass.
        told: The messages that were logged, none of which is logged twice.
    """

    library: AnyLibrary
    filters: Filters
    max_heavy_atoms: int
    needed: int
    told: set[str] = field(default_factory=set)

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly from those that pass the filters and are not too large.

        The number of molecules rejected on the way is logged. From a library of at most ``size`` molecules, all that
        pass are returned.

        Raises:
            InputError: No molecule passes. Or more molecules were drawn from the library than the smaller of ``size``
                and ``self.needed`` (the number that a pool starts from), and fewer than that number pass.
        """
        return self._draw_passing(size, rng, size)

    def check(self, size: int, rng: np.random.Generator) -> None:
        """Raise the error that `sample` would raise, which is known as soon as `needed` molecules have passed."""
        self._draw_passing(size, rng, min(size, self.needed))

    def _draw_passing(self, size: int, rng: np.random.Generator, enough: int) -> list[Molecule]:
        """Draw as `sample` does, but stop when ``enough`` molecules have passed."""
        drawn = self.library.sample(max(_LEAST, _MOST_EACH * size), rng)
        if len(drawn) > size:
            drawn = [drawn[index] for index in rng.permutation(len(drawn)).tolist()]
        passed: list[Molecule] = []
        faults: list[str] = []
        for molecule in drawn:
            if len(passed) == enough:
                break
            parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
            if isinstance(parsed, Rejection):
                faults.append(_classify(parsed))
            else:
                passed.append(molecule)
        most = Counter(faults).most_common(_MOST_TOLD)
        n_checked = len(passed) + len(faults)
        expected = min(size, self.needed, len(drawn))
        if not passed or len(passed) < expected < len(drawn):
            shown = f"only {len(passed):,}" if passed else "none"
            fewer = f", set task.initial.size={len(passed)}," if passed else ""
            rejected = "; ".join(f"{kind}, {count_of(n, 'time')}" for kind, n in most)
            raise InputError(
                f"task.filters: {shown} of {n_checked:,} initial molecules pass, expected {expected:,} (most often "
                f"rejected by: {rejected}); loosen the filters{fewer} or provide other molecules with task.initial.path"
            )
        if faults:
            n_other = len(faults) - sum(n for _, n in most)
            kinds = ", ".join(f"{kind} {n:,}" for kind, n in [*most, *([("other", n_other)] if n_other else [])])
            told = f"filters rejected {len(faults):,} of {count_of(n_checked, 'molecule')} drawn for a pool ({kinds})"
            if told not in self.told:  # two pools may draw the same molecules of a small file
                self.told.add(told)
                _LOG.info("%s", told)
        return passed


def _classify(rejection: Rejection) -> str:
    """Return the kind of filter that rejected a molecule, or the reason for the rejection if no filter caused it."""
    if rejection.reason is not Reason.FILTERED:
        return str(rejection.reason)
    return rejection.detail if rejection.detail.startswith("in ") else rejection.detail.split()[0]
