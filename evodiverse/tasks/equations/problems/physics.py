"""Nonlinear oscillators, damped and driven: the acceleration in terms of time, position and velocity.

The first two are those of LLM-SR (Shojaee et al. 2025); the others add an unusual term to a textbook oscillator,
following the recipe of LSR-Synth. All quantities are dimensionless.
"""

from evodiverse.tasks.equations.problems.problem import Problem, Variable
from evodiverse.tasks.equations.problems.sampling import trajectory

_ACCELERATION = Variable("a", "acceleration of a nonlinear oscillator, damped or driven")
_VARIABLES = {
    "t": Variable("t", "time"),
    "x": Variable("x", "position"),
    "v": Variable("v", "velocity"),
}


def _oscillator(
    name: str, names: str, law: str, constants: tuple[float, ...], start: tuple[float, float] = (0.5, 0.5)
) -> Problem:
    variables = tuple(_VARIABLES[letter] for letter in names)
    return Problem(
        name, "physics", _ACCELERATION, variables, law, constants, trajectory({"x": start[0], "v": start[1]}, 60.0)
    )


PROBLEMS = (
    _oscillator(
        "oscillator1",
        "xv",
        "params[0] * np.sin(params[1] * x) - params[2] * v**3 - params[3] * x**3 - params[4] * x * v - x * np.cos(x)",
        (0.8, 1.0, 0.5, 0.2, 0.5),
    ),
    _oscillator(
        "oscillator2",
        "txv",
        "params[0] * np.sin(params[1] * t) - params[2] * v**3 - params[3] * x * v"
        " - params[4] * x * np.exp(params[5] * x)",
        (0.3, 1.0, 0.5, 1.0, 5.0, 0.5),
    ),
    _oscillator(  # Duffing's oscillator, with a spring that is weaker in the middle
        "oscillator3",
        "txv",
        "params[0] * np.cos(params[1] * t) - params[2] * v - params[3] * x - params[4] * x**3"
        " + params[5] * x * np.exp(-(x**2))",
        (0.6, 1.3, 0.15, 0.5, 0.8, 0.9),
    ),
    _oscillator(  # van der Pol's oscillator, with a second damper that saturates
        "oscillator4",
        "txv",
        "params[0] * (1 - x**2) * v - params[1] * x - params[2] * np.tanh(params[3] * v) + params[4] * np.sin(t)",
        (1.2, 1.0, 0.4, 2.0, 0.5),
        (0.5, 0.0),
    ),
    _oscillator(  # a driven pendulum in a fluid, with a restoring force that grows with speed
        "oscillator5",
        "txv",
        "-params[0] * np.sin(x) - params[1] * v * np.abs(v) + params[2] * np.sin(params[3] * t) - params[4] * x * v**2",
        (1.5, 0.3, 0.7, 0.9, 0.2),
    ),
    _oscillator(  # Rayleigh's oscillator, with a spring that softens
        "oscillator6",
        "xv",
        "params[0] * v - params[1] * v**3 - params[2] * x / (1 + params[3] * x**2)",
        (0.6, 0.4, 1.6, 0.35),
    ),
    _oscillator(  # Helmholtz and Duffing's oscillator, driven through its damper
        "oscillator7",
        "txv",
        "-params[0] * x - params[1] * x**2 - params[2] * x**3 - params[3] * v + params[4] * v * np.cos(params[5] * t)",
        (1.0, 0.3, 0.5, 0.05, 0.4, 0.7),
        (0.9, 0.2),
    ),
    _oscillator(  # harmonic oscillator, with a spring that is stiffer in the middle
        "oscillator8",
        "txv",
        "-params[0] * x - params[1] * v - params[2] * x * np.exp(-params[3] * np.abs(x)) + params[4] * np.cos(t)",
        (0.7, 0.2, 1.4, 1.1, 0.8),
    ),
)
