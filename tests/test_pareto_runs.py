"""Searches for several objectives at once (``task.pareto``)."""

import csv
import html
import io
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from evodiverse.errors import InputError
from evodiverse.results.domains import NO_METRICS
from evodiverse.results.metrics import measure
from evodiverse.results.pages.one_run import read_history, report_run
from evodiverse.results.show import print_run
from evodiverse.runlog.runs import Run, read_record
from evodiverse.search.pareto import order_by_front, rank_fronts
from tests.runs import ROOT, log, plan, rows, run_here, run_toy

BITS = ("method=nsga2", "task.pareto=[score,24-n_ones]")


def evaluated(run: Path) -> list[dict]:
    return sorted((row for row in rows(run, "evaluations") if row["call"] is not None), key=lambda row: row["call"])


def front_of(run: Path, better: Sequence[str], worse: Sequence[str] = ()) -> list[int]:
    """Return the calls of the valid candidates that no other one dominates, sorted."""
    some = [row for row in evaluated(run) if row["valid"] and None not in [row[name] for name in (*better, *worse)]]
    values = [[*(row[name] for name in better), *(-row[name] for name in worse)] for row in some]
    return [some[at]["call"] for at in np.flatnonzero(rank_fronts(np.array(values, dtype=float)) == 0)]


def read_front(run: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((run / "best/front.csv").read_text().splitlines()))


@pytest.fixture(scope="module")
def bits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_toy(tmp_path_factory.mktemp("bits"), *BITS)


def test_the_pool_keeps_the_first_fronts_of_its_members_and_their_offspring(bits: Path) -> None:
    found, pools = {row["call"]: row for row in evaluated(bits)}, rows(bits, "populations")
    offspring = defaultdict(set)
    for row in rows(bits, "evaluations"):
        offspring[row["iteration"]] |= {row["call"] or row["reused_call"]} - {None}
    for before, after in pairwise(pools):
        calls = sorted({*before["members"], *offspring[after["iteration"]]})
        values = np.array([[found[call]["score"], -found[call]["n_ones"]] for call in calls])
        kept = order_by_front(values, np.zeros(len(calls)))[:10]
        assert after["members"] == sorted(calls[at] for at in kept)
    assert len(pools) > 10


def test_the_front_is_listed_with_its_objectives(bits: Path) -> None:
    listed = read_front(bits)
    assert [*listed[0]] == ["call", "score", "n_ones", "genotype"]
    assert sorted(int(row["call"]) for row in listed) == front_of(bits, ["score"], ["n_ones"])
    by_call = {row["call"]: row for row in evaluated(bits)}
    assert all(float(row["score"]) == by_call[int(row["call"])]["score"] for row in listed)
    ranked = sorted(listed, key=lambda row: float(row["score"]))
    assert {row["call"] for row in listed[:2]} == {ranked[0]["call"], ranked[-1]["call"]}


def test_the_front_is_shown_first_on_the_terminal_and_in_the_report(bits: Path) -> None:
    console = Console(width=300, file=io.StringIO(), markup=False, emoji=False)
    print_run(bits, console)
    text, page = console.file.getvalue(), report_run(read_history(Run(bits, read_record(bits / "run.json"))))
    note = f"{len(read_front(bits))} candidates on the front of score, 24-n_ones: "
    assert text.index("\nfront\n") < text.index(note) < text.index("\nbest\n")
    assert note in html.unescape(page)
    assert "Hypervolume" in page
    first = [row["call"] for row in read_front(bits)[:10]]
    assert [f'id="call-{call}"' in page for call in first] == [True] * len(first)


def test_the_hypervolume_is_that_of_the_staircase_below_the_front(bits: Path) -> None:
    metrics = measure(Run(bits, read_record(bits / "run.json")), NO_METRICS, None)
    rises = sorted((24 - int(row["n_ones"]), float(row["score"])) for row in read_front(bits))
    steps = zip(rises, [(0, 0.0), *rises], strict=False)
    assert metrics["hypervolume"] == pytest.approx(sum((left - before) * score for (left, score), (before, _) in steps))
    assert metrics["curve.hypervolume"][-1] == metrics["hypervolume"]


def test_the_score_and_what_follows_from_it_do_not_change(tmp_path: Path) -> None:
    plain, with_front = (run_toy(tmp_path / name, *words) for name, words in {"a": [], "b": BITS[1:]}.items())
    assert log(plain) == log(with_front)
    assert not (plain / "best/front.csv").exists()
    assert "task.pareto" not in json.loads((plain / "run.json").read_text())["settings"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["method=nsga2"], r"^method.survivors.rule=pareto needs task.pareto; name objectives, such as "),
        (["task.pareto=[score]"], r"^task.pareto must name 2 to 5 different objectives, .* got \['score'\]$"),
        (
            ["task.pareto=[score,ones]"],
            r"^task.pareto: ones is not a column of numbers that this task logs; it has score, n_ones$",
        ),
    ],
)
def test_objectives_that_cannot_be_meant_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_toy(tmp_path, *words)


def test_a_task_file_may_name_the_objectives() -> None:
    assert plan("task=bits", "task.pareto=[score,2.5-n_ones]").config.task["pareto"] == ["score", "2.5-n_ones"]
    assert plan("task=bits").config.task["pareto"] is None


@pytest.mark.slow
def test_molecules_are_searched_for_the_front_of_their_components(tmp_path: Path) -> None:
    words = ["task=dual_kinase", "method=nsga2", "task.pareto=[jnk3,qed,sa]", "task.initial.size=20"]
    run = run_here(*words, "budget.oracle_calls=160", "method.capacity=20", f"outputs={tmp_path}")
    listed = read_front(run)
    assert [*listed[0]] == ["call", "score", "jnk3_value", "qed_value", "sa_value", "genotype"]
    assert sorted(int(row["call"]) for row in listed) == front_of(run, ["jnk3_value", "qed_value", "sa_value"])
    assert (run / "best/top10.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_programs_are_searched_for_the_front_of_their_metrics(tmp_path: Path) -> None:
    example = ROOT / "docs/examples/features"
    words = [f"task.evaluator={example / 'points.py'}", f"task.initial.path={example / 'points_start.py'}"]
    words += ["task=program", "method=nsga2", "task.pareto=[reach,0.3-nearest]", "method.capacity=5"]
    run = run_here(*words, "budget.oracle_calls=40", f"outputs={tmp_path}")
    assert sorted(int(row["call"]) for row in read_front(run)) == front_of(run, ["reach"], ["nearest"])
    assert all(row["reach"] and row["nearest"] for row in read_front(run))
