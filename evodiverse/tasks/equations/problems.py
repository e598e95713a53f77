"""The built-in problems of ``problems.yaml``: eight each from physics, biology, chemistry and materials science.

The data of a problem follow a known equation, the law. Inputs are sampled along a solution of the law if it is a
differential equation, or at random from a box.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from evodiverse.kit.files import read_shipped
from evodiverse.tasks.equations.skeleton import write_function

FloatArray = NDArray[np.float64]

N_TRAIN, N_TEST = 5_000, 500
# Inputs are rounded, so that the data do not depend on the last bits of a machine's arithmetic.
DECIMALS = 6
# The share of a trajectory that is out of domain.
LATER = 1 / 6


class Variable(NamedTuple):
    """A column of data.

    Attributes:
        name: The name as an identifier in Python.
        meaning: The meaning, for prompts; may be empty.
        label: What the column is called in a user's file, with its unit; empty for other data.
        category: For a variable that is 1 where a column has a certain text, and 0 elsewhere: the column and the text.
    """

    name: str
    meaning: str
    label: str = ""
    category: tuple[str, str] | None = None


class Rows(NamedTuple):
    """The rows of a data set: inputs of shape ``(n, n_variables)`` and targets of shape ``(n,)``.

    The ``(n,)`` weights of their squared errors, if they differ, have the mean 1 over all training rows.
    """

    inputs: FloatArray
    target: FloatArray
    weights: FloatArray | None = None

    def select(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Return some of the rows, given ``(n,)`` flags."""
        return Rows(*(None if each is None else each[chosen] for each in self))  # type: ignore[arg-type]

    def join(self, others: "Rows") -> "Rows":
        """Return these rows and others of the same data set."""
        pairs = zip(self, others, strict=True)
        return Rows(*(None if one is None or two is None else np.concatenate([one, two]) for one, two in pairs))  # type: ignore[arg-type]


class Splits(NamedTuple):
    """The training rows, and those held out: from the same domain, and from outside it."""

    train: Rows
    test_id: Rows
    test_ood: Rows


@dataclass(frozen=True, slots=True)
class Problem:
    """A law to find.

    Attributes:
        name: The unique name of the problem.
        domain: The science: physics, biology, chemistry or materials.
        target: The quantity that the law predicts.
        variables: The quantities that the law depends on.
        law: An expression of the variables and ``params``, written with numpy. The params are numbered in order of
            appearance.
        constants: The true values of ``params``.
        sampling: How inputs are sampled: along a solution of the law as a differential equation, or at random. For the
            first, ``start`` has the states at time 0 by their names, and ``end`` is a time in the problem's unit. For
            the second, ``inside`` has the bounds of each variable in the domain, and ``beyond`` those that differ out
            of domain.
    """

    name: str
    domain: str
    target: Variable
    variables: tuple[Variable, ...]
    law: str
    constants: tuple[float, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> list[str]:
        """The names of the variables."""
        return [variable.name for variable in self.variables]

    @property
    def skeleton(self) -> str:
        """The source code of the law as a function ``equation``, in the form of a candidate."""
        return write_function(self.names, self.law)

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the target at inputs ``(n, variables)``."""
        scope = {"np": np, "params": self.constants, **dict(zip(self.names, inputs.T, strict=True))}
        return np.asarray(eval(_compiled(self.law, "law", "eval"), scope), dtype=np.float64)  # noqa: S307 (our own text)

    def sample(self) -> Splits:
        """Generate the data."""
        rng = np.random.Generator(np.random.Philox(int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8])))
        exact = self._draw(rng) if "inside" in self.sampling else self._follow(rng)
        known, beyond = (np.round(inputs, DECIMALS) for inputs in exact)
        parts = known[:N_TRAIN], known[N_TRAIN:], beyond
        return Splits(*(Rows(inputs, self.evaluate(inputs)) for inputs in parts))

    def _draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw inputs uniformly, in the domain and out of it."""

        def draw(n: int, bounds: Mapping[str, tuple[float, float]]) -> FloatArray:
            low, high = np.transpose([bounds[name] for name in self.names])
            return rng.uniform(low, high, (n, len(low)))

        inside, beyond = self.sampling["inside"], self.sampling["beyond"]
        return draw(N_TRAIN + N_TEST, inside), draw(N_TEST, {**inside, **beyond})

    def _follow(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Solve the law as a differential equation from time 0 to ``end``; return inputs in the domain and out of it.

        The target is the derivative of the last state. An equation of first order has one state; one of second order
        has the position and then the velocity. The last sixth of the time ``t`` is out of domain.
        """
        start, end = self.sampling["start"], self.sampling["end"]

        def derivatives(time: float, state: FloatArray) -> list[float]:
            now = {"t": time, **dict(zip(start, state, strict=True))}
            (rate,) = self.evaluate(np.array([[now[name] for name in self.names]]))
            return [*state[1:], float(rate)]

        times = np.linspace(0, end, round((N_TRAIN + N_TEST) / (1 - LATER)))
        solution = solve_ivp(derivatives, (0, end), list(start.values()), "DOP853", times, rtol=1e-10, atol=1e-12)
        columns: dict[str, FloatArray] = {"t": times, **dict(zip(start, solution.y, strict=True))}
        inputs = np.stack([columns[name] for name in self.names], axis=1)
        known, later = inputs[: N_TRAIN + N_TEST], inputs[N_TRAIN + N_TEST :]
        order = rng.permutation(len(known))
        return known[order], later[np.linspace(0, len(later) - 1, N_TEST).astype(int)]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The data that an equation is to explain.

    Attributes:
        target: The column to be explained.
        variables: The other columns, in the order of an equation's arguments; a column of texts has one for each text.
        splits: The training data, and the data that are held out.
        problem: The built-in problem with the law behind the data, or None if the law is not known.
        notes: What was left out of a user's files, one line each.
        keys: The name of each column and variable, by what a setting may call it: as it is written, or as it is shown.
            Empty if only by its name.
        sigma: The column of the target's standard errors, or None if there is none.
    """

    target: Variable
    variables: tuple[Variable, ...]
    splits: Splits
    problem: Problem | None = None
    notes: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    sigma: Variable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def columns(self) -> dict[str, FloatArray]:
        """The ``(n,)`` values of each variable in the training data, by name."""
        return dict(zip(self.names, self.splits.train.inputs.T, strict=True))

    @property
    def positive(self) -> frozenset[str]:
        """The names of the variables that are never negative in the training data."""
        return frozenset(name for name, column in self.columns.items() if column.min() >= 0)


_compiled: Final = cache(compile)


def _read_problems() -> Iterator[Problem]:
    for domain, science in read_shipped(Path(__file__).with_suffix(".yaml")).items():
        for name, own in science["problems"].items():
            entry = science | own
            ((target, meaning),) = entry["target"].items()
            names = re.findall(r"\w+", entry["law"])
            yield Problem(
                name,
                domain,
                Variable(target, meaning.format(name=name)),
                tuple(Variable(*column) for column in entry["variables"].items() if column[0] in names),
                entry["law"],
                tuple(map(float, entry["constants"])),
                {key: entry[key] for key in ("start", "end", "inside", "beyond") if key in entry},
            )


PROBLEMS: Final = {problem.name: problem for problem in _read_problems()}
