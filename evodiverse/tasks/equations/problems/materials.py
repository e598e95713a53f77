"""Stress of a metal or a polymer under strain, at a temperature.

``aluminium`` is the Johnson-Cook law at a reference strain rate, with the constants commonly used for 6061-T6, and
``material6`` is the Zerilli-Armstrong law; the others add an unusual term to a textbook law, following the recipe of
LSR-Synth (Shojaee et al. 2025). Stress is in MPa, and temperature is in kelvin.
"""

from evodiverse.tasks.equations.problems.problem import Problem, Variable
from evodiverse.tasks.equations.problems.sampling import box


def _material(
    name: str,
    what: str,
    law: str,
    constants: tuple[float, ...],
    strain: tuple[float, float, float] = (0.002, 0.4, 0.6),
    temperature: tuple[float, float] = (293.0, 573.0),
) -> Problem:
    low, high, highest = strain
    variables = (Variable("strain", f"{what} strain"), Variable("T", "temperature"))
    sample = box({"strain": (low, high), "T": temperature}, {"strain": (high, highest)})
    return Problem(name, "materials", Variable("stress", f"stress of {name}"), variables, law, constants, sample)


PROBLEMS = (
    _material(
        "aluminium",
        "plastic",
        "(params[0] + params[1] * strain ** params[2]) * (1 - ((T - 293) / 632) ** params[3])",
        (324.0, 114.0, 0.42, 1.34),
    ),
    _material(  # Hollomon's law, softened by heat, with a term that saturates
        "material1",
        "plastic",
        "params[0] * strain ** params[1] * np.exp(-params[2] * (T - 293)) + params[3] * np.tanh(params[4] * strain)",
        (530.0, 0.26, 0.0012, 40.0, 12.0),
    ),
    _material(  # Voce's law, softened by heat
        "material2",
        "plastic",
        "params[0] - params[1] * np.exp(-params[2] * strain) - params[3] * (T - 293) * strain",
        (410.0, 230.0, 9.0, 0.35),
    ),
    _material(  # Ludwik's law, softened by heat, with a periodic term
        "material3",
        "plastic",
        "(params[0] + params[1] * strain ** params[2]) * (1 - params[3] * (T - 293)) + params[4] * np.sin(10 * strain)",
        (220.0, 310.0, 0.5, 0.0011, 12.0),
    ),
    _material(  # Hooke's law, with a modulus that falls with temperature, and a cubic term
        "material4",
        "elastic",
        "params[0] * (1 - params[1] * (T - 293)) * strain - params[2] * strain**3",
        (900.0, 0.0008, 700.0),
    ),
    _material(  # rubber: uniaxial neo-Hookean law with entropic elasticity
        "material5",
        "engineering",
        "params[0] * T * (1 + strain - 1 / (1 + strain) ** 2) + params[1] * strain**2 * np.exp(-params[2] * strain)",
        (0.004, 6.0, 1.2),
        (0.0, 1.5, 2.5),
        (273.0, 373.0),
    ),
    _material(  # Zerilli and Armstrong's law for a body-centered cubic lattice
        "material6",
        "plastic",
        "params[0] + params[1] * np.exp(-params[2] * T) + params[3] * strain ** params[4]",
        (60.0, 900.0, 0.0045, 260.0, 0.3),
    ),
    _material(  # similar to Ramberg and Osgood's law solved for stress, with thermal stress
        "material7",
        "total",
        "params[0] * strain / (1 + (strain / params[1]) ** 2) ** 0.5 - params[2] * (T - 293)"
        " + params[3] * strain * np.log(T / 293)",
        (9000.0, 0.03, 0.12, 80.0),
    ),
)
