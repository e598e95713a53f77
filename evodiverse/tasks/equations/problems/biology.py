"""Growth of populations: bacteria in a broth, and a population over time.

The law of ``bacterial_growth`` is a product of the same factors as the law of bacterial growth in LLM-SR (Shojaee et
al. 2025); the others add an unusual term to a textbook law of growth, following the recipe of LSR-Synth. Time is in
hours, and population sizes are in thousands.
"""

from evodiverse.tasks.equations.problems.problem import Problem, Variable
from evodiverse.tasks.equations.problems.sampling import box, trajectory

_GROWTH = Variable("growth", "growth rate of a population")


def _population(name: str, names: str, law: str, constants: tuple[float, ...], start: float, hours: float) -> Problem:
    known = {"t": Variable("t", "time"), "P": Variable("P", "size of the population")}
    variables = tuple(known[letter] for letter in names)
    return Problem(name, "biology", _GROWTH, variables, law, constants, trajectory({"P": start}, hours))


PROBLEMS = (
    Problem(
        "bacterial_growth",
        "biology",
        Variable("growth", "growth rate of E. coli in a broth"),
        (
            Variable("b", "population density"),
            Variable("s", "concentration of the substrate"),
            Variable("temp", "temperature in degrees Celsius"),
            Variable("pH", "acidity of the broth"),
        ),
        "params[0] * b * s / (params[1] + s)"
        " * np.tanh(params[2] * (temp - params[3])) / (1 + params[4] * (temp - params[5]) ** 4)"
        " * np.exp(-np.abs(pH - params[6])) * np.sin(np.pi * (pH - params[7]) / params[8]) ** 2",
        (1.2, 0.6, 0.1, 15.0, 1e-4, 38.0, 7.0, 4.0, 6.0),
        box(
            {"b": (0.1, 1.0), "s": (0.1, 3.0), "temp": (18.0, 40.0), "pH": (4.5, 8.5)},
            {"b": (1.0, 1.5), "temp": (40.0, 46.0)},
        ),
    ),
    _population(  # logistic growth, with a periodic food supply
        "population1",
        "tP",
        "params[0] * P * (1 - P / params[1]) + params[2] * P * np.sin(params[3] * t)",
        (0.4, 6.0, 0.15, 0.5),
        0.3,
        60.0,
    ),
    _population(  # logistic growth, with predation of Holling's type III
        "population2",
        "P",
        "params[0] * P * (1 - P / params[1]) - params[2] * P**2 / (params[3] + P**2)",
        (0.35, 10.0, 0.5, 1.5),
        0.2,
        30.0,
    ),
    _population(  # growth with an Allee effect, and a cost that grows slowly
        "population3",
        "P",
        "params[0] * P * (1 - P / params[1]) * (P / params[2] - 1) - params[3] * np.log(1 + P)",
        (0.06, 8.0, 0.5, 0.02),
        0.9,
        12.0,
    ),
    _population(  # Gompertz growth, with a harvest that grows with the population
        "population4",
        "P",
        "params[0] * P * np.log(params[1] / P) - params[2] * P / (1 + P)",
        (0.12, 9.0, 0.3),
        0.2,
        40.0,
    ),
    _population(  # exponential growth at a rate that decays, with periodic feeding
        "population5",
        "tP",
        "params[0] * P * np.exp(-params[1] * t) + params[2] * np.cos(params[3] * t) * P / (1 + P)",
        (0.5, 0.12, 0.2, 0.8),
        0.2,
        60.0,
    ),
    _population(  # von Bertalanffy growth, with a loss that oscillates with the size
        "population6",
        "P",
        "params[0] * P ** (2 / 3) - params[1] * P - params[2] * np.sin(P) ** 2",
        (0.6, 0.25, 0.1),
        0.1,
        40.0,
    ),
    _population(  # generalized logistic growth, with an inflow that decays
        "population7",
        "tP",
        "params[0] * P * (1 - (P / params[1]) ** params[2]) + params[3] * np.exp(-params[4] * t)",
        (0.3, 5.0, 1.7, 0.4, 0.2),
        0.1,
        15.0,
    ),
)
