"""Equations whose parameters are fitted to data, and which are scored by what they leave unexplained."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from evodiverse.ports import Sandbox
from evodiverse.tasks.equations import fitting
from evodiverse.tasks.equations.data import Dataset
from evodiverse.tasks.equations.problems import Rows, Splits
from evodiverse.tasks.equations.problems.problem import FloatArray
from evodiverse.tasks.equations.settings import EquationSettings
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, NAME, PARAMS, Skeleton, SkeletonError, read_skeleton
from evodiverse.vocabulary import (
    Array,
    Candidate,
    Detail,
    Evaluation,
    Hypothesis,
    Job,
    Limits,
    Reason,
    Rejection,
    Stream,
)

N_TOP: Final = 10
ENERGY_FLOOR: Final = 1e-12
TOLERANCE: Final = 0.1
"""Relative error up to which a prediction counts as right (paper, "Acc")."""

LENIENT: Final = 0.95
"""Share of the points that must be right in the lenient reading."""

_DRIVER: Final = f"from {fitting.__name__} import drive\n"
_ALL: Final = "equations"
_HELD_OUT: Final = ("id", "ood")


class EquationTask:
    """The equation domain around one set of data.

    Args:
        dataset: What is to be explained.
        sandbox: Runs the equations.
        settings: ``task``.
    """

    columns: Mapping[str, type] = MappingProxyType(
        {
            "mse": float,
            "nmse_train": float,
            "params": str,
            "nmse_id": float,
            "nmse_ood": float,
            "acc01_id": int,
            "acc01_ood": int,
            "acc01_95_id": int,
            "acc01_95_ood": int,
        }
    )
    batch = 4
    summary_name = f"top-{N_TOP} NMSE"

    def __init__(self, dataset: Dataset, sandbox: Sandbox, settings: EquationSettings) -> None:
        self._dataset = dataset
        self._sandbox = sandbox
        self._fit = settings.fit
        self._is_log = settings.energy == "log"
        self._variance = float(np.var(dataset.splits.train.target))
        self._unit = self._variance if settings.data.normalize == "target" else 1.0
        self._limits = Limits(settings.timeout, settings.memory)

    def __getstate__(self) -> dict[str, object]:
        """Leave the data behind: a process that is sent the task evaluates nothing."""
        none = Rows(np.empty((0, 0)), np.empty(0))
        dataset = Dataset(self._dataset.target, self._dataset.variables, Splits(none, none, none), None)
        return self.__dict__ | {"_dataset": dataset}

    def initial(self, stream: Stream) -> list[str]:  # noqa: ARG002 (nothing is drawn)
        """Return the skeletons that every pool starts from, a linear and a quadratic one."""
        return initial_skeletons(self._dataset.names)

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return the skeletons that the texts stand for, or why they are none."""
        return [self._parse(text) for text in genotypes]

    def prepare(self) -> None:
        """Start the sandbox of this thread."""
        self._sandbox.prepare()

    def abandon(self) -> None:
        """End the fits under way, in all threads."""
        self._sandbox.close()

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Fit equations to what is to be explained; one that fails, or predicts a value that is none, has no score."""
        skeletons = [read_skeleton(hypothesis.genotype, self._dataset.names) for hypothesis in hypotheses]
        (together,) = self._sandbox.run([self._job(skeletons)])
        if together.failure is None:
            n_parts = len(together.value) // len(skeletons)
            parts = [together.value[at : at + n_parts] for at in range(0, len(together.value), n_parts)]
            return [self._evaluation(part) for part in parts]
        if len(skeletons) == 1:
            return [Evaluation(None, None, valid=False, error=str(together.failure))]
        return [evaluation for hypothesis in hypotheses for evaluation in self.evaluate([hypothesis])]

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the mean normalised error of the best 10."""
        scores = sorted((candidate.score for candidate in candidates if candidate.score is not None), reverse=True)
        return -float(np.mean(scores[:N_TOP])) * self._unit / self._variance if scores else float("nan")

    def _parse(self, text: str) -> Hypothesis | Rejection:
        try:
            skeleton = read_skeleton(text, self._dataset.names)
        except SkeletonError as error:
            return Rejection(Reason.UNPARSABLE, str(error))
        return Hypothesis(skeleton.source, hashlib.sha256(skeleton.source.encode()).hexdigest())

    def _job(self, skeletons: Sequence[Skeleton]) -> Job:
        """Return the call that fits skeletons one after the other, for all of which the limits hold."""
        splits = self._dataset.splits
        parameters = [(skeleton.n_params, list(skeleton.linear)) for skeleton in skeletons]
        arguments = (self._fit, parameters, splits.train.target, *(rows.inputs for rows in splits))
        names = [f"{NAME}_{at}" for at in range(len(skeletons))]
        sources = [
            skeleton.source.replace(f"def {NAME}(", f"def {name}(", 1)
            for skeleton, name in zip(skeletons, names, strict=True)
        ]
        source = "\n".join(["import numpy as np", *sources, f"def {_ALL}():\n    return [{', '.join(names)}]\n"])
        n_rows = [(len(rows.target),) for rows in splits]
        shapes = [shape for n, _ in parameters for shape in ((n,), (len(splits),), *n_rows)]
        limits = replace(self._limits, result_bytes=1_000 + 8 * sum(map(sum, shapes)))
        return Job(source, _ALL, arguments, tuple(map(Array, shapes)), limits, driver=_DRIVER)

    def _evaluation(self, fitted: Sequence[FloatArray]) -> Evaluation:
        """Return what a fit is worth: parameters, which predictions are finite, and these by split."""
        params, finite, *predictions = fitted
        mse = mean_squared_error(predictions[0], self._dataset.splits.train.target)
        if not finite[0] or mse is None or not np.isfinite(params).all():
            error = Rejection(Reason.NON_FINITE, "it predicts values that are no numbers, or too large ones")
            return Evaluation(None, None, valid=False, error=str(error))
        score = mse / self._unit
        energy = float(np.log(max(score, ENERGY_FLOOR))) if self._is_log else score
        details: dict[str, Detail] = {
            "mse": score,
            "nmse_train": mse / self._variance,
            "params": json.dumps(params.tolist()),
        }
        for name, rows, predicted, is_finite in zip(
            _HELD_OUT, self._dataset.splits[1:], predictions[1:], finite[1:], strict=True
        ):
            details |= measure(name, predicted if is_finite else None, rows.target)
        return Evaluation(-score, energy, details=details)


