"""The scaffold of a run: which molecules have its core, and which texts name one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.scaffold import Scaffold, read_scaffold
from tests.tasks.molecules.cores import families, has_core


def is_in(core: str, smiles: str) -> bool:
    return Scaffold(core).is_in(Chem.MolFromSmiles(smiles))


@given(families(1))
@settings(deadline=None, derandomize=True)
def test_a_core_with_substituents_has_the_core(family: tuple[Scaffold, list[str]]) -> None:
    scaffold, (smiles,) = family
    assert scaffold.is_in(Chem.MolFromSmiles(smiles))
    assert has_core(scaffold.smiles, smiles)


@given(families(1), st.data())
@settings(deadline=None, derandomize=True)
def test_a_methyl_anywhere_else_is_refused_as_by_rdkit(family: tuple[Scaffold, list[str]], data: st.DataObject) -> None:
    scaffold, (smiles,) = family
    molecule = Chem.RWMol(Chem.MolFromSmiles(smiles))
    with_hydrogen = [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetTotalNumHs()]
    atom = molecule.GetAtomWithIdx(data.draw(st.sampled_from(with_hydrogen)))
    atom.SetNumExplicitHs(max(0, atom.GetNumExplicitHs() - 1))
    molecule.AddBond(atom.GetIdx(), molecule.AddAtom(Chem.Atom("C")), Chem.BondType.SINGLE)
    child = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    assert scaffold.is_in(child) == has_core(scaffold.smiles, Chem.MolToSmiles(child))


@pytest.mark.parametrize(
    ("core", "smiles", "expected"),
    [
        ("c1ccc2[nH]c([*:1])nc2c1", "c1ccc2[nH]cnc2c1", True),  # the position holds a hydrogen
        ("c1ccc2[nH]c(*)nc2c1", "CCn1c(C)nc2ccccc21", False),
        ("[*:1]c1ccccc1", "C[n+]1ccccc1", False),  # another element
        ("[*:1]c1ccccn1", "Cc1cccc[nH+]1", False),  # another charge
        ("[*:1]c1ccccn1", "Cc1cccc[n+]1[O-]", False),
        ("[*:1]C1CCCCC1", "Cc1ccccc1", False),  # other bonds
        ("[*:1]c1ccccc1", "C[13c]1ccccc1", False),  # another isotope
        ("[*:1]CC(=O)O", "C=CC(=O)O", False),  # a double bond to the substituent
        ("[*:1]C([*:2])C(=O)O", "C=CC(=O)O", False),
        ("[*:1]C([*:2])C(=O)O", "O=C(O)C1CCC1", True),  # a ring through one atom
        ("[*:1]CC(=O)O", "CC(C)C(=O)O", False),  # two substituents at one position
        ("C[S][*:1]", "CS(C)(=O)=O", False),
        ("[*:1]c1ccccc1[*:2]", "C1CCc2ccccc2C1", True),  # a ring joins two positions
        ("[*:1]c1ccccc1[*:2]", "c1ccc2ccccc2c1", False),  # by aromatic bonds
        ("[*:1]c1ccccc1[*:2]", "Cc1cccc(C)c1", False),
        ("[*:1]c1ccccc1-c1ccccc1[*:2]", "c1ccc2c(c1)-c1ccccc1-2", False),  # a bond within the core
        ("[*:1][C@@H]1CCCN1C", "C[C@@H]1CCCN1C", True),
        ("[*:1][C@@H]1CCCN1C", "C[C@H]1CCCN1C", False),
        ("[*:1][C@@H]1CCCN1C", "CC1CCCN1C", False),
        ("[*:1][C@@H]1CCCN1C", "CN1CCCC1", False),  # a hydrogen would make the configuration vanish
        ("[*:1]C1CCCN1C", "C[C@H]1CCCN1C", True),  # the core leaves the configuration open
        ("[*:1]/C=C/C#N", "C/C=C/C#N", True),
        ("[*:1]/C=C/C#N", "C/C=C\\C#N", False),
    ],
)
def test_the_core_is_compared_exactly(core: str, smiles: str, expected: bool) -> None:
    assert is_in(core, smiles) == expected


def test_a_symmetric_core_is_found_at_each_of_its_places() -> None:
    core = Scaffold("[*:1]c1ccccc1")
    biphenyl = Chem.MolFromSmiles("c1ccccc1-c1ccccc1")
    assert {match.atoms for match in core.find(biphenyl)} == {frozenset(range(6)), frozenset(range(6, 12))}
    (alone,) = core.find(Chem.MolFromSmiles("c1ccccc1"))
    assert alone.free == alone.atoms == frozenset(range(6))


def test_the_free_positions_are_those_that_hold_a_hydrogen() -> None:
    (match,) = Scaffold("[*:1]Nc1nccc([*:2])n1").find(Chem.MolFromSmiles("CNc1ncccn1"))
    assert match.free == {4, 6}  # on either side, as the ring is symmetric
    (match,) = Scaffold("[*:1]Nc1nccc([*:2])n1").find(Chem.MolFromSmiles("CNc1nccc(F)n1"))
    assert match.free == frozenset()


@pytest.mark.parametrize(
    ("smiles", "fault"),
    [
        ("c1cc", "task.scaffold=c1cc cannot be used (unparsable: RDKit reads no molecule)"),
        ("", "task.scaffold= cannot be used (empty)"),
        ("*", "task.scaffold=* cannot be used (empty: no heavy atom)"),
        ("*CCCCCC", "task.scaffold=*CCCCCC cannot be used (too_large: 6 heavy atoms, at most 5)"),
        ("C~C*", "task.scaffold=C~C* cannot be used (placeholders for bonds)"),
        ("c1ccoc1", "task.scaffold=c1ccoc1 has no open position"),
        ("*CC.C", "task.scaffold=*CC.C has several fragments"),
        ("C*C", "task.scaffold=C*C: each open position must have one bond"),
        ("*=CC", "task.scaffold=*=CC: each open position must have one bond"),
        ("*CC**", "task.scaffold=*CC**: each open position must have one bond"),
    ],
)
def test_what_is_not_a_core_with_open_positions_is_one_error(smiles: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        read_scaffold(smiles, 5)
    (violation,) = caught.value.violations
    assert violation.startswith(fault)
    assert "\n" not in violation


@pytest.mark.parametrize("smiles", ["*CC", "[*:1]CC", "[1*]CC", " *CC ", "*CC |$_R1;;$|"])
def test_an_open_position_can_be_written_in_several_ways(smiles: str) -> None:
    scaffold = read_scaffold(smiles, 5)
    assert scaffold is not None
    assert scaffold.is_in(Chem.MolFromSmiles("OCC"))


def test_no_scaffold_is_none() -> None:
    assert read_scaffold(None, 5) is None
