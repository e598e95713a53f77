"""Runs that start from molecules whose scores the user has measured: these cost no oracle calls."""

from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rich.console import Console

import evodiverse
from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError, Interrupted
from evodiverse.results.metrics.search import measure_curves
from evodiverse.results.pages.writing import write_reports
from evodiverse.results.show import print_comparison, read_whole_log
from evodiverse.runlog.earlier import read_best
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import survey_runs
from evodiverse.tasks.molecules import initial
from evodiverse.tasks.molecules.hits import count_hits
from evodiverse.tasks.molecules.metrics import measure_molecules, pmo_auc
from evodiverse.tasks.molecules.oracle import open_published
from tests.runs import log, plan, rows, run_here, stop_after

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "c1ccc2[nH]ccc2c1", "Cc1ncc[nH]1", "CCOC(=O)c1ccccc1", "Nc1ncnc2[nH]cnc12", "CCN"]
MEASURED = {SMILES[0]: 0.75, SMILES[2]: 0.5, SMILES[3]: 0.125}
SMALL = ["task=jnk3", "method=graph_ga", "method.capacity=10", "method.offspring=5", "budget.oracle_calls=40"]


def write_table(folder: Path) -> Path:
    """Write a table with scores of half of the molecules, as a spreadsheet in Germany does."""
    lines = [f"{text};{str(MEASURED[text]).replace('.', ',') if text in MEASURED else ''}" for text in SMILES]
    (folder / "own.csv").write_text("\n".join(["smiles;active", *lines]))
    return folder / "own.csv"


