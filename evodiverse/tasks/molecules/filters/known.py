"""Known molecules, read from a user's file, which a search should not find again."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import rdkit
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.kit.environment import cache_folder
from evodiverse.kit.files import replace_file
from evodiverse.kit.inputs import expanded, input_sha256
from evodiverse.tasks.molecules.parsing import MAX_HEAVY_ATOMS, Reader
from evodiverse.tasks.molecules.records import Source, describe_fault
from evodiverse.vocabulary import Rejection

KEY: Final = "task.filters.novel"
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
    return _load_known(path, input_sha256(path, KEY))


@lru_cache(maxsize=2)  # needed by the check before a run and by the run itself
def _load_known(path: Path, sha256: str) -> Known:
    suffix = "".join(path.suffixes[-2:]).lower()
    kept = cache_folder() / "known" / f"{sha256}{suffix}-{_READING}-rdkit-{rdkit.__version__}.npy"
    with suppress(OSError, ValueError):  # not stored yet, or damaged
        return Known(path.name, np.load(kept, allow_pickle=False))
    hashes = np.unique(np.fromiter(_hash_all(path), np.uint64))
    if not len(hashes):
        raise InputError(f"{KEY}: {path} contains no molecules")
    with suppress(OSError):  # a cache that cannot be written only costs time
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, lambda file: np.save(file, hashes))
    return Known(path.name, hashes)


def _hash_all(path: Path) -> Iterator[np.uint64]:
    """Yield the hashes of the molecules of a file and of their fragments.

    Raises:
        InputError: The file cannot be read, or a record holds no molecule.
    """
    source = Source(path, key=KEY, column_key=None)
    for record in source.records():
        parsed = source.parse(record, _READER)
        if isinstance(parsed, Rejection):
            raise InputError(f"{KEY}: {path} {describe_fault(record, parsed)}; fix it or remove it")
        yield _hash_smiles(parsed.key)
        if "." in parsed.key:
            fragments = map(_READER.read, parsed.key.split("."))
            yield from (_hash_smiles(fragment.key) for fragment in fragments if not isinstance(fragment, Rejection))


def _hash_smiles(smiles: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(smiles.encode(), digest_size=8).digest()))
