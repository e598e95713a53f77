"""The construction of the built-in tasks that place points."""

from collections.abc import Callable

from evodiverse.tasks.programs.builtin import Builtin
from evodiverse.tasks.programs.metrics import TaskMetrics
from evodiverse.tasks.programs.operators.mutation import Grammar
from evodiverse.tasks.programs.points.evaluator import PointPlacing, load_seed
from evodiverse.tasks.programs.points.problem import Problem
from evodiverse.tasks.programs.settings import ProgramSettings


def build(problem: Problem, build_moves: Callable[[], Grammar]) -> Builtin:
    """Return the built-in task of a problem.

    Args:
        problem: The definition of the task, except for its moves.
        build_moves: A function that returns the task's moves: mutations that make sense only for this task. Each of
            them inserts statements with random parameters into a program. `ProgramOperator`, which makes offspring
            without a language model, uses the moves.
    """
    return Builtin(
        find_violations=lambda settings: find_violations(problem, settings),
        build_evaluator=lambda settings, limits: PointPlacing(
            problem, settings.n or problem.n, settings.reference or problem.reference, limits
        ),
        load_start=lambda settings: load_seed(problem, settings.n or problem.n),
        build_moves=build_moves,
        build_metrics=TaskMetrics,
    )


def find_violations(problem: Problem, settings: ProgramSettings) -> list[str]:
    """Return everything that is wrong with ``task.n`` and with ``task.reference``, the value that scores 1."""
    n, reference = settings.n, settings.reference
    violations = []
    if n is None:
        violations.append(f"task.n has no value; task={problem.task} sets it")
    elif not problem.fewest <= n <= problem.most:
        violations.append(f"task.n must be from {problem.fewest} to {problem.most} for task={problem.task}, got {n}")
    if reference is None:
        violations.append(f"task.reference has no value; give the {problem.quantity} that scores 1")
    if n not in {None, problem.n} and reference == problem.reference:
        violations.append(f"task.reference={problem.reference} is for {problem.n} points; give the one for task.n={n}")
    return violations
