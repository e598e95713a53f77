"""EvoDiverse from Python."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import evodiverse
from evodiverse.api import Run
from evodiverse.errors import InputError
from tests import starts
from tests.docs.pages import read_page
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import FROM_ROOT, ROOT, TOY_CONF, log
from tests.runs import evodiverse as command
from tests.toys.bits.model import answer_bits

TOY = ["task=bits", "budget.oracle_calls=60", "evaluator.workers=1"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evodiverse.run([*TOY, f"outputs={tmp_path}"], config_dir=TOY_CONF)


@pytest.mark.slow
def test_a_run_from_python_equals_the_run_of_the_command(run: Run, tmp_path: Path) -> None:
    command("--config-dir", str(TOY_CONF), *TOY, cwd=tmp_path, env=FROM_ROOT)
    (made,) = (tmp_path / "outputs").rglob("run.json")
    assert log(run.path) == log(made.parent)
    assert run.status == "complete"
    assert run.settings["budget.oracle_calls"] == 60


def test_a_complete_run_is_only_read(run: Run, tmp_path: Path) -> None:
    before = (run.path / "run.json").stat().st_mtime_ns
    again = evodiverse.run([*TOY, f"outputs={tmp_path}"], config_dir=TOY_CONF)
    assert again == run
    assert (run.path / "run.json").stat().st_mtime_ns == before


def test_the_text_of_a_run_names_its_folder_alone(run: Run) -> None:
    assert repr(run) == f"Run(path={run.path!r})"


def test_tables_hold_what_was_logged(run: Run) -> None:
    rows = log(run.path)["evaluations"]
    assert len(run.table()) == len(run.frame()) == len(rows)
    assert sorted(call for call in run.table("evaluations")["call"].to_pylist() if call) == list(range(1, 61))
    assert {"iteration", "pool", "beta", "members"} <= set(run.frame("populations").columns)
    with pytest.raises(InputError, match="swap is not a table of a run; use evaluations, "):
        run.table("swap")


def test_the_best_and_the_curve_agree_with_the_table(run: Run) -> None:
    rows = sorted((row for row in log(run.path)["evaluations"] if row["call"]), key=lambda row: row["call"])
    scores = [row["score"] for row in rows if row["score"] is not None]
    best = run.best()
    assert best is not None
    assert best.score == max(scores) == run.record["totals"]["best_score"]
    assert best.genotype == next(row["genotype"] for row in rows if row["score"] == best.score)
    curve = run.curve()
    assert curve.calls.tolist() == list(range(1, 61))
    expected = [
        max((row["score"] for row in rows[:n] if row["score"] is not None), default=np.nan) for n in range(1, 61)
    ]
    np.testing.assert_array_equal(curve.best, expected)


def test_a_notebook_shows_a_table_of_the_best_and_the_curve(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    best = run.best()
    assert best is not None
    shown = run._repr_html_()
    assert shown is not None
    assert shown.count("<tr>") == 11
    assert f"<tr><td>{best.call}</td>" in shown
    (line,) = run.plot().lines
    np.testing.assert_array_equal(line.get_ydata(), run.curve().best)


def test_mistakes_are_reported_as_by_the_command(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sed is unknown; did you mean seed"):
        evodiverse.run(["sed=1"])
    with pytest.raises(InputError, match="seed must be between 0"):
        evodiverse.run([*TOY, "seed=-1"], config_dir=TOY_CONF)
    with pytest.raises(InputError, match="expected one run, got 2; call run for each"):
        evodiverse.run([*TOY, "seed=0,1"], config_dir=TOY_CONF)
    with pytest.raises(InputError, match=r"is not a run; name the folder that contains run\.json"):
        evodiverse.load(tmp_path)


@pytest.mark.parametrize(
    ("words", "display", "expected"),
    [
        (["dry_run=true"], "none", "dry_run=true starts no run"),
        (["-m", "seed=0"], "none", "-m: flags are for the command line"),
        ([], "rihc", "display must be auto, none, plain or rich, got rihc"),
    ],
)
def test_arguments_that_only_the_command_takes_are_refused(
    tmp_path: Path, words: list[str], display: str, expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        evodiverse.run([*TOY, f"outputs={tmp_path}", *words], config_dir=TOY_CONF, display=display)
    with pytest.raises(InputError, match="overrides must be a list of strings"):
        evodiverse.run("task=bits")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_asks_has_no_best_yet(tmp_path: Path) -> None:
    command("--config-dir", str(TOY_CONF), *TOY, "evaluator=ask", "name=lab", cwd=tmp_path, env=FROM_ROOT)
    run = evodiverse.load(tmp_path / "outputs/lab")
    assert run.status == "asking"
    assert run.best() is None
    assert run._repr_html_() is None
    assert run.curve().calls.size == run.curve().best.size == 0
    with pytest.raises(InputError, match="has written nothing yet"):
        run.table()


def test_loading_a_run_does_not_import_the_libraries_that_make_runs(run: Run) -> None:
    code = "import sys, evodiverse; evodiverse.load(sys.argv[1]).best(); print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code, run.path], env=FROM_ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert not {"hydra", "rdkit", "litellm"} & set(told.stdout.split())


@pytest.mark.weekly
@pytest.mark.slow
def test_the_notebook_works_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "docs/notebook.ipynb", "exec"), names)  # noqa: S102
    assert isinstance(names["run"], Run)
    assert names["run"].status == "complete"


@pytest.mark.slow
def test_a_cell_of_a_notebook_runs_a_model_and_resumes_after_an_interruption(tmp_path: Path) -> None:
    from jupyter_client.manager import start_new_kernel

    manager, kernel = start_new_kernel(cwd=tmp_path, env=FROM_ROOT | {"OPENAI_API_KEY": "sk-toy"})

    def answer(body: Body, number: int) -> Answer:
        if number == 20:
            manager.interrupt_kernel()
        return answer_bits(body, number)

    with serving(ModelServer(answer)) as server:
        model = ["llm=openai_compatible", "llm.model=toy", f"llm.api_base={server.url}", "llm.cache=cache"]
        cell = f"import evodiverse; evodiverse.run({[*TOY, *model]}, config_dir={str(TOY_CONF)!r})"
        ends = [kernel.execute_interactive(cell, timeout=100)["content"] for _ in range(2)]
    kernel.stop_channels()
    manager.shutdown_kernel(now=True)
    assert [(end["status"], end.get("ename")) for end in ends] == [("error", "KeyboardInterrupt"), ("ok", None)]
    (made,) = (tmp_path / "outputs").rglob("run.json")
    assert evodiverse.load(made.parent).status == "complete"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The example of the page, with a small run."""
    (block,) = (block.text for block in read_page("python.md") if block.language == "python")
    small = block.replace('["task=jnk3", "method=pt", "seed=1"]', f"{[*TOY, 'seed=1']}, config_dir={str(TOY_CONF)!r}")
    path = tmp_path / "example.py"
    path.write_text(small.replace("jnk3/pt/off/default", "bits/pt/off/budget.oracle_calls=60"))
    return path


