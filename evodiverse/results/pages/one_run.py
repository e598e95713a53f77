"""The report of one run, and the data that it shows, read from the log of the run once."""

import itertools
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any, Final, cast

from markupsafe import Markup

from evodiverse.ports import Annotated, Drawable, Highlight, Sheet
from evodiverse.results import summary
from evodiverse.results.domains import find_columns, find_highlight, find_view
from evodiverse.results.grouping import group_by
from evodiverse.results.metrics import find_own_columns
from evodiverse.results.metrics.features import tell_features
from evodiverse.results.metrics.pareto import find_objective_columns, follow_hypervolume
from evodiverse.results.pages.rendering import Chart, Line, Point, plan_chart, render
from evodiverse.results.show import read_command, tell_start
from evodiverse.runlog.earlier import KEPT, read_kept
from evodiverse.runlog.log import Columns, Log, Row, find_rises, read_log_so_far, row_at, rows, select
from evodiverse.runlog.runs import Run

N_LISTED: Final = 200
N_DRAWN: Final = 20
N_STEPS: Final = 40
"""How many steps of a lineage to show at most. Of a longer lineage, the youngest and a few of the oldest are shown."""

_N_OLDEST: Final = 5
_N_WINDOWS: Final = 40


@dataclass(frozen=True)
class History:
    """A run and its log, whatever its status.

    Attributes:
        log: The log so far.
        view: The module with which the run's domain shows candidates, if it was imported and can draw; otherwise None.
        measured: The names of the domain's own columns of ``evaluations`` to list for each candidate.
        pools: The columns of ``populations``, by name.
        requests: The prompt, reply and error of each request to a model, by the number of the request.
        best: The rows of ``evaluations`` whose oracle call gave a score, best first, the older first at equal scores.
        highlight: The candidates to show first, if there are any.
    """

    log: Log
    view: Drawable | None
    measured: Sequence[str]
    pools: Columns
    requests: Mapping[int, Sequence[str | None]]
    best: Sequence[Row]
    highlight: Highlight | None

    @cached_property
    def by_call(self) -> dict[int, Row]:
        """The rows of ``evaluations`` that were counted as oracle calls, by the number of the call."""
        return {row["call"]: row for row in rows(self.log.attempts) if row["call"] is not None}

    @cached_property
    def rises(self) -> list[Point]:
        """The points (call, score) where the best score rose."""
        return cast("list[Point]", [*zip(*find_rises(self.log.counted_scores), strict=True)])

    def portray(self, row: Row) -> Markup | None:
        """Return the domain's drawing of a candidate, or None."""
        return None if self.view is None else self.view.portray(row["genotype"] or "", row)

    def annotate(self, row: Row) -> Mapping[str, str]:
        """Return what else the domain tells about a candidate, by title."""
        return self.view.annotate(row) if isinstance(self.view, Annotated) else {}

    @cached_property
    def sheet(self) -> Sheet | None:
        """The domain's table about all evaluations, or None."""
        return self.view.tabulate([*self.by_call.values()]) if isinstance(self.view, Annotated) else None

    def tell_change(self, parents: Sequence[Row], row: Row) -> Markup | None:
        """Return what the domain tells about the change from the first parent to a candidate, or None."""
        genotype, *others = [one["genotype"] or "" for one in (row, *parents)]
        return None if self.view is None else self.view.tell_change(others, genotype)


def read_history(run: Run, own: frozenset[str] = frozenset()) -> History:
    """Read the log of a run, which may still be running.

    Args:
        run: The run that the report is about.
        own: The packages of the user's own domains; see `find_module`.

    Raises:
        InputError: The log is damaged; the message names the problem.
    """
    view, columns = find_view(run, own), find_columns(run, own)
    pools = run.columns_so_far("populations", ["iteration", "pool", "beta", "members"])
    numbers, *texts = run.columns_so_far("llm_calls", ["llm_call", "prompt", "reply", "error"]).values()
    log = read_log_so_far(run, {"genotype": str, "error": str, "operator": str, **find_own_columns(run), **columns})
    best = summary.best_candidates(log.attempts, None)
    drawable = view if isinstance(view, Drawable) else None
    measured = [name for name, kind in {**find_objective_columns(run), **columns}.items() if kind is float][:20]
    requests = dict(zip(numbers, zip(*texts, strict=True), strict=True))
    return History(log, drawable, measured, pools, requests, best, find_highlight(log, best, own))


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


def report_run(history: History) -> str:
    """Return the page about a run; if the run is not complete, the page shows the log so far."""
    log, run, listed = history.log, history.log.run, history.best[:N_LISTED]
    start = tell_start(read_kept(run.path / KEPT))
    ranks = {row["call"]: rank for rank, row in enumerate(history.best, start=1)}
    first = list(dict.fromkeys(history.highlight.calls)) if history.highlight else []
    calls = [row["call"] for row in history.best[:N_DRAWN] if row["call"] not in first]
    cards = {
        call: {"row": (row := history.by_call[call]), "rank": ranks[call], "drawing": history.portray(row)}
        for call in [*first, *calls]
    }
    line = find_lineage(history.by_call, history.best[0]["call"]) if history.best else []
    n_left_out = max(0, len(line) - N_STEPS)
    shown = [*line[: N_STEPS - _N_OLDEST], *line[-_N_OLDEST:]] if n_left_out else line
    return render(
        "run.html",
        title=f"{run.task} · {run.method} · {run.llm} · seed {run.seed}",
        history=history,
        started=[*zip(("command", "started in", "started from"), (*read_command(run.path), start), strict=True)],
        rest={key: value for key, value in run.settings.items() if key not in (run.overrides or {})},
        progress=_plan_progress(history),
        pools=_plan_pools(history),
        exchange=_plan_exchange(history),
        swaps=summary.swaps_by_pools(log.swaps),
        best=[*zip(itertools.count(1), listed, summary.tell_apart([row["genotype"] for row in listed]))],
        numbers=[f">{name}" for name in history.measured],
        drawn=cards,
        first=[cards[call] for call in first],
        cards=[cards[call] for call in calls],
        n_drawn=min(N_DRAWN, len(history.best)),
        n_oldest=_N_OLDEST,
        n_left_out=n_left_out,
        steps=[_draw_step(history, row) for row in shown],
        requests=summary.requests_by_pool(log.llm_calls),
        errors=summary.errors_by_reason(log.attempts),
        failed=[row_at(log.attempts, at) for at in summary.find_failed(log.attempts)],
        features=tell_features(log),
    )


