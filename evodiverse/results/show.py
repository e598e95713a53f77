"""Print runs, and comparisons between runs, to a terminal."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import yaml
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from evodiverse.errors import InputError, describe
from evodiverse.kit.files import read_file
from evodiverse.kit.sparkline import sparkline
from evodiverse.results.comparison import compare
from evodiverse.results.domains import MOST_RANKED, find_columns, find_highlight
from evodiverse.results.summary import (
    Kind,
    best_candidates,
    best_so_far,
    errors_by_kind,
    find_failed,
    requests_by_pool,
    swaps_by_rungs,
    tell_apart,
    thin,
    xi_curve,
)
from evodiverse.runlog.log import Columns, Log, Row, read_log_so_far, rows
from evodiverse.runlog.record import BEST, CHOSEN, CODE
from evodiverse.runlog.runs import Run, read_record, write_setting
from evodiverse.runlog.standing import read_standing
from evodiverse.text import count_of, printable
from evodiverse.vocabulary import Outcome

Parsed = TypeVar("Parsed")
N_BARS = 32
_MOST_BYTES = 1 << 16
_STYLES = {"complete": "green", "failed": "red"}


def print_run(path: Path, console: Console) -> None:
    """Print the settings, the progress and the best candidates of a run of any status; nothing if a file is damaged.

    Args:
        path: The run directory, with a ``run.json``.
        console: The console, with markup and emoji disabled, since SMILES contain square brackets and colons.

    Raises:
        InputError: A file is damaged; the message names it.
    """
    log = read_whole_log(path, with_domain=True)
    run, record = log.run, log.run.record
    facts = [*_describe_record(run, record), *_describe_totals(run, log), *_describe_chosen(path)]
    console.print(_text(str(path), style="bold"), soft_wrap=True)
    console.print(_grid(facts))
    for title, drawn in _sections(run, log):
        console.print()
        console.print(Text(title, style="bold"))
        for part in drawn:
            console.print(part)


def read_whole_log(path: Path, *, with_domain: bool = False) -> Log:
    """Return the log that a run of any status has written so far, after checking that it has every oracle call.

    Args:
        path: The run directory, with a ``run.json``.
        with_domain: Whether to read the columns that the domain shows, too.

    Raises:
        InputError: A file is damaged, or oracle calls are missing from ``evaluations``; the message says where.
    """
    record = read_record(path / "run.json")
    run = Run(path, record)
    log = read_log_so_far(run, {"genotype": str, "error": str, **(find_columns(run) if with_domain else {})})
    n_expected = max(log.last_call, record.get("totals", {}).get("oracle_calls") or 0)
    if log.n_calls != n_expected:
        raise InputError(
            f"{path / 'evaluations'} holds {log.n_calls:,} of {count_of(n_expected, 'call')}, so a part is missing; "
            "run it again with overwrite=true"
        )
    return log


def print_comparison(logs: Sequence[Log], console: Console) -> None:
    """Print a table with one row per run, best first, and a column for each setting in which the runs differ.

    Args:
        logs: The logs that the runs have written so far, at least one.
        console: The console, with markup and emoji disabled.
    """
    compared = compare([log.run for log in logs], [max(log.scores.values(), default=None) for log in logs])
    calls = {log.run.path: log.n_calls for log in logs}
    standings = {log.run.path: read_standing(log.run.path) for log in logs}
    any_running = any(standing.state == "running" for standing in standings.values())
    table = _table(">best", ">calls", *compared[0].differing, "status", *([">left"] if any_running else []), "run")
    for one in compared:
        best = "–" if one.best is None else f"{one.best:.6g}"
        standing = standings[one.run.path]
        settings = [_text(value) for value in one.differing.values()]
        left = "" if standing.seconds_left is None else str(timedelta(seconds=round(standing.seconds_left)))
        status = _text(standing.state, style=_STYLES.get(standing.state, "yellow"))
        shown: list[Text | str] = [*settings, status, *([left] if any_running else []), _text(str(one.run.path))]
        table.add_row(best, f"{calls[one.run.path]:,}", *shown)
    console.print(table)
    for path, standing in standings.items():
        if standing.error is not None:
            console.print(_text(f"{path} {standing.state}: {standing.error}"), soft_wrap=True)


def read_command(path: Path) -> tuple[str, str | None] | None:
    """Return the command that repeats a run, and the folder that the run was started from, which paths are relative to.

    The result is None if the run directory does not have the overrides that the user wrote. The folder is None if it is
    unknown.

    Raises:
        InputError: A file about how the run was started is damaged; the message names it.
    """
    folder = path / ".hydra"
    try:
        overrides = _read(folder / "overrides.yaml", _load)
    except FileNotFoundError:
        return None
    if not (isinstance(overrides, list) and all(isinstance(override, str) for override in overrides)):
        raise InputError(f"{folder / 'overrides.yaml'} cannot be read (expected a list of strings); move it away")
    if overrides and overrides[0].startswith("--engine="):
        return shlex.join(["evodiverse-baseline", *overrides]), None
    file = folder / "hydra.yaml"
    try:
        hydra = _read(file, _load)["hydra"]
        sources, given = hydra["runtime"]["config_sources"], hydra["overrides"]["hydra"]
        own = [source["path"] for source in sources if source["provider"] == "command-line"]
        searched = [word for word in given if word.startswith("hydra.searchpath=")]
        words = ["evodiverse", *(word for one in own for word in ("--config-dir", one)), *searched, *overrides]
        return shlex.join(words), str(hydra["runtime"]["cwd"])
    except FileNotFoundError:
        return shlex.join(["evodiverse", *overrides]), None
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} cannot be read (expected what Hydra writes); move it away") from error


def _load(content: bytes) -> Any:
    return yaml.load(content, yaml.BaseLoader)  # noqa: S506 (text, lists and mappings; no merge keys, so aliases stay small)


def _read(file: Path, parse: Callable[[bytes], Parsed]) -> Parsed:
    """Return the parsed content of a small file of a run.

    Raises:
        FileNotFoundError: The file does not exist.
        InputError: The file is damaged; the message names it.
    """
    try:
        return parse(read_file(file, _MOST_BYTES))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"{file} cannot be read ({describe(error)}); move it away") from error


def _describe_record(run: Run, record: Mapping[str, Any]) -> list[tuple[str, Text]]:
    status, stopped_by = record["status"], record.get("stopped_by")
    standing = read_standing(run.path)
    shown = "running or killed" if status == "running" and standing.is_alive is None else standing.state
    stopped = f", stopped by {stopped_by}" if stopped_by else ""
    changed = [f"{key}={write_setting(value)}" for key, value in (run.overrides or {}).items()] or ["nothing"]
    if run.overrides is None:
        changed = ["unknown: written by an older version"]
    versions = [", ".join(f"{name} {version}" for name, version in each.items()) for each in record.get("versions", [])]
    command, folder = read_command(run.path) or ("unknown: no .hydra folder", None)
    seconds = ", ".join(f"{name} {_quantity(value)} s" for name, value in run.seconds.items())
    if status == "running":
        seconds = f"{seconds} (before it was resumed)" if seconds else "recorded when it ends"
    commit, dash, dirty = str(record.get("git_commit") or "unknown").partition("-")
    return [
        ("status", _text(f"{shown}{stopped}", style=_STYLES.get(status, "yellow"))),
        *([("error", _text(record["error"]))] if record.get("error") else []),
        ("run", _text(f"task {run.task}, method {run.method}, llm {run.llm}, seed {run.seed}")),
        ("changed", _text(*changed)),
        ("command", _text(command)),
        *([("started in", _text(folder))] if folder else []),
        ("started", _text(record.get("started") or "unknown")),
        ("seconds", _text(seconds or "none recorded")),
        ("versions", _text(*(versions or ["unknown"]))),
        ("git commit", _text(f"{commit[:12] if commit.isalnum() else commit}{dash}{dirty}")),
        ("data", _text(_sources(record.get("sources", {})))),
    ]


def _describe_totals(run: Run, log: Log) -> list[tuple[str, Text]]:
    iterations = log.attempts["iteration"]
    if not iterations:
        return [("iterations", _text("none logged yet"))]
    n_failed = len(find_failed(log.attempts))
    ladder, budget = run.settings["method.ladder"], run.settings["budget.oracle_calls"]
    return [
        ("pools", _text(", ".join(f"{pool} at β = {write_setting(beta)}" for pool, beta in enumerate(ladder)))),
        ("iterations", _text(f"{max(iterations):,}")),
        ("oracle calls", _text(f"{log.n_calls:,} of {_quantity(budget)}, {n_failed:,} failed")),
    ]


def _describe_chosen(path: Path) -> list[tuple[str, Text]]:
    """Return a list with one pair: the label "chosen" and the text of ``best/chosen.txt``.

    The text is about the candidate that the task chooses. The list is empty if the file does not exist.
    """
    try:
        headline = _read(path / BEST / CHOSEN, bytes.decode)
    except FileNotFoundError:
        return []
    return [("chosen", _text(headline.strip()))]


def _sections(run: Run, log: Log) -> list[tuple[str, list[RenderableType]]]:
    attempts = log.attempts
    if not attempts["iteration"]:
        return []
    measured = [name for name, kind in find_columns(run).items() if kind is float]
    sections: list[tuple[str, list[RenderableType]]] = [
        *_draw_highlight(run, attempts, measured),
        ("attempts, including the initial ones", [_draw_attempts(attempts)]),
        ("language model", _draw_requests(rows(log.llm_calls))),
        ("best", _draw_best(attempts, measured)),
        ("exchange", _draw_exchange(run, log)),
        ("errors", [_draw_errors(errors_by_kind(attempts))]),
    ]
    return [(title, drawn) for title, drawn in sections if drawn]


def _draw_attempts(attempts: Columns) -> Table:
    counts = Counter(attempts["outcome"])
    table = _table("outcome", ">attempts", ">share")
    for outcome in Outcome:
        table.add_row(str(outcome), f"{counts[outcome]:,}", f"{counts[outcome] / counts.total():.1%}")
    return table


def _draw_requests(llm_calls: Sequence[Row]) -> list[RenderableType]:
    if not llm_calls:
        return []
    outcomes = ("parsed", "no_answer", "invalid", "error")
    table = _table("pool", ">requests", *(f">{name}" for name in outcomes), ">cached")
    lines: list[RenderableType] = []
    for asked in requests_by_pool(llm_calls):
        used = asked.used
        shares = [f"{asked.outcomes.get(name, 0) / used.calls:.1%}" for name in outcomes]
        table.add_row(str(asked.pool), f"{used.calls:,}", *shares, f"{asked.cached:,}")
        lines.append(_one_line(f"pool {asked.pool}: {used.spent}, {asked.model}"))
    return [table, *lines]


def _draw_highlight(run: Run, attempts: Columns, measured: Sequence[str]) -> list[tuple[str, list[RenderableType]]]:
    """Return the title and the content of a section about the candidates that the domain names, if it names any."""
    ranked = best_candidates(attempts, MOST_RANKED)
    highlight = find_highlight(run, ranked)
    if highlight is None:
        return []
    by_call = {row["call"]: row for row in ranked}
    drawn: list[RenderableType] = [_text(highlight.note)] if highlight.note else []
    if highlight.calls:
        drawn.append(_list_candidates([by_call[call] for call in highlight.calls], measured))
    if highlight.lines:
        front = _table(*highlight.names)
        for line in highlight.lines:
            front.add_row(*(_one_line(_write_cell(cell)) for cell in line))
        drawn += [_text(f"{highlight.caption}:"), front]
    return [(highlight.title.lower(), drawn)]


def _draw_best(attempts: Columns, measured: Sequence[str]) -> list[RenderableType]:
    best = best_candidates(attempts)
    if not best:
        return ["no candidate has a score yet"]
    curve = best_so_far(attempts)
    table = _list_candidates(best, measured)
    return [f"so far {curve[0]:.4g} → {curve[-1]:.4g}  {sparkline(thin(curve, N_BARS))}", table]


def _list_candidates(candidates: Sequence[Row], measured: Sequence[str]) -> Table:
    """Return a table of candidates, with the columns ``measured`` of the domain."""
    table = _table("score", *(f">{printable(name)}" for name in measured), ">iteration", ">pool", "genotype")
    for row, genotype in zip(candidates, tell_apart([row["genotype"] for row in candidates]), strict=True):
        own = ["–" if row[name] is None else f"{row[name]:.6g}" for name in measured]
        pool = "all" if row["pool"] is None else str(row["pool"])
        table.add_row(f"{row['score']:.6g}", *own, str(row["iteration"]), pool, _one_line(_abridge(genotype)))
    return table


def _abridge(genotype: str) -> str:
    """Shorten the genotype of a candidate if it is a function whose body is a single line with a ``return`` statement.

    The result is then this line. Any other genotype is returned unchanged.
    """
    lines = [line for line in genotype.splitlines() if line.strip()]
    return lines[1] if len(lines) == 2 and lines[1].strip().startswith("return ") else genotype


def _draw_exchange(run: Run, log: Log) -> list[RenderableType]:
    drawn: list[RenderableType] = []
    if swaps := rows(log.swaps):
        table = _table("rungs", ">events", ">tried", ">accepted", ">rate", ">blocked")
        for rungs in swaps_by_rungs(swaps):
            rate = f"{rungs.accepted / rungs.tried:.3f}" if rungs.tried else "-"
            counts = map(str, (rungs.events, rungs.tried, rungs.accepted, rate, rungs.blocked))
            table.add_row(f"{rungs.cold_pool} ⇄ {rungs.hot_pool}", *counts)
        drawn.append(table)
    if curve := xi_curve(log):
        drawn.append(f"ξ {curve[0]:.4g} → {curve[-1]:.4g}  {sparkline(thin(curve, N_BARS))}")
    if n_copies := len(log.migrations["iteration"]):
        copies = Counter(zip(log.migrations["from_pool"], log.migrations["to_pool"], strict=True))
        events = len(set(log.migrations["iteration"]))
        each = ", ".join(f"{source} → {target}: {count:,}" for (source, target), count in sorted(copies.items()))
        drawn.append(f"{count_of(n_copies, 'migration')} in {count_of(events, 'event')} ({each})")
    rule = run.settings.get("method.swap.rule")
    return drawn or [_text(f"none{'' if rule == 'none' else ' yet'} (method.swap.rule={rule})")]


def _draw_errors(kinds: Sequence[Kind]) -> RenderableType:
    if not kinds:
        return "none"
    table = _table("reason", ">rejected", ">failed", "for example")
    for kind in kinds:
        detail = (kind.example["error"] or "").partition(":")[2].strip()
        example = " in ".join(text for text in (detail, kind.example["genotype"]) if text)
        table.add_row(_text(kind.reason), f"{kind.rejected:,}", f"{kind.failed:,}", _one_line(example))
    return table


def _grid(facts: Sequence[tuple[str, Text]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, value)
    return grid


def _table(*names: str) -> Table:
    """Return a table without rows or borders; a leading ``>`` in a name marks a column of numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left")
    return table


def _one_line(text: str | None) -> Text:
    """Return the first line that is not blank, cut to the width of the table."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    shown = _text(lines[0] + (" …" if len(lines) > 1 else "") if lines else "")
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


def _text(*lines: str, style: str = "") -> Text:
    """Return lines as text that cannot control the terminal."""
    return Text("\n".join(map(printable, lines)), style=style)


def _sources(sources: Mapping[str, str]) -> str:
    """Return a text with the role and the shortened hash of each data file of a run, and the number of code files."""
    n_files = sum(role.startswith(CODE) for role in sources)
    data = [f"{role} {sha256[:12]}…" for role, sha256 in sources.items() if not role.startswith(CODE)]
    return ", ".join([*data, *([f"code ({count_of(n_files, 'file')})"] if n_files else [])]) or "none"


def _write_cell(cell: str | float | None) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return f"{cell:.0f}" if float(cell).is_integer() else f"{cell:.4g}"


def _quantity(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
