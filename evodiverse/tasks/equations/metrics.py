"""The metrics of equations and of their runs: the paper's (in "Equation Discovery" and its appendix), and others.

The best equations are those with the smallest error on the data they were fitted to. Their quality is measured on data
that were held out, from the same domain (``id``) and from outside it (``ood``).
"""

import json
from collections.abc import Mapping, Sequence
from math import inf, isfinite, log
from textwrap import dedent
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.diversity.distances import Encode, jaccard, measure_diversity, select_apart
from evodiverse.ports import Headline, Subject, Tools
from evodiverse.runlog.log import Log, Measurement, Value, known, mean
from evodiverse.tasks.equations.data import builtin_splits
from evodiverse.tasks.equations.front import EXACT, WEIGHED, choose, find_front, weigh
from evodiverse.tasks.equations.in_sandbox.fitting import measure_losses
from evodiverse.tasks.equations.parsing import find_terms
from evodiverse.tasks.equations.problems import PROBLEMS, FloatArray, Rows
from evodiverse.tasks.equations.settings import BUILTIN, SRBENCH
from evodiverse.tasks.equations.symbolic import N_BEST, Law
from evodiverse.vocabulary import Detail

N_TOP: Final = 10
N_ELITE: Final = 100
TOLERANCE: Final = 0.1
"""Relative error up to which a prediction counts as correct (paper, "Acc")."""

LENIENT: Final = 0.95
"""Share of the predictions that must be correct in the lenient version of Acc."""
GOOD_NMSE: Final = 1e-3
"""NMSE on the fitted data below which `count_structures` counts the structure of an equation."""

USUAL: Final = 0.9
"""Share of the rows held back in which an equation's squared error is usual, in `measure_held_back`."""

WILD: Final = 25.0
"""Multiple of the largest usual squared error above which a measurement may count as wild, in `measure_held_back`."""

LEAST_WILD: Final = 1e-2
"""NMSE of a single row up to which its measurement never counts as wild."""

TARGETS: Final = (-1e-1, -1e-2, -1e-3, -1e-4, -1e-6, -1e-8)
"""The metrics include the number of calls that a run needs to reach each of these scores.

A score is minus the mean squared error, in units of the target's variance unless ``task.data.normalize`` is none.
"""

OWN_FIT: Final = "own"
"""The value of ``task.fit`` for a baseline, whose engine fits the equations itself."""

SAME_STRUCTURE: Final = 0.7
"""Jaccard similarity at or above which two sets of terms count as the same structure; also a niche's default radius."""

COLUMNS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("genotype", "params"), str),
    **dict.fromkeys((*WEIGHED, "nmse_id", "nmse_ood", "selected"), float),
    **dict.fromkeys(("acc01_id", "acc01_95_id", "acc01_ood", "acc01_95_ood"), float),
}
"""The columns of ``evaluations`` that the metrics are computed from, with their types."""

OF_PROBLEM: Final = (
    "task.problem",
    *(f"task.data.{key}" for key in ("train", "test_", "target", "science", "descriptions")),
)
"""The prefixes of the settings that identify a problem, including a user's own data."""


