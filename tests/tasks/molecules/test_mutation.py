"""The seven mutation kinds of Graph GA: children by hand and by RDKit's reactions, and probabilities."""

from collections import Counter

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import rdChemReactions
from scipy.stats import chisquare

from evodiverse.tasks.molecules.operators.chemistry_rules import editable_molecule, has_allowed_rings
from evodiverse.tasks.molecules.operators.mutation import (
    ADD_RING,
    APPEND_ATOM,
    CHANGE_BOND_ORDER,
    DELETE_ATOM,
    DELETE_CYCLIC_BOND,
    INSERT_ATOM,
    Rule,
    apply_rule,
    draw_rule,
    mutate,
)

pytestmark = pytest.mark.usefixtures("quiet_rdkit")

RULES = {
    rule.name: rule
    for table in (INSERT_ATOM, CHANGE_BOND_ORDER, DELETE_CYCLIC_BOND, ADD_RING, DELETE_ATOM, APPEND_ATOM)
    for rule, _ in table
}

# The same rules as reactions: RDKit enumerates all their products, which makes an independent check.
REACTIONS = {
    "insert_atom -C": "[*:1]~[*:2]>>[*:1]C[*:2]",
    "insert_atom -S": "[*:1]~[*:2]>>[*:1]S[*:2]",
    "insert_atom =N": "[*;!H0:1]~[*:2]>>[*:1]=N-[*:2]",
    "insert_atom #C": "[*;!R;!H1;!H0:1]~[*:2]>>[*:1]#C-[*:2]",
    "change_bond_order to -": "[*:1]!-[*:2]>>[*:1]-[*:2]",
    "change_bond_order - to =": "[*;!H0:1]-[*;!H0:2]>>[*:1]=[*:2]",
    "change_bond_order # to =": "[*:1]#[*:2]>>[*:1]=[*:2]",
    "change_bond_order to #": "[*;!R;!H1;!H0:1]~[*:2]>>[*:1]#[*:2]",
    "delete_cyclic_bond": "[*:1]@[*:2]>>([*:1].[*:2])",
    "add_ring 3": "[*;!r;!H0:1]~[*;!r:2]~[*;!r;!H0:3]>>[*:1]1~[*:2]~[*:3]1",
    "add_ring 4": "[*;!r;!H0:1]~[*;!r:2]~[*;!r:3]~[*;!r;!H0:4]>>[*:1]1~[*:2]~[*:3]~[*:4]1",
    "add_ring 5": "[*;!r;!H0:1]~[*;!r:2]~[*:3]~[*:4]~[*;!r;!H0:5]>>[*:1]1~[*:2]~[*:3]~[*:4]~[*:5]1",
    "add_ring 6": "[*;!r;!H0:1]~[*;!r:2]~[*:3]~[*:4]~[*;!r:5]~[*;!r;!H0:6]>>[*:1]1~[*:2]~[*:3]~[*:4]~[*:5]~[*:6]1",
    "delete_atom D1": "[*:1]~[D1:2]>>[*:1]",
    "delete_atom D2": "[*:1]~[D2:2]~[*:3]>>[*:1]-[*:3]",
    "delete_atom D3": "[*:1]~[D3:2](~[*;!H0:3])~[*:4]>>[*:1]-[*:3]-[*:4]",
    "delete_atom D4 chain": "[*:1]~[D4:2](~[*;!H0:3])(~[*;!H0:4])~[*:5]>>[*:1]-[*:3]-[*:4]-[*:5]",
    "delete_atom D4 star": "[*:1]~[D4:2](~[*;!H0;!H1:3])(~[*:4])~[*:5]>>[*:1]-[*:3](-[*:4])-[*:5]",
    "append_atom -Cl": "[*;!H0:1]>>[*:1]-Cl",
    "append_atom =O": "[*;!H0;!H1:1]>>[*:1]=O",
    "append_atom #N": "[*;H3:1]>>[*:1]#N",
}
SMALL = ["CC(C)(C)CC#N", "Cc1cc[nH]c1CC", "CC=CC(=O)OCC", "CSCC1CC1CN", "C1CC2CC2CC1C", "C[NH2+]CCCC=C"]


@pytest.fixture
def quiet_rdkit():
    with rdBase.BlockLogs():
        yield


def flat(mol: Chem.Mol) -> str:
    return Chem.CanonSmiles(Chem.MolToSmiles(mol, isomericSmiles=False))