def initial_skeletons(variables: Sequence[str]) -> list[str]:
    """Return a linear and a quadratic skeleton, of the first nine variables if there are more.

    The quadratic one has the linear terms too if there are parameters for all.
    """
    some = variables[: MAX_PARAMS - 1]
    squares = [f"{name}**2" for name in some]
    quadratic = [*some, *squares] if 2 * len(some) < MAX_PARAMS else squares
    header = f"def {NAME}({', '.join([*variables, PARAMS])}):"
    sources = []
    for terms in (some, quadratic):
        scaled = [f"{PARAMS}[{at}] * {term}" for at, term in enumerate(terms)]
        sources.append(f"{header}\n    return {' + '.join([*scaled, f'{PARAMS}[{len(scaled)}]'])}\n")
    return sources


def mean_squared_error(predicted: FloatArray, target: FloatArray) -> float | None:
    """Return the mean squared error, None where it is too large for a number."""
    with np.errstate(over="ignore"):
        error = float(np.mean((predicted - target) ** 2))
    return error if np.isfinite(error) else None


def measure(name: str, predicted: FloatArray | None, target: FloatArray) -> dict[str, Detail]:
    """Return the columns of a split that is held out (paper, "Equation Discovery"): NMSE, and Acc in two readings.

    Args:
        name: Of the split.
        predicted: ``(n,)``, None where a prediction is no number; then nothing is right, and there is no NMSE.
        target: ``(n,)``; without rows there is nothing to be said.
    """
    if not len(target):
        return {}
    if predicted is None:
        return {f"acc01_{name}": 0, f"acc01_95_{name}": 0}
    right = np.abs(predicted - target) <= TOLERANCE * np.abs(target)
    error, variance = mean_squared_error(predicted, target), float(np.var(target))
    nmse = None if error is None or variance == 0 else error / variance
    return {
        f"nmse_{name}": nmse,
        f"acc01_{name}": int(right.all()),
        f"acc01_95_{name}": int(right.mean() >= LENIENT),
    }
