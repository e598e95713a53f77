"""Scores composed of components: their values, their columns, and every way to get the settings wrong."""

import pickle
from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import QED, Descriptors

from evodiverse.data.cache import artifact_path
from evodiverse.errors import ContractError, InputError, ServiceError
from evodiverse.tasks.molecules import prompts
from evodiverse.tasks.molecules.initial import Library
from evodiverse.tasks.molecules.objective.objective import Objective, read_objective
from evodiverse.tasks.molecules.oracle import open_published
from evodiverse.tasks.molecules.task import MoleculeTask
from evodiverse.vocabulary import Hypothesis
from tests.runs import plan

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
ETHANOL = "CCO"


def build(components: dict[str, Any], combine: str = "geometric_mean") -> Objective:
    return Objective.build({"combine": combine, "components": components}, artifact_path)


def raw(component: dict[str, Any], *smiles: str) -> list[float]:
    """What a component measures, whatever its transform makes of it."""
    transform = {"kind": "linear", "low": 0, "high": 1}
    details = build({"one": {**component, "transform": transform}}).measure(smiles).details
    return [nan if (raw := each["one_raw"]) is None else raw for each in details]


def never(smiles: list[str]) -> list[float]:
    """A user's function that knows nothing of ethanol."""
    return [nan if text == ETHANOL else 0.5 for text in smiles]


def fails(smiles: list[str]) -> list[float]:
    """A user's function that raises an exception."""
    raise ValueError("no license")


def answers_in_words(smiles: list[str]) -> list[str]:
    """A user's function that does not return numbers."""
    return ["good" for _ in smiles]


def answers_once(smiles: list[str]) -> list[float]:
    """A user's function that returns too few numbers."""
    return [0.5]


def thousands(smiles: list[str]) -> list[float]:
    """A user's function whose values are no scores."""
    return [1000.0 + len(text) for text in smiles]


# What components measure


def test_properties_are_rdkits() -> None:
    aspirin = Chem.MolFromSmiles(ASPIRIN)
    assert raw({"kind": "qed"}, ASPIRIN) == [QED.qed(aspirin)]
    assert raw({"kind": "logp"}, ASPIRIN) == [Descriptors.MolLogP(aspirin)]
    assert raw({"kind": "weight"}, ASPIRIN) == [Descriptors.MolWt(aspirin)]
    assert raw({"kind": "tpsa"}, ASPIRIN) == [Descriptors.TPSA(aspirin)]
    counts = {"rings": 1, "aromatic_rings": 1, "rotatable_bonds": 2, "donors": 1, "acceptors": 3, "heavy_atoms": 13}
    assert {kind: raw({"kind": kind}, ASPIRIN)[0] for kind in counts} == counts
    assert raw({"kind": "sp3_share"}, ASPIRIN) == [pytest.approx(1 / 9)]


def test_a_published_forest_is_a_component() -> None:
    forest = open_published("jnk3", artifact_path("jnk3"))
    assert raw({"kind": "oracle", "published": "jnk3"}, ASPIRIN, ETHANOL) == forest([ASPIRIN, ETHANOL]).tolist()


def test_the_most_similar_molecule_counts() -> None:
    component = {"kind": "similarity", "smiles": [ETHANOL, ASPIRIN], "fingerprint": "ECFP4"}
    assert raw(component, ASPIRIN, "OCC") == [1.0, 1.0]
    assert 0 < raw(component, "CCCO")[0] < 1


@pytest.mark.parametrize("name", ["ECFP4", "ECFP6", "FCFP4", "FCFP6", "AP", "TT", "RDK", "MACCS", "PHCO"])
def test_every_fingerprint_finds_a_molecule_like_itself_and_unlike_others(name: str) -> None:
    same, other = raw({"kind": "similarity", "smiles": [ASPIRIN], "fingerprint": name}, ASPIRIN, "C1CCNCC1CF")
    assert (same, other < 0.5) == (1.0, True)


def test_a_molecule_with_too_many_pharmacophores_has_no_value() -> None:
    found = raw({"kind": "similarity", "smiles": [ASPIRIN], "fingerprint": "PHCO"}, "C(O)" * 40, ASPIRIN)
    assert np.array_equal(found, [np.nan, 1.0], equal_nan=True)


