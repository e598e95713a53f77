"""Whole searches of programs, in the real sandbox."""

import ast
import json
import math
import re
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from evodiverse.errors import Interrupted
from tests.docs.pages import read_page, save
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import Silent, evodiverse, log, rows, run_here, stop_after
from tests.tasks.programs.builders import EXAMPLE

pytestmark = pytest.mark.slow

SMALL = ["task=circle_packing", "evaluator.workers=2", "budget.oracle_calls=16", "method.swap.period=2"]
BINS = [f"task.evaluator={EXAMPLE / 'evaluator.py'}", f"task.initial.path={EXAMPLE / 'worst_fit.py'}"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_here(*SMALL, f"outputs={tmp_path_factory.mktemp('whole')}")


def find_violation(centers: list[list[float]], radii: list[float]) -> float:
    """By how much a packing breaks the rules, by an independent reading of them."""
    walls = [r - min(x, y, 1 - x, 1 - y) for (x, y), r in zip(centers, radii, strict=True)]
    circles = zip(centers, radii, strict=True)
    overlaps = [r + s - math.dist(a, b) for (a, r), (b, s) in combinations(circles, 2)]
    return max([*walls, *overlaps, *(-r for r in radii)])


def test_every_score_of_the_log_is_that_of_its_packing(whole: Path) -> None:
    evaluated = [row for row in rows(whole, "evaluations") if row["call"] is not None]
    assert len(evaluated) == 16
    for row in (row for row in evaluated if row["valid"]):
        packing = json.loads(row["packing"])
        assert find_violation(**packing) <= 1e-6
        assert row["sum_radii"] == math.fsum(packing["radii"])
        assert row["score"] == row["sum_radii"] / 2.635 == -row["energy"]
        assert row["strict_sum"] <= row["sum_radii"]
        ast.parse(row["genotype"])
    for row in (row for row in evaluated if not row["valid"]):
        assert (row["score"], row["packing"], row["sum_radii"]) == (0.0, None, None)
        assert row["error"]


def test_the_best_is_there_to_be_looked_at(whole: Path) -> None:
    best = max((row for row in rows(whole, "evaluations") if row["call"] is not None), key=lambda row: row["score"])
    assert (whole / "best/best_program.py").read_text() == best["genotype"]
    shown = json.loads((whole / "best/packing.json").read_text())
    assert shown["sum_radii"] == best["sum_radii"]
    assert (whole / "best/packing.png").read_bytes().startswith(b"\x89PNG")


def records(run: Path) -> list[int]:
    """Calls that were better than all before them."""
    found, highest = [], -1.0
    for row in sorted((row for row in rows(run, "evaluations") if row["call"]), key=lambda row: row["call"]):
        if row["score"] > highest:
            found, highest = [*found, row["call"]], row["score"]
    return found


def test_every_record_has_its_place_in_the_history(whole: Path) -> None:
    programs = sorted((whole / "best/history").glob("*-program.py"))
    assert [int(path.name[:6]) for path in programs] == records(whole)
    assert len(programs) > 1


def test_any_number_of_workers_gives_the_same_log(whole: Path, tmp_path: Path) -> None:
    assert log(run_here(*SMALL, "evaluator.workers=1", f"outputs={tmp_path}")) == log(whole)


def test_a_stopped_run_resumes_to_the_same_log_and_history(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=signal.Signals.SIGINT.name):
        run_here(*SMALL, f"outputs={tmp_path}", display=stop_after(4))
    resumed = run_here(*SMALL, f"outputs={tmp_path}")
    assert log(resumed) == log(whole)
    names = [sorted(path.name for path in (run / "best/history").iterdir()) for run in (resumed, whole)]
    assert names[0] == names[1]


def test_the_worked_example_runs_as_documented(tmp_path: Path) -> None:
    ended = evodiverse(
        "task=program", "method=ea", *BINS, "budget.oracle_calls=12", f"outputs={tmp_path}", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    (run,) = (path.parent for path in tmp_path.rglob("run.json"))
    evaluated = [row for row in rows(run, "evaluations") if row["call"] is not None]
    assert evaluated[0]["bins"] > 240
    assert all(row["score"] <= 1 for row in evaluated)
    assert (run / "best/best_program.py").exists()


BROKEN = "def choose_bin(item, spaces):\n    return spaces[{}]\n"
REPLIES = [
    "<<<<<<< SEARCH\nno such line\n=======\n>>>>>>> REPLACE",
    "<<<<<<< SEARCH\n    best, best_space = -1, 0\n=======\n    best, best_space = -1, {}\n>>>>>>> REPLACE",
    "I am sorry, I cannot help with that.",
    f"```python\n{BROKEN}```",
    "<<<<<<< SEARCH\n    return best\n=======\n    return best +\n>>>>>>> REPLACE",
]


def answer(body: Body, number: int) -> Answer:
    return Answer(REPLIES[number % len(REPLIES)].format(number / 7))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(ModelServer(answer)) as running:
        yield running


def test_a_models_blocks_and_programs_are_run_and_its_failures_say_why(server: ModelServer, tmp_path: Path) -> None:
    run = run_here(
        "task=program",
        *BINS,
        "method=pt",
        "budget.oracle_calls=14",
        "task.score_timeout=null",
        "llm=openai_compatible",
        "llm.model=toy",
        "llm.concurrency=1",
        f"llm.api_base={server.url}",
        f"llm.cache={tmp_path / 'cache'}",
        f"outputs={tmp_path}",
    )
    made = [row for row in rows(run, "evaluations") if row["operator"] == "llm"]
    reasons = Counter((row["error"] or "").split(":")[0] for row in made if row["outcome"] == "rejected")
    assert {"no_match", "no_answer", "unparsable"} <= set(reasons)
    assert any("matches nothing: no such line" in (row["error"] or "") for row in made)
    assert Counter(row["outcome"] for row in rows(run, "llm_calls"))["parsed"] >= 13
    blocks = [row for row in made if row["outcome"] == "evaluated" and "best_space = -1, " in row["genotype"]]
    assert blocks
    prompt = json.dumps(rows(run, "llm_calls")[-1]["prompt"])
    assert "online bin packing" in prompt
    assert "SEARCH" in prompt
    failed = [row["call"] for row in made if row["call"] is not None and not row["valid"]]
    repaired = {row["parents"][0]: row["llm_call"] for row in made if row["parents"][0] in failed}
    assert repaired
    requests = {row["llm_call"]: row["prompt"] for row in rows(run, "llm_calls")}
    for llm_call in repaired.values():
        assert "It failed (" in requests[llm_call].partition("# The program to edit")[2]


def correct(body: Body, number: int) -> Answer:
    """Answer as the stand-in of the tutorial does."""
    for weight, price in re.findall(
        r"^> price\((\d+)\) is .*, should be (\d+)$", body["messages"][-1]["content"], re.MULTILINE
    ):
        return Answer(f"<<<<<<< SEARCH\n]\n=======\n    ({weight}, {price}),\n]\n>>>>>>> REPLACE")
    return Answer("There is nothing to correct.")


def test_feedback_leads_a_model_through_the_stages_and_to_the_same_log_after_a_stop(tmp_path: Path) -> None:
    for block in read_page("tutorials/programs.md", "Feedback for a model"):
        if block.is_file:
            save(block, tmp_path)
    task = [f"task.evaluator={tmp_path}/tariff/evaluator.py", f"task.initial.path={tmp_path}/tariff/start.py"]
    with serving(ModelServer(correct)) as server:
        asked = ["task=program", *task, "llm=openai_compatible", "llm.model=toy", f"llm.api_base={server.url}"]

        def begin(name: str, workers: int, display: Silent | None = None) -> Path:
            own = [
                f"llm.cache={tmp_path / name}",
                f"evaluator.workers={workers}",
                f"outputs={tmp_path / 'runs' / name}",
            ]
            return run_here(*asked, "search.target=0.99", *own, display=display)

        whole = begin("whole", 1)
        with pytest.raises(Interrupted):
            begin("stopped", 2, stop_after(4))
        assert log(begin("stopped", 2)) == log(whole)
    evaluated = [row for row in rows(whole, "evaluations") if row["call"] is not None]
    assert [row["score"] for row in evaluated][-1] == 1.0
    assert [row["feedback"] for row in evaluated][:2] == [
        "price(500) is 3, should be 4",
        "price(1200) is 4, should be 6",
    ]
    assert all(row["stage"] == "full" and min(row["seconds_quick"], row["seconds_full"]) > 0 for row in evaluated)
