"""A regression forest as a component of an objective: its columns, its score, and what it is confused with."""

import io
import pickle
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rich.console import Console

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.results.show import print_run
from evodiverse.tasks.molecules import domain, view
from evodiverse.tasks.molecules.forest import LEAF_COLUMN, Forest, RegressionForest, morgan_fingerprints
from evodiverse.tasks.molecules.initial import Library
from evodiverse.tasks.molecules.objective.objective import Objective, read_objective
from evodiverse.tasks.molecules.oracle import open_forest
from evodiverse.tasks.molecules.settings import MoleculeSettings, Oracle
from evodiverse.tasks.molecules.task import MoleculeTask
from evodiverse.vocabulary import Hypothesis
from tests.runs import log, rows, run_here

RING, CHAIN = "c1ccccc1", "CCO"
LINEAR = {"kind": "linear", "low": 5, "high": 9}
SIGMOID = {"kind": "sigmoid", "low": 5, "high": 9}


def build(*parts: tuple[str, dict[str, Any]]) -> Objective:
    return Objective.build({"combine": "product", "components": dict(parts)}, artifact_path)


def arrays(leaves: list[float]) -> dict[str, Any]:
    """One tree that tests a bit that benzene has and ethanol lacks, and one that is a leaf."""
    bits = morgan_fingerprints([Chem.MolFromSmiles(RING), Chem.MolFromSmiles(CHAIN)])
    bit = int(np.flatnonzero(bits[0] > bits[1])[0])
    return {
        "feature": np.array([bit, LEAF_COLUMN, LEAF_COLUMN, LEAF_COLUMN], np.int16),
        "right": np.array([2, 1, 2, 3], np.int32),
        "roots": np.array([0, 3], np.int32),
        "leaves": np.array([0, *leaves]),
    }


@pytest.fixture
def regression(tmp_path: Path) -> str:
    """A forest that predicts 5 ± 1 for ethanol and 7 ± 1 for benzene."""
    values = arrays([4.0, 8.0, 6.0])
    RegressionForest(value=values.pop("leaves"), **values).save_npz(tmp_path / "pic50.npz")
    return str(tmp_path / "pic50.npz")


@pytest.fixture
def classifier(tmp_path: Path) -> str:
    values = arrays([0.25, 0.75, 0.5])
    Forest(probability=values.pop("leaves"), **values).save_npz(tmp_path / "active.npz")
    return str(tmp_path / "active.npz")


def component(path: str, transform: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"kind": "oracle", "path": path, **({} if transform is None else {"transform": transform})}


