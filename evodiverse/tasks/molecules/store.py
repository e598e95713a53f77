"""An on-disk cache of the fingerprints, QED, SA scores and scaffolds of molecules."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import rdkit
from rdkit import Chem, DataStructs

from evodiverse.errors import DataError, InputError, describe, reason
from evodiverse.kit.files import refuse_link
from evodiverse.tasks.molecules import diversity, properties
from evodiverse.tasks.molecules.parsing import read_molecule
from evodiverse.tasks.molecules.properties import Quality
from evodiverse.vocabulary import Reason, Rejection

Bits = DataStructs.ExplicitBitVect

_SCHEMA = "CREATE TABLE IF NOT EXISTS known (what TEXT, smiles TEXT, value, PRIMARY KEY (what, smiles)) WITHOUT ROWID"
_BUSY_SECONDS = 60.0
# Above any sensible value of task.max_heavy_atoms.
MAX_HEAVY_ATOMS = 1_000


class NoMoleculeError(ValueError):
    """A text in a log is not a molecule that a run could have logged, so the log is damaged."""


class MoleculeStore:
    """A context manager that caches properties of molecules in a file that any number of processes may share.

    New values are written on exit; if the process is killed before that, they are computed again later. Each version of
    RDKit has its own file.

    Args:
        folder: The folder of the file, which is created if it does not exist.

    Raises:
        DataError: The file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"molecules-rdkit-{rdkit.__version__}.sqlite"
        self._known: dict[tuple[str, str], Any] = {}
        self._new: list[tuple[str, str, bytes | str]] = []

    def __enter__(self) -> Self:
        """Open the file."""
        try:
            refuse_link(self._path)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
            self._file.execute(_SCHEMA)
        except OSError as error:
            raise DataError(
                f"{self._path} cannot be written ({reason(error)}); set EVODIVERSE_CACHE to a writable folder"
            ) from error
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        except InputError as error:  # a fault of the cache, not of the run that is being measured
            raise DataError(str(error)) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write the new values, and close the file."""
        try:
            with self._file:
                self._file.executemany("INSERT OR IGNORE INTO known VALUES (?, ?, ?)", self._new)
        except sqlite3.Error as failure:
            raise self._unusable(failure) from failure
        finally:
            self._file.close()

    def fingerprint(self, smiles: str) -> Bits:
        """Return the Morgan fingerprint of a valid SMILES (radius 2, 2048 bits)."""
        bits: Bits = self._look_up(
            "fingerprint",
            smiles,
            diversity.molecule_fingerprint,
            DataStructs.BitVectToBinaryText,
            DataStructs.CreateFromBinaryText,
        )
        return bits

    def scaffold(self, smiles: str) -> str:
        """Return the SMILES of the Murcko scaffold of a valid SMILES, or "" for a molecule without rings."""
        return str(self._look_up("stable scaffold", smiles, properties.molecule_scaffold, str, str))

    def quality(self, smiles: str) -> Quality:
        """Return the QED and the SA score of a valid SMILES."""
        found: Quality = self._look_up("quality", smiles, properties.assess_molecule, _write_quality, _read_quality)
        return found

    def _look_up(
        self,
        what: str,
        smiles: str,
        compute: Callable[[Chem.Mol], Any],
        write: Callable[[Any], bytes | str],
        read: Callable[[Any], Any],
    ) -> Any:
        """Return a property of a molecule from memory, from the file, or newly computed.

        Args:
            what: The name of the property in the file.
            smiles: The molecule.
            compute: A function that computes the property.
            write: A function that converts the property for the file.
            read: A function that converts the property back.
        """
        place = (what, smiles)
        if place not in self._known:
            try:
                row = self._file.execute("SELECT value FROM known WHERE what = ? AND smiles = ?", place).fetchone()
            except sqlite3.Error as error:
                raise self._unusable(error) from error
            if row is None:
                self._known[place] = compute(_read_logged(smiles))
                self._new.append((*place, write(self._known[place])))
            else:
                self._known[place] = read(row[0])
        return self._known[place]

    def _unusable(self, error: sqlite3.Error) -> DataError:
        return DataError(
            f"{self._path} cannot be used ({describe(error)}); delete the file, and it will be created again"
        )


def _read_logged(smiles: str) -> Chem.Mol:
    """Return the molecule of a SMILES from a log, or an empty molecule for "".

    The scaffold of a molecule without rings is "". A log may come from an untrusted source, so the text is checked.

    Raises:
        NoMoleculeError: The text is not a molecule that a run could have logged, or would keep RDKit busy for minutes.
    """
    if not smiles:
        return Chem.MolFromSmiles("")
    molecule = read_molecule(smiles, MAX_HEAVY_ATOMS)
    if isinstance(molecule, Chem.Mol) and any(sign in smiles for sign in ".*~"):
        molecule = Rejection(Reason.UNPARSABLE, "several fragments, or placeholders for atoms or bonds")
    if isinstance(molecule, Rejection):
        raise NoMoleculeError(f"{smiles[:80]} cannot be measured ({molecule}), and no run logs such a text")
    return molecule


def _write_quality(value: Quality) -> str:
    return f"{value.qed!r} {value.sa_score!r}"


def _read_quality(text: str) -> Quality:
    qed, sa_score = map(float, text.split())
    return Quality(qed, sa_score)
