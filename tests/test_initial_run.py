"""A run can start from the best candidates of an earlier run (``task.initial.run``)."""

import json
import shutil
from pathlib import Path

import pytest

from evodiverse.errors import InputError, Interrupted
from tests.runs import CONF, ROOT, log, plan, rows, run_here, run_toy, stop_after, stopped_after, write_at_once

FEW = ("budget.oracle_calls=60", "task.initial.best=7")


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished run."""
    return run_toy(tmp_path_factory.mktemp("earlier"), "budget.oracle_calls=80", "seed=5")


def ranked(run: Path) -> list[tuple[int, str]]:
    """Return the calls and keys of a run's valid candidates, best first, the older first of equal scores."""
    charged = [row for row in rows(run, "evaluations") if row["call"] is not None and row["valid"]]
    return [(row["call"], row["key"]) for row in sorted(charged, key=lambda row: (-row["score"], row["call"]))]


def test_all_pools_start_from_the_best_which_are_evaluated_again_and_charged(tmp_path: Path, earlier: Path) -> None:
    diary = tmp_path / "diary"
    run = run_toy(tmp_path, f"task.initial.run='{earlier}'", f"task.diary={diary}", *FEW)
    best = ranked(earlier)[:7]
    first = [row for row in rows(run, "evaluations") if row["iteration"] == 0]
    assert [(row["call"], row["key"], row["operator"]) for row in first] == [
        (call, key, "initial") for call, (_, key) in enumerate(best, start=1)
    ]
    assert diary.read_text().split()[:7] == [key for _, key in best]
    assert [row["members"] for row in rows(run, "populations")[:2]] == [[*range(1, 8)]] * 2
    kept = json.loads((run / "initial.json").read_text())
    assert (kept["run"], kept["calls"]) == (str(earlier), [call for call, _ in best])
    assert "initial.run" in json.loads((run / "run.json").read_text())["sources"]


def test_an_interrupted_run_will_do(tmp_path: Path) -> None:
    stopped = next(stopped_after(2, tmp_path / "stopped").rglob("run.json")).parent
    run = run_toy(tmp_path / "new", f"task.initial.run='{stopped}'", *FEW)
    assert json.loads((run / "initial.json").read_text())["calls"] == [call for call, _ in ranked(stopped)[:7]]


def test_a_run_is_resumed_although_the_earlier_run_has_gone(
    tmp_path: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at_once(monkeypatch)
    gone = shutil.copytree(earlier, tmp_path / "gone")
    words = (f"task.initial.run='{gone}'", *FEW)
    whole = run_toy(tmp_path / "whole", *words)
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "resumed", *words, display=stop_after(1))
    shutil.rmtree(gone)
    assert log(run_toy(tmp_path / "resumed", *words)) == log(whole)
    with pytest.raises(InputError, match=r"is not the folder of a run"):
        run_toy(tmp_path / "whole", *words, "overwrite=true")


def test_fewer_candidates_than_wanted_are_no_error(tmp_path: Path, earlier: Path) -> None:
    assert plan("task=bits", f"task.initial.run='{earlier}'", "task.initial.best=81").n_initial == 80


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^task\.initial\.run=\S+ is not the folder of a run \(no run\.json\); name"):
        plan("task=bits", f"task.initial.run='{tmp_path}'")


def test_a_run_of_another_domain_is_refused(earlier: Path) -> None:
    with pytest.raises(InputError, match=r"is a run of task=bits \(tests\.toys\.bits\), not of evodiverse\.tasks\.mol"):
        plan("task=jnk3", f"task.initial.run='{earlier}'")


def test_a_run_whose_candidates_are_none_of_this_task_is_refused(tmp_path: Path, earlier: Path) -> None:
    with pytest.raises(InputError, match=r"^no initial candidate can enter a pool \(.* 7; .*\); start from other"):
        run_toy(tmp_path, f"task.initial.run='{earlier}'", *FEW, "task.length=25")


def test_a_run_without_a_valid_candidate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        run_toy(tmp_path, "task.spoiled=failing", "budget.oracle_calls=24")
    failed = next(tmp_path.rglob("run.json")).parent
    with pytest.raises(InputError, match=r"has no valid candidate with a score; name another run"):
        plan("task=bits", f"task.initial.run='{failed}'")


def test_a_damaged_copy_is_refused(tmp_path: Path, earlier: Path) -> None:
    run = run_toy(tmp_path, f"task.initial.run='{earlier}'", *FEW)
    for text in ('{"run": "x", "calls": ["1"], "genotypes": []}', '{"run": "x"}'):
        (run / "initial.json").write_text(text)
        expected = r"initial\.json is damaged \(expected a run, calls and genotypes\); use overwrite=true"
        with pytest.raises(InputError, match=expected):
            run_toy(tmp_path, f"task.initial.run='{earlier}'", *FEW)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("task=jnk3", "task.initial.size=10", "budget.oracle_calls=24"),
        ("task=equation", "budget.oracle_calls=5"),
        (
            "task=program",
            f"task.evaluator={ROOT}/docs/examples/features/points.py",
            f"task.initial.path={ROOT}/docs/examples/features/points_start.py",
            "search.features={reach: [0, 0.7], nearest: [0, 0.3]}",
            "method=dominated_novelty",
            "budget.oracle_calls=12",
        ),
    ],
)
def test_every_domain_can_start_from_an_earlier_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    first = run_here(*words, f"outputs={tmp_path}/first")
    second = run_here(*words, f"outputs={tmp_path}/second", f"task.initial.run='{first}'", "task.initial.best=3")
    again = [(row["key"], row["score"]) for row in rows(second, "evaluations")[:3]]
    assert [key for key, _ in again] == [key for _, key in ranked(first)[:3]]
    assert [score for _, score in again] == sorted((score for _, score in again), reverse=True)


@pytest.mark.slow
def test_every_task_takes_an_earlier_run() -> None:
    told = {}
    for file in (CONF / "task").glob("*.yaml"):
        own = ["task.evaluator=docs/examples/bin_packing/evaluator.py"] if file.stem == "program" else []
        with pytest.raises(InputError) as error:
            plan(f"task={file.stem}", "task.initial.run=nowhere", *own)
        told[file.stem] = error.value.violations
    assert set(told) >= {"jnk3", "equation", "program", "circle_packing", "cap_set", "hexagons12"}
    assert {one for violations in told.values() for one in violations} == {
        "task.initial.run=nowhere is not the folder of a run (no run.json); name one that is"
    }
