"""The report of one run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from evodiverse.kit.markup import Content, Markup, join, tag
from evodiverse.results.pages.charts import Line, draw_chart
from evodiverse.results.pages.history import History, find_lineage, find_parents
from evodiverse.results.pages.page import Section, build_page, cut, facts, table
from evodiverse.results.show import read_command
from evodiverse.results.summary import errors_by_kind, requests_by_pool, swaps_by_rungs
from evodiverse.runlog.log import Row, rows
from evodiverse.runlog.runs import Run, write_setting
from evodiverse.text import count_of

N_LISTED: Final = 200
N_DRAWN: Final = 20
N_STEPS: Final = 40
"""How many steps of a lineage to show at most. Of a longer lineage, the youngest and a few of the oldest are shown."""

_N_OLDEST: Final = 5
_N_PARENTS: Final = 4
_MOST_SETTING: Final = 2_000
_MOST_IN_TABLE: Final = 200
_MOST_GENOTYPE: Final = 20_000
_MOST_SAID: Final = 20_000
_N_WINDOWS: Final = 40


def report_run(history: History) -> str:
    """Return the page about a run; if the run is not complete, the page shows the log so far."""
    run = history.run
    title = f"{run.task} · {run.method} · {run.llm} · seed {run.seed}"
    sections = [
        Section("settings", "Settings", _tell_settings(run)),
        Section("ending", "Outcome", _tell_ending(history)),
        Section("progress", "Progress", _draw_progress(history)),
        Section("pools", "Pools", _draw_pools(history)),
        Section("exchange", "Swaps and ξ", _draw_exchange(history)),
        Section("best", "Best candidates", _show_best(history)),
        Section("lineage", "Lineage of the best", _show_lineage(history)),
        Section("llm", "Language models", _tell_requests(history)),
        Section("errors", "Errors", _tell_errors(history)),
    ]
    return build_page(title, _lead(history), sections)


def status_of(run: Run) -> Markup:
    """Return the status of a run as a colored label."""
    status = str(run.record["status"])
    shown = "running or killed" if status == "running" else status
    return tag("span", shown, class_=f"status {status}")


def _lead(history: History) -> Markup:
    best = f", best {history.best[0]['score']:.6g}" if history.best else ""
    return tag("p", status_of(history.run), f" {count_of(history.log.n_calls, 'oracle call')}{best}")


def _tell_settings(run: Run) -> list[Content]:
    changed = run.overrides
    contents: list[Content] = []
    if changed is None:
        contents.append(tag("p", "The overrides are unknown, because an older version wrote this run.", class_="note"))
    elif changed:
        contents += [tag("h3", "Overrides"), _list_settings(changed)]
    else:
        contents.append(
            tag("p", "No overrides: all settings come from the task, the method and the model.", class_="note")
        )
    command, folder = read_command(run.path) or (None, None)
    started = [("command", command), ("started in", folder)]
    contents.append(facts([(name, tag("code", cut(text, _MOST_SETTING))) for name, text in started if text]))
    rest = {key: value for key, value in run.settings.items() if key not in (changed or {})}
    contents.append(tag("details", tag("summary", f"All other settings ({len(rest)})"), _list_settings(rest)))
    return contents


def _list_settings(settings: Mapping[str, Any]) -> Markup:
    return facts([(key, tag("code", cut(write_setting(value), _MOST_SETTING))) for key, value in settings.items()])


def _tell_ending(history: History) -> list[Content]:
    record, log = history.run.record, history.log
    seconds = ", ".join(f"{name} {value:,.1f}" for name, value in history.run.seconds.items())
    versions = [", ".join(f"{name} {version}" for name, version in one.items()) for one in record.get("versions", [])]
    budget = history.run.settings["budget.oracle_calls"]
    iterations = max(log.attempts["iteration"], default=None)
    pairs: list[tuple[str, Content]] = [
        ("status", status_of(history.run)),
        ("stopped by", record.get("stopped_by")),
        ("error", tag("pre", cut(record["error"], _MOST_SAID)) if record.get("error") else None),
        ("oracle calls", f"{log.n_calls:,} of {budget:,}, {history.n_failed:,} without a score"),
        ("iterations", None if iterations is None else f"{iterations:,}"),
        ("started", record.get("started")),
        ("seconds", seconds),
        ("versions", "; ".join(versions)),
        ("git commit", record.get("git_commit")),
        ("folder", str(history.run.path)),
    ]
    return [facts([(name, value) for name, value in pairs if value])]


def _draw_progress(history: History) -> list[Content]:
    if not history.best:
        return [tag("p", "No candidate has a score yet.", class_="none")]
    best, curve = None, []
    for call, row in sorted(history.by_call.items()):
        if row["score"] is not None and (best is None or row["score"] > best):
            best = row["score"]
            curve.append((float(call), best))
    assert best is not None  # noqa: S101
    curve.append((float(history.log.last_call), best))
    outcomes: dict[int, list[str]] = defaultdict(list)
    for row in history.attempts:
        outcomes[row["iteration"]].append(row["outcome"])
    shares = [
        Line(name, [(at, found.count(name) / len(found)) for at, found in sorted(outcomes.items())])
        for name in ("evaluated", "duplicate", "rejected")
    ]
    drawn = [
        draw_chart("Best score so far", "oracle calls", "score", [Line("", curve)], stepped=True),
        draw_chart("Outcomes of attempts", "iteration", "share of attempts", shares),
    ]
    return [tag("div", *drawn, class_="charts")]


def _draw_pools(history: History) -> list[Content]:
    pools, scores = history.pools, history.log.scores
    best, middle, betas = defaultdict(list), defaultdict(list), {}
    for iteration, pool, beta, members in zip(*(pools[name] for name in pools), strict=True):
        found = [scores[call] for call in members if call in scores]
        betas[pool] = beta
        if found:
            best[pool].append((float(iteration), max(found)))
            middle[pool].append((float(iteration), median(found)))
    if not best:
        return [tag("p", "No pool is logged yet.", class_="none")]
    names = {pool: f"pool {pool}" + ("" if betas[pool] is None else f" (β = {betas[pool]:.4g})") for pool in betas}
    charts = [
        draw_chart(title, "iteration", "score", [Line(names[pool], found[pool]) for pool in sorted(found)])
        for title, found in [("Best of each pool", best), ("Median of each pool", middle)]
    ]
    return [tag("div", *charts, class_="charts")]


def _draw_exchange(history: History) -> list[Content]:
    log = history.log
    swaps = rows(log.swaps)
    contents: list[Content] = []
    if swaps:
        lines = []
        for pair in sorted({(row["cold_pool"], row["hot_pool"]) for row in swaps}):
            own = [row for row in swaps if (row["cold_pool"], row["hot_pool"]) == pair and not row["blocked"]]
            lines.append(Line(f"{pair[0]} ⇄ {pair[1]}", _rates(own)))
        xi = Line("", list(zip(map(float, log.adaptation["iteration"]), log.adaptation["xi"], strict=True)))
        drawn = [draw_chart("Swaps accepted", "iteration", "share of tried swaps", lines)]
        drawn += [draw_chart("ξ", "iteration", "ξ", [xi])] if xi.points else []
        counts = [
            [
                f"{pair.cold_pool} ⇄ {pair.hot_pool}",
                *(pair.events, pair.tried, pair.accepted),
                pair.accepted / pair.tried if pair.tried else None,
                pair.blocked,
            ]
            for pair in swaps_by_rungs(swaps)
        ]
        names = ["pools", "events", "tried", "accepted", "rate", "blocked"]
        contents += [tag("div", *drawn, class_="charts"), table(names, counts, "swaps by pair of pools")]
    if n_copies := len(log.migrations["iteration"]):
        contents.append(tag("p", f"{count_of(n_copies, 'candidate')} migrated."))
    rule = history.run.settings.get("method.swap.rule")
    return contents or [tag("p", f"No swaps so far (method.swap.rule={rule}).", class_="none")]


def _rates(tried: Sequence[Row]) -> list[tuple[float, float]]:
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


def _show_best(history: History) -> list[Content]:
    if not history.best:
        return []
    listed, drawn = history.best[:N_LISTED], history.best[:N_DRAWN]
    linked = {row["call"] for row in drawn}
    lines = [
        [
            rank,
            tag("a", "show", href=f"#call-{row['call']}") if row["call"] in linked else None,
            row["call"],
            row["score"],
            *(row[name] for name in history.measured),
            row["iteration"],
            "all" if row["pool"] is None else row["pool"],
            row["operator"],
            tag("span", cut(row["genotype"] or "", _MOST_IN_TABLE), class_="genotype"),
        ]
        for rank, row in enumerate(listed, start=1)
    ]
    names = ["rank", "card", "call", "score", *history.measured, "iteration", "pool", "operator", "candidate"]
    n_scored = len(history.best)
    note = (
        f"The best {len(listed):,} of {count_of(n_scored, 'candidate')} with a score; drawings of the first "
        f"{len(drawn)} follow."
    )
    cards = [_draw_card(history, row, rank) for rank, row in enumerate(drawn, start=1)]
    is_long = any("\n" in (row["genotype"] or "") for row in drawn[:1]) and not any("<img" in card for card in cards)
    return [
        tag("p", note, class_="note"),
        table(names, lines, "best candidates", searchable=True),
        tag("h3", "Drawings"),
        tag("div", *cards, class_="cards wide" if is_long else "cards"),
    ]


def _draw_card(history: History, row: Row, rank: int) -> Markup:
    genotype = row["genotype"] or ""
    portrait = None if history.domain is None else history.domain.portray(genotype, row)
    return tag(
        "article",
        tag("h3", f"{rank}. score {row['score']:.6g}"),
        tag("div", _place(row), class_="note"),
        portrait,
        _write_genotype(genotype),
        _tell_origin(history, row),
        id=f"call-{row['call']}",
        class_="card",
    )


def _write_genotype(genotype: str) -> Markup:
    if "\n" not in genotype:
        return tag("div", cut(genotype, _MOST_GENOTYPE), class_="genotype")
    text = tag("pre", cut(genotype, _MOST_GENOTYPE), tabindex=0)
    return tag("details", tag("summary", f"Text ({count_of(len(genotype.splitlines()), 'line')})"), text)


def _place(row: Row) -> str:
    pool = "all pools" if row["pool"] is None else f"pool {row['pool']}"
    parents = ", ".join(map(str, row["parents"] or [])) or "none"
    return f"call {row['call']}, iteration {row['iteration']}, {pool}, {row['operator']}, parents {parents}"


def _tell_origin(history: History, row: Row) -> Markup | None:
    """Return the prompt and the reply behind a candidate, or None if no model proposed it."""
    said = history.requests.get(row["llm_call"])
    if said is None:
        return None
    parts = [
        join([tag("h3", name), tag("pre", cut(text, _MOST_SAID), tabindex=0)])
        for name, text in zip(("Prompt", "Reply", "Error"), said, strict=True)
        if text
    ]
    return tag("details", tag("summary", f"Prompt and reply (request {row['llm_call']})"), *parts, class_="said")


def _show_lineage(history: History) -> list[Content]:
    if not history.best:
        return []
    line = find_lineage(history.by_call, history.best[0]["call"])
    n_left_out = max(0, len(line) - N_STEPS)
    young, old = (line, []) if not n_left_out else (line[: N_STEPS - _N_OLDEST], line[-_N_OLDEST:])
    steps = [_draw_step(history, row) for row in young]
    if n_left_out:
        steps.append(tag("li", f"… {count_of(n_left_out, 'more step')} …", class_="step none"))
    steps += [_draw_step(history, row) for row in old]
    note = (
        "From the best candidate back to the start, along the best parent of each candidate; steps: "
        f"{len(line) - 1:,}. Each step shows what changed since that parent."
    )
    return [tag("p", note, class_="note"), tag("ol", *steps, class_="lineage")]


def _draw_step(history: History, row: Row) -> Markup:
    genotype = row["genotype"] or ""
    parents = find_parents(history.by_call, row)
    shown: Content = None
    if history.domain is not None:
        if parents:
            shown = history.domain.tell_change([parent["genotype"] or "" for parent in parents], genotype)
        if shown is None or "<pre" in shown:  # next to a list of terms or lines, draw the whole candidate
            shown = join([history.domain.portray(genotype, row), shown])
    score = "no score" if row["score"] is None else f"score {row['score']:.6g}"
    if parents and None not in (row["score"], parents[0]["score"]):
        score += f" ({row['score'] - parents[0]['score']:+.3g})"
    others = ", ".join(str(parent["call"]) for parent in parents[1:_N_PARENTS])
    return tag(
        "li",
        tag("h3", score),
        tag("div", _place(row), class_="note"),
        tag("p", f"Compared with call {parents[0]['call']}" + (f"; other parents: {others}" if others else ""))
        if parents
        else tag("p", "Initial candidate."),
        shown,
        _write_genotype(genotype),
        _tell_origin(history, row),
        class_="step",
    )


def _tell_requests(history: History) -> list[Content]:
    asked = requests_by_pool(rows(history.log.llm_calls))
    if not asked:
        return [tag("p", "No language model was asked.", class_="none")]
    outcomes = ("parsed", "no_answer", "invalid", "error")
    names = ["pool", "model", "requests", "cached", *outcomes, "prompt tokens", "completion tokens", "US$"]
    lines = [
        [
            *(one.pool, one.model, one.used.calls, one.cached),
            *(one.outcomes.get(name, 0) for name in outcomes),
            *(one.used.prompt_tokens, one.used.completion_tokens, one.used.cost_usd),
        ]
        for one in asked
    ]
    costs = [one.used.cost_usd for one in asked]
    known = [cost for cost in costs if cost is not None]
    rest = "" if len(known) == len(costs) else " plus requests without a known price"
    total = f"${sum(known):,.4f}{rest}" if known else "unknown"
    return [facts([("cost", total)]), table(names, lines, "requests to language models")]


def _tell_errors(history: History) -> list[Content]:
    kinds = errors_by_kind(history.log.attempts)
    if not kinds:
        return [tag("p", "No errors.", class_="none")]
    lines: list[list[Content | float]] = [
        [
            kind.reason,
            kind.rejected,
            kind.failed,
            cut((kind.example["error"] or "").partition(":")[2].strip(), _MOST_IN_TABLE),
            tag("span", cut(kind.example["genotype"] or "", _MOST_IN_TABLE), class_="genotype"),
        ]
        for kind in kinds
    ]
    return [table(["reason", "rejected", "failed", "example error", "genotype"], lines, "errors by kind")]