def products_of_reaction(name: str, smiles: str) -> set[str]:
    reaction = rdChemReactions.ReactionFromSmarts(REACTIONS[name])
    products = [mol for (mol,) in reaction.RunReactants((editable_molecule(smiles),))]
    return {flat(m) for m in products if not Chem.SanitizeMol(m, catchErrors=True) and has_allowed_rings(m)}


def reachable(rule: Rule, smiles: str, n_draws: int = 60) -> set[str]:
    rng = np.random.default_rng(0)
    drawn = {apply_rule(rule, editable_molecule(smiles), rng) for _ in range(n_draws)}
    return {flat(Chem.MolFromSmiles(child)) for child in drawn if child is not None}


@pytest.mark.parametrize("name", REACTIONS)
def test_rule_reaches_what_the_reaction_makes(name: str) -> None:
    for smiles in SMALL:
        assert reachable(RULES[name], smiles) == products_of_reaction(name, smiles), smiles


@pytest.mark.parametrize("name", REACTIONS)
def test_the_reactions_exercise_every_rule(name: str) -> None:
    assert any(products_of_reaction(name, smiles) for smiles in SMALL)


@pytest.mark.parametrize(
    ("name", "smiles", "children"),
    [
        ("insert_atom -O", "CCCCC", {"CCCCOC", "CCCOCC"}),
        (
            "insert_atom =N",
            "COCCCF",
            {"C=NOCCCF", "COC=NCCF", "COCC=NCF", "COCCC=NF"} | {"CON=CCCF", "COCN=CCF", "COCCN=CF"},
        ),
        ("insert_atom #C", "CCCCC=O", {"C#CCCCC=O", "CC#CCCC=O", "CCC#CCC=O", "CCCC#CC=O"}),
        ("change_bond_order to -", "C=CCCC#N", {"CCCCC#N", "C=CCCCN"}),
        ("change_bond_order - to =", "CCOCCC", {"C=COCCC", "CCOC=CC", "C=CCOCC"}),
        ("change_bond_order # to =", "C=CCCC#N", {"C=CCCC=N"}),
        ("change_bond_order to #", "CCOCCC", {"C#COCCC", "CC#COCC", "C#CCOCC"}),
        ("delete_cyclic_bond", "CC1CCCC1", {"CCCCCC", "CCCC(C)C", "CCC(C)CC"}),
        ("add_ring 3", "CCCCCC", {"CCCC1CC1", "CCC1CC1C"}),
        ("add_ring 6", "CCCCCC", {"C1CCCCC1"}),
        ("delete_atom D1", "CC(C)CCCF", {"CCCCCF", "CCCC(C)C"}),
        ("delete_atom D2", "CCCOCCC", {"CCCCCC", "CCCOCC"}),
        ("delete_atom D3", "CCC(O)CCC", {"CC(O)CCC", "CCOCCC", "CCC(O)CC"}),
        ("delete_atom D4 chain", "CC(C)(C)CCC", {"CCCCCC", "CCC(C)CC"}),
        ("delete_atom D4 star", "CC(C)(C)CCC", {"CC(C)CCC", "CC(C)(C)CC"}),
        ("append_atom =O", "CCC(C)CC", {"CCC(C)CC=O", "CCC(C)C(C)=O", "CCC(C=O)CC"}),
        ("append_atom #N", "CCC(C)CC", {"CCC(C)CC#N", "CCC(CC)C#N"}),
    ],
)
def test_rule_reaches_the_children_worked_out_by_hand(name: str, smiles: str, children: set[str]) -> None:
    assert reachable(RULES[name], smiles, n_draws=100) == {Chem.CanonSmiles(child) for child in children}


def test_a_changed_atom_is_another_element_without_charge() -> None:
    rng = np.random.default_rng(4)
    mol = editable_molecule("CCC[NH2+]CCC")
    rules = {rule.name: rule for rule in (draw_rule(mol, rng) for _ in range(3000)) if rule is not None}
    children = {apply_rule(rule, mol, rng) for name, rule in rules.items() if name.startswith("change_atom 7")}
    assert children == {None, "CCCCCCC", "CCCOCCC", "CCCSCCC"}


def test_the_parent_is_left_as_it_is() -> None:
    mol = editable_molecule("Cc1cc[nH]c1CC")
    before = Chem.MolToSmiles(mol)
    for rule in RULES.values():
        apply_rule(rule, mol, np.random.default_rng(1))
    assert Chem.MolToSmiles(mol) == before


def test_sites_are_drawn_uniformly_among_the_allowed_ones() -> None:
    rng, mol = np.random.default_rng(8), editable_molecule("CCC(C)(F)CCO")
    drawn = Counter(apply_rule(RULES["append_atom -F"], mol, rng) for _ in range(1500))
    assert len(drawn) == 6  # seven carbons and the oxygen, less the one without hydrogen: six sites, all different
    assert chisquare(list(drawn.values())).pvalue > 0.01


