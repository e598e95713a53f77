"""The log of a run in memory, as every reader of runs uses it, and the values that metrics compute from it."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from evodiverse.errors import InputError
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.runs import Run
from evodiverse.vocabulary import CHARGED

Value: TypeAlias = float | list[float | None] | None
"""A number, one number per pool or pair of rungs, the numbers of a curve, or None if there is nothing to measure."""

Measurement: TypeAlias = Mapping[str, Value]
"""The metrics of one run by name."""

Columns = Mapping[str, Sequence[Any]]
"""The values of each column of a dataset, by the name of the column; values at the same index form a row."""

Pools = Sequence[Sequence[int]]
"""The members of each pool, cold to hot; a member is given by the number of the oracle call that evaluated it."""

Row = Mapping[str, Any]

MEASURED: Final = "task.initial.measured"
"""The setting that names the column of scores that are known already."""

_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "evaluations": ("iteration", "pool", "outcome", "call", "key", "score", "valid", "parents", "llm_call", "seconds"),
    "swaps": ("iteration", "cold_pool", "hot_pool", "cold_call", "hot_call", "accepted", "blocked", "xi"),
    "migrations": ("iteration", "from_pool", "to_pool"),
    "adaptation": ("iteration", "xi", "tried"),
    "llm_calls": (
        *("llm_call", "iteration", "pool", "model", "prompt_tokens", "completion_tokens"),
        *("cost_usd", "seconds", "cached", "outcome"),
    ),
}
"""The columns that are read from each dataset; the datasets are in the order in which a commit adds their parts."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None if there are no values."""
    return fmean(values) if values else None


def known(value: float) -> float | None:
    """Return the number itself; None for NaN."""
    return None if isnan(value) else value


def find_rises(values: Iterable[tuple[int, float]]) -> tuple[list[float | None], list[float | None]]:
    """Return the calls that had a higher value than every earlier call, and the values of these calls.

    The first call always counts. The lists never contain None. Their type allows None only so that they can be used as
    a `Value`.

    Args:
        values: Pairs of the number of an oracle call and the value of this call, sorted by number.
    """
    rises: list[tuple[int, float]] = []
    for call, value in values:
        if not rises or value > rises[-1][1]:
            rises.append((call, value))
    return [call for call, _ in rises], [value for _, value in rises]


@dataclass(frozen=True)
class Log:
    """The log of a run.

    A *call* is the number of an oracle call, counted from 1. This number also identifies the candidate that the oracle
    evaluated in that call.

    Attributes:
        run: The run that wrote the log.
        attempts: The columns of ``evaluations``, one row for each attempt at an offspring.
        swaps: The columns of ``swaps``.
        migrations: The columns of ``migrations``.
        adaptation: The columns of ``adaptation``.
        llm_calls: The columns of ``llm_calls``.
        states: The pools after each iteration, the initial ones first; empty in a log from `read_log_so_far`.
    """

    run: Run
    attempts: Columns
    swaps: Columns
    migrations: Columns
    adaptation: Columns
    llm_calls: Columns
    states: Sequence[Pools] = ()

    @cached_property
    def numbered(self) -> list[int]:
        """The indices of those rows of ``attempts`` that have a call number, in the order of these numbers."""
        calls = self.attempts["call"]
        return sorted((at for at, call in enumerate(calls) if call is not None), key=calls.__getitem__)

    @cached_property
    def charged(self) -> list[int]:
        """`numbered` without the initial candidates that were not charged, as the user had measured them.

        These have the lowest numbers, 1 to `n_free`, or some of the initial ones.
        """
        flags = self.attempts.get(CHARGED)
        return self.numbered if flags is None else [at for at in self.numbered if flags[at] is not False]

    @property
    def n_free(self) -> int:
        """How many candidates were not charged."""
        return len(self.numbered) - len(self.charged)

    @cached_property
    def scores(self) -> dict[int, float]:
        """The score of every charged candidate that has one, by the number of the call that evaluated the candidate."""
        calls, scores = self.attempts["call"], self.attempts["score"]
        return {calls[at]: scores[at] for at in self.charged if scores[at] is not None}

    @property
    def counted_scores(self) -> list[tuple[int, float]]:
        """The scores with the numbers that the calls have if only charged ones are counted, in their order."""
        scores = self.attempts["score"]
        return [(n, scores[at]) for n, at in enumerate(self.charged, start=1) if scores[at] is not None]

    @property
    def best_score(self) -> float | None:
        """The highest score of all candidates, charged or not; None if none has a score."""
        return max((score for score in self.column("score").values() if score is not None), default=None)

    @cached_property
    def keys(self) -> dict[int, str]:
        """The canonical key of the candidate that each oracle call evaluated, by the number of the call."""
        return self.column("key")

    @property
    def n_calls(self) -> int:
        """The number of oracle calls in the log."""
        return len(self.charged)

    @property
    def last_call(self) -> int:
        """The number of the last oracle call, counted from 1; 0 if there is none."""
        return self.attempts["call"][self.numbered[-1]] if self.numbered else 0

    @cached_property
    def final_union(self) -> list[int]:
        """The numbers of the oracle calls whose candidates are in the last iteration's pools, each once, sorted."""
        return union(self.states[-1])

    def final_places(self, calls: Sequence[int]) -> list[int]:
        """Return the index in `final_union` of each of these oracle call numbers, which must all be in it."""
        return [bisect_left(self.final_union, call) for call in calls]

    def column(self, name: str) -> dict[int, Any]:
        """Return the values of a column of ``evaluations``, by the number of the oracle call.

        Rows of attempts without a call number are left out.
        """
        calls, values = self.attempts["call"], self.attempts[name]
        return {calls[at]: values[at] for at in self.numbered}

    def top(self, calls: Sequence[int], count: int) -> list[int]:
        """Return the best ``count`` of the given calls, best first; calls without a score are left out.

        Of two calls with the same score, the earlier one comes first.
        """
        scored = [call for call in calls if call in self.scores]
        return sorted(scored, key=lambda call: (-self.scores[call], call))[:count]