class EquationMetrics:
    """The metrics of equation runs, see `evodiverse.ports.Metrics`.

    Args:
        settings: The settings of a run, by dotted key.
    """

    kind = "equations"
    columns: Mapping[str, type] = COLUMNS
    libraries = ("scikit-learn",)
    reads_texts = True
    headlines = (Headline("best_nmse", "NMSE of the best, held out", is_error=True, arrow="↓"),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        problem, fit = str(settings.get("task.problem")), str(settings.get("task.fit"))
        self.targets = () if fit == OWN_FIT else TARGETS  # a front's order does not show when an equation was found
        source, _, name = problem.partition("/")
        self._problem = PROBLEMS.get(name) if source == BUILTIN else None
        domain = None if self._problem is None else self._problem.domain
        science = {BUILTIN: domain, SRBENCH: name.partition("/")[0]}.get(source, settings.get("task.data.science"))
        self.subject = Subject(problem, science, fit, (*OF_PROBLEM, "task.fit"))

    def measure(self, log: Log, tools: Tools) -> Measurement:
        """Return the metrics of `measure_equations` and `measure_accuracy`."""
        law = None if self._problem is None else Law(self._problem, builtin_splits(self._problem))
        return {**measure_equations(log, tools.encoders), **measure_accuracy(log, law)}

    def embed(self, genotypes: Sequence[str], tools: Tools) -> Any:
        """Return the vectors of the bodies of equations' functions, by the last of the encoders."""
        encode = [*tools.encoders.values()][-1]
        return encode([read_body(genotype) for genotype in genotypes])


def measure_equations(log: Log, encoders: Mapping[str, Encode]) -> Measurement:
    """Return the errors, the accuracies, the numbers of structures and the diversities of an equation run.

    `count_structures` and `measure_pools` describe the last two. The names of the others have these parts:

    - ``best_`` for the equation with the highest score, or ``top10_`` for the mean over the ten with the highest,
    - ``nmse``, ``acc`` (1 if every prediction is within 10% of the measurement) or ``acc_95`` (1 if at least 95% are),
    - ``_ood`` for the held-out data out of domain; the names for those in domain have no such ending.

    If a run has no held-out data of a kind, the metrics of this kind are None. An NMSE that is null in the log, for
    example because a prediction is not finite, counts as infinite.

    Args:
        log: The run's log, with `COLUMNS`.
        encoders: The functions that turn the bodies of equations into vectors, by name; see `measure_pools`.
    """
    top = log.top(sorted(log.scores), N_TOP)
    columns = {name: log.column(name) for name in COLUMNS}
    values: dict[str, list[float]] = {}
    for split, suffix in (("id", ""), ("ood", "_ood")):
        held_out = [call for call in top if columns[f"acc01_{split}"][call] is not None]
        for metric, column in (("nmse", "nmse"), ("acc", "acc01"), ("acc_95", "acc01_95")):
            found = [columns[f"{column}_{split}"][call] for call in held_out]
            values[metric + suffix] = [inf if value is None else value for value in found]
    return {
        **{f"best_{name}": mean(each[:1]) for name, each in values.items()},
        **{f"top10_{name}": mean(each) for name, each in values.items()},
        **count_structures(log, columns["genotype"], columns["nmse_train"]),
        **measure_pools(log, columns["genotype"], encoders),
    }


def measure_accuracy(log: Log, law: Law | None) -> Measurement:
    """Return the metrics of the one equation that a run chooses, and whether the law was found.

    For a baseline, the chosen equation is the one that its engine selected. ``chosen_nmse``, ``chosen_nmse_ood`` and
    ``chosen_complexity`` are its NMSE on both kinds of held-out data and its complexity. ``sa_1`` is 1 if this equation
    is the law, up to the values of the law's constants. ``sa_50`` is 1 if this equation, or one of the 49 others with
    the smallest error on the fitted data, is the law. ``sa_1`` and ``sa_50`` are None if the law is not known. All
    metrics are None if every equation failed.

    Args:
        log: The run's log, with `COLUMNS`.
        law: The law of the problem, or None if it is not known.
    """
    columns = {name: log.column(name) for name in COLUMNS}
    genotypes = columns["genotype"]
    members = [weigh(call, genotypes[call], {name: columns[name][call] for name in WEIGHED}) for call in log.scores]
    names = ("chosen_nmse", "chosen_nmse_ood", "chosen_complexity", "sa_1", "sa_50")
    if not members:
        return dict.fromkeys(names)
    selected = (member for member in members if columns["selected"][member.call])
    chosen = next(selected, None) or choose(find_front(members))
    errors = (columns[name][chosen.call] for name in ("nmse_id", "nmse_ood"))
    found: tuple[int | None, int | None] = (None, None)
    if law is not None:
        others = [call for call in log.top(sorted(log.scores), N_BEST) if call != chosen.call][: N_BEST - 1]
        are_law = (law.is_met(genotypes[call], json.loads(columns["params"][call])) for call in (chosen.call, *others))
        is_first = next(are_law)
        found = int(is_first), int(is_first or any(are_law))
    return dict(zip(names, (*errors, chosen.complexity, *found), strict=True))


def count_structures(log: Log, genotypes: Mapping[int, str], errors: Mapping[int, float | None]) -> Measurement:
    """Return how many structures explain the fitted data, among all equations evaluated.

    A structure is the set of an equation's terms, regardless of its constants. ``n_structures_1e3`` counts the
    structures of equations with an NMSE below 1e-3. For ``n_different_structures_1e3``, these structures are
    considered by increasing error (ties: the earlier call first). One is counted if its Jaccard similarity to every
    structure counted so far is below 0.7.

    Args:
        log: The run's log.
        genotypes: The source of each equation, by the number of the oracle call that evaluated it.
        errors: The NMSE on the fitted data by call, or None for an equation that failed.
    """
    ranked = log.top(sorted(log.scores), len(log.scores))
    good = [call for call in ranked if (error := errors[call]) is not None and error < GOOD_NMSE]
    structures = list(dict.fromkeys(find_terms(genotypes[call]) for call in good))
    different = select_apart(structures, SAME_STRUCTURE, jaccard)
    return {"n_structures_1e3": len(structures), "n_different_structures_1e3": len(different)}


def measure_pools(log: Log, genotypes: Mapping[int, str], encoders: Mapping[str, Encode]) -> Measurement:
    """Return the diversity of the equations in the final pools (paper, "Diversity Evaluation").

    Each equation is represented by the vector of its function's body. The diversity of a pool is the mean pairwise
    cosine distance of these vectors. ``buffer_pools`` lists the diversities of the pools, from the highest temperature
    to the lowest. If there are several pools, the mean of their diversities follows. ``buffer_diversity`` is the mean
    alone. ``top100_pools`` is the same as ``buffer_pools``, but for the best 100 equations of each pool. The weights of
    TF-IDF, which depend on the set of texts, are always computed from all pools together.

    Args:
        log: The run's log.
        genotypes: The source of each equation, by the number of the oracle call that evaluated it.
        encoders: The functions that turn texts into vectors, by name. Each gives a set of metrics, to whose names the
            function's name is appended, as in ``buffer_pools.tfidf``.
    """
    pools = log.states[-1]
    members = [log.final_places(pool) for pool in pools]
    best = [log.final_places(log.top(pool, N_ELITE)) for pool in pools]
    measured: dict[str, Value] = {}
    for name, encode in encoders.items():
        vectors = encode([read_body(genotypes[call]) for call in log.final_union])
        buffer, elite = (list(map(known, measure_diversity(vectors, places).pools)) for places in (members, best))
        measured[f"buffer_diversity.{name}"] = _mean_known(buffer)
        for what, diversities in (("buffer", buffer), ("top100", elite)):
            means = [_mean_known(diversities)] if len(pools) > 1 else []
            measured[f"{what}_pools.{name}"] = [*reversed(diversities), *means]
    return measured


def read_body(genotype: str) -> str:
    """Return the body of an equation's function. The header is left out, since it is the same throughout a run."""
    _, _, body = genotype.partition("\n")
    return dedent(body)


def _mean_known(pools: Sequence[float | None]) -> float | None:
    return mean([value for value in pools if value is not None])


def mean_squared_error(
    predicted: FloatArray | None, target: FloatArray, weights: FloatArray | None = None, *, is_robust: bool = False
) -> float:
    """Return the mean squared error of predictions ``(n,)`` of a target ``(n,)``.

    It is infinite if there are no predictions, or if it is not finite. With weights, or if robust, it is the mean of
    the losses of `measure_losses`.
    """
    if predicted is None:
        return inf
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean(measure_losses(predicted - target, weights, is_robust=is_robust)))
    return error if isfinite(error) else inf


