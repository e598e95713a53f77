"""The metrics of circle-packing runs, on a run worked by hand."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from evodiverse.analysis.programs import measure_packing

from evodiverse.analysis.runs import Run, find_runs
from evodiverse.analysis.tables import packing_table
from tests.analysis.builders import write_parts, write_record

# call, pool, program, sums; the third one failed, and the fourth is valid within the tolerance alone
PROGRAMS = [
    (1, None, "a = 1", 1.0, 1.0),
    (2, 0, "b = 2", 2.0, 1.9),
    (3, 1, "c = 3", None, None),
    (4, 1, "b = 2  # again", 2.5, 1.5),
]


def make_run(path: Path, method: str = "pt") -> Run:
    write_record(path, task__domain="evodiverse.tasks.programs", task__name="circle_packing", method__name=method)
    rows = [
        {
            "iteration": call - 1,
            "outcome": "evaluated",
            "call": call,
            "pool": pool,
            "genotype": program,
            "valid": total is not None,
            "sum_radii": total,
            "strict_sum": strict,
        }
        for call, pool, program, total, strict in PROGRAMS
    ]
    (path / "evaluations").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), path / "evaluations" / "part-000000.parquet")
    pools = [[(0, [1]), (1, [1])], [(0, [1, 2]), (1, [1, 3, 4])]]
    write_parts(
        path,
        "populations",
        [
            [{"iteration": iteration, "pool": pool, "members": members} for pool, members in state]
            for iteration, state in enumerate(pools)
        ],
    )
    (run,) = find_runs(path)
    return run


def test_sums_are_those_of_valid_packings_alone(tmp_path: Path) -> None:
    result = measure_packing(make_run(tmp_path / "run"))
    assert result.best_sum == 2.5
    assert result.strict_sum == 1.9
    assert result.top_mean == pytest.approx((1.0 + 2.0 + 2.5) / 3)


def test_origins_are_the_pools_that_made_the_best(tmp_path: Path) -> None:
    assert measure_packing(make_run(tmp_path / "run")).shares == pytest.approx({0: 1 / 3, 1: 1 / 3, None: 1 / 3})


def test_diversity_is_that_of_the_last_pools_and_counts_a_shared_program_once(tmp_path: Path) -> None:
    # every program has the token <Assign>; programs 2 and 4 are the same, 1 and 3 differ from them alike
    diversity = measure_packing(make_run(tmp_path / "run")).diversity
    pair = diversity.pools[0]
    assert 0 < pair < 1
    assert diversity.pools[1] > pair
    assert diversity.overall < diversity.pools[1]


def test_the_table_has_a_row_for_each_method(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, method=name) for name in ("ea", "pt")]
    first, second = packing_table([*runs, runs[1]]).splitlines()[2:]
    assert [cell.strip() for cell in first.split("|")[1:7]] == [
        "circle_packing",
        "ea",
        "off",
        "2.5000",
        "1.9000",
        "1.8333",
    ]
    assert [cell.strip() for cell in second.split("|")[4:7]] == [
        "2.5000 ± 0.0000",
        "1.9000 ± 0.0000",
        "1.8333 ± 0.0000",
    ]
    assert second.split("|")[-3].strip() == "33% / 33%"
