"""The metrics of equation runs, on runs worked by hand."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from evodiverse.analysis.equations import find_domain, measure_equations

from evodiverse.analysis.runs import Run, find_runs
from evodiverse.analysis.tables import equation_table
from evodiverse.tasks.programs.diversity import Vectors
from tests.analysis.builders import write_parts, write_record

# call, score, NMSE and accuracy, strict and lenient, on held-out data; the second failed, the last is not in its domain
ROWS = [
    (1, -0.5, 0.6, 0, 0),
    (2, None, None, None, None),
    (3, -0.1, 0.3, 0, 1),
    (4, -0.01, 0.02, 1, 1),
    (5, -0.2, None, 0, 0),
]


def encode(programs: Sequence[str]) -> Vectors:
    """Programs 1 and 4 point one way, 3 and 5 another."""
    return np.array([[1.0, 0.0] if program in {"1", "4"} else [0.0, 1.0] for program in programs])


def make_run(path: Path, problem: str = "builtin/reaction1", method: str = "pt", shift: float = 1.0) -> Run:
    settings = {"task__domain": "evodiverse.tasks.equations", "task__name": "equation", "method__name": method}
    write_record(path, **settings, task__problem=problem)
    rows = [
        {
            "iteration": 0,
            "outcome": "evaluated",
            "call": call,
            "genotype": str(call),
            "score": score,
            "nmse_id": None if nmse is None else nmse * shift,
            "nmse_ood": None if nmse is None else 10 * nmse,
            "acc01_id": strict,
            "acc01_95_id": lenient,
            "acc01_ood": None if score is None else 0,
        }
        for call, score, nmse, strict, lenient in ROWS
    ]
    rows.append({**rows[2], "call": None, "outcome": "reused"})
    (path / "evaluations").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), path / "evaluations" / "part-000000.parquet")
    pools = [[(0, [1]), (1, [1])], [(0, [1, 4]), (1, [1, 3, 4])]]
    states = [
        [{"iteration": iteration, "pool": pool, "members": members} for pool, members in state]
        for iteration, state in enumerate(pools)
    ]
    write_parts(path, "populations", states)
    (run,) = find_runs(path)
    return run


def test_what_was_fitted_decides_which_equation_is_best(tmp_path: Path) -> None:
    result = measure_equations(make_run(tmp_path / "run"), {})
    assert (result.best_nmse, result.best_ood, result.best_acc, result.best_lenient) == (0.02, 0.2, 1.0, 1.0)
    assert (result.top_acc, result.top_lenient) == (0.25, 0.5)
    assert math.isinf(result.top_nmse)  # one of the best predicts values that are no numbers


def test_where_nothing_was_held_out_there_is_a_dash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tests.analysis.test_equations.ROWS", [(call, score, None, None, None) for call, score, *_ in ROWS]
    )
    run = make_run(tmp_path / "run", "csv/mine")
    assert measure_equations(run, {}).best_acc is None
    *_, row = equation_table([run], {"x": encode}).splitlines()
    assert [cell.strip() for cell in row.split("|")[5:11]] == ["-"] * 6


def test_only_the_best_ten_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.analysis.equations.N_TOP", 2)
    result = measure_equations(make_run(tmp_path / "run"), {})
    assert result.top_nmse == pytest.approx(0.16)
    assert (result.top_acc, result.top_lenient) == (0.5, 1.0)


def test_diversity_is_the_mean_of_what_is_within_each_final_pool(tmp_path: Path) -> None:
    result = measure_equations(make_run(tmp_path / "run"), {"toy": encode})
    assert result.diversity["toy"] == pytest.approx((0 + 2 / 3) / 2)


@pytest.mark.parametrize(
    ("problem", "domain"),
    [("builtin/oscillator3", "physics"), ("builtin/aluminium", "materials"), ("csv/mine", "csv/mine")],
)
def test_a_run_belongs_to_the_science_of_its_problem(tmp_path: Path, problem: str, domain: str) -> None:
    assert find_domain(make_run(tmp_path / "run", problem)) == domain


def test_the_table_has_a_row_for_each_domain_and_method(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "a", "builtin/reaction1", "pt"),
        make_run(tmp_path / "b", "builtin/reaction2", "pt", shift=100.0),
        make_run(tmp_path / "c", "builtin/reaction2", "pt", shift=1e9),
        make_run(tmp_path / "d", "builtin/oscillator1", "ensemble"),
    ]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in equation_table(runs, {"x": encode}).splitlines()
    ]
    assert rows[0][3] == "diversity (x)"
    assert rows[2][:5] == ["chemistry", "pt", "off", "0.333 ± 0.000", "1.000"]
    assert rows[2][8:] == ["2.0e+00", "inf", "2.0e-01", "2", "3"]
    assert rows[3][:4] == ["physics", "ensemble", "off", "0.333"]
    assert len(rows) == 4
