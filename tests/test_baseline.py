"""Runs of other engines, started as a user does: composed, logged, and read like any run."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.commands import baseline, baseline_runs
from evodiverse.commands.baseline_runs import Budget, run_all
from evodiverse.errors import InputError, ServiceError
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import Run, read_record, survey_runs
from evodiverse.tasks.equations.baselines import ENGINES, Front, Model, Order, add_constant, find_apart
from evodiverse.tasks.equations.metrics import COLUMNS
from evodiverse.tasks.equations.operators.trees import call, variable
from tests import starts
from tests.runs import FROM_ROOT, ROOT, rows

pytestmark = pytest.mark.slow

TWO_TERMS = Budget(None, 2)


@pytest.fixture
def spring(tmp_path: Path) -> list[str]:
    """Return the settings for data of a spring whose slope is different beyond the domain of the fitted data."""
    for name, low, slope in (("train", 1, 2.0), ("test_id", 1.5, 2.0), ("test_ood", 5, 10.0)):
        loads = np.linspace(low, low + 2, 40)
        lines = [f"{load!r},{slope * load + 1!r}" for load in loads.tolist()]
        (tmp_path / f"{name}.csv").write_text("\n".join(["load,length", *lines]))
    files = [f"task.data.{name}={tmp_path}/{name}.csv" for name in ("train", "test_id", "test_ood")]
    return ["task.problem=csv/spring", "task.data.target=length", *files, f"outputs={tmp_path}/outputs"]


def linear(slope: float, offset: float) -> Model:
    constants: list[float] = []
    tree = call(
        "add", call("multiply", add_constant(constants, slope), variable("load")), add_constant(constants, offset)
    )
    return Model(tree, constants)


def answer(monkeypatch: pytest.MonkeyPatch, *models: Model, selected: int = 0) -> list[Order]:
    """Let each engine return these models, and return a list that collects its orders."""
    asked: list[Order] = []

    def find(engine: str, order: Order) -> Front:
        asked.append(order)
        return Front(models, selected, 7, seconds=0.5)

    monkeypatch.setattr(baseline_runs, "find_apart", find)
    return asked


def only_run(outputs: Path) -> Run:
    (run,) = survey_runs(outputs).complete
    return run


def refusal(engine: str, *overrides: str) -> str:
    with pytest.raises(InputError, match=r".") as caught:
        run_all(engine, overrides, TWO_TERMS)
    return str(caught.value)


def test_a_run_is_complete_and_names_the_engine_as_its_method(spring: list[str], tmp_path: Path) -> None:
    run_all("sparse", [*spring, "seed=3"], TWO_TERMS)
    run = only_run(tmp_path / "outputs")
    assert (run.task, run.method, run.llm, run.seed) == ("equation", "sparse", "off", 3)
    assert run.path.relative_to(tmp_path).parts[:4] == ("outputs", "equation", "sparse", "off")
    assert run.record["overrides"]["budget.evaluations"] == 2
    log = read_log(run, COLUMNS)
    assert log.n_calls == len(log.final_union) >= 1
    assert log.column("nmse_id")[1] == pytest.approx(0, abs=1e-20)
    assert (run.path / "best" / "equation.py").is_file()


def test_an_error_beyond_the_domain_is_measured_without_a_refit(spring: list[str], tmp_path: Path) -> None:
    run_all("sparse", spring, Budget(None, 1))
    (row,) = rows(only_run(tmp_path / "outputs").path, "evaluations")
    loads, lengths = np.loadtxt(tmp_path / "test_ood.csv", delimiter=",", skiprows=1).T
    scope: dict[str, Any] = {"np": np}
    exec(row["genotype"], scope)  # noqa: S102
    offset, slope = json.loads(row["params"])
    again = np.polyfit(loads, lengths, 1)[::-1]
    as_fitted, refitted = (
        np.mean((scope["equation"](loads, params) - lengths) ** 2) / np.var(lengths)
        for params in ([offset, slope], again)
    )
    assert refitted < 1e-20 < 10 < as_fitted
    assert row["nmse_ood"] == pytest.approx(as_fitted, rel=1e-6)


def test_the_engine_sees_only_the_training_data(
    spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, linear(2, 1))
    run_all("sparse", [*spring, "seed=5"], Budget(30, None))
    (order,) = asked
    train = np.loadtxt(tmp_path / "train.csv", delimiter=",", skiprows=1)
    assert np.array_equal(np.column_stack([order.inputs, order.target]), train)
    assert (order.variables, order.seed, order.seconds, order.evaluations) == (("load",), 5, 30, None)


def test_the_front_is_logged_in_the_engine_s_order_with_its_own_choice(
    spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, linear(1, 0), linear(2, 1), linear(2, 1), linear(2, 0.5), selected=2)
    run_all("sparse", spring, TWO_TERMS)
    run = only_run(tmp_path / "outputs")
    found = rows(run.path, "evaluations")
    assert [(row["call"], row["outcome"]) for row in found] == [
        *((1, "evaluated"), (2, "evaluated")),
        *((None, "duplicate"), (3, "evaluated")),
    ]
    assert [row["params"] for row in found if row["call"]] == ["[1.0, 0.0]", "[2.0, 1.0]", "[2.0, 0.5]"]
    assert [row["selected"] for row in found if row["call"]] == [0, 1, 0]
    assert {row["operator"] for row in found} == {"sparse"}
    assert run.record["engine"] == {"evaluations": 7}
    assert run.record["stopped_by"] == "budget"


def test_a_model_that_cannot_be_a_skeleton_is_logged_as_rejected(
    spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = variable("load")
    for _ in range(120):
        tree = call("sin", tree)
    answer(monkeypatch, Model(tree, ()), linear(2, 1))
    run_all("sparse", spring, TWO_TERMS)
    found = rows(only_run(tmp_path / "outputs").path, "evaluations")
    assert [row["outcome"] for row in found] == ["rejected", "evaluated"]
    assert found[0]["error"].startswith("unparsable: line 2: nested")


def test_runs_with_other_budgets_are_other_runs(
    spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, linear(2, 1))
    for budget in (Budget(30, None), Budget(60, None), Budget(None, 60), Budget(None, 60)):
        run_all("sparse", spring, budget)
    assert len(asked) == 3  # the last is complete
    survey = survey_runs(tmp_path / "outputs")
    assert (len(survey.complete), len(survey.repeated)) == (3, 0)
    assert {run.record["stopped_by"] for run in survey.complete} == {"seconds", "budget"}


def test_values_separated_by_commas_are_several_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_all("sparse", ["task.problem=builtin/reaction1,builtin/reaction2", "seed=0,1", "dry_run=true"], TWO_TERMS)
    lines = capsys.readouterr().out.splitlines()
    assert len(set(lines)) == 4
    assert all(line.startswith("would run in outputs/equation/sparse/off/budget.evaluations=2,") for line in lines)


def test_ctrl_c_ends_an_engine_at_once(spring: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyoperon", reason="pyoperon is not installed; pip install 'evodiverse[baselines]'")
    process = start("operon", "--seconds", "90", *spring)
    while not (records := [*(tmp_path / "outputs").rglob("run.json")]):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == "evodiverse: interrupted by SIGINT; run the same command again to start over\n"
    assert read_record(records[0])["status"] == "interrupted"


def test_a_failed_run_starts_over(spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(engine: str, order: Order) -> Front:
        raise ServiceError("no luck")

    monkeypatch.setattr(baseline_runs, "find_apart", fail)
    with pytest.raises(ServiceError, match="no luck"):
        run_all("sparse", spring, TWO_TERMS)
    (record,) = (tmp_path / "outputs").rglob("run.json")
    assert read_record(record)["status"] == "failed"
    answer(monkeypatch, linear(2, 1))
    run_all("sparse", spring, TWO_TERMS)
    assert only_run(tmp_path / "outputs").path == record.parent


def test_a_front_logged_before_a_kill_is_kept(
    spring: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer(monkeypatch, linear(2, 1))
    run_all("sparse", spring, TWO_TERMS)
    record = only_run(tmp_path / "outputs").path / "run.json"
    record.write_text(record.read_text().replace('"complete"', '"running"'))
    run_all("sparse", spring, TWO_TERMS)
    assert len(asked) == 1
    assert only_run(tmp_path / "outputs").record["engine"] == {"evaluations": 7}


@pytest.mark.parametrize("override", ["method.capacity=3", "method=pt", "llm=off", "task.fit=bfgs", "budget.seconds=3"])
def test_a_setting_that_no_engine_reads_is_refused(override: str) -> None:
    assert refusal("sparse", override).startswith(f"{override} has no effect on a baseline; set only keys of task")


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    told = refusal("sparse", "task.problem=builtin/oscillator99", "seed=-1", f"outputs={tmp_path}")
    assert "task.problem=builtin/oscillator99 is unknown; did you mean oscillator" in told
    assert "seed must be" in told
    assert not list(tmp_path.iterdir())


def test_a_task_without_equations_is_refused() -> None:
    message = "baselines need an equation task, but task=circle_packing is not one; use task=equation"
    assert refusal("sparse", "task=circle_packing") == message


def test_a_missing_library_is_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline_runs, "find_spec", lambda module: None)
    assert refusal("sparse") == "--engine sparse needs scikit-learn; run pip install 'evodiverse[baselines]'"
    assert refusal("pysr") == "--engine pysr needs pysr; run pip install pysr; it fetches Julia when it first runs"


def test_an_engine_that_fails_is_reported_in_one_line() -> None:
    none = np.empty((0, 1))
    with pytest.raises(
        ServiceError, match=r"sparse failed \(ValueError: .*\); run the same command again to start over"
    ):
        find_apart("sparse", Order(none, none[:, 0], ("x",), 0, None, 1))


def test_every_engine_can_be_chosen() -> None:
    assert set(baseline.ENGINES) == set(ENGINES)


def test_the_command_makes_a_run_that_appears_in_the_tables(spring: list[str], tmp_path: Path) -> None:
    process = start("sparse", *spring[:2], "--evaluations", "2", *spring[2:])
    stdout, stderr = process.communicate(timeout=100)
    assert (process.returncode, stderr) == (0, "")
    first, best, own, path = stdout.splitlines()
    assert first == "complete, stopped by engine: front of size 1"
    assert best.startswith("best by training error: NMSE train ")
    assert own.startswith("sparse's own choice: NMSE train ")
    assert Path(path).is_dir()
    outputs = tmp_path / "outputs"
    tables = starts.run(str(ROOT / "scripts" / "tables.py"), str(outputs), cwd=Path(), env=FROM_ROOT)
    assert tables.returncode == 0, tables.stderr
    (line,) = [line for line in (outputs / "tables" / "equations.md").read_text().splitlines() if "sparse" in line]
    assert [cell.strip() for cell in line.split("|")[2:6]] == ["sparse", "off", "own", "budget.evaluations=2"]


def test_exactly_one_budget_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for budget in ((), ("--seconds", "0"), ("--seconds", "1", "--evaluations", "1")):
        monkeypatch.setattr("sys.argv", ["evodiverse-baseline", "--engine", "sparse", *budget])
        with pytest.raises(SystemExit, match="2"):
            baseline.main()
        assert "--seconds" in capsys.readouterr().err.splitlines()[-1], budget


def start(engine: str, *arguments: str) -> starts.Started:
    """Start the command as a user does."""
    return starts.start(*starts.main_of(baseline.__name__), "--engine", engine, *arguments, cwd=Path(), env=FROM_ROOT)
