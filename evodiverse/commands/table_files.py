"""Write the tables of the paper, and others, from the logs of all runs in a folder, and list them on one page."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from evodiverse.cache_folder import cache_folder
from evodiverse.data.artifacts import artifact_names
from evodiverse.data.cache import present_path
from evodiverse.diversity.encoders import check_installed, codebert_folder
from evodiverse.errors import InputError
from evodiverse.results.measuring import CODEBERT, MINILM, TFIDF, MeasuredRuns, Measurer, measure_runs
from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.cells import Table
from evodiverse.results.tables.marginals import marginal_tables
from evodiverse.results.tables.results import compare_by, read_result
from evodiverse.results.tables.write import to_markdown, write_tables
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.runner.process import say
from evodiverse.runner.workers import available_cores
from evodiverse.text import count_of

OLD = "by a version that did not record their overrides"

# Starting a process takes as long as measuring this many runs.
RUNS_A_PROCESS = 8


def write(
    outputs: Path,
    task: str | None,
    llm: str | None,
    own: Sequence[str] = (),
    by: Sequence[str] | None = None,
    against: str | None = None,
    metrics: Sequence[str] = (),
    *,
    with_empty: bool = False,
) -> int:
    """Write the tables of the runs below a folder into its ``tables/``, and return the exit code.

    Args:
        outputs: The folder of the runs.
        task: Include only runs of this task; None for all.
        llm: Include only runs of this language model; None for all.
        own: The user's own Python packages that define domains, as named with ``--domain``.
        by: One or two settings. Tables with the mean or median metrics for each of their values are then written to
            ``tables/by/`` and printed, instead of the usual tables. None for the usual tables.
        against: A value of the only setting in ``by``, with which the others are compared; None for no comparison.
        metrics: The metrics to show in tables by settings; empty for those of each domain.
        with_empty: Whether to write the tables of the paper that have no filled cell, with the commands that fill them.

    Returns:
        2 if any run is damaged, else 0.

    Raises:
        InputError: The folder does not exist, or has no complete run of the task and the model.
    """
    if not outputs.is_dir():
        raise InputError(f"{outputs} is not a folder; name the folder of your runs")
    survey = survey_runs(outputs)
    known = [run for run in survey.complete if run.overrides is not None]
    wanted = [run for run in known if task in (None, run.task) and llm in (None, read_result(run, {}, own).model)]
    if not wanted and (task or llm):
        chosen = " and ".join(filter(None, [task, llm]))
        raise InputError(f"{outputs} has no complete run of {chosen}; check --task and --llm")
    measured = measure(wanted, own)
    left_out = [(run, str(run.record["status"])) for run in survey.unfinished]
    left_out += [(run, OLD) for run in survey.complete if run.overrides is None]
    left_out += [(run, "repeated later") for run in survey.repeated]
    left_out += [(run, "replayed") for run in survey.replayed]
    left_out += [(run, "damaged") for run, _ in measured.damaged]
    results = [read_result(run, metrics, own) for run, metrics in measured.runs]
    empty: list[Table] = []
    if by is None:
        if against is not None or metrics:
            raise InputError(
                f"--{'metric' if against is None else 'against'} is about the values of a setting; name it with --by"
            )
        tables = build_tables(results, [(read_result(run, {}, own), why) for run, why in left_out], task, llm, own)
        if results and not with_empty:
            empty = [table for table in tables if table.is_of_paper and not table.n_filled]
        tables = [table for table in tables if table not in empty]
    else:
        tables = marginal_tables(compare_by(results, metrics), by, against)
        for table in tables:
            say(to_markdown(table))
    errors = [*survey.damaged, *(error for _, error in measured.damaged)]
    counts = Counter(why for _, why in left_out)
    counts["damaged"] += len(survey.damaged)
    missing = ", ".join(_count_left_out(why, count) for why, count in sorted(counts.items()) if count)
    complete = f"{count_of(len(measured.runs), 'complete run')}{f' ({missing} left out)' if missing else ''}"
    facts = [
        f"{complete}.",
        (
            "Mean ± sample standard deviation over seeds (number of runs), unless a note says otherwise; "
            "— for no runs yet, or nothing to measure."
        ),
    ]
    if empty:
        facts.append(f"Left out, since no run fills them: {', '.join(table.name for table in empty)} (--all).")
    folder = outputs / "tables"
    page = write_tables(folder if by is None else folder / "by", tables, facts)
    sys.stderr.write("".join(f"tables: {error}\n" for error in errors))
    n_filled, n_cells = (sum(getattr(table, name) for table in tables) for name in ("n_filled", "n_cells"))
    say(f"{count_of(len(tables), 'table')} from {complete}; {n_filled:,} of {n_cells:,} cells filled: {page}")
    if empty:
        say(f"{count_of(len(empty), 'table')} of the paper left out, since no run fills them; --all writes them, too")
    return 2 if errors else 0


def _count_left_out(why: str, count: int) -> str:
    """Return how many runs are left out and why, such as "2 damaged runs" or "1 run repeated later"."""
    return f"{count_of(count, 'run')} {why}" if " " in why else count_of(count, f"{why} run")


def measure(runs: list[Run], own: Sequence[str]) -> MeasuredRuns:
    """Compute the metrics of runs, and show the progress on a terminal.

    Runs of a domain that the user wrote get metrics only if ``own`` names the package of the domain.
    """
    measurer = Measurer(cache_folder() / "analysis", find_encoders(), tuple(own))
    n_processes = min(available_cores(), 1 + len(runs) // RUNS_A_PROCESS)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("measuring runs", total=len(runs))
        return measure_runs(runs, measurer, n_processes, lambda n: progress.update(bar, completed=n))


def find_encoders() -> dict[str, Path | None]:
    """Return the encoders, which turn programs into vectors to measure diversity: the model folder of each, by name.

    They are TF-IDF, which has no model, and CodeBERT or else MiniLM, if one of the two is available.
    """
    encoders: dict[str, Path | None] = {TFIDF: None}
    try:
        check_installed()
    except InputError:
        return encoders
    try:
        return {**encoders, CODEBERT: codebert_folder(offline=True)}
    except InputError:
        pass
    try:
        files = [present_path(name) for name in artifact_names("minilm")]
    except InputError:
        return encoders
    return {**encoders, MINILM: files[0].parent}
