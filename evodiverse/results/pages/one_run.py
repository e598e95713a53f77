"""The report of one run."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from markupsafe import Markup

from evodiverse.results.pages.charts import Chart, Line, Point, plan_chart
from evodiverse.results.pages.history import History, find_lineage, find_parents
from evodiverse.results.pages.rendering import render
from evodiverse.results.show import read_command
from evodiverse.results.summary import errors_by_kind, requests_by_pool, swaps_by_rungs, tell_apart
from evodiverse.runlog.log import Row, rows

N_LISTED: Final = 200
N_DRAWN: Final = 20
N_STEPS: Final = 40
"""How many steps of a lineage to show at most. Of a longer lineage, the youngest and a few of the oldest are shown."""

_N_OLDEST: Final = 5
_N_PARENTS: Final = 4
_N_WINDOWS: Final = 40


@dataclass(frozen=True, slots=True)
class Card:
    """A candidate as a report shows it.

    Attributes:
        row: Its row in ``evaluations``.
        rank: Its rank by score, counted from 1; 0 if it is not needed.
        drawing: A drawing of the candidate, or of what changed since its best parent; None if there is none.
        parents: The calls of its parents, best first.
        rise: How much higher its score is than that of its best parent; None if one of the two is unknown.
    """

    row: Row
    rank: int
    drawing: Markup | None
    parents: Sequence[int] = ()
    rise: float | None = None


def report_run(history: History) -> str:
    """Return the page about a run; if the run is not complete, the page shows the log so far."""
    run, log = history.run, history.log
    command, folder = read_command(run.path) or (None, None)
    requests = requests_by_pool(rows(log.llm_calls))
    listed = history.best[:N_LISTED]
    highlight = history.highlight
    ranks = {row["call"]: rank for rank, row in enumerate(history.best, start=1)}
    first = [] if highlight is None else list(dict.fromkeys(highlight.calls))
    calls = [row["call"] for row in history.best[:N_DRAWN] if row["call"] not in first]
    cards = {call: Card(row := history.by_call[call], ranks[call], history.portray(row)) for call in [*first, *calls]}
    line = find_lineage(history.by_call, history.best[0]["call"]) if history.best else []
    n_left_out = max(0, len(line) - N_STEPS)
    shown = [*line[: N_STEPS - _N_OLDEST], *line[-_N_OLDEST:]] if n_left_out else line
    return render(
        "run.html",
        title=f"{run.task} · {run.method} · {run.llm} · seed {run.seed}",
        history=history,
        run=run,
        log=log,
        started=[("command", command), ("started in", folder)],
        rest={key: value for key, value in run.settings.items() if key not in (run.overrides or {})},
        progress=_plan_progress(history),
        pools=_plan_pools(history),
        exchange=_plan_exchange(history),
        swaps=swaps_by_rungs(rows(log.swaps)),
        n_copies=len(log.migrations["iteration"]),
        highlight=highlight,
        best=[*zip(itertools.count(1), listed, tell_apart([row["genotype"] for row in listed]))],
        numbers=[f">{name}" for name in history.measured],
        drawn=cards,
        first=[cards[call] for call in first],
        cards=[cards[call] for call in calls],
        n_drawn=min(N_DRAWN, len(history.best)),
        n_oldest=_N_OLDEST,
        n_left_out=n_left_out,
        steps=[_draw_step(history, row) for row in shown],
        requests=requests,
        costs=[one.used.cost_usd for one in requests if one.used.cost_usd is not None],
        errors=errors_by_kind(log.attempts),
    )


def _plan_progress(history: History) -> list[Chart]:
    if not history.best:
        return []
    curve = [*history.rises, (float(history.log.last_call), history.rises[-1][1])]
    outcomes: dict[int, list[str]] = defaultdict(list)
    for row in history.attempts:
        outcomes[row["iteration"]].append(row["outcome"])
    shares = [
        Line(name, [(at, found.count(name) / len(found)) for at, found in sorted(outcomes.items())])
        for name in ("evaluated", "duplicate", "rejected")
    ]
    return [
        plan_chart("Best score so far", "oracle calls", "score", [Line("", curve)], stepped=True),
        plan_chart("Outcomes of attempts", "iteration", "share of attempts", shares),
    ]


def _plan_pools(history: History) -> list[Chart]:
    pools, scores = history.pools, history.log.scores
    best, middle, names = defaultdict(list), defaultdict(list), {}
    for iteration, pool, beta, members in zip(*(pools[name] for name in pools), strict=True):
        found = [scores[call] for call in members if call in scores]
        names[pool] = f"pool {pool}" + ("" if beta is None else f" (β = {beta:.4g})")
        if found:
            best[pool].append((float(iteration), max(found)))
            middle[pool].append((float(iteration), median(found)))
    return [
        plan_chart(title, "iteration", "score", [Line(names[pool], found[pool]) for pool in sorted(found)])
        for title, found in [("Best of each pool", best), ("Median of each pool", middle)]
        if found
    ]


def _plan_exchange(history: History) -> list[Chart]:
    log = history.log
    tried: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows(log.swaps):
        tried[row["cold_pool"], row["hot_pool"]] += [] if row["blocked"] else [row]
    lines = [Line(f"{cold} ⇄ {hot}", _rates(own)) for (cold, hot), own in sorted(tried.items())]
    xi = Line("", list(zip(map(float, log.adaptation["iteration"]), log.adaptation["xi"], strict=True)))
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
    window = {iteration: at // size for at, iteration in enumerate(iterations)}
    rows_of: dict[int, list[Row]] = defaultdict(list)
    for row in tried:
        rows_of[window[row["iteration"]]].append(row)
    return [
        (float(max(row["iteration"] for row in some)), sum(row["accepted"] for row in some) / len(some))
        for _, some in sorted(rows_of.items())
    ]


def _draw_step(history: History, row: Row) -> Card:
    parents = find_parents(history.by_call, row)
    drawing = history.tell_change(parents, row) if parents else None
    if drawing is None or "<pre" in drawing:  # next to a list of terms or lines, draw the whole candidate
        drawing = (history.portray(row) or Markup()) + (drawing or Markup())
    is_known = parents and None not in (row["score"], parents[0]["score"])
    rise = row["score"] - parents[0]["score"] if is_known else None
    return Card(row, 0, drawing, [parent["call"] for parent in parents[:_N_PARENTS]], rise)
