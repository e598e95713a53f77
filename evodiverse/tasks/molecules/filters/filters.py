"""Applying the filters of a run to molecules, known ones among them, and drawing initial molecules that pass."""

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import rdkit
from numpy.typing import NDArray
from rdkit import Chem, DataStructs
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

from evodiverse.errors import InputError
from evodiverse.kit.environment import cache_folder
from evodiverse.kit.files import replace_file
from evodiverse.kit.inputs import expanded, input_sha256
from evodiverse.tasks.molecules.filters.settings import FilterSettings, read_filters
from evodiverse.tasks.molecules.initial import AnyLibrary, Molecule
from evodiverse.tasks.molecules.parsing import MAX_HEAVY_ATOMS, Reader, molecule_of, parse_smiles, read_smarts
from evodiverse.tasks.molecules.properties import PROPERTIES
from evodiverse.tasks.molecules.records import Source, describe_fault
from evodiverse.tasks.molecules.scaffold import Scaffold
from evodiverse.text import count_of
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# The properties that take longer than a catalog.
_SLOW = ("qed",)

_NOVEL: Final = "task.filters.novel"
_READER: Final = Reader(MAX_HEAVY_ATOMS, allow_fragments=True)
# Part of the names of stored hashes; to be increased when files or molecules are read in another way.
_READING: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Known molecules as 64-bit hashes of their canonical isomeric SMILES.

    With a million known molecules, a new one is mistaken for a known one with a probability of 1 in 2 * 10^13.

    Attributes:
        name: The name of the file.
        hashes: ``(n,)`` uint64, in increasing order.
    """

    name: str
    hashes: NDArray[np.uint64]

    def __contains__(self, smiles: str) -> bool:
        """Return whether a molecule, given as canonical isomeric SMILES, is one of those whose hashes are stored."""
        place = int(np.searchsorted(self.hashes, _hash_smiles(smiles)))
        return place < len(self.hashes) and bool(self.hashes[place] == _hash_smiles(smiles))


def read_known(file: str) -> Known:
    """Read a file of known molecules in one of the formats of `Source`.

    If a molecule has several fragments, like a salt, each fragment counts as known, too. The hashes are stored in the
    cache folder, since reading takes about 0.2 ms per molecule.

    Raises:
        InputError: The file cannot be read, contains no molecules, or has an invalid record, whose line the message
            names.
    """
    path = expanded(file)
    return _load_known(path, input_sha256(path, _NOVEL))


@lru_cache(maxsize=2)  # needed by the check before a run and by the run itself
def _load_known(path: Path, sha256: str) -> Known:
    suffix = "".join(path.suffixes[-2:]).lower()
    kept = cache_folder() / "known" / f"{sha256}{suffix}-{_READING}-rdkit-{rdkit.__version__}.npy"
    with suppress(OSError, ValueError):  # not stored yet, or damaged
        return Known(path.name, np.load(kept, allow_pickle=False))
    hashes = np.unique(np.fromiter(_hash_all(path), np.uint64))
    if not len(hashes):
        raise InputError(f"{_NOVEL}: {path} contains no molecules")
    with suppress(OSError):  # a cache that cannot be written only costs time
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, lambda file: np.save(file, hashes))
    return Known(path.name, hashes)


def _hash_all(path: Path) -> Iterator[np.uint64]:
    """Yield the hashes of the molecules of a file and of their fragments.

    Raises:
        InputError: The file cannot be read, or a record holds no molecule.
    """
    source = Source(path, key=_NOVEL, column_key=None)
    for record in source.records():
        parsed = source.parse(record, _READER)
        if isinstance(parsed, Rejection):
            raise InputError(f"{_NOVEL}: {path} {describe_fault(record, parsed)}; fix it or remove it")
        yield _hash_smiles(parsed.key)
        if "." in parsed.key:
            fragments = map(_READER.read, parsed.key.split("."))
            yield from (_hash_smiles(fragment.key) for fragment in fragments if not isinstance(fragment, Rejection))


def _hash_smiles(smiles: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(smiles.encode(), digest_size=8).digest()))


# PAINS names end with the number of matches in the authors' library, in parentheses; one BRENK name begins with ">_".
_NO_NAME: Final = re.compile(r"^>_|\(\d+\)$")
# How RDKit serializes a pattern within an entry: its length, then its bytes, which start with this magic number.
_PATTERN: Final = re.compile(rb" (\d+) (?=\xef\xbe\xad\xde)")

_Bits = NDArray[np.uint64]


def find_alerts(molecule: Chem.Mol, catalogs: Iterable[str]) -> Iterator[str]:
    """Yield each catalog of which a molecule has a substructure, with the name of the first that it has."""
    absent = ~_bits(molecule)
    for catalog in catalogs:
        entries, bits = _load_catalog(catalog)
        # Most substructures have a bit that the molecule does not have, and are thus ruled out a hundred times faster
        # than by a substructure search.
        for place in np.flatnonzero(~(bits & absent).any(axis=1)).tolist():
            if entries[place].HasFilterMatch(molecule):
                yield f"{catalog} {_NO_NAME.sub('', entries[place].GetDescription())}"
                break


@cache
def _load_catalog(catalog: str) -> tuple[tuple[Any, ...], _Bits]:
    """Return the ``n`` substructures of a catalog, and their pattern fingerprints as ``(n, 32)`` uint64.

    The fingerprint of a molecule that has a substructure has all bits of the substructure's fingerprint. Loading takes
    up to a fifth of a second.
    """
    known = FilterCatalog(FilterCatalogParams(getattr(FilterCatalogParams.FilterCatalogs, catalog)))
    entries = tuple(known.GetEntryWithIdx(place) for place in range(known.GetNumEntries()))
    return entries, np.stack([_bits(_read_pattern(entry.Serialize())) for entry in entries])


def _read_pattern(serialized: bytes) -> Chem.Mol:
    """Return the pattern of a serialized catalog entry, or an empty pattern if the entry has none or several.

    An empty pattern has an empty fingerprint. The comparison of fingerprints thus never rules out the entry, and each
    molecule is searched for the substructure of the entry.
    """
    found = list(_PATTERN.finditer(serialized))
    if len(found) != 1:
        return Chem.Mol()
    begin = found[0].end()
    return Chem.Mol(serialized[begin : begin + int(found[0][1])])  # type: ignore[call-overload, no-any-return]


def _bits(molecule: Chem.Mol) -> _Bits:
    """Return the pattern fingerprint as 32 uint64; it includes the bits of each substructure of the molecule."""
    return np.frombuffer(DataStructs.BitVectToBinaryText(Chem.PatternFingerprint(molecule)), np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """The filters of a run, which can be sent to worker processes.

    Attributes:
        settings: The settings of the filters.
        known: The molecules of the file ``settings.novel``, or None without such a file.
        scaffold: The scaffold whose core molecules must have, or None.
    """

    settings: FilterSettings
    known: Known | None
    scaffold: Scaffold | None = None

    def find_faults(self, smiles: str) -> Iterator[str]:
        """Yield what each filter objects to in a molecule, the fastest filters first.

        A catalog reports only the first of its substructures that the molecule has.
        """
        molecule, settings = molecule_of(smiles), self.settings
        if self.scaffold is not None and not self.scaffold.is_in(molecule):
            yield "scaffold not kept"
        if settings.elements is not None:  # hydrogen is always allowed
            symbols = dict.fromkeys(atom.GetSymbol() for atom in molecule.GetAtoms())
            yield from (f"element {symbol}" for symbol in symbols if symbol not in (*settings.elements, "H"))
        if settings.max_ring_size is not None:  # of the smallest set of smallest rings
            largest = max(map(len, molecule.GetRingInfo().AtomRings()), default=0)
            if largest > settings.max_ring_size:
                yield f"ring of {largest} atoms, at most {settings.max_ring_size}"
        if self.known is not None and smiles in self.known:
            yield f"in {self.known.name}"
        for kind, patterns, is_wanted in (("smarts", settings.smarts, False), ("require", settings.require, True)):
            for name, pattern in patterns.items():
                if molecule.HasSubstructMatch(read_smarts(pattern)) != is_wanted:
                    yield f"{kind} {name}"
        if (similar := settings.similar_to) is not None:
            yield from _find_outside("similarity", similar.component.measure(molecule), similar.least, similar.most)
        for name, bounds in settings.ranges.items():
            if name not in _SLOW:
                yield from _find_outside(name, float(PROPERTIES[name](molecule)), *bounds)
        yield from find_alerts(molecule, settings.catalogs or ())
        for name in settings.ranges.keys() & _SLOW:
            yield from _find_outside(name, float(PROPERTIES[name](molecule)), *settings.ranges[name])


@lru_cache(maxsize=4)  # the same object each time, by which `find_rejection` keeps its answers
def admit_known(filters: Filters) -> Filters:
    """Return the filters for molecules that a search starts from, which may be known ones."""
    return replace(filters, known=None)


def build_filters(value: object, scaffold: Scaffold | None = None) -> Filters | None:
    """Return the filters that ``task.filters`` requests, after reading the file of known molecules if it names one.

    Args:
        value: The value of ``task.filters``.
        scaffold: The scaffold, which is a filter, too; None for no scaffold.

    Raises:
        InputError: The value is invalid, or the file of known molecules cannot be used.
    """
    settings = read_filters(value)
    if settings is None and scaffold is None:
        return None
    settings = settings or FilterSettings()
    return Filters(settings, None if settings.novel is None else read_known(settings.novel), scaffold)


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


def _find_outside(name: str, value: float, low: float, high: float) -> Iterator[str]:
    """Yield a fault if a property is outside its range; NaN is outside every range."""
    if value > high:
        yield f"{name} {_write_apart(value, high)} above {high:g}"
    elif not value >= low:
        yield f"{name} {_write_apart(value, low)} below {low:g}"


def _write_apart(value: float, bound: float) -> str:
    """Format a value with one decimal, or with more if it would look equal to ``bound``; whole numbers get none."""
    if value.is_integer():
        return f"{value:.0f}"
    texts = (f"{value:.{decimals}f}" for decimals in range(1, 9))
    return next((text for text in texts if np.sign(float(text) - bound) == np.sign(value - bound)), f"{value}")


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
    """

    library: AnyLibrary
    filters: Filters
    max_heavy_atoms: int
    needed: int

    def sample(self, size: int, rng: np.random.Generator, enough: int | None = None) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly from those that pass the filters and are not too large.

        The number of molecules rejected on the way is logged. From a library of at most ``size`` molecules, all that
        pass are returned.

        Args:
            size: The number of molecules.
            rng: The random generator.
            enough: The number of passing molecules after which to stop; None for ``size``.

        Raises:
            InputError: No molecule passes. Or more molecules were drawn from the library than the smaller of ``size``
                and ``self.needed`` (the number that a pool starts from), and fewer than that number pass.
        """
        enough = size if enough is None else enough
        drawn = self.library.sample(max(_LEAST, _MOST_EACH * size), rng)
        if len(drawn) > size:
            drawn = [drawn[index] for index in rng.permutation(len(drawn)).tolist()]
        passed: list[Molecule] = []
        faults: list[Rejection] = []
        for molecule in drawn:
            if len(passed) == enough:
                break
            parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
            if isinstance(parsed, Rejection):
                faults.append(parsed)
            else:
                passed.append(molecule)
        kinds = count_kinds(faults)
        n_checked = len(passed) + len(faults)
        expected = min(size, self.needed, len(drawn))
        if not passed or len(passed) < expected < len(drawn):
            shown = f"only {len(passed):,}" if passed else "none"
            fewer = f", set task.initial.size={len(passed)}," if passed else ""
            raise InputError(
                f"task.filters: {shown} of {n_checked:,} initial molecules pass, expected {expected:,} (rejected by: "
                f"{kinds}); loosen the filters{fewer} or provide other molecules with task.initial.path"
            )
        if faults:
            n_told = count_of(n_checked, "molecule")
            _LOG.info("filters rejected %s of %s drawn for a pool (%s)", f"{len(faults):,}", n_told, kinds)
        return passed


def count_kinds(rejections: Sequence[Rejection]) -> str:
    """Return how many molecules each kind of filter rejected, the most frequent kinds first."""
    most = Counter(map(_classify, rejections)).most_common(_MOST_TOLD)
    n_other = len(rejections) - sum(n for _, n in most)
    return ", ".join(f"{kind} {n:,}" for kind, n in [*most, *([("other", n_other)] if n_other else [])])


def _classify(rejection: Rejection) -> str:
    """Return the kind of filter that rejected a molecule, or the reason for the rejection if no filter caused it."""
    if rejection.reason is not Reason.FILTERED:
        return str(rejection.reason)
    return rejection.detail if rejection.detail.startswith("in ") else rejection.detail.split()[0]
