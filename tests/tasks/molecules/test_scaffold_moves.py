"""Graph GA with a scaffold: children keep the core, and change only what may change."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.operators.crossover import cross_over, read_parent
from evodiverse.tasks.molecules.operators.mutation import mutate
from evodiverse.tasks.molecules.scaffold import Scaffold
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream
from tests.tasks.molecules.cores import N_POSITIONS, SUBSTITUENTS, decorate, families, has_core

PARA = "[*:1]c1ccc([*:2])cc1"
ORTHO = "[*:1]c1ccccc1[*:2]"


@pytest.fixture(autouse=True, scope="module")
def quiet_rdkit():
    with rdBase.BlockLogs():
        yield


def canonical(*smiles: str) -> set[str]:
    return {Chem.CanonSmiles(one) for one in smiles}


def crossed(core: str, first: str, second: str, n_draws: int = 300) -> set[str]:
    """Return the children of a crossover that were drawn."""
    rng, scaffold = np.random.default_rng(1), Scaffold(core)
    parents = [Chem.CanonSmiles(smiles) for smiles in (first, second)]
    return {child for _ in range(n_draws) if (child := cross_over(*parents, rng, scaffold=scaffold)) is not None}


@given(families(2), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 2**32))
@settings(deadline=None, derandomize=True)
def test_every_child_has_the_core(family: tuple[Scaffold, list[str]], rate: float, seed: int) -> None:
    scaffold, smiles = family
    parents = tuple(Candidate(call, one, one, None, None) for call, one in enumerate(smiles, start=1))
    asked = [
        Request(1, 0, 0, 1, parents[:n_parents], Prompt.COLD, Stream(seed, 7, 1, 0, 0, n_parents))
        for n_parents in (1, 2)
    ]
    for proposal in GraphGA(rate, scaffold).propose(asked):
        if proposal.genotype is not None:
            assert scaffold.is_in(Chem.MolFromSmiles(proposal.genotype))
            assert has_core(scaffold.smiles, proposal.genotype)


@pytest.mark.parametrize("core", N_POSITIONS)
def test_few_proposals_are_wasted(core: str) -> None:
    rng, scaffold = np.random.default_rng(0), Scaffold(core)
    members = [decorate(core, *groups) for groups in product(SUBSTITUENTS, repeat=N_POSITIONS[core])]
    pairs = [rng.choice(members, size=2, replace=False).tolist() for _ in range(60)]
    assert sum(cross_over(*pair, rng, scaffold=scaffold) is not None for pair in pairs) >= 54
    assert sum(mutate(one, rng, scaffold=scaffold) is not None for pair in pairs for one in pair) >= 115


def test_a_crossover_exchanges_substituents_and_hydrogens() -> None:
    one_each = ["Fc1ccccc1", "Clc1ccccc1", "Fc1ccc(F)cc1", "Clc1ccc(Cl)cc1", "c1ccccc1"]
    assert crossed(PARA, "Fc1ccc(Cl)cc1", "c1ccccc1") == canonical(*one_each[:2])
    assert crossed(PARA, "Fc1ccccc1", "Clc1ccccc1") == canonical("Fc1ccc(Cl)cc1", "c1ccccc1")
    assert crossed(PARA, "Fc1ccc(Cl)cc1", "Fc1ccc(Cl)cc1") == canonical(*one_each[2:4])


def test_a_crossover_never_joins_two_cores() -> None:
    children = crossed(PARA, "CCCc1ccc(CCF)cc1", "NCCc1ccc(CO)cc1")
    assert len(children) > 20
    assert all(len(Chem.GetSSSR(Chem.MolFromSmiles(child))) == 1 for child in children)


def test_no_bond_of_the_core_is_cut() -> None:
    scaffold = Scaffold("[*:1]c1ccc(C(=O)NCC[*:2])cc1")
    parent = read_parent("Oc1ccc(C(=O)NCCC2CC2)cc1", scaffold)
    assert sorted(map(sorted, parent.chain_cuts)) == [[0, 1], [9, 10]]
    (core,) = parent.cores or ()
    assert all(not core.issuperset(cut[:2]) for cut in parent.path_cuts + parent.corner_cuts)


def test_a_dimer_is_cut_at_either_core() -> None:
    benzene = Scaffold("[*:1]c1ccccc1")
    cuts = read_parent("c1ccccc1CCc1ccccc1", benzene).chain_cuts
    assert sorted(map(sorted, cuts)) == [[5, 6], [6, 7], [7, 8]]
    assert Chem.CanonSmiles("OCCc1ccccc1") in crossed(benzene.smiles, "c1ccccc1CCc1ccccc1", "OCCCc1ccccc1")


def test_a_ring_on_two_positions_is_crossed_and_mutated() -> None:
    rng, scaffold = np.random.default_rng(0), Scaffold(ORTHO)
    tetralin, indane = canonical("C1CCc2ccccc2C1").pop(), canonical("C1Cc2ccccc2C1").pop()
    mutants = {mutate(tetralin, rng, scaffold=scaffold) for _ in range(200)}
    assert mutants >= canonical("C1COc2ccccc2C1", "CCCc1ccccc1C", "CC1CCCc2ccccc21")
    assert all(mutant is not None and scaffold.is_in(Chem.MolFromSmiles(mutant)) for mutant in mutants)
    new_rings = canonical("c1ccc2c(c1)CC2", "C1=Cc2ccccc2C1", "C1=CCc2ccccc2C1", "C1=Cc2ccccc2CC1")
    assert crossed(ORTHO, tetralin, indane) == new_rings


def test_a_mutation_of_the_bare_core_fills_an_open_position() -> None:
    rng, scaffold = np.random.default_rng(0), Scaffold("c1ccc2[nH]c([*:1])nc2c1")
    mutants = {mutate("c1ccc2[nH]cnc2c1", rng, scaffold=scaffold) for _ in range(100)}
    assert mutants == canonical(*(f"c1ccc2[nH]c({atom})nc2c1" for atom in ("C", "N", "O", "F", "S", "Cl", "Br")))


def test_a_mutation_changes_what_is_bound_to_the_core() -> None:
    rng, scaffold = np.random.default_rng(0), Scaffold("[*:1]c1ccccc1")
    mutants = {mutate("Fc1ccccc1", rng, scaffold=scaffold) for _ in range(200)}
    assert mutants >= canonical("FOc1ccccc1", "Oc1ccccc1", "c1ccccc1")


def test_the_configuration_of_the_core_is_kept() -> None:
    core = "[*:1][C@@H]1CCCN1CC(F)(F)F"
    children = crossed(core, decorate(core, "C[C@H](O)CC"), decorate(core, "C1CCNC1"))
    assert len(children) > 5
    for child in map(Chem.MolFromSmiles, children):
        assert Scaffold(core).is_in(child)
        assert not Scaffold(core.replace("@@", "@")).is_in(child)


def test_what_has_no_core_has_no_child() -> None:
    scaffold = Scaffold(PARA)
    assert cross_over("CCCCCCO", "CCCCCN", np.random.default_rng(0), scaffold=scaffold) is None
    assert mutate("CCCCCCO", np.random.default_rng(0), scaffold=scaffold) is None
