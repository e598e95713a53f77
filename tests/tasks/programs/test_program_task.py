"""The program domain around an evaluator."""

import json
from collections.abc import Sequence
from dataclasses import replace
from textwrap import dedent
from typing import Any, ClassVar

import numpy as np
import pytest

from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.programs.circle_packing.evaluator import CirclePacking
from evodiverse.tasks.programs.evaluator import Scored, Stage
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.vocabulary import (
    Candidate,
    Evaluation,
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


class Staged(CirclePacking):
    """An evaluator with a cheap stage that needs a score of 0.5, and a dear one."""

    columns: ClassVar = {**CirclePacking.columns, "feedback": str}

    @property
    def stages(self) -> list[Stage]:
        def score(value: Any, _: str) -> Scored | Rejection:
            scored = self.score(value)
            return scored if isinstance(scored, Rejection) else Scored(scored.score, {"feedback": f"{scored.score}"})

        return [
            Stage("quick", lambda source: replace(self.job(source), arguments=("quick",)), score, 0.5),
            Stage("full", self.job, score),
        ]


def evaluate_in_stages(*executions: Execution) -> tuple[Evaluation, list[Job]]:
    """Return the evaluation of a program that ends as given in one stage after the other, and the jobs it came to."""
    sandbox = Scripted(*executions)
    settings = ProgramSettings(evaluator="circle_packing", n=2, reference=0.5)
    task = ProgramTask(Staged(settings), sandbox, [SEED], 10_000)
    (evaluation,) = task.evaluate([Hypothesis(SEED, "k")])
    assert set(evaluation.details) <= set(task.columns)
    return evaluation, sandbox.jobs


def test_a_program_below_the_threshold_of_a_stage_fails_and_never_reaches_the_next() -> None:
    slow = replace(packing(0.0), wall_seconds=2.0)
    centers, _, total = slow.value
    evaluation, jobs = evaluate_in_stages(replace(slow, value=(centers, np.array([0.0, 0.2]), total)))
    assert [job.arguments for job in jobs] == [("quick",)]
    assert (evaluation.score, evaluation.energy, evaluation.valid) == (0.0, 0.0, False)
    assert evaluation.error == "below_threshold: it needs at least 0.5 in the stage quick, and scored 0.4"
    assert (evaluation.details["stage"], evaluation.details["feedback"]) == ("quick", "0.4")
    assert 2 <= evaluation.details["seconds_quick"] < 3
    assert "seconds_full" not in evaluation.details


def test_a_program_at_the_threshold_gets_its_score_from_the_last_stage() -> None:
    evaluation, jobs = evaluate_in_stages(packing(0.0), packing(0.125))
    assert [job.arguments for job in jobs] == [("quick",), ()]
    assert (evaluation.score, evaluation.energy, evaluation.valid, evaluation.error) == (0.75, -0.75, True, "")
    assert (evaluation.details["stage"], evaluation.details["feedback"]) == ("full", "0.75")
    assert {"seconds_quick", "seconds_full"} <= set(evaluation.details)


def test_a_program_that_crashes_in_a_stage_goes_no_further() -> None:
    evaluation, jobs = evaluate_in_stages(Execution(failure=Rejection(Reason.CRASHED, "E (line 3)")))
    assert len(jobs) == 1
    assert (evaluation.valid, evaluation.error, evaluation.details["stage"]) == (False, "crashed: E (line 3)", "quick")


def test_evaluations_come_in_the_order_of_the_programs() -> None:
    scores = [evaluation.score for evaluation in evaluate(packing(0.1), packing(0.3), packing(0.2))]
    assert scores == pytest.approx([0.7, 0.0, 0.9])


CRASH = Rejection(Reason.CRASHED, "E (line 3)")
LATE = Rejection(Reason.TIMED_OUT, "it used more than 5 s of CPU")


@pytest.mark.parametrize(
    ("execution", "output"),
    [
        (packing(0.1), None),
        (replace(packing(0.1), stdout="a\n", stderr=" b\x1b[31m\r\n\n"), "a\n b\ufffd[31m"),
        (Execution(failure=CRASH, stderr="<f at 0x7f00deadbeef>\tx"), "<f at …>    x"),
        (Execution(failure=CRASH, stdout="/x/evodiverse-sandbox-k2_x/a"), "/x/evodiverse-sandbox-…/a"),
        (Execution(failure=CRASH, stdout="\n".join(map(str, range(99)))), "…" + "\n".join(map(str, range(79, 99)))),
        (Execution(failure=CRASH, stdout="x" * 4000, stderr="y"), f"…{'x' * 999}\ny"),
        (Execution(failure=LATE, stdout="in round 1234"), None),
    ],
)
def test_the_end_of_the_output_is_logged_if_it_is_the_same_in_every_run(
    execution: Execution, output: str | None
) -> None:
    (evaluation,) = evaluate(execution)
    assert evaluation.details.get("output") == output


@pytest.mark.parametrize(
    ("given", "logged"), [("a\n\x1b b", "a\n\ufffd b"), ("z" * 2001, "z" * 1999 + "…"), ("", None), (None, None)]
)
def test_a_feedback_is_logged_in_printable_lines_of_bounded_length(given: str | None, logged: str | None) -> None:
    class Telling(CirclePacking):
        def score(self, value: Any) -> Scored | Rejection:
            return Scored(0.5, {"feedback": given})

    task = ProgramTask(Telling(ProgramSettings(n=2, reference=0.5)), Scripted(packing(0.1)), [SEED], 10_000)
    (evaluation,) = task.evaluate([Hypothesis(SEED, "k")])
    assert evaluation.details.get("feedback") == logged


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