def draw_table(run: Run) -> str:
    """Return HTML with the best candidates of a run, or those that its domain shows first, and their pictures."""
    history = read_history(run)
    first = history.highlight
    shown = history.best if first is None else [history.by_call[call] for call in first.calls]
    values = {"n_calls": history.log.n_calls, "shown": shown[:10], "portray": history.portray}
    return render("notebook.html", run=run, **values)


def _plan_progress(history: History) -> list[Chart]:
    if not history.best:
        return []
    curve = history.rises + [(float(history.log.n_calls), score) for _, score in history.rises[-1:]]
    volumes = [(float(call), volume) for call, volume in follow_hypervolume(history.log)]
    volumes += [(float(history.log.n_calls), volume) for _, volume in volumes[-1:]]
    attempts = select(history.log.attempts, "iteration", "outcome")
    by_iteration = sorted(group_by(attempts, lambda attempt: attempt[0]).items())
    shares = [
        Line(name, [(at, fmean(outcome == name for _, outcome in some)) for at, some in by_iteration])
        for name in ("evaluated", "duplicate", "rejected")
    ]
    return [
        plan_chart("Best score so far", "oracle calls", "score", [Line("", curve)], stepped=True),
        *([plan_chart("Hypervolume", "oracle calls", "volume", [Line("", volumes)], stepped=True)] if volumes else []),
        plan_chart("Outcomes of attempts", "iteration", "share of attempts", shares),
    ]


def _plan_pools(history: History) -> list[Chart]:
    scores, best, middle = {row["call"]: row["score"] for row in history.best}, [], []
    states = select(history.pools, "iteration", "pool", "beta", "members")
    for pool, some in sorted(group_by(states, lambda state: state[1]).items()):
        name = f"pool {pool}" + ("" if some[0][2] is None else f" (β = {some[0][2]:.4g})")
        held = [(float(at), [scores[call] for call in calls if call in scores]) for at, _, _, calls in some]
        best.append(Line(name, [(at, max(values)) for at, values in held if values]))
        middle.append(Line(name, [(at, median(values)) for at, values in held if values]))
    charts = {"Best of each pool": best, "Median of each pool": middle}
    return [plan_chart(title, "iteration", "score", lines) for title, lines in charts.items() if lines]


def _plan_exchange(history: History) -> list[Chart]:
    log = history.log
    tried = [row for row in rows(log.swaps) if not row["blocked"]]
    pairs = sorted(group_by(tried, lambda row: (row["cold_pool"], row["hot_pool"])).items())
    lines = [Line("{} ⇄ {}".format(*pools), _rates(some)) for pools, some in pairs]
    xi = Line("", [*zip(map(float, log.adaptation["iteration"]), log.adaptation["xi"], strict=True)])
    return [
        *([plan_chart("Swaps accepted", "iteration", "share of tried swaps", lines)] if lines else []),
        *([plan_chart("ξ", "iteration", "ξ", [xi])] if lines and xi.points else []),
    ]


def _rates(tried: Sequence[Row]) -> list[Point]:
    """Return the curve of the share of swaps that were accepted, as points (iteration, share).

    The iterations with swaps are divided into up to `_N_WINDOWS` windows of equally many iterations. Each window gives
    one point, at its last iteration.

    Args:
        tried: The rows of ``swaps`` between two pools, except for blocked swaps. A swap is blocked if it would put a
            candidate into a pool that already has it.
    """
    iterations = sorted({row["iteration"] for row in tried})
    size = max(1, -(-len(iterations) // _N_WINDOWS))
    windows = group_by(tried, lambda row: bisect_left(iterations, row["iteration"]) // size)
    return [
        (float(max(row["iteration"] for row in some)), fmean(row["accepted"] for row in some))
        for _, some in sorted(windows.items())
    ]


def _draw_step(history: History, row: Row) -> dict[str, Any]:
    """Return what the template shows of a step of a lineage.

    The drawing is that of the candidate, or of what changed since its best parent. The parents are given by their
    calls, best first. The rise is how much higher the score is than that of the best parent; None if one is unknown.
    """
    parents = find_parents(history.by_call, row)
    drawing = history.tell_change(parents, row) if parents else None
    if drawing is None or "<pre" in drawing:  # next to a list of terms or lines, draw the whole candidate
        drawing = (history.portray(row) or Markup()) + (drawing or Markup())
    is_known = parents and None not in (row["score"], parents[0]["score"])
    rise = row["score"] - parents[0]["score"] if is_known else None
    calls = [parent["call"] for parent in parents[:4]]
    return {"row": row, "drawing": drawing, "parents": calls, "rise": rise}
