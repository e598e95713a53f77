"""Whole searches of equations, in the real sandbox."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.errors import InputError, Interrupted
from evodiverse.tasks.equations.data import builtin_splits, hold_back
from evodiverse.tasks.equations.problems import PROBLEMS
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import log, rows, run_here, stop_after

pytestmark = pytest.mark.slow

SMALL = ["task=equation", "task.problem=builtin/reaction3", "budget.oracle_calls=50", "method.swap.period=1"]
TWO = "evaluator.workers=2"
TARGET = "search.target=-1e-12"
LAW = PROBLEMS["reaction3"].skeleton.partition("return ")[2].strip()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_here(*SMALL, TWO, f"outputs={tmp_path_factory.mktemp('whole')}")


def predict(row: dict[str, Any], inputs: np.ndarray) -> np.ndarray:
    """Return the values of a row's equation with its logged parameters, computed by Python itself."""
    scope: dict[str, Any] = {"np": np}
    exec(row["genotype"], scope)  # noqa: S102
    with np.errstate(all="ignore"):
        return np.broadcast_to(scope["equation"](*inputs.T, json.loads(row["params"])), len(inputs))


def test_every_error_of_the_log_is_that_of_its_equation(whole: Path) -> None:
    train, *held_out = builtin_splits(PROBLEMS["reaction3"])
    splits = {"train": hold_back(train, 0.2)[0], "held": hold_back(train, 0.2)[1]}
    splits |= dict(zip(("id", "ood"), held_out, strict=True))
    evaluated = [row for row in rows(whole, "evaluations") if row["call"] is not None]
    assert len(evaluated) == 50
    for row in (row for row in evaluated if row["valid"]):
        for name, data in splits.items():
            errors = predict(row, data.inputs) - data.target
            nmse = np.mean(errors**2) / np.var((data if name in ("id", "ood") else train).target)
            assert row[f"nmse_{name}"] == pytest.approx(nmse, rel=1e-6, abs=1e-25)
            if name in ("id", "ood"):
                within = np.abs(errors) <= 0.1 * np.abs(data.target)
                assert (row[f"acc01_{name}"], row[f"acc01_95_{name}"]) == (within.all(), within.mean() >= 0.95)
        assert row["score"] == -row["mse"] == -row["nmse_train"]
        assert row["energy"] == pytest.approx(np.log(max(row["mse"], 1e-12)))
    for row in (row for row in evaluated if not row["valid"]):
        assert (row["score"], row["energy"], row["params"]) == (None, None, None)
        assert row["error"]


def test_both_pools_start_from_the_linear_and_the_quadratic_skeleton(whole: Path) -> None:
    initial = [row for row in rows(whole, "evaluations") if row["operator"] == "initial"]
    assert [row["pool"] for row in initial] == [None, None]
    first = [row for row in rows(whole, "populations") if row["iteration"] == 0]
    assert [row["members"] for row in first] == [[1, 2], [1, 2]]


def test_the_two_parents_are_shared_by_all_offspring_of_a_pool(whole: Path) -> None:
    made = [row for row in rows(whole, "evaluations") if row["iteration"] > 0]
    for iteration in {row["iteration"] for row in made}:
        for pool in (0, 1):
            pairs = {frozenset(row["parents"]) for row in made if (row["iteration"], row["pool"]) == (iteration, pool)}
            assert len(pairs) <= 1
            assert all(len(pair) == 2 for pair in pairs)


def test_the_line_about_the_chosen_equation_has_its_held_out_error(whole: Path) -> None:
    known = json.loads((whole / "best" / "equation.json").read_text())
    line = (whole / "best" / "chosen.txt").read_text()
    assert line.endswith(f"(held-back NMSE {known['nmse_held']:.2g})\n")


def test_the_best_is_there_to_be_looked_at(whole: Path) -> None:
    evaluated = [row for row in rows(whole, "evaluations") if row["call"] is not None and row["valid"]]
    best = min(evaluated, key=lambda row: (row["mse"], row["call"]))
    about = json.loads((whole / "best/equation.json").read_text())
    assert about["call"] == best["call"]
    assert about["symbolic_match"] in {True, False}
    scope: dict[str, Any] = {}
    exec((whole / "best/equation.py").read_text(), scope)  # noqa: S102
    data = builtin_splits(PROBLEMS["reaction3"]).test_id
    predicted = scope["equation"](*data.inputs.T)
    np.testing.assert_allclose(predicted, predict(best, data.inputs), rtol=1e-3)  # the constants have fewer digits
    assert about["nmse_id"] == pytest.approx(np.mean((predicted - data.target) ** 2) / np.var(data.target))
    assert r"\begin{equation}" in (whole / "best/equation.tex").read_text()
    assert (whole / "best/fit.png").read_bytes().startswith(b"\x89PNG")


def test_any_number_of_workers_and_size_of_batches_gives_the_same_log(whole: Path, tmp_path: Path) -> None:
    assert log(run_here(*SMALL, "evaluator.workers=1", "evaluator.batch=1", f"outputs={tmp_path}")) == log(whole)


