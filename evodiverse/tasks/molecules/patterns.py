"""SMARTS that users give."""

from functools import lru_cache

from rdkit import Chem, rdBase

MAX_CHARACTERS = 1_000


@lru_cache(maxsize=256)
def read_smarts(smarts: str) -> Chem.Mol:
    """Return the pattern that a SMARTS stands for, which is not empty.

    Raises:
        ValueError: It is no SMARTS, or a very long one.
    """
    with rdBase.BlockLogs():
        pattern: Chem.Mol | None = Chem.MolFromSmarts(smarts) if len(smarts) <= MAX_CHARACTERS else None
    if pattern is None or pattern.GetNumAtoms() == 0:
        raise ValueError(f"{smarts[:80]!r} is no SMARTS of at most {MAX_CHARACTERS} characters")
    return pattern


def find_smarts_violation(smarts: str, key: str) -> str | None:
    """Return what is wrong with the SMARTS of a key, None if it can be used."""
    try:
        read_smarts(smarts)
    except ValueError as error:
        return f"{key}: {error}"
    return None