def union(pools: Pools) -> list[int]:
    """Return the numbers of the oracle calls whose candidates are in any of the pools, each once, sorted."""
    return sorted({call for members in pools for call in members})


def calls_by_iteration(log: Log) -> list[int]:
    """Return how many oracle calls were counted in each iteration, starting with iteration 0."""
    counts = Counter(log.attempts["iteration"][at] for at in log.charged)
    return [counts[iteration] for iteration in range(len(log.states))]


def rows(columns: Columns) -> list[Row]:
    """Return the rows of the dataset with these columns."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def select(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    """Return the values of the columns with these names, row by row, which is faster than `rows`."""
    return zip(*(columns[name] for name in names), strict=True)


def row_at(columns: Columns, place: int) -> Row:
    """Return the row at index ``place`` of the dataset with these columns."""
    return {name: values[place] for name, values in columns.items()}


def read_log(run: Run, own: Mapping[str, type] = MappingProxyType({})) -> Log:
    """Return the log of a complete run.

    Args:
        run: The run to read, which must be complete.
        own: Additional columns of ``evaluations`` to read, each with its type, float or str.

    Raises:
        InputError: A part is missing, or damaged; only a damaged part is named in the message.
    """
    states: dict[int, list[list[int]]] = {}
    populations = run.columns("populations", ["iteration", "members"])
    for iteration, members in zip(populations["iteration"], populations["members"], strict=True):
        states.setdefault(iteration, []).append(members)
    log = _read(run, own, run.columns, [states[iteration] for iteration in sorted(states)])
    _check_whole(log)
    return log


def read_log_so_far(run: Run, own: Mapping[str, type] = MappingProxyType({})) -> Log:
    """Return the log that a run has written so far. The run may still be running.

    Args:
        run: The run to read, complete or not.
        own: Additional columns of ``evaluations`` to read, each with its type, float or str.

    Raises:
        InputError: One of the log's Parquet files is damaged; the message names it.
    """
    return _read(run, own, run.columns_so_far, ())


def _read(run: Run, own: Mapping[str, type], read: Callable[..., Columns], states: Sequence[Pools]) -> Log:
    """Read the datasets of a run and return them as a log.

    The datasets are read in the reverse of the order in which a commit adds their parts. A run may commit more parts
    in the meantime. Because ``evaluations`` is read last, it nevertheless has every call that another dataset refers
    to.

    Args:
        run: The run to read.
        own: Additional columns of ``evaluations`` to read, each with its type, float or str.
        read: The method of ``run`` that reads the columns, `Run.columns` or `Run.columns_so_far`.
        states: The pools after each iteration, as in `Log.states`.
    """
    if run.record["status"] == "complete":
        check_parts(run.path)
    if run.settings.get(MEASURED) is not None:
        own = {**own, CHARGED: bool}
    datasets = {
        name: read(name, _COLUMNS[name], own if name == "evaluations" else {}) for name in reversed(list(_COLUMNS))
    }
    attempts = datasets.pop("evaluations")
    return Log(run=run, attempts=attempts, states=states, **datasets)


def _check_whole(log: Log) -> None:
    """Check that no part of a log is missing, by comparing its numbers of rows with totals that the run recorded.

    The totals of oracle calls, iterations and requests to a model are in ``run.json``. The numbers of swaps tried are
    in the dataset ``adaptation``. A total that was not recorded is not checked.

    Raises:
        InputError: A part is missing.
    """
    totals, llm = log.run.record.get("totals", {}), log.run.record.get("llm", {})
    adaptation = log.adaptation["tried"]
    n_tried = log.swaps["blocked"].count(False)
    counts = {
        "oracle calls": (log.n_calls, totals.get("oracle_calls")),
        "iterations": (len(log.states) - 1, totals.get("iterations")),
        "requests to a model": (len(log.llm_calls["llm_call"]), llm.get("calls")),
        "swaps": (n_tried, sum(adaptation) if adaptation else n_tried),
    }
    for what, (found, expected) in counts.items():
        if expected is not None and found != expected:
            raise InputError(
                f"{log.run.path} has logged {found:,} of {expected:,} {what}, so a part is missing; "
                "run it again with overwrite=true"
            )
