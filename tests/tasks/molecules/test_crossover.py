"""The crossover of Graph GA: reachable children, by hand and by RDKit's reactions, and laws over drug molecules."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, rdBase
from rdkit.Chem import rdChemReactions

from evodiverse.tasks.molecules.operators.chemistry_rules import editable_molecule, has_allowed_rings, write_child
from evodiverse.tasks.molecules.operators.crossover import (
    Join,
    build_child,
    cross_chains,
    cross_over,
    cross_rings,
    cut_chain,
    cut_ring,
    read_parent,
    ring_joins,
)
from tests.tasks.molecules.drugs import DRUGS

CUT_ENDS = rdChemReactions.ReactionFromSmarts("[*:1]~[1*].[1*]~[*:2]>>[*:1]-[*:2]")
CUT_ENDS_DOUBLE = rdChemReactions.ReactionFromSmarts("[*:1]~[1*].[1*]~[*:2]>>[*:1]=[*:2]")
CLOSE = rdChemReactions.ReactionFromSmarts("([*:1]~[1*].[1*]~[*:2])>>[*:1]-[*:2]")
CLOSE_DOUBLE = rdChemReactions.ReactionFromSmarts("([*:1]~[1*].[1*]~[*:2])>>[*:1]=[*:2]")


@pytest.fixture(autouse=True, scope="module")
def quiet_rdkit():
    with rdBase.BlockLogs():
        yield


def reachable(cross, first: str, second: str, n_draws: int) -> set[str]:
    rng, parents = np.random.default_rng(2), (read_parent(first), read_parent(second))
    return {child for child in (cross(*parents, rng) for _ in range(n_draws)) if child is not None}


def fragments(smiles: str, pattern: str) -> list[tuple[Chem.Mol, ...]]:
    """Return the fragments of every cut that makes two, with an isotope-labeled dummy atom at each cut end."""
    mol, found = editable_molecule(smiles), []
    for match in mol.GetSubstructMatches(Chem.MolFromSmarts(pattern)):
        bonds = sorted({mol.GetBondBetweenAtoms(*pair).GetIdx() for pair in (match[:2], match[-2:])})
        cut = Chem.FragmentOnBonds(mol, bonds, dummyLabels=[(1, 1)] * len(bonds))
        found.append(Chem.GetMolFrags(cut, asMols=True, sanitizeFrags=False))
    return [sides for sides in found if len(sides) == 2]


def sanitized(products) -> list[Chem.Mol]:
    return [mol for (mol,) in products if not Chem.SanitizeMol(mol, catchErrors=True)]


def ring_children(first: str, second: str) -> set[str]:
    """Return what RDKit's reactions make of all ring cuts of both parents, other than bonds closed on themselves."""
    patterns = "[R]@[R]@[R]@[R]", "[R]@[R;!D2]@[R]"
    cuts_a, cuts_b = ([cut for p in patterns for cut in fragments(smiles, p)] for smiles in (first, second))
    children = set()
    for cut_a, cut_b in product(cuts_a, cuts_b):
        for left, right in product(cut_a, cut_b):
            for reaction, closure in product((CUT_ENDS, CUT_ENDS_DOUBLE), (CLOSE, CLOSE_DOUBLE)):
                for joined in sanitized(reaction.RunReactants((left, right))):
                    n_rings = joined.GetRingInfo().NumRings()
                    closed = sanitized(closure.RunReactants((joined,)))
                    children |= {Chem.MolToSmiles(m) for m in closed if m.GetRingInfo().NumRings() > n_rings and ok(m)}
    return {Chem.CanonSmiles(child) for child in children}


def all_ring_children(first: str, second: str) -> set[str | None]:
    parents = read_parent(first), read_parent(second)
    cuts_a, cuts_b = (
        [sides for cut in parent.path_cuts + parent.corner_cuts if (sides := cut_ring(parent, cut))]
        for parent in parents
    )
    built = [build_child(join) for sides in product(cuts_a, cuts_b) for join in ring_joins(*sides)]
    return {smiles for mol in built if (smiles := write_child(mol, check_rings=False)) and ok(mol)}


def ok(mol: Chem.Mol) -> bool:
    return mol.GetNumAtoms() > 5 and has_allowed_rings(mol)


def test_chain_crossover_reaches_the_children_worked_out_by_hand() -> None:
    alkanes = {"C" * n for n in (6, 7, 8)}
    alcohols, amines = {"C" * n + "O" for n in (5, 6, 7)}, {"C" * n + "N" for n in (5, 6, 7)}
    both = {"O" + "C" * n + "N" for n in (4, 5, 6)}
    expected = {Chem.CanonSmiles(smiles) for smiles in alkanes | alcohols | amines | both}
    assert reachable(cross_chains, "CCCCO", "CCCCN", 600) == expected


