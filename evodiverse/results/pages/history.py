"""The data that the report of a run shows, read from its log once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from markupsafe import Markup

from evodiverse.ports import Drawable, Highlight
from evodiverse.results.domains import find_columns, find_highlight, find_view
from evodiverse.results.pages.charts import Point
from evodiverse.results.summary import best_candidates, find_failed
from evodiverse.runlog.log import Log, Row, read_log_so_far, rows
from evodiverse.runlog.runs import Run
from evodiverse.runlog.values import find_rises

_MOST_MEASURED: Final = 20


@dataclass(frozen=True)
class History:
    """A run and its log, whatever its status.

    Attributes:
        run: The run that the report is about.
        log: The log so far.
        view: The module with which the run's domain shows candidates, if it was imported and can draw; otherwise None.
        own: The packages of the user's own domains; see `find_module`.
        measured: The names of the domain's own columns of ``evaluations`` to list for each candidate.
        pools: The columns of ``populations``, by name.
        said: The columns ``llm_call``, ``prompt``, ``reply`` and ``error`` of ``llm_calls``, by name.
    """

    run: Run
    log: Log
    view: Drawable | None
    own: frozenset[str]
    measured: Sequence[str]
    pools: Mapping[str, Sequence[Any]]
    said: Mapping[str, Sequence[Any]]

    @cached_property
    def attempts(self) -> list[Row]:
        """All rows of ``evaluations``."""
        return rows(self.log.attempts)

    @cached_property
    def by_call(self) -> dict[int, Row]:
        """The rows of ``evaluations`` that were counted as oracle calls, by the number of the call."""
        return {row["call"]: row for row in self.attempts if row["call"] is not None}

    @cached_property
    def best(self) -> list[Row]:
        """The rows of ``evaluations`` whose oracle call gave a score, best first, the older first at equal scores."""
        return best_candidates(self.log.attempts, None)

    @cached_property
    def highlight(self) -> Highlight | None:
        """The candidates that the domain shows first, if it names any."""
        return find_highlight(self.run, self.best, self.own)

    @cached_property
    def rises(self) -> list[Point]:
        """The points (call, score) where the best score rose."""
        pairs = zip(*find_rises(sorted(self.log.scores.items())), strict=True)
        return [(call, score) for call, score in pairs if call is not None and score is not None]

    @cached_property
    def requests(self) -> dict[int, tuple[str | None, str | None, str | None]]:
        """The prompt, reply and error of each request to a model, by the number of the request."""
        texts = zip(*(self.said[name] for name in ("prompt", "reply", "error")), strict=True)
        return dict(zip(self.said["llm_call"], texts, strict=True))

    @property
    def n_failed(self) -> int:
        """The number of oracle calls that gave no score."""
        return len(find_failed(self.log.attempts))

    def portray(self, row: Row) -> Markup | None:
        """Return the domain's drawing of a candidate, or None."""
        return None if self.view is None else self.view.portray(row["genotype"] or "", row)

    def tell_change(self, parents: Sequence[Row], row: Row) -> Markup | None:
        """Return what the domain tells about the change from the first parent to a candidate, or None."""
        genotypes = [parent["genotype"] or "" for parent in parents]
        return None if self.view is None else self.view.tell_change(genotypes, row["genotype"] or "")


def read_history(run: Run, own: frozenset[str] = frozenset()) -> History:
    """Read the log of a run, which may still be running.

    Args:
        run: The run that the report is about.
        own: The packages of the user's own domains; see `find_module`.

    Raises:
        InputError: The log is damaged; the message names the problem.
    """
    view = find_view(run, own)
    columns = find_columns(run, own)
    pools = run.columns_so_far("populations", ["iteration", "pool", "beta", "members"])
    said = run.columns_so_far("llm_calls", ["llm_call", "prompt", "reply", "error"])
    log = read_log_so_far(run, {"genotype": str, "error": str, "operator": str, **columns})
    measured = [name for name, kind in columns.items() if kind is float][:_MOST_MEASURED]
    return History(run, log, view if isinstance(view, Drawable) else None, own, measured, pools, said)


def find_lineage(by_call: Mapping[int, Row], call: int) -> list[Row]:
    """Return the rows of a candidate, its best parent, the best parent of that one, and so on to an initial candidate.

    Of two parents with equal scores, the older one is followed. A parent that a damaged log places after its child is
    ignored.
    """
    line = [by_call[call]]
    while parents := find_parents(by_call, line[-1]):
        line.append(parents[0])
    return line


def find_parents(by_call: Mapping[int, Row], row: Row) -> list[Row]:
    """Return the rows of those parents of a candidate that are in the log, without duplicates, best first."""
    calls = {call for call in row["parents"] or () if call < row["call"] and call in by_call}
    return sorted(
        (by_call[call] for call in calls),
        key=lambda parent: (parent["score"] is None, -(parent["score"] or 0.0), parent["call"]),
    )
