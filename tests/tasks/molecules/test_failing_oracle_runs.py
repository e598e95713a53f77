"""Whole runs with a user's function that raises exceptions."""

from pathlib import Path

import pytest

from tests.runs import evodiverse, rows, run_here

NEEDS_NITROGEN = "def score(smiles):\n    return [len(text) / 99 if 'N' in text else {}[text] for text in smiles]\n"
SMALL = ("task=jnk3", "method=graph_ga", "task.initial.size=10", "method.capacity=10", "method.offspring=5")
SMALL += ("budget.oracle_calls=40", "display=none")


@pytest.mark.slow
def test_a_run_whose_function_raises_for_every_initial_molecule_fails_and_goes_on_once_it_is_corrected(
    tmp_path: Path,
) -> None:
    oracle = tmp_path / "mine.py"
    words = [*SMALL, "task.oracle._target_=mine.score", "evaluator.workers=2", "outputs=out"]
    oracle.write_text("def score(smiles):\n    raise RuntimeError('no license')\n")
    failed = evodiverse(*words, cwd=tmp_path)
    assert failed.returncode == 1
    assert "the oracle raised RuntimeError: no license (" in failed.stderr
    assert "line 2), and an exception for each of 10 initial candidates; correct it" in failed.stderr
    oracle.write_text("def score(smiles):\n    return [min(1, len(text) / 99) for text in smiles]\n")
    corrected = evodiverse(*words, cwd=tmp_path)
    assert corrected.returncode == 0, corrected.stderr
    (run,) = (path.parent for path in tmp_path.glob("out/**/run.json"))
    assert all(row["score"] is not None for row in rows(run, "evaluations") if row["outcome"] == "evaluated")


def test_a_run_whose_function_raises_for_some_molecules_goes_on_and_logs_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_nitrogen.py").write_text(NEEDS_NITROGEN)
    monkeypatch.syspath_prepend(tmp_path)
    run = run_here(*SMALL, "task.oracle._target_=needs_nitrogen.score", f"outputs={tmp_path}")
    found = [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]
    assert len(found) == 40
    assert all((row["score"] is None) == ("N" not in row["genotype"]) for row in found)
    errors = {(row["error"] or "").split(" (")[0] for row in found if row["score"] is None}
    assert errors
    assert all(error.startswith("raised: the oracle raised KeyError: ") for error in errors)
