"""The rules that children of Graph GA must obey, and the two graph edits that its crossover and mutation use.

The rules are those of Jensen (2019), "A graph-based genetic algorithm and generative model/Monte Carlo tree search for
the exploration of chemical space", Chemical Science 10, 3567. Parents are edited in Kekulé form with all hydrogens
implicit; otherwise a pyrrole nitrogen or a stereocenter would keep a hydrogen for which the edit leaves no room.
"""

from functools import lru_cache
from typing import Final, cast

import numpy as np
from rdkit import Chem

from evodiverse.tasks.molecules.parsing import canonical_form, molecule_of
from evodiverse.tasks.molecules.scaffold import Scaffold

TRIES: Final = 10
"""The maximum number of tries in each loop of Graph GA. Loops are nested: each try of `cross_over` calls
`cross_chains` or `cross_rings`, which has as many tries."""

MAX_RING: Final = 6

_RING_ALLENE = Chem.MolFromSmarts("[R]=[R]=[R]")
_SMALL_RING_DOUBLE_BOND = Chem.MolFromSmarts("[r3,r4]=[r3,r4]")


def has_allowed_size(n_atoms: int, rng: np.random.Generator) -> bool:
    """Return whether a child has more than 5 atoms and fewer than a limit drawn from N(39.15, 3.5²).

    Args:
        n_atoms: The number of atoms of the child; hydrogens are implicit and do not count.
        rng: The random generator; exactly one number is drawn from it, whatever ``n_atoms`` is.
    """
    limit = rng.normal(39.15, 3.5)
    return 5 < n_atoms < limit


def has_allowed_rings(mol: Chem.Mol) -> bool:
    """Return whether no ring exceeds 6 atoms, contains an allene, or is a 3- or 4-ring with a double bond.

    Args:
        mol: A sanitized molecule: its rings are known, and its aromatic bonds do not count as double bonds.
    """
    sizes = [len(ring) for ring in mol.GetRingInfo().AtomRings()]
    if not sizes:
        return True
    if max(sizes) > MAX_RING or mol.HasSubstructMatch(_RING_ALLENE):
        return False
    return min(sizes) > 4 or not mol.HasSubstructMatch(_SMALL_RING_DOUBLE_BOND)


def write_child(mol: Chem.Mol, scaffold: Scaffold | None = None, *, check_rings: bool = True) -> str | None:
    """Sanitize a child in place, and return its canonical isomeric SMILES.

    Reading it back also drops the stereo marks of atoms and double bonds that are no longer stereogenic after an edit.

    Returns:
        The SMILES; None if a valence is exceeded, a ring system has no Kekulé form, a ring is not allowed (unless
        ``check_rings`` is False), RDKit cannot read the SMILES back, or the child does not have the core of
        ``scaffold``.
    """
    is_sound = Chem.SanitizeMol(mol, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE
    if not is_sound or (check_rings and not has_allowed_rings(mol)):
        return None
    Chem.SetDoubleBondNeighborDirections(mol)  # without them the SMILES of an edited molecule lacks cis and trans
    smiles = canonical_form(Chem.MolToSmiles(mol))
    has_core = smiles is None or scaffold is None or scaffold.is_in(molecule_of(smiles))
    return smiles if has_core else None


@lru_cache(maxsize=1024)
def editable_molecule(smiles: str) -> Chem.Mol:
    """Return the molecule in a form for editing: with Kekulé bonds and implicit hydrogens.

    If the SMILES says that a double bond is cis or trans, the double bond itself has the mark, not the neighboring
    single bonds.

    The result is cached and shared: copy it before editing.

    Raises:
        ValueError: RDKit cannot read ``smiles``, as in a damaged log from which a run continues.
    """
    known = molecule_of(smiles)
    if known is None or known.GetNumAtoms() == 0:
        raise ValueError(f"a parent must be a SMILES that RDKit can read, got {smiles!r}")
    mol = Chem.Mol(known)
    Chem.Kekulize(mol, clearAromaticFlags=True)
    _make_hydrogens_implicit(mol)
    if "/" in smiles or "\\" in smiles:
        _anchor_double_bond_stereo(mol)
    return mol


def _make_hydrogens_implicit(mol: Chem.Mol) -> None:
    """Make the hydrogens of each atom implicit if their number follows from its valence.

    Otherwise, for instance at a radical atom, they stay explicit.
    """
    for atom in map(mol.GetAtomWithIdx, range(mol.GetNumAtoms())):  # much faster than mol.GetAtoms()
        if not atom.GetNoImplicit():
            continue
        n_explicit, n_hydrogens = atom.GetNumExplicitHs(), atom.GetTotalNumHs()
        _set_hydrogens(atom, 0, fixed=False)
        if atom.GetTotalNumHs() != n_hydrogens:
            _set_hydrogens(atom, n_explicit, fixed=True)


def _set_hydrogens(atom: Chem.Atom, n_explicit: int, *, fixed: bool) -> None:
    atom.SetNumExplicitHs(n_explicit)
    atom.SetNoImplicit(fixed)
    atom.UpdatePropertyCache(strict=False)


def _anchor_double_bond_stereo(mol: Chem.Mol) -> None:
    """Mark cis and trans on each double bond itself, and remove the directions of its neighboring single bonds.

    A direction left on a single bond could make a neighboring double bond wrongly cis or trans after an edit.
    """
    names = {Chem.BondStereo.STEREOE: Chem.BondStereo.STEREOTRANS, Chem.BondStereo.STEREOZ: Chem.BondStereo.STEREOCIS}
    for bond in mol.GetBonds():
        bond.SetBondDir(Chem.BondDir.NONE)
        if (stereo := bond.GetStereo()) in names:
            bond.SetStereo(names[stereo])


def detach(mol: Chem.RWMol, first: int, second: int) -> None:
    """Remove a bond in such a way that its ends keep their chirality.

    At each end, whatever is added next, a bond or a hydrogen, takes the position of the removed bond around the atom.

    RDKit interprets a chiral tag relative to the order of the atom's bonds, in which a new bond or an implicit hydrogen
    comes last. A tag is therefore inverted if the removed bond was an odd number of places before the last.
    """
    bond = mol.GetBondBetweenAtoms(first, second)
    for end in (bond.GetBeginAtom(), bond.GetEndAtom()):
        if end.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED:
            order = [other.GetIdx() for other in end.GetBonds()]
            if (len(order) - 1 - order.index(bond.GetIdx())) % 2:
                end.InvertChirality()
    mol.RemoveBond(first, second)


def attach(mol: Chem.RWMol, first: int, second: int, order: Chem.BondType) -> None:
    """Connect two atoms by a bond of this order; if they are bonded already, change the order of their bond."""
    bond = cast("Chem.Bond | None", mol.GetBondBetweenAtoms(first, second))  # the type stubs omit the None
    if bond is None:
        mol.AddBond(first, second, order)
        return
    bond.SetStereo(Chem.BondStereo.STEREONONE)
    bond.SetBondType(order)
