"""The definition of a built-in problem: a law, its constants, and the way its data are sampled."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@cache
def _compiled(law: str) -> CodeType:
    return compile(law, "law", "eval")


class Variable(NamedTuple):
    """A column of data."""

    name: str
    meaning: str


class Rows(NamedTuple):
    """The rows of a data set: inputs of shape ``(n, n_variables)`` and targets of shape ``(n,)``."""

    inputs: FloatArray
    target: FloatArray


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
        sample: The function that generates the data; it is called with the problem itself.

    Raises:
        ValueError: The params of the law are not numbered in order of appearance, or their number differs from that of
            the constants.
    """

    name: str
    domain: str
    target: Variable
    variables: tuple[Variable, ...]
    law: str
    constants: tuple[float, ...]
    sample: "Callable[[Problem], Splits]"

    def __post_init__(self) -> None:
        numbers = list(dict.fromkeys(re.findall(r"params\[(\d+)\]", self.law)))
        if numbers != [str(number) for number in range(len(self.constants))]:
            last = len(self.constants) - 1
            raise ValueError(f"{self.name}: params 0 to {last} should come in this order: {self.law}")

    @property
    def skeleton(self) -> str:
        """The source code of the law as a function ``equation``, in the form of a candidate."""
        names = ", ".join(variable.name for variable in self.variables)
        return f"def equation({names}, params):\n    return {self.law}\n"

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the target at inputs ``(n, variables)``."""
        scope: dict[str, Any] = {"np": np, "params": self.constants}
        scope |= {variable.name: inputs[:, place] for place, variable in enumerate(self.variables)}
        return np.asarray(eval(_compiled(self.law), scope), dtype=np.float64)  # noqa: S307 (our own text)