def test_a_substructure_is_there_or_not() -> None:
    ring = {"kind": "smarts", "smarts": "c1ccccc1"}
    assert raw(ring, ASPIRIN, ETHANOL) == [1.0, 0.0]
    assert raw({**ring, "present": False}, ASPIRIN, ETHANOL) == [0.0, 1.0]


def test_atoms_of_an_element_are_counted_hydrogens_too() -> None:
    assert raw({"kind": "atoms", "element": "O"}, ASPIRIN, ETHANOL) == [4.0, 1.0]
    assert raw({"kind": "atoms", "element": "H"}, ASPIRIN, "[H][H]", "[2H]C") == [8.0, 2.0, 4.0]


def test_an_isomer_alone_has_all_atoms_of_a_formula() -> None:
    isomer = {"kind": "formula", "formula": "C2H6O"}
    one_carbon_less = np.exp(-0.5 * (1 + 4 + (3 / 2) ** 2) / 4)  # CH4O: one C, two H, three atoms in all
    assert raw(isomer, ETHANOL, "COC", "CO") == pytest.approx([1.0, 1.0, one_carbon_less])
    assert raw({"kind": "formula", "formula": "CH6N"}, "C[NH3+]") == [1.0]  # a charge is no part of a formula


# How they become one score


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        ("arithmetic_mean", (0.25 + 3 * 0.64) / 4),
        ("geometric_mean", (0.25 * 0.64**3) ** 0.25),
        ("product", 0.25 * 0.64**3),
    ],
)
def test_weights_are_those_of_means_and_powers_of_products(combine: str, expected: float) -> None:
    def share(value: float, weight: float) -> dict[str, Any]:
        transform = {"kind": "linear", "low": 0, "high": 1 / value}
        return {"kind": "rings", "weight": weight, "transform": transform}

    objective = build({"first": share(0.25, 1), "second": share(0.64, 3)}, combine)
    assert objective.measure([ASPIRIN]).scores == pytest.approx([expected], rel=1e-12)


def test_one_zero_makes_a_geometric_mean_zero() -> None:
    objective = build({"qed": {"kind": "qed"}, "ring": {"kind": "smarts", "smarts": "c1ccccc1"}})
    assert objective.measure([ETHANOL]).scores.tolist() == [0.0]


def test_the_score_of_a_molecule_does_not_depend_on_its_batch() -> None:
    objective = build(
        {"qed": {"kind": "qed"}, "sa": {"kind": "sa", "transform": {"kind": "linear", "low": 10, "high": 1}}}
    )
    together = objective.measure([ASPIRIN, ETHANOL, "CCN"]).scores.tolist()
    assert [float(objective.measure([smiles]).scores[0]) for smiles in (ASPIRIN, ETHANOL, "CCN")] == together


def test_an_objective_can_be_sent_to_a_worker() -> None:
    components = {
        kind: {"kind": kind, "transform": {"kind": "step", "threshold": 1}} for kind in ("qed", "logp", "weight")
    }
    objective = build(
        {**components, "fluorine": {"kind": "atoms", "element": "F", "transform": {"kind": "step", "threshold": 1}}}
    )
    sent = pickle.loads(pickle.dumps(objective))
    assert sent.measure([ASPIRIN]).details == objective.measure([ASPIRIN]).details


# What is logged


def test_each_component_has_its_raw_and_its_transformed_value_in_the_log() -> None:
    linear = {"kind": "linear", "low": 10, "high": 1}
    task = MoleculeTask(build({"ease": {"kind": "sa", "transform": linear}}), Library(()), 1, 80)
    assert task.columns == {"ease_raw": float, "ease_value": float}
    [evaluation] = task.evaluate([Hypothesis(ASPIRIN, ASPIRIN)])
    assert evaluation.details["ease_raw"] == pytest.approx(1.58004, abs=1e-5)
    assert evaluation.details["ease_value"] == evaluation.score == pytest.approx((10 - 1.58004) / 9, abs=1e-6)


