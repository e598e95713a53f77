"""An on-disk cache of the fingerprints, QED, SA scores and scaffolds of molecules."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import rdkit
from rdkit import DataStructs

from evodiverse.errors import DataError, describe, reason
from evodiverse.tasks.molecules import diversity, properties
from evodiverse.tasks.molecules.parsing import read_molecule
from evodiverse.tasks.molecules.properties import Quality
from evodiverse.vocabulary import Rejection

Bits = DataStructs.ExplicitBitVect

_SCHEMA = "CREATE TABLE IF NOT EXISTS known (what TEXT, smiles TEXT, value, PRIMARY KEY (what, smiles)) WITHOUT ROWID"
_BUSY_SECONDS = 60.0
# Above any sensible value of task.max_heavy_atoms.
MAX_HEAVY_ATOMS = 1_000


class NoMoleculeError(ValueError):
    """A text in a log is not a molecule that a run could have logged, so the log is damaged."""


@contextmanager
def open_store(folder: Path) -> Iterator["MoleculeStore"]:
    """Open a cache of properties of molecules in a file that any number of processes may share.

    New values are written on exit; if the process is killed before that, they are computed again later. Each version of
    RDKit has its own file.

    Args:
        folder: The folder of the file, which is created if it does not exist.

    Raises:
        DataError: The file cannot be used.
    """
    path = folder / f"molecules-rdkit-{rdkit.__version__}.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({reason(error)}); set EVODIVERSE_CACHE to a writable folder"
        ) from error
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as file:
            file.execute(_SCHEMA)
            store = MoleculeStore(file)
            try:
                yield store
            finally:
                with file:
                    file.executemany("INSERT OR IGNORE INTO known VALUES (?, ?, ?)", store.new)
    except sqlite3.Error as error:
        raise DataError(
            f"{path} cannot be used ({describe(error)}); delete the file, and it will be created again"
        ) from error


class MoleculeStore:
    """The properties of molecules, from an open file or newly computed (see `open_store`).

    Attributes:
        new: The rows to add to the file.
    """

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        self._known: dict[tuple[str, str], Any] = {}
        self.new: list[tuple[str, str, bytes | str]] = []

    def fingerprint(self, smiles: str) -> Bits:
        """Return the Morgan fingerprint of a valid SMILES (radius 2, 2048 bits)."""
        bits: Bits = self._look_up("fingerprint", smiles)
        return bits

    def scaffold(self, smiles: str) -> str:
        """Return the SMILES of the Murcko scaffold of a valid SMILES, or "" for a molecule without rings."""
        return str(self._look_up("stable scaffold", smiles))

    def quality(self, smiles: str) -> Quality:
        """Return the QED and the SA score of a valid SMILES."""
        found: Quality = self._look_up("quality", smiles)
        return found

    def _look_up(self, what: str, smiles: str) -> Any:
        """Return one of `_PROPERTIES` of a molecule from memory, from the file, or newly computed."""
        compute, write, read = _PROPERTIES[what]
        place = (what, smiles)
        if place not in self._known:
            row = self._file.execute("SELECT value FROM known WHERE what = ? AND smiles = ?", place).fetchone()
            if row is None:
                _check_logged(smiles)
                self._known[place] = compute(smiles)
                self.new.append((*place, write(self._known[place])))
            else:
                self._known[place] = read(row[0])
        return self._known[place]


def _check_logged(smiles: str) -> None:
    """Check a SMILES from a log, which may come from an untrusted source; "" is the scaffold of one without rings.

    Raises:
        NoMoleculeError: The text is not a molecule that a run could have logged, or would keep RDKit busy for minutes.
    """
    molecule = read_molecule(smiles, MAX_HEAVY_ATOMS) if smiles else None
    if isinstance(molecule, Rejection):
        raise NoMoleculeError(f"{smiles[:80]} cannot be measured ({molecule}), and no run logs such a text")


def _write_quality(value: Quality) -> str:
    return f"{value.qed!r} {value.sa_score!r}"


def _read_quality(text: str) -> Quality:
    qed, sa_score = map(float, text.split())
    return Quality(qed, sa_score)


_PROPERTIES: Final[Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "fingerprint": (diversity.fingerprint, DataStructs.BitVectToBinaryText, DataStructs.CreateFromBinaryText),
    "stable scaffold": (properties.find_scaffold, str, str),
    "quality": (properties.assess, _write_quality, _read_quality),
}
"""The properties by their names in the file: functions that compute one, convert it for the file, and back."""
