"""Runs that start from a library of the user's own."""

import gzip
from pathlib import Path

import pytest
from rdkit import Chem

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.tasks.molecules import initial
from evodiverse.tasks.molecules.initial import read_published
from tests.runs import log, rows, run_here, stop_after, write_at_once

pytestmark = pytest.mark.slow

SHORT = ["task=jnk3", "method=pt", "budget.oracle_calls=90", "method.capacity=20", "method.offspring=8"]
SHORT += ["task.initial.size=20", "task.initial.among=40"]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A packed table with molecules on its even lines, too long to be read whole."""
    monkeypatch.setattr(initial, "WHOLE", 10)
    smiles = read_published(artifact_path("zinc250k")).smiles[:150]
    text = "\n".join(
        ["id,SMILES", *(line for number, text in enumerate(smiles) for line in (f"{number},{text}", "x,(("))]
    )
    (tmp_path / "own.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "own.csv.gz"


def start(library: Path, *overrides: str, outputs: str = "runs", **settings: object) -> Path:
    chosen = [f"task.initial.path={library}", *overrides, f"outputs={library.parent / outputs}"]
    return run_here(*SHORT, *chosen, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("choice", [["random"], ["diverse"], ["score", "task.initial.score=qed"]])
def test_the_log_says_on_which_lines_the_start_of_each_pool_stands(library: Path, choice: list[str]) -> None:
    lines = gzip.decompress(library.read_bytes()).decode().split("\n")
    found = rows(start(library, f"task.initial.choose={choice[0]}", *choice[1:]), "evaluations")
    begun = [row for row in found if row["iteration"] == 0]
    assert {row["pool"] for row in begun} == {0, 1}
    assert all(Chem.CanonSmiles(lines[row["library_line"] - 1].split(",")[1]) == row["key"] for row in begun)
    assert all(row["library_line"] is None for row in found if row["iteration"] and row["outcome"] == "evaluated")


def test_the_default_log_has_no_lines_of_a_library(tmp_path: Path) -> None:
    run = run_here(*SHORT, f"outputs={tmp_path}")
    assert "library_line" not in rows(run, "evaluations")[0]


def test_two_workers_give_the_same_log_as_one(library: Path) -> None:
    choose = "task.initial.choose=diverse"
    first, second = (start(library, choose, f"evaluator.workers={n}", outputs=str(n)) for n in (1, 2))
    assert log(first) == log(second)


def test_a_run_that_was_stopped_goes_on_to_the_same_log(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_at_once(monkeypatch)
    whole = log(start(library, "task.initial.choose=diverse"))
    with pytest.raises(KeyboardInterrupt):
        start(library, "task.initial.choose=diverse", outputs="stopped", display=stop_after(2))
    assert log(start(library, "task.initial.choose=diverse", outputs="stopped")) == whole


def test_a_run_does_not_go_on_from_a_library_that_was_changed(library: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(library, display=stop_after(2))
    library.write_bytes(gzip.compress(b"smiles\n" + b"CCO\n" * 100))
    with pytest.raises(InputError, match=r"initial"):
        start(library)
