"""Fits of skeletons to a problem's data, in the sandbox."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from evodiverse.ports import Sandbox
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import Rows
from evodiverse.tasks.equations.problems.problem import FloatArray
from evodiverse.tasks.equations.skeleton import NAME, Skeleton
from evodiverse.tasks.equations.starts import find_ranges, find_units
from evodiverse.vocabulary import Array, Job, Limits, Rejection

ALL: Final = "equations"
_DRIVER: Final = f"from {fitting.__name__} import drive\n"


class Fitted(NamedTuple):
    """A fit: the parameters, and the predictions for each split, None where one of them is no number."""

    params: FloatArray
    predictions: tuple[FloatArray | None, ...]


class Fitter:
    """Fits skeletons to data.

    Args:
        sandbox: Runs them.
        names: Of the variables.
        splits: What is fitted, then what is held out.
        method: lm or bfgs.
        limits: Of each fit, and of those together that are made in one process.
    """

    def __init__(
        self, sandbox: Sandbox, names: Sequence[str], splits: Sequence[Rows], method: str, limits: Limits
    ) -> None:
        self._sandbox = sandbox
        self._splits = splits
        self._method = method
        self._limits = limits
        self._ranges = find_ranges(names, splits[0].inputs)

    def fit(self, skeletons: Sequence[Skeleton]) -> list[Fitted | Rejection]:
        """Return each skeleton's fit, or why it has none.

        They share a process, which saves half of the time. If it comes to grief, each gets one of its own.
        """
        (together,) = self._sandbox.run([self._job(skeletons)])
        if together.failure is None:
            n_parts = 2 + len(self._splits)
            starts = range(0, len(together.value), n_parts)
            return [_read(*together.value[at : at + n_parts]) for at in starts]
        if len(skeletons) == 1:
            return [together.failure]
        return [fitted for skeleton in skeletons for fitted in self.fit([skeleton])]

    def _job(self, skeletons: Sequence[Skeleton]) -> Job:
        parameters = [
            (
                skeleton.n_params,
                list(skeleton.linear),
                [list(unit) for unit in find_units(skeleton.source, skeleton.n_params, self._ranges)],
            )
            for skeleton in skeletons
        ]
        arguments = (self._method, parameters, self._splits[0].target, *(rows.inputs for rows in self._splits))
        n_rows = [(len(rows.target),) for rows in self._splits]
        shapes = [shape for n, *_ in parameters for shape in ((n,), (len(n_rows),), *n_rows)]
        limits = replace(self._limits, result_bytes=1_000 + 8 * sum(map(sum, shapes)))
        source = define_all([skeleton.source for skeleton in skeletons])
        return Job(source, ALL, arguments, tuple(map(Array, shapes)), limits, driver=_DRIVER)


def define_all(sources: Sequence[str]) -> str:
    """Return the program whose function ``equations`` gives all of some skeletons, in their order."""
    names = [f"{NAME}_{at}" for at in range(len(sources))]
    renamed = [source.replace(f"def {NAME}(", f"def {name}(", 1) for source, name in zip(sources, names, strict=True)]
    return "\n".join(["import numpy as np", *renamed, f"def {ALL}():\n    return [{', '.join(names)}]\n"])


def _read(params: FloatArray, finite: FloatArray, *predictions: FloatArray) -> Fitted:
    known = [values if is_finite else None for values, is_finite in zip(predictions, finite, strict=True)]
    return Fitted(params, tuple(known))
