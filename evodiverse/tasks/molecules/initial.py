"""The molecules a search starts from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.parsing import parse_smiles
from evodiverse.vocabulary import Rejection


@dataclass(frozen=True, slots=True)
class Library:
    """SMILES to start from. ``n_skipped`` malformed lines of its file were passed over."""

    smiles: tuple[str, ...]
    n_skipped: int = 0

    def sample(self, size: int, rng: np.random.Generator) -> list[str]:
        """Draw ``size`` different lines uniformly; all of them, in the file's order, when there are no more."""
        if len(self.smiles) <= size:
            return list(self.smiles)
        drawn = rng.choice(len(self.smiles), size=size, replace=False)
        return [self.smiles[index] for index in drawn.tolist()]


def read_published(path: Path) -> Library:
    """Read a library whose checksum vouches for its lines."""
    return Library(tuple(path.read_text(encoding="ascii").split()))


def count_lines(path: Path) -> int:
    """Return how many lines of a ``.smi`` file name a molecule, 0 for one that cannot be read."""
    try:
        return sum(1 for _ in _entries(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return 0


def read_smi(path: Path, max_heavy_atoms: int, *, skip_invalid: bool) -> Library:
    """Read and check a user's ``.smi`` file.

    A line holds a SMILES; anything behind white space is a name, a line that starts with ``#`` a comment.

    Args:
        path: The file.
        max_heavy_atoms: Larger molecules are malformed.
        skip_invalid: Pass over malformed lines instead of refusing the file.

    Raises:
        InputError: The file cannot be read, holds no molecule, or a line is malformed; names every such line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"task.initial.path: cannot read {path}: {error}") from error
    smiles, malformed = [], []
    for number, entry in _entries(text):
        parsed = parse_smiles(entry, max_heavy_atoms)
        if isinstance(parsed, Rejection):
            malformed.append(f"{path} line {number}: {entry[:60]!r} is malformed ({parsed})")
        else:
            smiles.append(parsed.genotype)
    if malformed and not skip_invalid:
        shown = malformed[:5] + ([f"{path}: {len(malformed) - 5} more malformed lines"] if len(malformed) > 5 else [])
        raise InputError(*(f"{message}; mend it or set task.initial.skip_invalid=true" for message in shown))
    if not smiles:
        raise InputError(f"task.initial.path: {path} holds no molecule")
    return Library(tuple(smiles), len(malformed))


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the SMILES of each line that is neither blank nor a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield number, words[0]