@pytest.mark.parametrize(("first", "second"), [("c1ccc(C=O)cc1", "CCNC(C)=O"), ("CC(C)(C)OC", "C1CC1CC#N")])
def test_chain_crossover_reaches_what_the_reaction_makes(first: str, second: str) -> None:
    cuts = (fragments(smiles, "*-;!@*") for smiles in (first, second))
    pairs = [pair for cut_a, cut_b in product(*cuts) for pair in product(cut_a, cut_b)]
    made = {
        Chem.MolToSmiles(mol)
        for pair in pairs
        for mol in sanitized(CUT_ENDS.RunReactants(pair))
        if mol.GetNumAtoms() > 5
    }
    assert reachable(cross_chains, first, second, 600) == {Chem.CanonSmiles(child) for child in made}


@pytest.mark.parametrize(
    ("first", "second"),
    [("C1CCCCC1", "C1CCNCC1"), ("CC1CCC1", "OC1CCCO1"), ("c1cc[nH]c1", "CC1CCCCC1"), ("C1CC2CC2C1", "c1ccsc1")],
)
def test_ring_crossover_reaches_what_the_reactions_make(first: str, second: str) -> None:
    assert all_ring_children(first, second) == ring_children(first, second)


def test_ring_crossover_draws_from_its_children() -> None:
    drawn, children = reachable(cross_rings, "C1CCCCC1", "C1CCNCC1", 200), ring_children("C1CCCCC1", "C1CCNCC1")
    assert drawn <= children
    assert len(drawn) > len(children) / 2


def test_ring_crossover_reaches_the_children_worked_out_by_hand() -> None:
    # Two atoms of one ring and four of the other make a ring of six; two and two are too few, four and four too many.
    assert reachable(cross_rings, "C1CCCCC1", "O1OOOOO1", 200) == {"C1COOOO1", "C1CCOOC1"}


def test_parents_without_rings_have_no_ring_crossover() -> None:
    assert cross_rings(read_parent("CCCCO"), read_parent("CCCCN"), np.random.default_rng(0)) is None


def test_parents_without_chains_have_no_chain_crossover() -> None:
    assert cross_chains(read_parent("C1CCCCC1"), read_parent("CCCCN"), np.random.default_rng(0)) is None


def test_a_fused_bond_alone_does_not_come_apart() -> None:
    decalin = read_parent("C1CCC2CCCCC2C1")
    assert cut_ring(decalin, (2, 3, 3, 4)) is None  # both bonds of the fusion atom towards different rings


def test_joining_both_sides_of_a_chain_cut_gives_the_molecule_back() -> None:
    for smiles in DRUGS:
        parent = read_parent(smiles)
        for cut in parent.chain_cuts:
            child = build_child(Join(*cut_chain(parent, cut), (Chem.BondType.SINGLE,)))
            assert without_cis_trans(write_child(child, check_rings=False)) == without_cis_trans(smiles)


def test_joining_both_sides_of_a_ring_cut_gives_the_molecule_back() -> None:
    cuts = [
        (smiles, parent, cut)
        for smiles in DRUGS
        for parent in [read_parent(smiles)]
        for cut in parent.path_cuts + parent.corner_cuts
    ]
    for smiles, parent, cut in cuts:
        sides = cut_ring(parent, cut)
        if sides is not None:
            bonds = (parent.mol.GetBondBetweenAtoms(*pair) for pair in (cut[:2], cut[2:]))
            child = build_child(Join(*sides, tuple(bond.GetBondType() for bond in bonds)))
            assert without_cis_trans(write_child(child, check_rings=False)) == without_cis_trans(smiles)


def without_cis_trans(smiles: str) -> str:
    """Drop what a cut next to a double bond forgets; what is left includes all stereocenters."""
    return Chem.CanonSmiles(smiles.replace("/", "").replace("\\", ""))


def test_cis_stays_cis_when_the_cut_is_elsewhere() -> None:
    children = reachable(cross_chains, "C/C=C\\CCF", "CCCCO", 400)
    assert {"C/C=C\\CCCO", "C/C=C/CCCO"} & children == {"C/C=C\\CCCO"}


@given(first=st.sampled_from(DRUGS), second=st.sampled_from(DRUGS), seed=st.integers(0, 2**32))
@settings(deadline=None, derandomize=True)
def test_every_child_keeps_the_rules(first: str, second: str, seed: int) -> None:
    child = cross_over(first, second, np.random.default_rng(seed))
    if child is not None:
        mol = Chem.MolFromSmiles(child)
        assert Chem.MolToSmiles(mol) == child
        assert child not in (first, second)
        assert "." not in child
        assert mol.GetNumAtoms() > 5
        assert has_allowed_rings(mol)


def test_a_crossover_almost_always_succeeds_on_drugs() -> None:
    rng = np.random.default_rng(9)
    pairs = [rng.choice(len(DRUGS), 2, replace=False) for _ in range(200)]
    assert sum(cross_over(DRUGS[a], DRUGS[b], rng) is not None for a, b in pairs) > 190


def test_a_ring_that_is_too_large_never_comes_out_of_a_ring_crossover() -> None:
    children = reachable(cross_rings, "C1CCCCCC1CC1CCCC1", "Cc1ccccc1", 200)
    assert children
    assert all(has_allowed_rings(Chem.MolFromSmiles(child)) for child in children)


def test_the_size_rule_counts_the_atoms_of_the_child() -> None:
    assert cross_over("CCC", "CCO", np.random.default_rng(0)) is None  # at most 4 atoms
