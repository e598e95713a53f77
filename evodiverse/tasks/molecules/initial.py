"""The molecules a search starts from."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from evodiverse.errors import InputError
from evodiverse.kit.inputs import DATA_BYTES, expanded, read_text_input
from evodiverse.tasks.molecules.parsing import parse_smiles
from evodiverse.vocabulary import Rejection

MAX_SHOWN = 5


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
        text = read_text_input(expanded(path), DATA_BYTES, "utf-8-sig")
    except (OSError, ValueError) as error:  # also a null byte, not UTF-8
        raise InputError(f"task.initial.path: cannot read {path}: {error}") from error
    smiles, malformed = _parse_lines(text, max_heavy_atoms)
    if malformed and not skip_invalid:
        shown = [f"{path} {message}" for message in malformed[:MAX_SHOWN]]
        if len(malformed) > MAX_SHOWN:
            shown.append(f"{path}: {len(malformed) - MAX_SHOWN} more malformed lines")
        raise InputError(*(f"{message}; mend it or set task.initial.skip_invalid=true" for message in shown))
    if not smiles:
        raise InputError(f"task.initial.path: {path} holds no molecule")
    return Library(smiles, len(malformed))


@lru_cache(maxsize=2)
def _parse_lines(text: str, max_heavy_atoms: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the molecules of a file and what is wrong with its other lines; kept, for a file is checked before use."""
    smiles, malformed = [], []
    for number, entry in _entries(text):
        parsed = parse_smiles(entry, max_heavy_atoms)
        if isinstance(parsed, Rejection):
            malformed.append(f"line {number}: {entry[:60]!r} is malformed ({parsed})")
        else:
            smiles.append(parsed.genotype)
    return tuple(smiles), tuple(malformed)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the SMILES of each line that is neither blank nor a comment."""
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield number, words[0]
