"""The built-in problems: eight each from physics, biology, chemistry and materials science."""

from evodiverse.tasks.equations.problems import biology, chemistry, materials, physics
from evodiverse.tasks.equations.problems.problem import Problem, Rows, Splits, Variable

__all__ = ["PROBLEMS", "Problem", "Rows", "Splits", "Variable"]

PROBLEMS = {problem.name: problem for domain in (physics, biology, chemistry, materials) for problem in domain.PROBLEMS}
