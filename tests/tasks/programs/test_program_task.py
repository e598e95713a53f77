"""The program domain around an evaluator."""

import json
from collections.abc import Sequence
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.programs.circle_packing.evaluator import CirclePacking
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.vocabulary import (
    Candidate,
    Execution,
    Hypothesis,
    Job,
    Reason,
    Rejection,
    Stream,
)
from tests.tasks.programs.samples import start_of

SEED = start_of("circle_packing", 2)


class Scripted:
    """A sandbox whose programs end as the test says."""

    def __init__(self, *executions: Execution) -> None:
        self.executions = list(executions)
        self.jobs: list[Job] = []

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        self.jobs += jobs
        return [self.executions.pop(0) for _ in jobs]

    def prepare(self) -> None:
        pass

    def close(self) -> None:
        pass


TWO = CirclePacking(ProgramSettings(evaluator="circle_packing", n=2, reference=0.5))


def make_task(*executions: Execution, initial: Sequence[str] = (SEED,)) -> ProgramTask:
    return ProgramTask(
        TWO,
        Scripted(*executions),
        initial,
        10_000,
    )


def packing(radius: float) -> Execution:
    """Two circles side by side."""
    centers = np.array([[0.25, 0.5], [0.75, 0.5]])
    return Execution(value=(centers, np.array([radius, 0.25]), np.array(9.0)))


def evaluate(*executions: Execution) -> list[Any]:
    return make_task(*executions).evaluate([Hypothesis(SEED, "k")] * len(executions))


def test_a_valid_program_scores_and_its_energy_is_the_negative() -> None:
    (evaluation,) = evaluate(packing(0.125))
    assert (evaluation.score, evaluation.energy, evaluation.valid, evaluation.error) == (0.75, -0.75, True, "")
    assert evaluation.details["sum_radii"] == 0.375


@pytest.mark.parametrize(
    ("execution", "error"),
    [
        (packing(0.3), "invalid: "),
        (Execution(failure=Rejection(Reason.TIMED_OUT, "it used more than 5 s of CPU")), "timed_out: it used"),
        (Execution(failure=Rejection(Reason.CRASHED, "E (line 3)")), "crashed: E (line 3)"),
    ],
)
def test_a_failed_program_scores_0_joins_and_says_why(execution: Execution, error: str) -> None:
    (evaluation,) = evaluate(execution)
    assert (evaluation.score, evaluation.energy, evaluation.valid) == (0.0, 0.0, False)
    assert evaluation.error.startswith(error)
    assert evaluation.details == {}


def test_evaluations_come_in_the_order_of_the_programs() -> None:
    scores = [evaluation.score for evaluation in evaluate(packing(0.1), packing(0.3), packing(0.2))]
    assert scores == pytest.approx([0.7, 0.0, 0.9])


def test_a_program_that_patches_the_scorer_gains_nothing() -> None:
    program = """
    try:
        import evodiverse.tasks.programs.circle_packing.evaluator as scorer
        import evodiverse.tasks.programs.circle_packing.packing as rules
        scorer.find_violation = rules.find_violation = lambda *_: None
    except (ImportError, PermissionError):
        pass
    import math, numpy
    math.fsum = lambda _: 2.635
    numpy.maximum = numpy.minimum = lambda *_: 0

    def construct_packing():
        return [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], 2.635
    """
    sandbox = ProcessSandbox()
    task = ProgramTask(TWO, sandbox, [SEED], 10_000)
    (evaluation,) = task.evaluate([Hypothesis(dedent(program), "k")])
    sandbox.close()
    assert (evaluation.score, evaluation.valid) == (0.0, False)
    assert evaluation.error.startswith("invalid: circles 0 and 1 overlap")


def test_every_pool_starts_from_the_same_programs() -> None:
    task = make_task(initial=["a", "b"])
    assert task.initial(Stream(0, 1, pool=0)) == task.initial(Stream(5, 1, pool=1)) == ["a", "b"]


def test_the_summary_is_the_mean_of_the_best_100() -> None:
    candidates = [Candidate(call, "", "", call / 1000, None) for call in range(1, 201)]
    assert make_task().summarize(candidates) == pytest.approx(0.1505)
    assert make_task().summarize([]) != make_task().summarize([])


def found(call: int, score: float) -> Discovery:
    details = {"packing": json.dumps({"centers": [[0.25, 0.5], [0.75, 0.5]], "radii": [0.2, 0.1]})} if score else {}
    return Discovery(Candidate(call, f"# {call}\n", "k", score, -score, details=details), 3, 1)


def test_the_best_program_is_shown_with_its_packing() -> None:
    files = make_task().show_best([found(7, 0.6), found(3, 0.5)])
    assert set(files) == {"best_program.py", "packing.json", "packing.png", "verified.json"}
    assert files["best_program.py"] == b"# 7\n"
    assert json.loads(files["packing.json"])["sum_radii"] == pytest.approx(0.3)


def test_a_record_is_shown_under_its_call() -> None:
    assert set(make_task().show_improvement(found(7, 0.6))) == {
        "history/000007-program.py",
        "history/000007-packing.json",
    }


def test_a_failed_program_is_shown_without_a_packing() -> None:
    assert set(make_task().show_best([found(7, 0.0)])) == {"best_program.py"}
    assert make_task().show_best([]) == {}