def search(folder: Path, *words: str, **options: Any) -> Path:
    own = [f"task.initial.path={write_table(folder)}", "task.initial.measured=active", f"outputs={folder / 'out'}"]
    return run_here(*SMALL, *own, *words, **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return search(tmp_path_factory.mktemp("measured"))


def test_measured_molecules_have_call_numbers_and_their_scores_and_are_not_charged(run: Path) -> None:
    numbered = {row["key"]: row for row in rows(run, "evaluations") if row["call"] is not None}
    assert sorted(row["call"] for row in numbered.values()) == [*range(1, 44)]
    assert {key for key, row in numbered.items() if row["charged"] is False} == {*MEASURED}
    assert {key: numbered[key]["score"] for key in MEASURED} == MEASURED
    oracle = open_published("jnk3", artifact_path("jnk3"))
    others = [key for key in numbered if key not in MEASURED]
    assert [numbered[key]["score"] for key in others] == oracle(others).tolist()
    assert [
        row["call"] for row in numbered.values() if row["parents"] and numbered[SMILES[0]]["call"] in row["parents"]
    ]


def test_totals_curves_and_metrics_count_what_was_charged(run: Path) -> None:
    (found,) = survey_runs(run.parents[4]).complete
    read = read_log(found)
    assert (read.n_calls, read.n_free, found.record["totals"]["oracle_calls"]) == (40, 3, 40)
    assert max(read.scores.values()) < 0.5  # those of the user's molecules are not found by the run
    assert measure_curves(read)["curve.calls"][-1] == 40
    charged = [row for row in rows(run, "evaluations") if row["call"] is not None and row["charged"] is not False]
    scores = [row["score"] for row in sorted(charged, key=lambda row: row["call"])]
    assert [score for _, score in read.counted_scores] == scores
    assert evodiverse.load(run).curve().calls.tolist() == [*range(1, 41)]
    assert pmo_auc(scores, 40) == pytest.approx(pmo_auc([score for _, score in read.counted_scores], 40))


def test_every_metric_can_be_measured(run: Path) -> None:
    (found,) = survey_runs(run.parents[4]).complete
    measured = measure_molecules(read_log(found))
    assert 0 < measured["diverse_top10_archive"] < 0.5
    assert measured["top10"] < 0.5


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without oracle calls: every molecule that it starts from has a score, and one of these is the target."""
    folder = tmp_path_factory.mktemp("free")
    (folder / "own.csv").write_text("smiles,active\nCCO,0.25\nCCN,0.75\nCCC,0.5\n")
    own = [f"task.initial.path={folder / 'own.csv'}", "task.initial.measured=active", "search.target=0.7"]
    return run_here(*SMALL, *own, f"outputs={folder}", "name=free")


@pytest.mark.parametrize("whole", [initial.WHOLE, 5], ids=["in memory", "streamed"])
@pytest.mark.parametrize(
    ("words", "n_charged"),
    [
        (["method=graph_ga", "task.initial.measured=active"], 3),
        (["method=pt", "task.initial.measured=active"], 3),
        (["method=pt"], 6),
        (["method=pt", "task.initial.size=2"], 4),
        (["method=pt", "task.initial.size=2", "task.initial.shared=true"], 2),
        (["method=diverse", "task.initial.measured=active", "task.initial.size=2"], 2),
    ],
)
def test_the_budget_must_cover_what_the_initial_molecules_of_all_pools_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], n_charged: int, whole: int
) -> None:
    monkeypatch.setattr(initial, "WHOLE", whole)
    words = ["task=jnk3", f"task.initial.path={write_table(tmp_path)}", f"outputs={tmp_path}", *words]
    planned = plan(*words, f"budget.oracle_calls={n_charged}")
    assert f"with {n_charged} oracle calls, {n_charged} of them for the initial candidates" in planned.summary
    with pytest.raises(InputError, match=f"={n_charged - 1} does not cover the initial population of {n_charged};"):
        plan(*words, f"budget.oracle_calls={n_charged - 1}")


@pytest.mark.parametrize("method", ["graph_ga", "pt"])
def test_pools_that_share_a_file_pay_once_for_each_molecule_without_a_score(tmp_path: Path, method: str) -> None:
    run = search(tmp_path, f"method={method}", "budget.oracle_calls=3")
    assert evodiverse.load(run).record["totals"]["oracle_calls"] == 3
    assert {row["key"] for row in rows(run, "evaluations") if row["call"] is not None} == {*SMILES}


def test_a_run_without_oracle_calls_has_metrics(free: Path) -> None:
    (found,) = survey_runs(free).complete
    measured = measure_molecules(read_log(found))
    assert (measured["pmo_auc"], measured["diverse_auc"], measured["hits_at_100"]) == (0.0, 0.0, 0)
    assert measured["diverse_top10"] is None


def test_a_run_without_oracle_calls_has_a_report_without_a_curve(free: Path) -> None:
    pages, errors = write_reports([free, free.parent])
    assert (pages[-1].name, errors) == ("index.html", [])
    report = (free / "report.html").read_text()
    assert "0 oracle calls, best 0.75" in report
    assert "Best score so far: nothing to show yet." in report


def test_the_last_call_of_the_budget_counts_for_hits(run: Path) -> None:
    (found,) = survey_runs(run).complete
    read = read_log(found)
    last = read.counted_scores[-1]
    assert last[0] == 40
    hits = [score for score in read.scores.values() if score >= last[1]]
    assert count_hits(read, last[1])["hits_at_100"] == len(hits)


def test_a_later_run_starts_from_the_best_whoever_scored_them(run: Path, free: Path) -> None:
    assert read_best(str(free), 2, "evodiverse.tasks.molecules")[1:] == ([2, 3], ["CCN", "CCC"])
    assert read_best(str(run), 2, "evodiverse.tasks.molecules").genotypes == [SMILES[0], SMILES[2]]


def test_the_best_is_the_same_everywhere_and_its_calls_are_those_that_were_charged(
    run: Path, free: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, n_calls in ((run, 40), (free, 0)):
        loaded = evodiverse.load(path)
        best = loaded.best()
        assert best is not None
        assert best.score == loaded.record["totals"]["best_score"] == 0.75
        assert f"complete, {n_calls} oracle calls: {path}" in str(loaded._repr_html_())
        assert loaded.curve().calls.size == n_calls
    logs = [read_whole_log(path) for path in (run, free)]
    print_comparison(logs, Console(width=200))
    printed = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert {("0.75", "40"), ("0.75", "0")} < {*map(tuple, printed)}


def test_reports_show_measured_candidates_in_pools_and_as_the_best(run: Path, free: Path) -> None:
    pages, _ = write_reports([run, free])
    assert "Best of each pool" in (free / "report.html").read_text()
    assert pages[-1].read_text().count('data-value="0.75"') == 4  # each run, and the mean of each kind of run


def test_a_column_without_any_value_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("smiles,act\nCCO,\nCCN,\n")
    with pytest.raises(InputError, match=r"^task\.initial\.measured: no molecule of .*own\.csv has a value of act$"):
        run_here(*SMALL, f"task.initial.path={tmp_path / 'own.csv'}", "task.initial.measured=act")


def test_the_log_is_the_same_after_a_stop(run: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        search(tmp_path, display=stop_after(2))
    assert log(search(tmp_path)) == log(run)


def test_a_larger_budget_has_the_log_of_a_run_from_scratch(run: Path, tmp_path: Path) -> None:
    search(tmp_path, "budget.oracle_calls=17", "name=grows")
    assert log(search(tmp_path, "name=grows")) == log(run)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("8.2", r"line 2: active must be from 0 to 1, got 8\.2; scale it, or leave it empty$"),
        ("nan", "line 2: active must be from 0 to 1, got nan; scale it, or leave it empty$"),
        ("high", "line 2: active must be a number"),
    ],
)
def test_a_value_that_is_no_score_is_named_with_its_line(tmp_path: Path, cell: str, expected: str) -> None:
    (tmp_path / "bad.csv").write_text(f"smiles,active\nCCO,{cell}\n")
    words = [f"task.initial.path={tmp_path / 'bad.csv'}", "task.initial.measured=active", f"outputs={tmp_path}"]
    with pytest.raises(InputError, match=rf"^task\.initial\.measured: .*bad\.csv {expected}"):
        run_here(*SMALL, *words)


def test_an_sdf_has_scores_as_a_property(tmp_path: Path) -> None:
    with Chem.SDWriter(str(tmp_path / "own.sdf")) as written:
        for smiles, properties in ((SMILES[0], {"pIC50": "9", "share": "0.25"}), (SMILES[3], {})):
            molecule = Chem.MolFromSmiles(smiles)
            for name, value in properties.items():
                molecule.SetProp(name, value)
            written.write(molecule)
    words = [f"task.initial.path={tmp_path / 'own.sdf'}", "task.initial.measured=share", "budget.oracle_calls=5"]
    run = run_here(*SMALL, *words, f"outputs={tmp_path}")
    first, second = [row for row in rows(run, "evaluations") if row["iteration"] == 0]
    assert (first["key"], first["score"], first["charged"]) == (SMILES[0], 0.25, False)
    assert (second["key"], second["charged"]) == (SMILES[3], None)


def test_a_column_without_a_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"task\.initial\.measured=active names a column of your own file; set task\."):
        run_here(*SMALL, "task.initial.measured=active", "dry_run=true")