def measure_variance(target: FloatArray) -> float:
    """Return the variance of a target ``(n,)``, exactly 0 if all values are equal."""
    return float(np.var(target)) if np.ptp(target) else 0.0


def measure_held_back(
    predicted: FloatArray | None, rows: Rows, fitted: FloatArray, variance: float, rounding: float, *, is_robust: bool
) -> dict[str, Detail]:
    """Return two columns of an equation's row in the log: the NMSE on the rows held back, and its standard error.

    Wild measurements, such as typing errors, are left out. A measurement counts as wild for an equation that predicts
    nearly all others far better, if the prediction is a plausible value; a wild prediction is the equation's fault and
    counts. The result is empty if no rows are held back, or if one of the two values is not finite.

    Args:
        predicted: ``(n,)`` predictions, or None if one of them is not finite.
        rows: The rows held back, possibly none.
        fitted: The measurements to which the equation is fitted. A value is plausible if it lies in their range, or
            beyond it by at most its width.
        variance: The variance of the training target.
        rounding: The least standard error; see `data.measure_rounding`.
        is_robust: Whether the errors are the losses of `measure_losses`.
    """
    if predicted is None or not len(rows.target):
        return {}
    squares, is_wild = find_wild_errors(predicted, rows, fitted, variance, is_robust=is_robust)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = squares[~is_wild]
        error, deviation = float(np.mean(squares)), float(np.std(squares)) / len(squares) ** 0.5
    is_known = isfinite(error) and isfinite(deviation)
    return {"nmse_held": error, "nmse_held_se": max(deviation, rounding)} if is_known else {}


