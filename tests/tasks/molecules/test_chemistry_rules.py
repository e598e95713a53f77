"""The chemistry rules of Graph GA and the two edits that its operators are made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from evodiverse.tasks.molecules.operators.chemistry_rules import (
    attach,
    detach,
    editable_molecule,
    has_allowed_rings,
    has_allowed_size,
    write_child,
)


def n_allowed(n_atoms: int, n_draws: int = 4000) -> int:
    rng = np.random.default_rng(3)
    return sum(has_allowed_size(n_atoms, rng) for _ in range(n_draws))


@given(n_atoms=st.integers(0, 5), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_no_child_has_five_atoms_or_fewer(n_atoms: int, seed: int) -> None:
    assert not has_allowed_size(n_atoms, np.random.default_rng(seed))


def test_six_atoms_are_enough() -> None:
    assert n_allowed(6) == 4000


# P(N(39.15, 3.5) > n) from a table of the normal distribution: z = -1.186, 0.243 and 1.671
@pytest.mark.parametrize(("n_atoms", "share"), [(35, 0.882), (40, 0.404), (45, 0.0473)])
def test_size_limit_follows_its_normal_law(n_atoms: int, share: float) -> None:
    standard_error = np.sqrt(share * (1 - share) / 4000)
    assert n_allowed(n_atoms) / 4000 == pytest.approx(share, abs=4 * standard_error)


@pytest.mark.parametrize(
    "smiles",
    [
        "CCCCCC",
        "C=C=CCCC",  # an allene, but in no ring
        "c1ccccc1",
        "C1CC1C=C",  # a double bond at a small ring, not in it
        "C=C1CC1",  # one end of the double bond in a small ring
        "C1=CCC=C1",
        "O=S1(=O)CCCC1",
    ],
)
def test_sound_rings_are_allowed(smiles: str) -> None:
    assert has_allowed_rings(Chem.MolFromSmiles(smiles))


@pytest.mark.parametrize(
    "smiles",
    [
        "C1CCCCCC1",  # seven atoms
        "C1CCCCCC1c1ccccc1",
        "C1=C=CCCC1",  # an allene in a ring
        "C1=CC1CCC",  # a double bond in a 3-ring
        "C1=CCC1CC",  # a double bond in a 4-ring
    ],
)
def test_unsound_rings_are_refused(smiles: str) -> None:
    assert not has_allowed_rings(Chem.MolFromSmiles(smiles))


def test_an_exceeded_valence_is_not_sanitizable() -> None:
    mol = Chem.MolFromSmiles("FC(F)(F)(F)F", sanitize=False)
    with rdBase.BlockLogs():
        assert write_child(mol) is None


def test_a_ring_without_kekule_form_is_not_sanitizable() -> None:
    mol = Chem.MolFromSmiles("c1cccc1", sanitize=False)
    with rdBase.BlockLogs():
        assert write_child(mol) is None


def test_editable_form_has_no_aromatic_bonds() -> None:
    mol = editable_molecule("c1ccc2[nH]ccc2c1")
    assert sorted({str(bond.GetBondType()) for bond in mol.GetBonds()}) == ["DOUBLE", "SINGLE"]


@pytest.mark.parametrize("smiles", ["c1cc[nH]c1", "C[C@H](F)Cl", "C[NH3+]", "CC(=O)[O-]", "C[N+](=O)[O-]"])
def test_editable_form_leaves_no_hydrogen_fixed(smiles: str) -> None:
    assert not any(atom.GetNoImplicit() for atom in editable_molecule(smiles).GetAtoms())


@pytest.mark.parametrize(
    "smiles", ["C[CH2]", "c1cc[nH]c1", "C[C@H](F)Cl", "F/C=C\\Cl", "[O-][n+]1ccccc1", "C[C@H]1CC[C@@H](O)C1"]
)
def test_editable_form_is_the_same_molecule(smiles: str) -> None:
    mol = Chem.RWMol(editable_molecule(smiles))
    assert write_child(mol) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize("smiles", ["C1CC", ""])
def test_an_unreadable_parent_is_named(smiles: str) -> None:
    with rdBase.BlockLogs(), pytest.raises(ValueError, match=rf"must be a SMILES that RDKit can read, got '{smiles}'"):
        editable_molecule(smiles)


def test_a_new_bond_takes_the_place_of_the_detached_one_in_space() -> None:
    mol = Chem.RWMol(editable_molecule("C[C@H](F)Cl"))  # looking from C: H, F, Cl counterclockwise
    detach(mol, 1, 0)
    mol.GetAtomWithIdx(0).SetAtomicNum(35)
    attach(mol, 1, 0, Chem.BondType.SINGLE)
    assert write_child(mol) == Chem.CanonSmiles("Br[C@H](F)Cl")


def test_a_new_bond_takes_the_place_of_a_hydrogen_in_space() -> None:
    mol = Chem.RWMol(editable_molecule("C[C@H](F)Cl"))
    attach(mol, 1, mol.AddAtom(Chem.Atom("Br")), Chem.BondType.SINGLE)
    assert write_child(mol) == Chem.CanonSmiles("C[C@](Br)(F)Cl")


def test_a_hydrogen_takes_the_place_of_a_detached_atom_in_space() -> None:
    mol = Chem.RWMol(editable_molecule("C[C@](Br)(F)Cl"))
    detach(mol, 1, 2)
    mol.RemoveAtom(2)
    assert write_child(mol) == Chem.CanonSmiles("C[C@H](F)Cl")


def test_attach_changes_the_order_of_a_bond_that_is_there() -> None:
    mol = Chem.RWMol(editable_molecule("C/C=C/C"))
    attach(mol, 1, 2, Chem.BondType.SINGLE)
    assert write_child(mol) == "CCCC"
