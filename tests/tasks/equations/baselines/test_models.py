"""Models of an engine as skeletons with constants that nothing fits again."""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.baselines import Model, add_constant, write_model
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.operators.trees import call, number, variable
from evodiverse.tasks.equations.problems import Dataset, Rows, Splits, Variable
from evodiverse.tasks.equations.settings import EquationSettings
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, SkeletonError
from evodiverse.tasks.equations.task import EquationTask
from evodiverse.vocabulary import Evaluation

X = np.linspace(0.5, 3, 60)
BEYOND = np.linspace(5, 6, 20)
# Beyond the domain of the fitted data, five times the slope is right.
SPLITS = Splits(Rows(X[:, None], X), Rows(X[:20, None], X[:20]), Rows(BEYOND[:, None], 5 * BEYOND))
DATASET = Dataset(Variable("y", ""), (Variable("x", ""),), SPLITS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox([fitting.__name__])
    yield sandbox
    sandbox.close()


def line(slope: float) -> Model:
    constants: list[float] = []
    return Model(call("multiply", add_constant(constants, slope), variable("x")), constants)


def evaluate(sandbox: ProcessSandbox, *models: Model) -> list[Evaluation]:
    written = [write_model(model, ("x",)) for model in models]
    given = {hypothesis.key: params for hypothesis, params in written}
    task = EquationTask(DATASET, sandbox, EquationSettings(problem="csv/x"), given=given)
    return task.evaluate([hypothesis for hypothesis, _ in written])


def test_constants_are_numbered_as_they_stand_in_the_skeleton() -> None:
    constants: list[float] = []
    first, second = add_constant(constants, 2.0), add_constant(constants, -0.5)
    model = Model(call("add", call("power", second, number(2)), call("exp", first)), constants)
    hypothesis, params = write_model(model, ("x",))
    assert hypothesis.genotype == "def equation(x, params):\n    return params[0] ** 2 + np.exp(params[1])\n"
    assert params.tolist() == [-0.5, 2.0]


def test_one_skeleton_with_other_constants_is_another_hypothesis() -> None:
    (one, _), (other, _), (same, _) = (write_model(line(slope), ("x",)) for slope in (1.0, 2.0, 1.0))
    assert one.genotype == other.genotype
    assert one.key != other.key
    assert one == same


def test_a_model_may_have_more_constants_than_an_evolved_equation(sandbox: ProcessSandbox) -> None:
    constants: list[float] = []
    tree = variable("x")
    for _ in range(MAX_PARAMS + 5):
        tree = call("add", tree, add_constant(constants, 0.0))
    (evaluation,) = evaluate(sandbox, Model(tree, constants))
    assert json.loads(str(evaluation.details["params"])) == [0.0] * (MAX_PARAMS + 5)
    assert evaluation.details["nmse_train"] == 0


def test_a_model_that_is_nested_too_deeply_is_refused() -> None:
    tree = variable("x")
    for _ in range(120):
        tree = call("sin", tree)
    with pytest.raises(SkeletonError, match="nested"):
        write_model(Model(tree, ()), ("x",))


def test_given_constants_are_not_fitted_to_the_training_data(sandbox: ProcessSandbox) -> None:
    one, other = evaluate(sandbox, line(1.0), line(2.0))
    assert one.details["nmse_train"] == 0
    assert other.details["nmse_train"] == pytest.approx(np.mean(X**2) / np.var(X), rel=1e-12)
    assert json.loads(str(other.details["params"])) == [2.0]


def test_constants_that_are_no_numbers_fail(sandbox: ProcessSandbox) -> None:
    (evaluation,) = evaluate(sandbox, line(float("nan")))
    assert (evaluation.valid, evaluation.score) == (False, None)
    assert evaluation.error.startswith("non_finite")


def test_the_error_beyond_the_domain_is_that_of_the_constants_fitted_on_the_training_data(
    sandbox: ProcessSandbox,
) -> None:
    fitted = float(np.linalg.lstsq(X[:, None], X)[0][0])
    refitted = float(np.linalg.lstsq(BEYOND[:, None], 5 * BEYOND)[0][0])
    large, small = (np.mean((slope * BEYOND - 5 * BEYOND) ** 2) / np.var(5 * BEYOND) for slope in (fitted, refitted))
    assert small < 1e-20 < 100 < large  # so that the slip of fitting again could not be missed
    (evaluation,) = evaluate(sandbox, line(fitted))
    assert evaluation.details["nmse_ood"] == pytest.approx(large, rel=1e-9)