def test_a_stopped_run_resumes_to_the_same_log(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=signal.Signals.SIGINT.name):
        run_here(*SMALL, TWO, f"outputs={tmp_path}", display=stop_after(2))
    assert log(run_here(*SMALL, TWO, f"outputs={tmp_path}")) == log(whole)


def test_a_users_own_data_are_searched(tmp_path: Path) -> None:
    x = np.linspace(0.5, 3, 40)
    for name, points in (("train", x), ("far", x + 5)):
        lines = [f"{value},{2 * value + 1}" for value in points]
        (tmp_path / f"{name}.csv").write_text("\n".join(["load,length", *lines]) + "\n")
    run = run_here(
        *("task=equation", "task.problem=csv/spring", "task.data.target=length", f"outputs={tmp_path}", TARGET),
        *(f"task.data.train={tmp_path / 'train.csv'}", f"task.data.test_ood={tmp_path / 'far.csv'}"),
        "+task.data.descriptions.load=weight in N",
    )
    record = json.loads((run / "run.json").read_text())
    assert record["stopped_by"] == "target"
    assert set(record["sources"]) == {"train", "test_ood"}
    first = rows(run, "evaluations")[0]
    assert first["nmse_ood"] < 1e-20
    assert first["nmse_id"] is None
    assert json.loads((run / "best/equation.json").read_text())["symbolic_match"] is None


def test_unusable_data_are_reported_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,nan\n3,two\n")
    with pytest.raises(InputError) as refused:
        run_here(
            *("task=equation", "task.problem=csv/a", "task.data.target=z", f"task.data.train={tmp_path / 'a.csv'}"),
            f"outputs={tmp_path}",
        )
    assert "task.data.target=z is not a column" in str(refused.value)


REPLIES = [
    "It saturates.\n```python\ndef equation_v2(A, params):\n    return -params[0] * A - params[1] * A / (1 + A)\n```",
    "    rate = params[0] * A ** {n}\n    return rate + equation_v1(A, params[3:])\n",
    "I would need more data to say anything.",
    "```\nimport os\ndef equation_v2(A, params):\n    return os.getpid() * A\n```",
    "class Law:\n    def __call__(self, A, params):\n        return params[0] * np.sin(A * {n})\n",
    "```python\ndef equation_v2(A, params):\n    return np.mean(A) * params[0]\n```",
    "<think>def equation_v2(A, params): return A</think>```python\nf = lambda A, params: params[0] * A ** 2 / {n}\n```",
]


def answer(body: Body, number: int) -> Answer:
    return Answer(REPLIES[number % len(REPLIES)].replace("{n}", str(number + 2)))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(ModelServer(answer)) as running:
        yield running


def model(server: ModelServer, tmp_path: Path) -> list[str]:
    return [
        *("llm=openai_compatible", "llm.model=toy", "llm.concurrency=1", f"llm.api_base={server.url}"),
        *(f"llm.cache={tmp_path / 'cache'}", f"outputs={tmp_path}", "method.offspring=4"),
    ]


def test_a_models_equations_are_fitted_and_its_failures_say_why(server: ModelServer, tmp_path: Path) -> None:
    run = run_here(*SMALL, "budget.oracle_calls=20", *model(server, tmp_path))
    made = [row for row in rows(run, "evaluations") if row["operator"] == "llm"]
    errors = [row["error"] or "" for row in made if row["outcome"] == "rejected"]
    assert Counter(error.partition(":")[0] for error in errors).keys() == {"no_answer", "unparsable"}
    assert any("line 2: a call of os.getpid" in error for error in errors)
    assert any("np.mean" in error for error in errors)
    genotypes = [row["genotype"] for row in made if row["outcome"] == "evaluated"]
    assert any("A / (1 + A)" in genotype for genotype in genotypes)
    assert any("np.sin(A * " in genotype for genotype in genotypes)
    assert any("rate" in genotype and "params[3]" in genotype for genotype in genotypes)  # what it called is inlined
    prompt = next(prompt for prompt in server.prompts if "equation_v2" in prompt)
    assert prompt.index("def equation_v0") < prompt.index("def equation_v1") < prompt.index("def equation_v2")
    assert "chemistry" not in prompt
    first, second = (float(part.split()[0]) for part in prompt.split("Mean squared error ")[1:3])
    assert first > second


def test_a_law_that_a_model_finds_ends_a_run_with_a_target(server: ModelServer, tmp_path: Path) -> None:
    law = f"```python\ndef equation_v2(A, params):\n    return {LAW}\n```"
    server.script = lambda body, number: Answer(law if number == 9 else answer(body, number).content)
    run = run_here(*SMALL, *model(server, tmp_path), TARGET)
    assert json.loads((run / "run.json").read_text())["stopped_by"] == "target"
    about = json.loads((run / "best/equation.json").read_text())
    assert about["symbolic_match"] is True
    assert about["nmse_ood"] < 1e-10