def refusal(one: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        read_objective({"components": {"pic50": one}})
    (told,) = raised.value.violations
    return told


# What is measured


def test_the_spread_of_the_trees_is_logged_next_to_the_number_and_its_score(regression: str) -> None:
    task = MoleculeTask(build(("pic50", component(regression, LINEAR)), ("qed", {"kind": "qed"})), Library(()), 1, 80)
    assert [*task.columns] == ["pic50_raw", "pic50_value", "pic50_spread", "qed_raw", "qed_value"]
    chain, ring = task.evaluate([Hypothesis(CHAIN, CHAIN), Hypothesis(RING, RING)])
    assert [chain.details[f"pic50_{end}"] for end in ("raw", "value", "spread")] == [5, 0, 1]
    assert [ring.details[f"pic50_{end}"] for end in ("raw", "value", "spread")] == [7, 0.5, 1]
    assert ring.score == pytest.approx(0.5 * float(ring.details["qed_raw"] or 0))


def test_a_forest_of_probabilities_has_no_spread(classifier: str) -> None:
    objective = build(("active", component(classifier)))
    assert objective.columns == {"active_raw": float, "active_value": float}
    assert objective.measure([CHAIN, RING]).scores.tolist() == [0.375, 0.625]


def test_the_columns_of_no_molecules_are_none(regression: str) -> None:
    assert build(("pic50", component(regression, LINEAR))).measure([]).details == []


def test_a_regression_forest_can_be_sent_to_a_worker(regression: str) -> None:
    objective = build(("pic50", component(regression, SIGMOID)))
    sent = pickle.loads(pickle.dumps(objective))
    assert sent.measure([RING]).details == objective.measure([RING]).details
    assert sent.measure([CHAIN]).scores == pytest.approx([1 / (1 + exp(2))])


# What it is confused with


def test_a_regression_forest_needs_a_transform(regression: str) -> None:
    told = f"task.objective.components.pic50.transform has no value; set one, as {regression} is a regression forest"
    assert refusal(component(regression)) == told


def test_a_regression_forest_is_no_oracle_of_its_own(regression: str) -> None:
    (told,) = domain.find_violations(MoleculeSettings(Oracle(path=regression)))
    remedy = "make it a component of task.objective, with a transform (docs/molecules.md)"
    assert told == f"task.oracle.path={regression} predicts numbers that are no scores from 0 to 1; {remedy}"


@pytest.mark.parametrize("transform", [LINEAR, SIGMOID, {"kind": "step", "threshold": 6.5}])
def test_a_forest_of_probabilities_is_not_taken_for_a_regression(classifier: str, transform: dict[str, Any]) -> None:
    assert refusal(component(classifier, transform)).startswith(
        "task.objective.components.pic50.transform scores all probabilities alike, as 0"
    )
    assert refusal(component(classifier, transform)).endswith(
        f", and {classifier} predicts probabilities; correct the transform, or train the forest with --regression"
    )


@pytest.mark.parametrize(
    "transform",
    [{"kind": "linear", "low": 1, "high": 0}, {"kind": "step", "threshold": 1}, {"kind": "step", "threshold": 0.5}],
)
def test_probabilities_may_be_transformed(classifier: str, transform: dict[str, Any]) -> None:
    assert read_objective({"components": {"active": component(classifier, transform)}})


def test_a_damaged_forest_is_told_once(regression: str) -> None:
    Path(regression).write_bytes(Path(regression).read_bytes()[:-30])
    assert refusal(component(regression)).startswith(
        f"task.objective.components.pic50.path: {regression} does not hold a valid forest"
    )


# In a run


@pytest.fixture
def search(regression: str, tmp_path: Path) -> list[str]:
    value = f'{{kind: oracle, path: "{regression}", transform: {{kind: linear, low: 5, high: 9}}}}'
    small = ["method.capacity=20", "method.offspring=8", "task.initial.size=20", "budget.oracle_calls=60"]
    return ["task=jnk3", *small, "task.oracle.published=null", f"+task.objective.components.pic50={value}"]


@pytest.mark.slow
def test_a_run_logs_and_shows_the_spread(search: list[str], regression: str, tmp_path: Path) -> None:
    run = run_here(*search, f"outputs={tmp_path}")
    evaluated = [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]
    assert len(evaluated) == 60
    assert [row["pic50_raw"] for row in evaluated] == open_forest(regression)(
        [row["key"] for row in evaluated]
    ).tolist()
    assert {row["pic50_spread"] for row in evaluated} == {1.0}
    console = Console(file=io.StringIO(), width=120)
    print_run(run, console)
    assert "pic50_raw  pic50_spread" in console.file.getvalue()
    assert (run / "best" / "top.csv").read_text().splitlines()[0].endswith("pic50_raw,pic50_value,pic50_spread")


@pytest.mark.slow
def test_two_workers_give_the_same_log_as_one(search: list[str], tmp_path: Path) -> None:
    first, second = (run_here(*search, f"evaluator.workers={n}", f"outputs={tmp_path}/{n}") for n in (1, 2))
    assert log(first) == log(second)


def test_reports_show_the_number_and_its_spread() -> None:
    logged = dict.fromkeys(("pic50_raw", "pic50_value", "pic50_spread", "line"), float)
    assert [*view.report_columns({}, logged)] == ["pic50_raw", "pic50_spread"]
