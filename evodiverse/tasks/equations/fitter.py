"""The fit of skeletons, which are equations with free parameters, to the data of a problem, in the sandbox."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from evodiverse.ports import Sandbox
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import FloatArray, Rows
from evodiverse.tasks.equations.skeleton import NAME, Skeleton
from evodiverse.tasks.equations.starts import find_ranges, find_units
from evodiverse.vocabulary import Array, Job, Limits, Rejection

ALL: Final = "equations"
"""The name of the function that `define_all` adds to a program."""

_FITTING: Final = f"from {fitting.__name__} import drive\n"


class Fitted(NamedTuple):
    """The result of a fit.

    Attributes:
        params: ``(n_params,)`` fitted parameters.
        predictions: ``(n,)`` predictions for each split, or None for a split in which a prediction is not finite.
    """

    params: FloatArray
    predictions: tuple[FloatArray | None, ...]


class Fitter:
    """Fits skeletons, which are equations with free parameters, to data.

    Args:
        sandbox: The sandbox that runs the fits.
        names: The names of the variables.
        splits: The rows to fit, then the rows of each split that no fit sees.
        method: The method of the fit, lm or bfgs.
        limits: The limits of each process of the sandbox. A process may run several fits.
        is_robust: Whether the fits minimize the loss of `fitting.measure_losses` in place of the squared error.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        names: Sequence[str],
        splits: Sequence[Rows],
        method: str,
        limits: Limits,
        *,
        is_robust: bool = False,
    ) -> None:
        weights = splits[0].weights
        self._loss = (None if weights is None else np.sqrt(weights), is_robust)
        self._sandbox = sandbox
        self._splits = splits
        self._method = method
        self._limits = limits
        self._ranges = find_ranges(names, splits[0].inputs)

    def fit(self, skeletons: Sequence[Skeleton], given: Sequence[FloatArray] | None = None) -> list[Fitted | Rejection]:
        """Fit the parameters of each skeleton (a candidate equation); return each fit, or the reason why it failed.

        The skeletons share one process, which saves half of the time. If this process fails, each skeleton gets a
        process of its own.

        Args:
            skeletons: The skeletons to fit.
            given: The ``(n_params,)`` parameters of each skeleton, if they are to be used as they are; None to fit all.
        """
        (together,) = self._sandbox.run([self._job(skeletons, given)])
        if together.failure is None:
            parts = iter(together.value)
            return [self._read(*islice(parts, 2 + len(self._splits))) for _ in skeletons]
        if len(skeletons) == 1:
            return [together.failure]
        alone = range(len(skeletons))
        return [fit for at in alone for fit in self.fit(skeletons[at : at + 1], given and given[at : at + 1])]

    def _job(self, skeletons: Sequence[Skeleton], given: Sequence[FloatArray] | None) -> Job:
        method, parameters = "given", [params.tolist() for params in given or ()]
        if given is None:
            units = [find_units(one.source, one.n_params, self._ranges) for one in skeletons]
            method = self._method
            parameters = [[one.n_params, one.linear, own] for one, own in zip(skeletons, units, strict=True)]
        n_rows = [(len(rows.target),) for rows in self._splits]
        shapes = [shape for one in skeletons for shape in ((one.n_params,), (len(n_rows),), *n_rows)]
        return Job(
            define_all([skeleton.source for skeleton in skeletons]),
            ALL,
            (method, parameters, self._splits[0].target, *self._loss, *(rows.inputs for rows in self._splits)),
            tuple(map(Array, shapes)),
            replace(self._limits, result_bytes=1_000 + 8 * sum(map(sum, shapes))),
            driver=_FITTING,
        )

    @staticmethod
    def _read(params: FloatArray, finite: FloatArray, *predictions: FloatArray) -> Fitted:
        known = (values if is_finite else None for values, is_finite in zip(predictions, finite, strict=True))
        return Fitted(params, tuple(known))


def define_all(sources: Sequence[str]) -> str:
    """Return a program that defines several skeletons, so that one process of the sandbox can run them all.

    A skeleton is an equation, given as the source of a Python function of the variables and the array ``params``. The
    function ``equations`` of the program takes no arguments and returns a list of the skeletons as Python functions, in
    order.
    """
    names = [f"{NAME}_{at}" for at in range(len(sources))]
    renamed = [source.replace(f"def {NAME}(", f"def {name}(", 1) for source, name in zip(sources, names, strict=True)]
    return "\n".join(["import numpy as np", *renamed, f"def {ALL}():\n    return [{', '.join(names)}]\n"])