def test_configuration_survives_an_insertion_elsewhere_and_beside() -> None:
    rng, mol = np.random.default_rng(5), editable_molecule("CC[C@H](F)Cl")
    children = {apply_rule(RULES["insert_atom -O"], mol, rng) for _ in range(60)}
    expected = {"COC[C@H](F)Cl", "CCO[C@H](F)Cl", "CC[C@H](OF)Cl", "CC[C@H](F)OCl"}
    assert children == {Chem.CanonSmiles(child) for child in expected}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_growth_is_what_the_child_gains(rule: Rule) -> None:
    children = {(smiles, child) for smiles in SMALL for child in reachable(rule, smiles, n_draws=5)}
    gains = {
        Chem.MolFromSmiles(child).GetNumAtoms() - Chem.MolFromSmiles(smiles).GetNumAtoms() for smiles, child in children
    }
    assert gains <= {rule.growth}


def test_a_molecule_of_six_atoms_loses_none() -> None:
    assert apply_rule(RULES["delete_atom D1"], editable_molecule("CCCCCC"), np.random.default_rng(0)) is None


def test_a_molecule_that_would_stay_too_small_has_no_child() -> None:
    assert mutate("CC", np.random.default_rng(0)) is None


def count_rules(smiles: str, n_draws: int) -> Counter[str]:
    rng, mol = np.random.default_rng(21), editable_molecule(smiles)
    return Counter(rule.name for rule in (draw_rule(mol, rng) for _ in range(n_draws)) if rule is not None)


def assert_frequencies(counts: Counter[str], probabilities: dict[str, float]) -> None:
    total = sum(counts[name] for name in probabilities)
    expected = [probability * total / sum(probabilities.values()) for probability in probabilities.values()]
    assert chisquare([counts[name] for name in probabilities], expected).pvalue > 0.01


def test_mutation_kinds_have_their_probabilities() -> None:
    kinds = Counter[str]()
    for name, count in count_rules("CCO", 20_000).items():
        kinds[name.split()[0]] += count
    even = dict.fromkeys(["change_bond_order", "delete_cyclic_bond", "add_ring", "delete_atom", "change_atom"], 0.14)
    assert sum(kinds.values()) == 20_000
    assert_frequencies(kinds, {"insert_atom": 0.15, "append_atom": 0.15} | even)


def changes_from(old: int, share: float) -> dict[str, float]:
    weights = {6: 0.15, 7: 0.15, 8: 0.14, 9: 0.14, 16: 0.14, 17: 0.14, 35: 0.14}
    others = 1 - weights.pop(old)
    return {f"change_atom {old} to {new}": share * weight / others for new, weight in weights.items()}


@pytest.mark.parametrize(
    "probabilities",
    [
        {f"insert_atom -{x}": 0.15 for x in ("C", "N", "O", "S")}
        | {"insert_atom =C": 0.175, "insert_atom =N": 0.175, "insert_atom #C": 0.05},
        {f"append_atom -{x}": 0.6 / 7 for x in ("C", "N", "O", "F", "S", "Cl", "Br")}
        | {f"append_atom ={x}": 0.35 / 3 for x in ("C", "N", "O")}
        | {"append_atom #C": 0.025, "append_atom #N": 0.025},
        {
            "change_bond_order to -": 0.45,
            "change_bond_order - to =": 0.45,
            "change_bond_order # to =": 0.05,
            "change_bond_order to #": 0.05,
        },
        {"add_ring 3": 0.05, "add_ring 4": 0.05, "add_ring 5": 0.45, "add_ring 6": 0.45},
        {
            "delete_atom D1": 0.25,
            "delete_atom D2": 0.25,
            "delete_atom D3": 0.25,
            "delete_atom D4 chain": 0.1875,
            "delete_atom D4 star": 0.0625,
        },
        changes_from(6, 0.15 / 0.29) | changes_from(8, 0.14 / 0.29),  # the molecule has no other element
    ],
    ids=lambda probabilities: next(iter(probabilities)).split()[0],
)
def test_rules_of_a_kind_have_their_probabilities(probabilities: dict[str, float]) -> None:
    counts = count_rules("CCO", 20_000)
    kind = next(iter(probabilities)).split()[0]
    assert {name for name in counts if name.split()[0] == kind} == set(probabilities)
    assert_frequencies(counts, probabilities)
