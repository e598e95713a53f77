"""Print runs, and comparisons between runs, to a terminal."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import yaml
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evodiverse.errors import InputError, describe
from evodiverse.kit.files import read_file
from evodiverse.ports import Annotated
from evodiverse.results import summary
from evodiverse.results.domains import MOST_RANKED, find_columns, find_highlight, find_view
from evodiverse.results.grouping import thin
from evodiverse.results.metrics import find_own_columns
from evodiverse.results.metrics.features import tell_features
from evodiverse.results.metrics.pareto import find_objective_columns
from evodiverse.runlog.earlier import KEPT, Earlier, read_kept
from evodiverse.runlog.log import Log, Row, read_log_so_far, row_at, select
from evodiverse.runlog.record import BEST, CHOSEN, CODE
from evodiverse.runlog.runs import Run, read_record, write_setting
from evodiverse.runlog.standing import read_standing
from evodiverse.text import count_of, printable, sparkline
from evodiverse.vocabulary import Outcome

Parsed = TypeVar("Parsed")
Line = Sequence[Text | str | float | None]
Section = tuple[str, Sequence[RenderableType]]
_MOST_LINES, _MOST_CHARACTERS = 40, 1_000
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
    facts, sections = _describe(log), _sections(log)
    console.print(_text(str(path), style="bold"), soft_wrap=True)
    console.print(_grid(facts, log.run.record["status"]))
    for title, drawn in sections:
        console.print("", Text(title, style="bold"), *drawn, sep="\n")


def read_whole_log(path: Path, *, with_domain: bool = False) -> Log:
    """Return the log that a run of any status has written so far, after checking that it has every oracle call.

    Args:
        path: The run directory, with a ``run.json``.
        with_domain: Whether to read the columns that the domain shows, too.

    Raises:
        InputError: A file is damaged, or oracle calls are missing from ``evaluations``; the message says where.
    """
    run = Run(path, read_record(path / "run.json"))
    own = {**find_own_columns(run), **find_columns(run)} if with_domain else {}
    log = read_log_so_far(run, {"genotype": str, "error": str, **own})
    n_expected = max(log.last_call - log.n_free, run.record.get("totals", {}).get("oracle_calls") or 0)
    if log.n_calls != n_expected:
        held = f"{path / 'evaluations'} holds {log.n_calls:,} of {count_of(n_expected, 'call')}"
        raise InputError(f"{held}, so a part is missing; run it again with overwrite=true")
    return log


def print_comparison(logs: Sequence[Log], console: Console) -> None:
    """Print a table with one row per run, best first, and a column for each setting in which the runs differ.

    Args:
        logs: The logs that the runs have written so far, at least one.
        console: The console, with markup and emoji disabled.
    """
    compared = summary.compare([log.run for log in logs], [log.best_score for log in logs])
    known = {log.run.path: (log.n_calls, read_standing(log.run.path)) for log in logs}
    any_running = any(standing.state == "running" for _, standing in known.values())
    lines: list[Line] = []
    for one in compared:
        n_calls, standing = known[one.run.path]
        left = "" if standing.seconds_left is None else str(timedelta(seconds=round(standing.seconds_left)))
        status = _text(standing.state, style=_STYLES.get(standing.state, "yellow"))
        best = "–" if one.best is None else f"{one.best:.6g}"
        settings = [*map(_text, one.differing.values())]
        lines.append((best, n_calls, *settings, status, *[left][:any_running], _text(str(one.run.path))))
    names = (">best", ">calls", *compared[0].differing, "status", *[">left"][:any_running], "run")
    console.print(_table(names, lines))
    for path, (_, standing) in known.items():
        if standing.error is not None:
            console.print(_text(f"{path} {standing.state}: {standing.error}"), soft_wrap=True)


def read_command(path: Path) -> tuple[str | None, str | None]:
    """Return the command that repeats a run, and the folder that the run was started from, which paths are relative to.

    The command is None if the run directory does not have the overrides that the user wrote. The folder is None if it
    is unknown.

    Raises:
        InputError: A file about how the run was started is damaged; the message names it.
    """
    folder = path / ".hydra"
    overrides = _read(folder / "overrides.yaml", _load)
    if overrides is None:
        return None, None
    if not (isinstance(overrides, list) and all(isinstance(override, str) for override in overrides)):
        raise InputError(f"{folder / 'overrides.yaml'} cannot be read (expected a list of strings); move it away")
    if overrides and overrides[0].startswith("--engine="):
        return shlex.join(["evodiverse-baseline", *overrides]), None
    file = folder / "hydra.yaml"
    hydra = _read(file, _load)
    if hydra is None:
        return shlex.join(["evodiverse", *overrides]), None
    try:
        sources, given = hydra["hydra"]["runtime"]["config_sources"], hydra["hydra"]["overrides"]["hydra"]
        own = [source["path"] for source in sources if source["provider"] == "command-line"]
        searched = [word for word in given if word.startswith("hydra.searchpath=")]
        words = ["evodiverse", *(word for one in own for word in ("--config-dir", one)), *searched, *overrides]
        return shlex.join(words), str(hydra["hydra"]["runtime"]["cwd"])
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} cannot be read (expected what Hydra writes); move it away") from error


def _load(content: bytes) -> Any:
    loaded = yaml.load(content, yaml.BaseLoader)  # noqa: S506 (text, lists, mappings; no merge keys, so aliases stay small)
    return "" if loaded is None else loaded


def _read(file: Path, parse: Callable[[bytes], Parsed]) -> Parsed | None:
    """Return the parsed content of a small file of a run; None if there is no such file.

    Raises:
        InputError: The file is damaged; the message names it.
    """
    try:
        return parse(read_file(file, 1 << 16))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"{file} cannot be read ({describe(error)}); move it away") from error


def _describe(log: Log) -> dict[str, str | None]:
    """Return facts about a run by name; None for those that do not apply to it."""
    run, record = log.run, log.run.record
    status, standing = record["status"], read_standing(run.path)
    state = "running or killed" if status == "running" and standing.is_alive is None else standing.state
    changed = [f"{key}={write_setting(value)}" for key, value in (run.overrides or {}).items()] or ["nothing"]
    versions = [", ".join(f"{name} {version}" for name, version in each.items()) for each in record.get("versions", [])]
    command, folder = read_command(run.path)
    seconds = ", ".join(f"{name} {value:,.1f} s" for name, value in run.seconds.items())
    if status == "running":
        seconds = f"{seconds} (before it was resumed)" if seconds else "recorded when it ends"
    commit, dash, dirty = str(record.get("git_commit") or "unknown").partition("-")
    facts = {
        "status": state + (f", stopped by {record['stopped_by']}" if record.get("stopped_by") else ""),
        "error": record.get("error"),
        "run": f"task {run.task}, method {run.method}, llm {run.llm}, seed {run.seed}",
        "changed": "unknown: written by an older version" if run.overrides is None else "\n".join(changed),
        "command": command or "unknown: no .hydra folder",
        "started in": folder,
        "started": record.get("started") or "unknown",
        "seconds": seconds or "none recorded",
        "versions": "\n".join(versions) or "unknown",
        "git commit": f"{commit[:12] if commit.isalnum() else commit}{dash}{dirty}",
        "started from": tell_start(read_kept(run.path / KEPT)),
        "data": _sources(record.get("sources", {})),
        "pools": None,
        "iterations": "none logged yet",
    }
    if iterations := log.attempts["iteration"]:
        ladder, budget = run.settings["method.ladder"], run.settings["budget.oracle_calls"]
        n_failed = len(summary.find_failed(log.attempts))
        facts["pools"] = ", ".join(f"{pool} at β = {write_setting(beta)}" for pool, beta in enumerate(ladder))
        facts["iterations"] = f"{max(iterations):,}"
        facts["oracle calls"] = f"{log.n_calls:,} of {budget:,}, {n_failed:,} failed"
        facts["features"] = tell_features(log)
    return {**facts, "chosen": (_read(run.path / BEST / CHOSEN, bytes.decode) or "").strip()}


def tell_start(earlier: Earlier | None) -> str | None:
    """Return the earlier run that a run started from, with the calls of its candidates; None without one."""
    return None if earlier is None else f"{earlier.run}: calls {', '.join(map(str, earlier.calls))}"


def _sections(log: Log) -> list[Section]:
    attempts = log.attempts
    if not attempts["iteration"]:
        return []
    shown = find_objective_columns(log.run) or find_columns(log.run)
    measured = [name for name, kind in shown.items() if kind is float]
    counts, view = Counter(attempts["outcome"]), find_view(log.run)
    shares = [(str(outcome), counts[outcome], f"{counts[outcome] / counts.total():.1%}") for outcome in Outcome]
    best = summary.best_candidates(attempts)
    found: list[RenderableType] = ["no candidate has a score yet"]
    if best:
        found = [f"so far {_trace(summary.best_so_far(attempts))}", _list_candidates(best, measured)]
    failed = [row_at(attempts, at) for at in summary.find_failed(attempts)[-1:]]
    sheet = view.tabulate([row_at(attempts, at) for at in log.charged]) if isinstance(view, Annotated) else None
    errors, requests = summary.errors_by_reason(attempts), summary.requests_by_pool(log.llm_calls)
    sections: list[Section] = [
        *_draw_highlight(log, measured),
        ("attempts, including the initial ones", [_table(("outcome", ">attempts", ">share"), shares)]),
        ("language model", _draw_requests(requests) if requests else []),
        ("best", [*found, *_draw_notes(view, best[:1])]),
        *([(sheet.title, [_table(sheet.names, sheet.lines)])] if sheet else []),
        ("exchange", _draw_exchange(log)),
        ("errors", [_table(errors.names, errors.lines) if errors.lines else "none", *_draw_notes(view, failed)]),
    ]
    return [(title, drawn) for title, drawn in sections if drawn]


def _draw_requests(requests: Sequence[summary.Requests]) -> list[RenderableType]:
    outcomes = ("parsed", "no_answer", "invalid", "error")
    shares = [[f"{asked.outcomes.get(name, 0) / asked.used.calls:.1%}" for name in outcomes] for asked in requests]
    pairs = zip(requests, shares, strict=True)
    lines: list[Line] = [(str(asked.pool), asked.used.calls, *share, asked.cached) for asked, share in pairs]
    table = _table(("pool", ">requests", *(f">{name}" for name in outcomes), ">cached"), lines)
    return [table, *(_one_line(f"pool {asked.pool}: {asked.used.spent}, {asked.model}") for asked in requests)]


def _draw_highlight(log: Log, measured: Sequence[str]) -> list[Section]:
    """Return the title and the content of a section about the candidates to show first, if there are any."""
    highlight = find_highlight(log, summary.best_candidates(log.attempts, MOST_RANKED))
    if highlight is None:
        return []
    drawn: list[RenderableType] = [_text(highlight.note)] if highlight.note else []
    if highlight.calls:
        rows = [row_at(log.attempts, log.numbered[call - 1]) for call in highlight.calls]
        drawn.append(_list_candidates(rows, measured))
    if highlight.lines:
        drawn += [_text(f"{highlight.caption}:"), _table(highlight.names, highlight.lines)]
    return [(highlight.title.lower(), drawn)]


def _draw_notes(view: object, candidates: Sequence[Row]) -> list[RenderableType]:
    """Return what the domain tells about candidates besides numbers: each text under a title, indented."""
    drawn: list[RenderableType] = []
    for row in candidates:
        for title, text in (view.annotate(row) if isinstance(view, Annotated) else {}).items():
            drawn.append(_text(f"{title} of call {row['call']}:"))
            drawn += [Padding(_text(line[:_MOST_CHARACTERS]), (0, 0, 0, 2)) for line in text.splitlines()[:_MOST_LINES]]
    return drawn


def _trace(curve: Sequence[float]) -> str:
    return f"{curve[0]:.4g} → {curve[-1]:.4g}  {sparkline(thin(curve, 32))}"


def _list_candidates(candidates: Sequence[Row], measured: Sequence[str]) -> Table:
    """Return a table of candidates, with the columns ``measured`` of the domain."""
    names = ("score", *(f">{name}" for name in measured), ">iteration", ">pool", "genotype")
    genotypes = summary.tell_apart([row["genotype"] for row in candidates])
    numbers = [
        ["–" if row[name] is None else f"{row[name]:.6g}" for name in ("score", *measured)] for row in candidates
    ]
    places = [(str(row["iteration"]), "all" if row["pool"] is None else str(row["pool"])) for row in candidates]
    lines = zip(numbers, places, map(_abridge, genotypes), strict=True)
    return _table(names, [(*values, *place, genotype) for values, place, genotype in lines])


def _abridge(genotype: str) -> str:
    """Shorten the genotype of a candidate if it is a function whose body is a single line with a ``return`` statement.

    The result is then this line. Any other genotype is returned unchanged.
    """
    lines = [line for line in genotype.splitlines() if line.strip()]
    return lines[1] if len(lines) == 2 and lines[1].strip().startswith("return ") else genotype


def _draw_exchange(log: Log) -> list[RenderableType]:
    swaps, directions = summary.swaps_by_pools(log.swaps), ("from_pool", "to_pool")
    lines = [(*counts, "–" if rate is None else f"{rate:.3f}", blocked) for *counts, rate, blocked in swaps.lines]
    drawn: list[RenderableType] = [_table(swaps.names, lines)] if lines else []
    if curve := summary.xi_curve(log):
        drawn.append(f"ξ {_trace(curve)}")
    if copies := Counter(select(log.migrations, *directions)):
        events = len(set(log.migrations["iteration"]))
        each = ", ".join(f"{source} → {target}: {count:,}" for (source, target), count in sorted(copies.items()))
        drawn.append(f"{count_of(copies.total(), 'migration')} in {count_of(events, 'event')} ({each})")
    rule = log.run.settings.get("method.swap.rule")
    return drawn or [_text(f"none{'' if rule == 'none' else ' yet'} (method.swap.rule={rule})")]


def _grid(facts: Mapping[str, str | None], status: str) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        if value:
            style = _STYLES.get(status, "yellow") if name == "status" else ""
            grid.add_row(name, _text(*value.split("\n"), style=style))
    return grid


def _table(names: Sequence[str], lines: Sequence[Line]) -> Table:
    """Return a table without borders; a leading ``>`` in a name marks a column of numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(printable(name.lstrip(">")), justify="right" if name.startswith(">") else "left")
    for line in lines:
        table.add_row(*(cell if isinstance(cell, Text) else _one_line(_write_cell(cell)) for cell in line))
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
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.0f}" if cell.is_integer() else f"{cell:.4g}"