@np.errstate(over="ignore", invalid="ignore")
def find_wild_errors(
    predicted: FloatArray, rows: Rows, fitted: FloatArray, variance: float, *, is_robust: bool
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the losses of predictions, in units of the variance, and which measurements are wild.

    The arguments are those of `measure_held_back`.
    """
    low, high = fitted.min(), fitted.max()
    squares = measure_losses(predicted - rows.target, rows.weights, is_robust=is_robust) / variance
    least_wild = max(WILD * np.quantile(squares, USUAL, method="lower"), LEAST_WILD)
    is_plausible = np.abs(2 * predicted - low - high) <= 3 * (high - low)
    return squares, (squares > least_wild) & is_plausible


def measure_description(error: float, n_params: int, n: int) -> float:
    """Return the length, in nats, of a description of n rows by an equation's parameters and its residuals.

    The constants that are the same for all equations are left out. A smaller error shortens the description of the
    residuals, but each parameter must then be known more precisely: through as many rows as parameters, any equation
    fits exactly, which says nothing for it. An error that is no more than rounding counts as `EXACT`.

    Args:
        error: The NMSE of the equation on these rows.
        n_params: The number of its parameters.
        n: The number of rows.
    """
    return (max(n - n_params, 0) * log(max(error, EXACT)) + n_params * log(n)) / 2


def measure_split(name: str, predicted: FloatArray | None, target: FloatArray) -> dict[str, Detail]:
    """Return columns of an equation's row in the log: its NMSE and both versions of Acc on a held-out split.

    The paper defines NMSE and Acc in "Equation Discovery".

    Args:
        name: The name of the split, id or ood.
        predicted: ``(n,)`` predictions, or None if one of them is not finite; then Acc is 0, and there is no NMSE.
        target: ``(n,)`` measurements; if there are none, the result is empty.
    """
    if not len(target):
        return {}
    if predicted is None:
        return {f"acc01_{name}": 0, f"acc01_95_{name}": 0}
    right = np.abs(predicted - target) <= TOLERANCE * np.abs(target)
    error, variance = mean_squared_error(predicted, target), measure_variance(target)
    nmse = error / variance if error < inf and variance else None
    return {f"nmse_{name}": nmse, f"acc01_{name}": int(right.all()), f"acc01_95_{name}": int(right.mean() >= LENIENT)}