def test_a_component_without_a_value_fails_the_evaluation_and_the_others_are_logged() -> None:
    own = {"kind": "oracle", "_target_": f"{__name__}.never"}
    task = MoleculeTask(build({"qed": {"kind": "qed"}, "own": own}), Library(()), 1, 80)
    failed, fine = task.evaluate([Hypothesis(ETHANOL, ETHANOL), Hypothesis(ASPIRIN, ASPIRIN)])
    assert (failed.score, failed.valid, failed.error) == (None, False, "non_finite: own_raw is NaN")
    assert failed.details["own_raw"] is None
    assert failed.details["qed_raw"] == pytest.approx(0.4068, abs=1e-4)
    assert fine.score == pytest.approx((0.5501218 * 0.5) ** 0.5)


def test_a_function_beyond_scores_needs_a_transform() -> None:
    own = {"kind": "oracle", "_target_": f"{__name__}.thousands"}
    with pytest.raises(
        ContractError,
        match=r"^task\.objective\.components\.own measured 1003.0 for CCO, outside \[0, 1\]; set .*own\.transform$",
    ):
        build({"own": own}).measure([ETHANOL])
    scaled = {**own, "transform": {"kind": "linear", "low": 1000, "high": 1010}}
    assert build({"own": scaled}).measure([ETHANOL]).scores == pytest.approx([0.3])


@pytest.mark.parametrize(
    ("function", "error", "expected"),
    [
        (fails, ServiceError, "raised ValueError: no license"),
        (answers_in_words, ContractError, "must return one number for each molecule"),
        (answers_once, ContractError, r"returned an array of shape \(1,\) for 2 molecules"),
    ],
)
def test_a_function_that_fails_is_named_by_its_key(
    function: Callable[[list[str]], object], error: type[Exception], expected: str
) -> None:
    own = {"kind": "oracle", "_target_": f"{__name__}.{function.__name__}", "on_error": "fail"}
    with pytest.raises(error, match=rf"^task\.objective\.components\.own {expected}"):
        build({"own": own}).measure([ETHANOL, ASPIRIN])


# What is wrong with settings

