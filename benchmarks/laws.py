"""Draw forty laws on which nothing was tuned, and write their data: python benchmarks/laws.py FOLDER.

A law is a product or a sum of products of factors that physics, biology, chemistry and materials science use, with
constants, ranges of inputs, numbers of rows and noise drawn from one fixed seed. The first ten are to look at
while the search is worked on; the others are for one measurement at the end. The folder FOLDER/NAME of each law gets
its data as CSV files, and law.json.
"""

import csv
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evodiverse.tasks.equations.problems import FloatArray

SEED = 20_261_122
N_LAWS = 40
N_TEST = 500
SIZES = (100, 200, 500, 2_000)
NOISES = (0.0, 0.0, 1e-3, 1e-2, 3e-2)
"""Standard deviations of the noise on the training target, in units of the target's own."""

# If shuffling a variable changes the target by less than this, in units of the target's standard deviation, the
# variable cannot be found, and the law is not used.
LEAST_EFFECT = 0.05

# The kinds of factors, by name: the text with a variable x, the weight with which the kind is drawn, and its constants.
# A constant is given by two bounds, which hold if x is at most 1, and by a power. If x is at most s, the bounds are
# multiplied by s to this power.
FACTORS: dict[str, tuple[str, float, tuple[tuple[float, float, int], ...]]] = {
    "linear": ("{x}", 3.0, ()),
    "power": ("{x}**{0}", 1.5, ((-1.5, 2.5, 0),)),
    "square": ("{x}**2", 1.5, ()),
    "root": ("np.sqrt({x})", 1.0, ()),
    "inverse": ("(1 / {x})", 1.0, ()),
    "affine": ("({0} + {x})", 1.0, ((0.3, 3.0, 1),)),
    "crowding": ("(1 - {x} / {0})", 1.0, ((1.2, 3.0, 1),)),
    "saturation": ("({x} / ({0} + {x}))", 1.5, ((0.1, 1.5, 1),)),
    "hill": ("({x}**2 / ({0} + {x}**2))", 0.7, ((0.05, 0.8, 2),)),
    "decay": ("np.exp(-{0} * {x})", 1.5, ((0.5, 4.0, -1),)),
    "arrhenius": ("np.exp(-{0} / {x})", 1.0, ((0.2, 1.5, 1),)),
    "sigmoid": ("(1 / (1 + np.exp(-{0} * ({x} - {1}))))", 0.7, ((4.0, 15.0, -1), (0.3, 0.7, 1))),
    "onset": ("np.tanh({0} * {x})", 0.7, ((0.7, 3.0, -1),)),
    "bell": ("np.exp(-{0} * ({x} - {1})**2)", 0.7, ((2.0, 12.0, -2), (0.3, 0.7, 1))),
    "wave": ("np.sin({0} * {x})", 1.0, ((2.0, 8.0, -1),)),
    "logarithm": ("np.log(1 + {0} * {x})", 0.8, ((0.5, 6.0, -1),)),
}
SCALES = (0.5, 1.0, 2.0, 5.0, 20.0)
"""The largest values that a variable can have. Its range begins at a twentieth of the largest value."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law and how its data come about.

    Attributes:
        name: The unique name.
        variables: The names of the inputs.
        expression: The right-hand side in Python with numpy, a formula of the variables and ``params``.
        constants: The values of ``params``.
        lows: The lower end of each input's range.
        highs: The upper end of each input's range.
        n_rows: The number of training rows.
        noise: The standard deviation of the noise on the training target, in units of the target's own.
    """

    name: str
    variables: tuple[str, ...]
    expression: str
    constants: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    n_rows: int
    noise: float

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the ``(n,)`` target at ``(n, variables)`` inputs, without noise."""
        scope: dict[str, Any] = {"np": np, "params": self.constants}
        scope |= dict(zip(self.variables, inputs.T, strict=True))
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(eval(self.expression, scope), np.float64), len(inputs))  # noqa: S307


def draw_laws() -> list[Law]:
    """Return the forty laws. Each is finite on its data and depends on each of its variables."""
    rng = np.random.default_rng(SEED)
    laws: list[Law] = []
    while len(laws) < N_LAWS:
        law = _draw(f"law{len(laws):02}", rng)
        if _is_sound(law, rng):
            laws.append(law)
    return laws


def draw_inputs(law: Law, n: int, rng: np.random.Generator, *, beyond: bool = False) -> FloatArray:
    """Return ``(n, variables)`` inputs, drawn uniformly from the ranges of the law's variables.

    With ``beyond``, the first variable is drawn from outside its range: up to a quarter of the range above its end.
    """
    lows, highs = np.array(law.lows), np.array(law.highs)
    if beyond:
        lows[0], highs[0] = highs[0], highs[0] + 0.25 * (highs[0] - lows[0])
    return np.round(rng.uniform(lows, highs, (n, len(lows))), 6)


def _draw(name: str, rng: np.random.Generator) -> Law:
    n_variables = int(rng.choice([1, 2, 3, 4], p=[0.15, 0.35, 0.3, 0.2]))
    variables = tuple(f"x{at}" for at in range(1, n_variables + 1))
    scales = rng.choice(SCALES, n_variables)
    n_terms = int(rng.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))
    constants: list[float] = []

    def constant(low: float, high: float) -> str:
        constants.append(float(f"{rng.uniform(low, high):.3g}"))
        return f"params[{len(constants) - 1}]"

    terms = []
    for _ in range(n_terms):
        n_factors = n_variables if n_terms == 1 else int(rng.integers(1, min(n_variables, 3) + 1))
        chosen = sorted(rng.permutation(n_variables)[:n_factors].tolist())
        if n_terms == 1 and n_variables < 3:
            chosen.append(int(rng.integers(n_variables)))  # gets a second factor, since a product needs several
        factors = [_factor(variables[at], float(scales[at]), constant, rng) for at in chosen]
        terms.append(" * ".join([constant(0.5, 3.0), *factors]))
    signs = [" + " if rng.random() < 0.6 else " - " for _ in terms[1:]]
    expression = terms[0] + "".join(sign + term for sign, term in zip(signs, terms[1:], strict=True))
    lows, highs = tuple((0.05 * scales).tolist()), tuple(scales.tolist())
    n_rows, noise = int(rng.choice(SIZES)), float(rng.choice(NOISES))
    return Law(name, variables, *_number(expression, constants), lows, highs, n_rows, noise)


def _number(expression: str, constants: Sequence[float]) -> tuple[str, tuple[float, ...]]:
    """Renumber the constants of an expression in the order in which they occur; return both."""
    drawn = [int(number) for number in re.findall(r"params\[(\d+)\]", expression)]
    numbered = re.sub(r"params\[(\d+)\]", lambda found: f"params[{drawn.index(int(found[1]))}]", expression)
    return numbered, tuple(constants[number] for number in drawn)


def _factor(variable: str, scale: float, constant: Callable[[float, float], str], rng: np.random.Generator) -> str:
    """Draw a factor of a variable between 0 and ``scale``, with constants that suit this scale.

    For each constant, it calls ``constant`` with two bounds, which draws the value and returns its ``params[i]``.
    """
    names = list(FACTORS)
    weights = np.array([weight for _, weight, _ in FACTORS.values()])
    kind = names[rng.choice(len(names), p=weights / weights.sum())]
    text, _, constants = FACTORS[kind]
    values = [constant(low * scale**power, high * scale**power) for low, high, power in constants]
    return text.format(*values, x=variable)


def _is_sound(law: Law, rng: np.random.Generator) -> bool:
    """Return whether a law is finite on its data, has no pole, and depends on each of its variables."""
    inputs = draw_inputs(law, 2_000, rng)
    values, outside = law.evaluate(inputs), law.evaluate(draw_inputs(law, 2_000, rng, beyond=True))
    if not (np.isfinite(values).all() and np.isfinite(outside).all()) or values.std() < 1e-6 * np.abs(values).max():
        return False
    if np.abs(values - np.median(values)).max() > 30 * values.std():  # a pole, which would dominate every fit
        return False
    for at in range(len(law.variables)):
        moved = inputs.copy()
        moved[:, at] = rng.permutation(moved[:, at])
        if np.std(law.evaluate(moved) - values) < LEAST_EFFECT * values.std():
            return False
    return True


def write_law(law: Law, folder: Path) -> None:
    """Write ``train.csv``, ``test_id.csv``, ``test_ood.csv`` and ``law.json``; only the training target has noise."""
    rng = np.random.default_rng([SEED, int(law.name.removeprefix("law"))])
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "test_id", "test_ood"):
        n_rows = law.n_rows if split == "train" else N_TEST
        inputs = draw_inputs(law, n_rows, rng, beyond=split == "test_ood")
        target = law.evaluate(inputs)
        if split == "train":
            target = target + law.noise * target.std() * rng.standard_normal(n_rows)
        with (folder / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*law.variables, "y"])
            writer.writerows(np.column_stack([inputs, target]).tolist())
    (folder / "law.json").write_text(json.dumps(asdict(law), indent=1) + "\n")


def main() -> None:
    (folder,) = sys.argv[1:]
    for law in draw_laws():
        write_law(law, Path(folder) / law.name)


if __name__ == "__main__":
    main()
