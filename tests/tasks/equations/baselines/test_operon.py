"""Operon's trees as ours, and its front on data of a known law."""

from typing import Any

import numpy as np
import pytest

from evodiverse.tasks.equations.baselines import Front, Order, operon, write_model

pyoperon = pytest.importorskip("pyoperon", reason="pyoperon is not installed; pip install 'evodiverse[baselines]'")
INPUTS = np.random.default_rng(0).uniform(0.2, 0.9, size=(200, 2))
COLUMNS = dict(zip("ab", INPUTS.T, strict=True))
DATA = pyoperon.Dataset(np.asfortranarray(INPUTS))
HASHES = [found.Hash for found in sorted(DATA.Variables, key=lambda one: one.Index)]
NAMES = dict(zip(HASHES, "ab", strict=True))
UNARY = ["Cos", "Exp", "Log", "Sin", "Sqrt", "Tanh", "Sub", "Div"]
BINARY = ["Add", "Sub", "Mul", "Div", "Pow"]


def leaf(at: int, weight: float) -> Any:
    node = pyoperon.Node.Variable(weight)
    node.HashValue = HASHES[at]
    return node


def operation(kind: str, arity: int, factor: float = 1.0) -> Any:
    node = pyoperon.Node(getattr(pyoperon.NodeType, kind))
    node.Arity, node.Value = arity, factor
    return node


def check(nodes: list[Any]) -> None:
    """Compare the predictions of a tree, which Operon makes in single precision."""
    tree = pyoperon.Tree(nodes).UpdateNodes()
    theirs = pyoperon.Evaluate(pyoperon.DispatchTable(), tree, DATA, pyoperon.Range(0, len(INPUTS)))
    model = operon.read_model(tree.Nodes, NAMES)
    ours = model.tree.evaluate(COLUMNS, model.constants)
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", UNARY)
def test_a_function_of_one_argument_is_operon_s(kind: str) -> None:
    check([leaf(1, 0.7), operation(kind, 1)])


@pytest.mark.parametrize("kind", BINARY)
def test_a_function_of_two_arguments_takes_them_in_operon_s_order(kind: str) -> None:
    check([leaf(0, 0.7), leaf(1, 1.3), operation(kind, 2)])


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div"])
def test_arithmetic_of_three_arguments_goes_from_left_to_right(kind: str) -> None:
    check([leaf(0, 0.7), leaf(1, 1.3), pyoperon.Node.Constant(2.5), operation(kind, 3)])


def test_the_value_of_an_operation_is_a_factor() -> None:
    check([leaf(0, 0.7), leaf(1, 1.3), operation("Mul", 2, 3.0)])


def test_a_symbol_that_is_not_allowed_has_no_counterpart() -> None:
    with pytest.raises(ValueError, match="Operon's node Ceil has no counterpart in a skeleton"):
        operon.read_model([leaf(0, 1.0), operation("Ceil", 1)], NAMES)


def find(evaluations: int) -> Front:
    target = 2.5 * INPUTS[:, 0] * INPUTS[:, 1] + 0.3
    return operon.find_models(Order(INPUTS, target, ("a", "b"), 1, None, evaluations))


def test_the_law_is_found_and_written_with_operon_s_own_constants() -> None:
    front = find(5_000)
    hypothesis, params = write_model(front.models[front.selected], ("a", "b"))
    scope: dict[str, Any] = {"np": np}
    exec(hypothesis.genotype, scope)  # noqa: S102
    predicted = scope["equation"](*INPUTS.T, params)
    assert predicted == pytest.approx(2.5 * INPUTS[:, 0] * INPUTS[:, 1] + 0.3, rel=1e-5)


def test_predictions_are_those_of_operon_s_own_predict() -> None:
    from pyoperon.sklearn import SymbolicRegressor

    target = np.exp(-INPUTS[:, 0]) * np.sin(3 * INPUTS[:, 1])
    regressor = SymbolicRegressor(
        **operon.settings | {"population_size": 200}, random_state=0, max_evaluations=5_000, uncertainty=[0.01]
    ).fit(INPUTS, target)
    names = dict(zip(regressor.variables_, "ab", strict=True))
    assert len(regressor.pareto_front_) > 3
    for found in regressor.pareto_front_:
        model = operon.read_model(found["tree"].Nodes, names)
        ours = model.tree.evaluate(COLUMNS, model.constants)
        theirs = regressor.evaluate_model(found["tree"], INPUTS)
        assert np.abs(ours - theirs).max() < 1e-6 * np.ptp(target)  # single precision


def test_one_seed_gives_one_front_within_its_evaluations() -> None:
    one, again = find(3_000), find(3_000)
    assert one == again
    assert one.evaluations is not None
    assert 1_000 <= one.evaluations < 6_000
