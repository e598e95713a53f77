"""Applying the filters of a run to molecules."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from rdkit import Chem

from evodiverse.tasks.molecules.filters.catalogs import Alerts
from evodiverse.tasks.molecules.filters.known import Known, read_known
from evodiverse.tasks.molecules.filters.settings import FilterSettings, Range
from evodiverse.tasks.molecules.parsing import molecule_of, parse_smiles
from evodiverse.tasks.molecules.patterns import read_smarts
from evodiverse.tasks.molecules.properties import PROPERTIES
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

    def find_rejection(self, smiles: str) -> Rejection | None:
        """Return which filter rejects a molecule, given as canonical isomeric SMILES, or None if it passes."""
        return _judge(self, smiles)

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
        for one in settings.ranges:
            if one.name not in _SLOW:
                yield from _find_outside(molecule, one)
        for catalog in settings.catalogs:
            alert = next(alerts.find(catalog), None)
            if alert is not None:
                yield f"{catalog} {alert}"
        for one in settings.ranges:
            if one.name in _SLOW:
                yield from _find_outside(molecule, one)


def parse_filtered(text: str, max_heavy_atoms: int, filters: Filters | None) -> Hypothesis | Rejection:
    """Return the molecule that a SMILES represents, or why `parse_smiles` or a filter rejects it."""
    parsed = parse_smiles(text, max_heavy_atoms)
    if filters is None or isinstance(parsed, Rejection):
        return parsed
    return filters.find_rejection(parsed.key) or parsed


@lru_cache(maxsize=20_000)  # children recur, and initial molecules are judged when drawn and when evaluated
def _judge(filters: Filters, smiles: str) -> Rejection | None:
    fault = next(filters.find_faults(smiles), None)
    return None if fault is None else Rejection(Reason.FILTERED, fault)


def _find_elements(molecule: Chem.Mol, allowed: tuple[str, ...] | None) -> Iterator[str]:
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


def _find_outside(molecule: Chem.Mol, allowed: Range) -> Iterator[str]:
    """Yield a fault if a property is outside its range; NaN is outside every range."""
    value = float(PROPERTIES[allowed.name](molecule))
    if value > allowed.high:
        yield f"{allowed.name} {_write_apart(value, allowed.high)} above {allowed.high:g}"
    elif not value >= allowed.low:
        yield f"{allowed.name} {_write_apart(value, allowed.low)} below {allowed.low:g}"


def _write_apart(value: float, bound: float) -> str:
    """Format a value with one decimal, or with more if it would look equal to ``bound``; whole numbers get none."""
    if value.is_integer():
        return f"{value:.0f}"
    texts = (f"{value:.{decimals}f}" for decimals in range(1, _MOST_DECIMALS))
    return next(
        (text for text in texts if (float(text) > bound) == (value > bound) and float(text) != bound), f"{value}"
    )
