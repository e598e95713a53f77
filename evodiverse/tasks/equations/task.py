"""The equation task: parameters are fitted to data, and the score is minus the error that remains."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.diversity.distances import hashed_counts, jaccard
from evodiverse.kit.files import read_shipped
from evodiverse.ports import Discovery, Sandbox
from evodiverse.tasks.equations.data import find_wild, hold_back, measure_rounding
from evodiverse.tasks.equations.fitter import Fitted, Fitter, Given
from evodiverse.tasks.equations.front import COST, Member, choose, find_front, measure_complexity, weigh
from evodiverse.tasks.equations.metrics import (
    find_wild_errors,
    mean_squared_error,
    measure_description,
    measure_held_back,
    measure_split,
)
from evodiverse.tasks.equations.parsing import count_parts, find_terms, parse_equation
from evodiverse.tasks.equations.problems import Dataset, FloatArray, Rows, Splits
from evodiverse.tasks.equations.pruning import Pruner
from evodiverse.tasks.equations.report import has_pole, lay_out, read_params, write_equation
from evodiverse.tasks.equations.requirements import Requirements, has_requirements
from evodiverse.tasks.equations.settings import HUBER, EquationSettings
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, read_skeleton
from evodiverse.vocabulary import (
    Candidate,
    Detail,
    Evaluation,
    Hypothesis,
    OwnColumn,
    Reason,
    Rejection,
    Stream,
    column_types,
)

N_TOP: Final = 10
ENERGY_FLOOR: Final = 1e-12  # in units of the target's variance
N_FEATURES: Final = 512
VIOLATIONS: Final = "violations"
"""The one column that only a task with requirements has."""

_NO_NUMBER: Final = Rejection(Reason.NON_FINITE, "it predicts NaN or numbers that are too large")
COLUMNS: Final = {
    name: OwnColumn({"float": float, "int": int, "str": str}[column.pop("kind")], **column)
    for name, column in read_shipped(Path(__file__).with_name("evaluations.yaml")).items()
}
"""The columns that equation tasks add to the dataset ``evaluations`` of the log."""


class EquationTask:
    """The task of finding equations that explain one set of data.

    Args:
        dataset: The data to be explained.
        sandbox: The sandbox that runs the equations.
        settings: The settings under ``task``.
        initial: The skeletons that every pool starts from.
        given: Only for a baseline: the parameters that its engine found for each hypothesis, by the hypothesis's key.
            They are used as they are, and their number is not limited. No rows are held back then, since the engine may
            have used all training rows. None for a search, which fits all parameters.
    """

    columns: Mapping[str, type] = {name: kind for name, kind in column_types(COLUMNS).items() if name != VIOLATIONS}
    batch_size = 16
    summary_name = f"top-{N_TOP} train NMSE"

    def __init__(
        self,
        dataset: Dataset,
        sandbox: Sandbox,
        settings: EquationSettings,
        initial: Sequence[str] = (),
        given: Mapping[str, FloatArray] | None = None,
    ) -> None:
        self._initial = list(initial)
        self._settings = settings
        self._dataset = dataset
        self._given = given
        self._sandbox = sandbox
        train, *held_out = dataset.splits
        self._rows = (*hold_back(train, settings.held_back if given is None else 0.0), *held_out)
        self._is_robust = settings.loss == HUBER
        self._fit_rows = partial(Fitter, sandbox, dataset.names, settings)
        self._fitter = self._fit_rows(self._rows)
        self._requirements = Requirements(dataset, settings) if has_requirements(settings) else None
        if self._requirements is not None:
            self.columns = dict(column_types(COLUMNS))
        self._shown: tuple[int, ...] = ()  # oracle calls of the equations on the front that `show_best` showed last
        self._variance = float(np.var(train.target[~find_wild(train.target)]))
        self._rounding = measure_rounding(train)
        self._unit = self._variance if settings.data.normalize == "target" else 1.0
        fit_all = self._fit_all if given is None else None
        self._pruner = Pruner(dataset.columns, self._variance, self._rounding, self._assess, fit_all)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the data, since the worker processes that receive the task evaluate nothing."""
        none = Rows(np.empty((0, 0)), np.empty(0))
        dataset = Dataset(self._dataset.target, self._dataset.variables, Splits(none, none, none))
        left_out = dict.fromkeys(("_rows", "_fitter", "_fit_rows", "_pruner", "_requirements"))
        return self.__dict__ | left_out | {"_dataset": dataset}

    def initial(self, stream: Stream) -> list[str]:  # noqa: ARG002 (nothing is drawn)
        """Return the skeletons (equations with free parameters) that every pool starts from."""
        return self._initial

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return the skeleton (an equation with free parameters) in each text, or the reason for its rejection."""
        return [parse_equation(text, self._dataset.names, self._settings.permitted) for text in genotypes]

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        """Return ``(n,)`` Jaccard similarities of an equation's terms to those of others, regardless of constants."""
        return jaccard(find_terms(hypothesis.genotype), [find_terms(other.genotype) for other in others])

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        """Return ``(n, N_FEATURES)`` hashed counts of each equation's subexpressions, regardless of constants."""
        return hashed_counts([count_parts(hypothesis.genotype) for hypothesis in hypotheses], N_FEATURES)

    def prepare(self) -> None:
        """Start the sandbox of this thread."""
        self._sandbox.prepare()

    def abandon(self) -> None:
        """Stop the fits in progress, in all threads."""
        self._sandbox.close()

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Fit equations to the data, and return an evaluation of each.

        An equation that fails, or predicts a value that is not finite for a fitted row, has no score.
        """
        given = None if self._given is None else [self._given[one.key] for one in hypotheses]
        return [self._evaluation(*fit) for fit in self._fit([one.genotype for one in hypotheses], given)]

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the mean NMSE of the best 10 candidates, NaN if none has a score."""
        scores = sorted((candidate.score for candidate in candidates if candidate.score is not None), reverse=True)
        return -float(np.mean(scores[:N_TOP])) * self._unit / self._variance if scores else float("nan")

    def grade(self, hypothesis: Hypothesis) -> int:
        """Return the complexity of an equation."""
        return measure_complexity(hypothesis.genotype)

    def headline(self, discoveries: Sequence[Discovery]) -> str:
        """Return one line with the equation chosen from the Pareto front of error against complexity, and its error.

        The error is the NMSE on the training rows held back from the fits. If it is not finite, for example because no
        rows were held back, the NMSE on the training rows used in the fit is given instead. The line also says if the
        equation may have a pole between the training rows.
        """
        front = self._shown_front(discoveries)
        best = front[choose(list(front))]
        held_back, fitted = (best.details.get(name) for name in ("nmse_held", "nmse_train"))
        error = f"NMSE {fitted:.2g}" if held_back is None else f"held-back NMSE {held_back:.2g}"
        error += f"; it violates what is required ({broken:.2g})" if (broken := best.details.get(VIOLATIONS)) else ""
        pole = "; a divisor changes sign within the data" if has_pole(best, self._dataset.columns) else ""
        return f"{write_equation(self._dataset.target.name, best)}  ({error}{pole})"

    def show_best(self, discoveries: Sequence[Discovery]) -> dict[str, bytes]:
        """Return the content of the files in ``best/`` about the front and the chosen equation, by file name.

        The result is empty if the front is empty or the same as at the last call.
        """
        front = self._shown_front(discoveries)
        calls = tuple(member.call for member in front)
        if not front or calls == self._shown:
            return {}
        self._shown = calls
        chosen = choose(list(front))
        ((_, fitted),) = self._fit([front[chosen].candidate.genotype], [read_params(front[chosen])])
        predictions = fitted.predictions if isinstance(fitted, Fitted) else (None,) * len(self._rows)
        own = self._select_tame(predictions[1])
        return lay_out(front, chosen, self._dataset, self._rows, own, predictions, self._sandbox)

    def _shown_front(self, discoveries: Sequence[Discovery]) -> dict[Member, Discovery]:
        """Return the front, each equation in the form in which it is shown; a pruned one may replace others."""
        return _find_front(map(self._pruner.prune, _find_front(discoveries).values()))

    def _assess(self, source: str, params: Sequence[float] | None) -> tuple[str, Evaluation]:
        """Return an equation in canonical form and its evaluation, with the given parameters or else fitted ones.

        An equation that is not permitted is not evaluated.
        """
        if (fault := self._settings.permitted.find_fault(source)) is not None:
            return source, Evaluation(None, None, valid=False, error=fault)
        ((canonical, fitted),) = self._fit([source], None if params is None else [params])
        return canonical, self._evaluation(canonical, fitted)

    def _fit_all(self, source: str, params: Sequence[float]) -> Sequence[float]:
        """Return an equation's parameters, fitted also to the rows held back, except measurements wild to the equation.

        The fit descends from the given parameters. If rows were held back, another one starts from scratch. The better
        one wins; the given parameters stay if neither is better.
        """
        ((_, fitted),) = self._fit([source], [params])
        if not params or isinstance(fitted, Rejection):
            return params
        rows = self._select_tame(fitted.predictions[1])
        fitter, skeleton = self._fit_rows((rows,)), read_skeleton(source, self._dataset.names, len(params))
        starts = [np.array(params)]
        if len(rows.target) > len(self._rows[0].target):
            starts += [one.params for one in fitter.fit([skeleton]) if isinstance(one, Fitted)]
        skeletons = [skeleton] * len(starts)
        fits = [*fitter.fit(skeletons, starts), *fitter.fit(skeletons, starts, descend=True)]

        def measure(one: Fitted) -> float:
            return float(f"{self._measure(one.predictions[0], rows):.6g}")  # rounding alone moves no constants

        best = min((one for one in fits if isinstance(one, Fitted)), key=measure, default=fitted)
        return list(map(float, best.params))

    def _measure(self, predicted: FloatArray | None, rows: Rows) -> float:
        """Return the mean squared error, or the mean loss, of predictions for rows; see `mean_squared_error`."""
        return mean_squared_error(predicted, rows.target, rows.weights, is_robust=self._is_robust)

    def _select_tame(self, predicted: FloatArray | None) -> Rows:
        """Return the fitted rows and those held back, without wild measurements, given the predictions for the last."""
        fitted, held_back, *_ = self._rows
        if predicted is None or not len(held_back.target):
            return fitted
        robust = self._is_robust
        _, is_wild = find_wild_errors(predicted, held_back, fitted.target, self._variance, is_robust=robust)
        return fitted.join(held_back.select(~is_wild))

    def _fit(self, sources: Sequence[str], given: Given) -> list[tuple[str, Fitted | Rejection]]:
        """Return each equation in canonical form and its fit, with the given parameters or else fitted ones."""
        most = [MAX_PARAMS] * len(sources) if given is None else map(len, given)
        skeletons = [read_skeleton(source, self._dataset.names, n) for source, n in zip(sources, most, strict=True)]
        return list(zip([one.source for one in skeletons], self._fitter.fit(skeletons, given), strict=True))

    def _evaluation(self, source: str, fitted: Fitted | Rejection) -> Evaluation:
        if isinstance(fitted, Rejection):
            return Evaluation(None, None, valid=False, error=str(fitted))
        fitted_rows, held_back, *held_out = self._rows
        predicted, checked, *others = fitted.predictions
        mse = self._measure(predicted, fitted_rows)
        if mse == inf:
            return Evaluation(None, None, valid=False, error=str(_NO_NUMBER))
        error, floor = mse / self._unit, ENERGY_FLOOR * self._variance / self._unit
        details: dict[str, Detail] = {"mse": error, "nmse_train": mse / self._variance}
        details["params"] = json.dumps(fitted.params.tolist())
        details |= measure_held_back(
            checked, held_back, fitted_rows.target, self._variance, self._rounding, is_robust=self._is_robust
        )
        if not len(held_back.target):
            n_params, n_rows = len(fitted.params), len(fitted_rows.target)
            details["description_length"] = measure_description(mse / self._variance, n_params, n_rows)
        for name, rows, values in zip(("id", "ood"), held_out, others, strict=True):
            details |= measure_split(name, values, rows.target)
        if self._requirements is not None:
            details[VIOLATIONS] = violations = self._requirements.measure(source, fitted.params.tolist())
            error = max(error, floor) * COST**violations if violations else error
        energy = float(np.log(max(error, floor))) if self._settings.energy == "log" else error
        return Evaluation(-error, energy, details=details)


def _find_front(discoveries: Iterable[Discovery]) -> dict[Member, Discovery]:
    """Return the Pareto front of candidates that did not fail; see `find_front`."""
    weighed = {weigh(one.candidate.call, one.candidate.genotype, one.details): one for one in discoveries}
    return {member: weighed[member] for member in find_front(weighed)}
