"""Write the tables of the paper, and others, from the logs of all runs in a folder, and list them on one page."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.progress import Progress

from evodiverse.data.artifacts import artifact_names
from evodiverse.data.cache import present_path
from evodiverse.diversity.encoders import check_installed, codebert_folder
from evodiverse.errors import InputError
from evodiverse.kit.environment import cache_folder
from evodiverse.results.measuring import CODEBERT, MINILM, TFIDF, MeasuredRuns, Measurer, measure_runs
from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.cells import Table
from evodiverse.results.tables.marginals import marginal_tables
from evodiverse.results.tables.results import Result, compare_by, read_result
from evodiverse.results.tables.write import to_markdown, write_tables
from evodiverse.runlog.runs import Run, survey_runs
from evodiverse.runner.process import complain, say
from evodiverse.runner.workers import available_cores
from evodiverse.text import count_of

_DAMAGED: Final = "damaged"
# Starting a process takes as long as measuring this many runs.
RUNS_A_PROCESS = 8


def write(
    outputs: Path,
    task: str | None = None,
    llm: str | None = None,
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
        InputError: The folder does not exist, or has no complete run of the task and the model, or none for ``by``.
    """
    if not outputs.is_dir():
        raise InputError(f"{outputs} is not a folder; name the folder of your runs")
    task, llm = task or None, llm or None
    found = read_runs(
        [outputs], own, lambda run: task in (None, run.task) and llm in (None, read_result(run, {}, own).model)
    )
    results = found.results
    if (task or llm) and not (results or found.errors):
        chosen = " and ".join(filter(None, [task, llm]))
        raise InputError(f"{outputs} has no complete run of {chosen}; check --task and --llm")
    empty: list[Table] = []
    if by is None:
        if against is not None or metrics:
            raise InputError(
                f"--{'metric' if against is None else 'against'} is about the values of a setting; name it with --by"
            )
        left_out = [(read_result(run, {}, own), why) for run, why in found.left_out]
        tables = build_tables(results, left_out, task, llm, own)
        if results and not with_empty:
            empty = [table for table in tables if table.is_of_paper and not table.n_filled]
        tables = [table for table in tables if table not in empty]
    elif not results:
        raise InputError(*map(str, found.errors), f"--by needs a complete run, and {outputs} has {found.words}")
    else:
        tables = marginal_tables(compare_by(results, metrics), by, against)
        for table in tables:
            say(to_markdown(table))
    facts = [
        f"{found.words}.",
        (
            "Mean ± sample standard deviation over seeds (number of runs), unless a note says otherwise; "
            "— for no runs yet, or nothing to measure."
        ),
    ]
    if empty:
        facts.append(f"Left out, since no run fills them: {', '.join(table.name for table in empty)} (--all).")
    page = write_tables(outputs / ("tables" if by is None else "tables/by"), tables, facts)
    for error in found.errors:
        complain(str(error))
    n_filled, n_cells = (sum(getattr(table, name) for table in tables) for name in ("n_filled", "n_cells"))
    say(f"{count_of(len(tables), 'table')} from {found.words}; {n_filled:,} of {n_cells:,} cells filled: {page}")
    if empty:
        say(f"{count_of(len(empty), 'table')} of the paper left out, since no run fills them; --all writes them, too")
    return 2 if found.errors else 0


class FoundRuns(NamedTuple):
    """The runs below some folders.

    Attributes:
        results: The complete runs with their metrics, each an observation of its own.
        left_out: All other runs with a readable record, with the reasons why they do not count.
        errors: What is wrong with each damaged run.
        words: The numbers of runs that count and of those that do not.
    """

    results: list[Result]
    left_out: list[tuple[Run, str]]
    errors: list[InputError]
    words: str


def read_runs(
    folders: Sequence[Path], own: Sequence[str], is_wanted: Callable[[Run], bool] = lambda _: True
) -> FoundRuns:
    """Find all runs below some folders, and compute the metrics of those that are complete and wanted."""
    survey = survey_runs(*folders)
    measured = measure([run for run in survey.complete if run.overrides is not None and is_wanted(run)], own)
    left_out = [(run, str(run.record["status"])) for run in survey.unfinished]
    others = {
        "by a version that did not record their overrides": [run for run in survey.complete if run.overrides is None],
        "repeated later": survey.repeated,
        "replayed": survey.replayed,
        _DAMAGED: [run for run, _ in measured.damaged],
    }
    left_out += [(run, why) for why, some in others.items() for run in some]
    counts = Counter([*(why for _, why in left_out), *[_DAMAGED] * len(survey.damaged)])
    missing = ", ".join(
        count_of(n, "run") + f" {why}" if " " in why else count_of(n, f"{why} run") for why, n in sorted(counts.items())
    )
    words = f"{count_of(len(measured.runs), 'complete run')}{f' ({missing} left out)' if missing else ''}"
    errors = [*survey.damaged, *(error for _, error in measured.damaged)]
    return FoundRuns([read_result(run, metrics, own) for run, metrics in measured.runs], left_out, errors, words)


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
    with suppress(InputError):
        check_installed()
        try:
            encoders[CODEBERT] = codebert_folder(offline=True)
        except InputError:
            encoders[MINILM], *_ = [present_path(name).parent for name in artifact_names("minilm")]
    return encoders
