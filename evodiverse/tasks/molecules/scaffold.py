"""The scaffold of a run: a core that all of its molecules share, with substituents only at open positions."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rdkit import Chem

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.parsing import molecule_of, read_molecule, strip_extension
from evodiverse.vocabulary import Rejection

_KEY = "task.scaffold"
_EXAMPLE = "c1ccc2[nH]c([*:1])nc2c1"


class Match(NamedTuple):
    """A place of the core in a molecule.

    Attributes:
        atoms: The indices of the core's atoms in the molecule.
        free: Of these, the atoms with an open position at which there is a hydrogen.
    """

    atoms: frozenset[int]
    free: frozenset[int]


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A core with open positions, which is compared with molecules exactly.

    A molecule has the core if it has all of its atoms, with their elements, charges, isotopes, aromaticity and
    configuration, and all bonds between them. Every further neighbor of these atoms is a hydrogen of the core or stands
    at an open position. An open position holds a hydrogen, or a substituent that is bound by a single bond that is not
    aromatic. A ring may join open positions, but not by one atom that is bound to both. An open position at an atom or
    a double bond whose configuration the core specifies holds no hydrogen if the configuration would be lost.

    Attributes:
        smiles: The SMILES of the core, in which placeholders such as ``*`` and ``[*:1]`` are the open positions.
    """

    smiles: str

    def is_in(self, molecule: Chem.Mol) -> bool:
        """Return whether a sanitized molecule has the core."""
        return Chem.AddHs(molecule).HasSubstructMatch(_pattern(self.smiles), useChirality=True)

    def find(self, molecule: Chem.Mol) -> tuple[Match, ...]:
        """Return the places of the core in a sanitized molecule, at most 1,000 of them."""
        pattern, n_atoms = _pattern(self.smiles), molecule.GetNumAtoms()
        core = molecule_of(self.smiles)
        positions = [(atom.GetIdx(), neighbor(atom).GetIdx()) for atom in open_positions(core)]
        inner = [atom.GetIdx() for atom in core.GetAtoms() if atom.GetAtomicNum()]
        free_at: dict[frozenset[int], set[int]] = {}
        for found in Chem.AddHs(molecule).GetSubstructMatches(pattern, useChirality=True):
            free = free_at.setdefault(frozenset(found[atom] for atom in inner), set())
            free |= {found[atom] for position, atom in positions if found[position] >= n_atoms}
        return tuple(Match(atoms, frozenset(free)) for atoms, free in free_at.items())

    def describe(self) -> str:
        """Return the condition in words, for prompts."""
        return (
            f"Whatever is asked below, only molecules with the scaffold {self.smiles} are scored: its atoms and bonds "
            "are kept, and it has substituents, each bound by a single bond, only at its open positions (*), where "
            "hydrogens may stay instead."
        )


def open_positions(core: Chem.Mol) -> list[Chem.Atom]:
    """Return the placeholders of a core."""
    return [atom for atom in core.GetAtoms() if atom.GetAtomicNum() == 0]


def neighbor(position: Chem.Atom) -> Chem.Atom:
    """Return the atom that a placeholder is bound to."""
    atom: Chem.Atom = position.GetNeighbors()[0]
    return atom


def read_scaffold(smiles: str | None, max_heavy_atoms: int) -> Scaffold | None:
    """Return the scaffold that ``task.scaffold`` requests, or None if it requests none.

    Raises:
        InputError: The text is not the SMILES of a core with open positions, or the core has more than
            ``max_heavy_atoms`` heavy atoms.
    """
    if smiles is None:
        return None
    core = read_molecule(smiles, max_heavy_atoms)
    if isinstance(core, Rejection) or "~" in smiles:
        fault = core if isinstance(core, Rejection) else "placeholders for bonds"
        raise InputError(f"{_KEY}={smiles[:80]} cannot be used ({fault}); write a core such as {_EXAMPLE}")
    if not (positions := open_positions(core)):
        raise InputError(f"{_KEY}={smiles} has no open position; mark at least one by [*:1], as in {_EXAMPLE}")
    if len(Chem.GetMolFrags(core)) > 1:
        raise InputError(f"{_KEY}={smiles} has several fragments; write a connected core such as {_EXAMPLE}")
    if any([bond.GetBondType() for bond in each.GetBonds()] != [Chem.BondType.SINGLE] for each in positions):
        raise InputError(
            f"{_KEY}={smiles}: each open position must have one bond, a single bond to an atom of the core, as in "
            f"{_EXAMPLE}"
        )
    return Scaffold(strip_extension(smiles))


@lru_cache(maxsize=16)
def _pattern(smiles: str) -> Chem.Mol:
    """Return the pattern that finds a core in molecules with explicit hydrogens.

    Its atoms are those of the SMILES, in their order, followed by the hydrogens of atoms with open positions. Thus all
    neighbors of an atom with an open position are matched, and its substituent cannot stand in place of a hydrogen.
    """
    core = molecule_of(smiles)
    opened = {neighbor(position).GetIdx() for position in open_positions(core)}
    pattern = Chem.RWMol(Chem.AddHs(core, onlyOnAtoms=sorted(opened)))
    for atom in core.GetAtoms():
        if atom.GetAtomicNum() == 0:
            smarts = "[*]"
        else:
            kind = "a" if atom.GetIsAromatic() else "A"
            hydrogens = "" if atom.GetIdx() in opened else f";H{atom.GetTotalNumHs()}"
            smarts = (
                f"[#{atom.GetAtomicNum()};{atom.GetIsotope()}*;{kind};{atom.GetFormalCharge():+d};"
                f"X{atom.GetTotalDegree()}{hydrogens}]"
            )
        _replace(pattern, atom.GetIdx(), smarts)
    for index in range(core.GetNumAtoms(), pattern.GetNumAtoms()):
        _replace(pattern, index, "[#1;0*]")
    return pattern.GetMol()


def _replace(pattern: Chem.RWMol, index: int, smarts: str) -> None:
    """Make an atom match what a SMARTS says; its bonds and its configuration stay."""
    query = Chem.AtomFromSmarts(smarts)
    query.SetChiralTag(pattern.GetAtomWithIdx(index).GetChiralTag())
    pattern.ReplaceAtom(index, query)