def test_the_example_of_the_page_is_a_script(script: Path, tmp_path: Path) -> None:
    done = starts.run(str(script), cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("complete outputs/bits/pt/off/budget.oracle_calls=60/seed1\nBest(score=")


def test_a_script_without_a_main_guard_is_refused_before_it_starts_workers(script: Path, tmp_path: Path) -> None:
    text = script.read_text().replace("evaluator.workers=1", "evaluator.workers=2")
    script.write_text(text.replace('if __name__ == "__main__":\n', "").replace("    ", ""))
    done = starts.run(str(script), cwd=tmp_path, env=FROM_ROOT)
    assert done.stderr.splitlines()[-1] == (
        f"evodiverse.errors.InputError: {script}, line 3: each worker process imports this script, and would start "
        'the run again; put the call below `if __name__ == "__main__":`, or set evaluator.workers=1'
    )
    assert list(tmp_path.iterdir()) == [script]


def test_a_second_run_in_the_same_process_is_refused_until_the_first_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []

    def run_another(*_: str) -> None:
        with ThreadPoolExecutor(1) as threads:
            refused.append(threads.submit(evodiverse.run, TOY).exception())
        raise ZeroDivisionError

    monkeypatch.setattr("evodiverse.runner.display.choose_display", run_another)
    with pytest.raises(ZeroDivisionError):
        evodiverse.run([*TOY, f"outputs={tmp_path}"], config_dir=TOY_CONF)
    assert str(refused[0]).startswith("evodiverse.run is already running in this process; wait until it has ended")
    with pytest.raises(InputError, match="overrides must be a list"):
        evodiverse.run("task=bits")
