"""Kinetics: the rate at which the concentration of a substance changes in a vessel.

An unusual term is added to textbook rates, following the recipe of LSR-Synth (Shojaee et al. 2025). Time is in seconds,
concentration in mol/l.
"""

from evodiverse.tasks.equations.problems.problem import Problem, Variable
from evodiverse.tasks.equations.problems.sampling import trajectory

_RATE = Variable("rate", "rate of change of the concentration of a substance in a reaction")


def _reaction(name: str, names: str, law: str, constants: tuple[float, ...], start: float = 3.0) -> Problem:
    known = {"t": Variable("t", "time"), "A": Variable("A", "concentration")}
    variables = tuple(known[letter] for letter in names)
    return Problem(name, "chemistry", _RATE, variables, law, constants, trajectory({"A": start}, 30.0))


PROBLEMS = (
    _reaction("reaction1", "tA", "-params[0] * A + params[1] * np.cos(params[2] * t)", (0.3, 0.4, 0.9)),
    _reaction("reaction2", "tA", "-params[0] * A**2 - params[1] * A * np.exp(-params[2] * t)", (0.06, 0.15, 0.1)),
    _reaction("reaction3", "A", "-params[0] * A - params[1] * A**2 / (1 + params[2] * A**4)", (0.08, 0.5, 0.3)),
    _reaction("reaction4", "tA", "-params[0] * np.sqrt(A) + params[1] * np.sin(params[2] * t) ** 2", (0.2, 0.35, 0.4)),
    _reaction("reaction5", "A", "-params[0] * A / (params[1] + A) + params[2] * np.exp(-A)", (0.4, 0.7, 0.25)),
    _reaction(
        "reaction6",
        "tA",
        "-params[0] * A**2 + params[1] * t * np.exp(-params[2] * t) + params[3]",
        (0.1, 0.5, 0.4, 0.1),
    ),
    _reaction(
        "reaction7", "A", "-params[0] * A + params[1] * np.cos(np.log(1 + A)) + params[2] * np.sin(A)", (0.2, 0.15, 0.1)
    ),
    _reaction(
        "reaction8", "tA", "-params[0] * A ** params[1] + params[2] * A / (1 + params[3] * t)", (0.12, 1.5, 0.2, 0.3)
    ),
)
