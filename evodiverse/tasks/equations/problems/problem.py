"""What a builtin problem is: a law, its constants, and how its data come about."""

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
    """Inputs ``(n, variables)`` and target ``(n,)``."""

    inputs: FloatArray
    target: FloatArray


class Splits(NamedTuple):
    """What is fitted, and what is held out: from the same domain, and from beyond it."""

    train: Rows
    test_id: Rows
    test_ood: Rows


@dataclass(frozen=True, slots=True)
class Problem:
    """A law to be found.

    Attributes:
        name: Unique.
        domain: physics, biology, chemistry or materials.
        target: What the law gives.
        variables: What it depends on.
        law: An expression of the variables and ``params``, which are numbered as they come, in numpy's words.
        constants: What ``params`` are in truth.
        sample: Makes the data.

    Raises:
        ValueError: The params of the law are not numbered as they come, or are not as many as the constants.
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
        """The law as a candidate."""
        names = ", ".join(variable.name for variable in self.variables)
        return f"def equation({names}, params):\n    return {self.law}\n"

    def evaluate(self, inputs: FloatArray) -> FloatArray:
        """Return the target at inputs ``(n, variables)``."""
        scope: dict[str, Any] = {"np": np, "params": self.constants}
        scope |= {variable.name: inputs[:, place] for place, variable in enumerate(self.variables)}
        return np.asarray(eval(_compiled(self.law), scope), dtype=np.float64)  # noqa: S307 (our own text)
