"""Reading and checking the SMARTS patterns that users provide."""

from functools import lru_cache

from rdkit import Chem, rdBase

MAX_CHARACTERS = 1_000


@lru_cache(maxsize=256)
def read_smarts(smarts: str) -> Chem.Mol:
    """Return the pattern of a SMARTS.

    Raises:
        ValueError: The text is not a SMARTS, is empty, or is too long.
    """
    with rdBase.BlockLogs():
        pattern: Chem.Mol | None = Chem.MolFromSmarts(smarts) if len(smarts) <= MAX_CHARACTERS else None
    if pattern is None or pattern.GetNumAtoms() == 0:
        raise ValueError(f"expected a SMARTS of 1 to {MAX_CHARACTERS} characters, got {smarts[:80]!r}")
    return pattern


def find_smarts_violation(smarts: str, key: str) -> str | None:
    """Return what is wrong with the SMARTS of a configuration key, or None if it can be used."""
    try:
        read_smarts(smarts)
    except ValueError as error:
        return f"{key}: {error}"
    return None