GAUSSIAN = {"kind": "gaussian", "mu": 1, "sigma": 1}


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (3, "task.objective.components.one must be a group of keys with a kind, got 3"),
        (None, "components.one must not be null; to drop the component, write ~task.objective.components.one"),
        ({}, "task.objective.components.one.kind has no value; use one of oracle, similarity"),
        ({"kind": "qedd"}, "task.objective.components.one.kind=qedd is unknown; did you mean qed?"),
        ({"kind": "qed", "wieght": 2}, "task.objective.components.one.wieght is unknown; did you mean"),
        ({"kind": "qed", "weight": 0}, "task.objective.components.one.weight must be above 0 and at most 1e+06, got 0"),
        ({"kind": "qed", "weight": nan}, "one.weight must be above 0 and at most 1e+06, got nan"),
        ({"kind": "qed", "weight": inf}, "one.weight must be above 0 and at most 1e+06, got inf"),
        ({"kind": "qed", "weight": {"a": 1}}, "components.one.weight must be a number, got {'a': 1}"),
        ({"kind": "qed", "weight": "much"}, "task.objective.components.one.weight must be a number, got much"),
        (
            {"kind": "logp"},
            "task.objective.components.one.transform has no value; set one, as logp is not a score from 0 to 1",
        ),
        (
            {"kind": "logp", "transform": None},
            "task.objective.components.one.transform has no value; set one, as logp is not a score from 0 to 1",
        ),
        (
            {"kind": "logp", "transform": "gaussian"},
            "transform must be a group of keys, got gaussian",
        ),
        ({"kind": "logp", "transform": []}, "one.transform must be a group of keys, got []"),
        (
            {"kind": "logp", "transform": {**GAUSSIAN, "mu": {"a": 1}}},
            "components.one.transform.mu must be a number, got {'a': 1}",
        ),
        ({"kind": "logp", "transform": {**GAUSSIAN, "sigma": nan}}, "one.transform.sigma must be above 0, got nan"),
        ({"kind": "logp", "transform": {"kind": "bell"}}, "one.transform.kind=bell is unknown"),
        ({"kind": "logp", "transform": {"mu": 1}}, "one.transform.kind has no value; use one of gaussian"),
        ({"kind": "logp", "transform": {"kind": "gaussian", "mu": 1}}, "one.transform.sigma has no value; set it"),
        ({"kind": "logp", "transform": {**GAUSSIAN, "sigma": 0}}, "one.transform.sigma must be above 0, got 0"),
        ({"kind": "logp", "transform": {**GAUSSIAN, "mu": nan}}, "one.transform.mu must be a number, got nan"),
        (
            {"kind": "logp", "transform": {"kind": "linear", "low": 1, "high": 1}},
            "task.objective.components.one.transform.low and task.objective.components.one.transform.high are both 1.0",
        ),
        ({"kind": "similarity"}, "task.objective.components.one.smiles has no value; set it"),
        ({"kind": "similarity", "smiles": []}, "one.smiles must name at least one molecule"),
        ({"kind": "similarity", "smiles": {"a": "CCO"}}, "one.smiles must be a list, got {'a': 'CCO'}"),
        ({"kind": "similarity", "smiles": None}, "one.smiles must be a value other than null, got null"),
        ({"kind": "similarity", "smiles": [{"a": "CCO"}]}, "one.smiles[0] must be text, got {'a': 'CCO'}"),
        ({"kind": "similarity", "smiles": 3}, "one.smiles must be a list, got 3"),
        ({"kind": "similarity", "smiles": "C(("}, "one.smiles: 'C((' is not a molecule"),
        (
            {"kind": "similarity", "smiles": "C", "fingerprint": "ECFP5"},
            "one.fingerprint=ECFP5 is unknown; did you mean",
        ),
        (
            {"kind": "smarts", "smarts": "c1("},
            "task.objective.components.one.smarts: expected a SMARTS of 1 to 1000 characters, got 'c1('",
        ),
        (
            {"kind": "smarts", "smarts": ""},
            "task.objective.components.one.smarts: expected a SMARTS of 1 to 1000 characters, got ''",
        ),
        ({"kind": "atoms", "element": "Xx", "transform": GAUSSIAN}, "one.element=Xx is not an element"),
        ({"kind": "atoms", "element": "F"}, "one.transform has no value; set one, as atoms is not a score"),
        ({"kind": "formula", "formula": "C7H8X2"}, "one.formula: 'C7H8X2' has X, which is not an element"),
        ({"kind": "formula", "formula": {"a": 1}}, "one.formula must be text, got {'a': 1}"),
        ({"kind": "formula", "formula": "seven"}, "one.formula: 'seven' is not a molecular formula"),
        ({"kind": "oracle"}, "task.objective.components.one names no oracle; set published, path or _target_"),
        ({"kind": "oracle", "published": "jnk4"}, "task.objective.components.one.published=jnk4 is unknown; use jnk3"),
        (
            {"kind": "oracle", "path": "/none.npz"},
            "task.objective.components.one.path: cannot read /none.npz (No such file",
        ),
        ({"kind": "oracle", "path": {"a": 1}}, "components.one.path must be text, got {'a': 1}"),
        ({"kind": "oracle", "path": ""}, "task.objective.components.one.path: cannot read "),
        ({"kind": "oracle", "path": __file__}, "task.objective.components.one.path: "),
        (
            {"kind": "oracle", "_target_": "nowhere.at_all"},
            "task.objective.components.one._target_=nowhere.at_all cannot be used",
        ),
        (
            {"kind": "oracle", "published": "jnk3", "_target_": "nowhere.at_all"},
            "one.published and task.objective.components.one._target_ exclude each other",
        ),
        (
            {"kind": "oracle", "published": "jnk3", "path": "/none.npz"},
            "one.published and task.objective.components.one.path exclude each other",
        ),
        ({"kind": "oracle", "elsewhere": True}, "one.elsewhere=true is allowed in task.oracle only"),
        ({"kind": "qed", "weight": 1e308}, "one.weight must be above 0 and at most 1e+06, got 1e+308"),
        ({"kind": "similarity", "smiles": "C", "fingerprint": "TT"}, "one.smiles: 'C' has no TT features"),
        ({"kind": "similarity", "smiles": "C", "fingerprint": "PHCO"}, "one.smiles: 'C' has no PHCO features"),
        (
            {"kind": "similarity", "smiles": "C(O)" * 40, "fingerprint": "PHCO"},
            "has more than 80 PHCO features",
        ),
        ({"kind": "formula", "formula": "C0"}, "one.formula: 'C0' has no atoms"),
    ],
)
def test_a_wrong_component_is_told_with_its_key(component: Any, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_objective({"components": {"one": component}})
    assert len(raised.value.violations) == 1
    assert expected in raised.value.violations[0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"combine": "sum", "components": {"qed": {"kind": "qed"}}}, "task.objective.combine=sum is unknown"),
        ({"combine": "product"}, "task.objective.components must hold 1 to 30 components, got 0"),
        ({"components": None}, "task.objective.components must hold 1 to 30 components, got 0"),
        ({"components": []}, "task.objective.components must be a group of keys, got []"),
        (
            {"combine": {"a": 1}, "components": {"qed": {"kind": "qed"}}},
            "task.objective.combine must be text, got {'a': 1}",
        ),
        ({"components": 3}, "task.objective.components must be a group of keys, got 3"),
        (
            {"components": {"a b": {"kind": "qed"}}},
            "task.objective.components.a b: a name may have at most 40 lower-case letters",
        ),
        ({"components": {1: {"kind": "qed"}}}, "task.objective.components.1: a name may have at most 40 lower-case"),
        ({"mean": 1, "components": {"qed": {"kind": "qed"}}}, "task.objective.mean is unknown"),
    ],
)
def test_a_wrong_objective_is_told_with_its_key(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_objective(values)
    assert [expected in line for line in raised.value.violations] == [True]


def test_everything_wrong_with_an_objective_is_told_at_once() -> None:
    line = {"kind": "linear", "low": 1, "high": 1, "middle": 1}
    components = {1: {"kind": "qed"}, "a": "???", "b": {"kind": "bell"}, "c": {"kind": "logp", "transform": line}}
    with pytest.raises(InputError) as raised:
        read_objective({"components": components})
    keys = ["components.1:", "components.a must", "b.kind=bell", "c.transform.middle is", "c.transform.high are both"]
    assert [key in line for key, line in zip(keys, raised.value.violations, strict=True)] == [True] * 5


def test_null_is_no_transform() -> None:
    assert read_objective({"components": {"qed": {"kind": "qed", "transform": None}}})[1][0].transform is None


def test_rdkits_own_messages_about_smiles_are_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        read_objective({"components": {"one": {"kind": "similarity", "smiles": "c1cccCCCC"}}})
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("task.objective=qed", "task.objective must be a group of keys, got qed"),
        (
            "task.oracle.on_error=fail",
            "task.oracle.on_error=fail has no effect with task.objective; set on_error of the component",
        ),
        ("task.objective=null", "task.oracle names no oracle; set published, path, _target_ or elsewhere"),
        ("task.objective.components.qed=null", "write ~task.objective.components.qed"),
    ],
)
def test_a_wrong_objective_on_the_command_line_is_one_line(override: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        plan("task=dual_kinase", override)
    assert [expected in line for line in raised.value.violations] == [True]


def test_null_is_no_objective() -> None:
    planned = plan("task=dual_kinase", "task.objective=null", "task.oracle.published=jnk3")
    assert "oracle" in planned.find_sources(lambda name: name)


def test_a_component_is_dropped_as_its_message_says() -> None:
    sources = plan("task=dual_kinase", "~task.objective.components.gsk3b").find_sources(lambda name: name)
    assert "objective.jnk3" in sources
    assert "objective.gsk3b" not in sources


def test_an_oracle_beside_an_objective_is_refused() -> None:
    with pytest.raises(InputError, match=r"task\.oracle and task\.objective are both set"):
        plan("task=dual_kinase", "task.oracle.published=jnk3")


def test_components_are_set_on_the_command_line() -> None:
    planned = plan("task=dual_kinase", "task.objective.components.qed.weight=2")
    assert planned.overrides == {"task.objective.components.qed.weight": 2}


def test_a_forest_of_a_component_is_a_source_of_the_run() -> None:
    sources = plan("task=dual_kinase").find_sources(lambda name: f"sha256 of {name}")
    assert {role: source.sha256 for role, source in sources.items()} == {
        "objective.jnk3": "sha256 of jnk3",
        "objective.gsk3b": "sha256 of gsk3b",
        "initial": "sha256 of zinc250k",
    }


def test_a_language_model_is_told_what_the_components_are() -> None:
    told = str(vars(prompts.build(plan("task=dual_kinase").task)))
    assert "inhibition of JNK3; inhibition of GSK3β; drug-likeness (QED); ease of synthesis (SA score)" in told
