"""Docking of the best molecules of runs. The results are written to the dataset ``docking/`` of each run.

The best molecules are the diversity-aware top 10 of each of the last five iterations: up to ten molecules with high
scores that are not too similar to each other.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

from evodiverse.data.cache import artifact_folder
from evodiverse.docking import PUBLISHED, vina
from evodiverse.docking.dataset import describe_docking, find_done, write_docking
from evodiverse.docking.docked import Docked, Job, Program, Settings, dock_each, find_docked, keep_docked
from evodiverse.docking.target import Box, Target, read_target, read_targets, read_vina_box
from evodiverse.errors import DataError, InputError
from evodiverse.kit.environment import cache_folder
from evodiverse.kit.inputs import expanded
from evodiverse.runlog.log import read_log
from evodiverse.runlog.runs import DOCKING, Run, find_records, read_record
from evodiverse.runner.process import complain, say
from evodiverse.runner.workers import available_cores
from evodiverse.tasks.molecules.metrics import naming_damage, select_last_tops
from evodiverse.text import count_of

_MOLECULES: Final = "evodiverse.tasks.molecules"


class Order(NamedTuple):
    """The options of the command line."""

    runs: Sequence[Path]
    receptor: str | None
    box: str | None
    targets: Path | None
    exhaustiveness: int = 8
    jobs: int | None = None
    overwrite: bool = False


@dataclass(frozen=True)
class Batch:
    """What to dock for one run.

    Attributes:
        run: The run, which is complete.
        record: The record of the docking, as written to ``docking.json``.
        tops: The keys of the top molecules of each of the last iterations, in the order of the iterations.
        jobs: The docking job of each molecule, by its key; the jobs of the last iteration come first.
    """

    run: Run
    record: Mapping[str, Any]
    tops: Sequence[Sequence[str]]
    jobs: Mapping[str, Job]


def dock_all(order: Order, program: Program = vina) -> int:
    """Dock the molecules of all runs, and return the exit code, which is 2 if any run cannot be docked.

    Args:
        order: The options of the command line.
        program: The docking program.

    Raises:
        InputError: The extra ``docking`` is not installed, a receptor or a box cannot be used, none of the runs can be
            docked, or one receptor file is given for several tasks.
        ServiceError: The disk is full or not available.
    """
    program.check_installed()
    choose = _read_order(order)
    settings = Settings(order.exhaustiveness, program.find_versions())
    runs, refused = _find_runs(order.runs)
    tasks = sorted({run.task for run in runs})
    if len(tasks) > 1 and order.receptor not in (None, PUBLISHED):
        raise InputError(f"the tasks {', '.join(tasks)} have different targets; list the targets with --targets")
    batches = []
    for run in runs:
        try:
            batch = _plan(run, choose(run), settings)
            known = find_done(run, batch.record, overwrite=order.overwrite)
        except DataError:
            raise
        except InputError as error:
            refused += error.violations
            continue
        if known.keys() >= batch.jobs.keys():
            say(f"{run.path} has already been docked")
            _print_means(batch, known)
        else:
            batches.append(batch)
    for refusal in refused:
        complain(refusal)
    _dock_batches(batches, cache_folder() / DOCKING, program, order.jobs or available_cores())
    return InputError.exit_code if refused else 0


def _read_order(order: Order) -> Callable[[Run], Target]:
    """Return the function that `dock_all` calls with each run to get its target: a receptor with a box.

    Raises:
        InputError: A receptor or a box cannot be used.
    """
    if order.targets is not None:
        if order.box is not None:
            raise InputError("--box needs --receptor; with --targets, put the box of each task into the file")
        targets = read_targets(expanded(order.targets))

        def choose(run: Run) -> Target:
            if run.task not in targets:
                raise InputError(
                    f"{run.path} is a run of {run.task}, but {order.targets} has no target for {run.task}; add one"
                )
            return targets[run.task]

        return choose
    if order.receptor == PUBLISHED:
        folder = artifact_folder(PUBLISHED)
        box = read_vina_box(folder / "box.txt") if order.box is None else _read_box(order.box)
        published = read_target(PUBLISHED, folder / "receptor.pdbqt", box)
        return lambda run: published  # noqa: ARG005
    if order.box is None:
        raise InputError(
            "--receptor needs --box X,Y,Z,SX,SY,SZ, the center and sides of the box in Å, or a Vina configuration file"
        )
    receptor, box = expanded(str(order.receptor)), _read_box(order.box)
    read_target("", receptor, box)
    return lambda run: read_target(run.task, receptor, box)


def _read_box(text: str) -> Box:
    """Return the box from six numbers, or else from a Vina configuration file."""
    if "," not in text:
        return read_vina_box(expanded(text))
    try:
        return Box.of([float(number) for number in text.split(",")])
    except ValueError as error:
        raise InputError(f"--box {text}: {error}") from error


def _find_runs(given: Sequence[Path]) -> tuple[list[Run], list[str]]:
    """Return the complete molecule runs at or below the given paths, and what is wrong with those that are not.

    Raises:
        InputError: No run can be docked.
    """
    runs: dict[Path, Run] = {}
    refused: list[str] = []
    for folder in given:
        records = find_records(folder)
        if not records:
            refused.append(f"{folder} is not a run, and contains none; check the path")
        for path in records:
            try:
                run = Run(path.parent, read_record(path))
            except InputError as error:
                refused += error.violations
                continue
            if run.domain == _MOLECULES and run.record["status"] == "complete":
                runs[run.path.resolve()] = run
            elif run.domain == _MOLECULES:
                refused.append(f"{run.path} is {run.record['status']}; only complete runs can be docked")
            elif run.path == folder:
                refused.append(f"{folder} is a run of {run.task}, which has no molecules to dock")
    if not runs:
        raise InputError(*refused or ["found no molecule runs to dock; name a run or a folder of runs"])
    return list(runs.values()), refused


def _plan(run: Run, target: Target, settings: Settings) -> Batch:
    """Return what to dock for one run.

    Raises:
        InputError: The log of the run is damaged.
    """
    with naming_damage(str(run.path)):
        tops = select_last_tops(read_log(run))
    keys = dict.fromkeys(key for top in reversed(tops) for key in top)
    return Batch(run, describe_docking(target, settings), tops, {key: Job(key, target, settings) for key in keys})


def _dock_batches(batches: Sequence[Batch], cache: Path, program: Program, n_jobs: int) -> None:
    """Dock each molecule once, and write the dataset of each run as soon as its molecules are done."""
    jobs = {job.digest: job for batch in batches for job in batch.jobs.values()}
    results = {digest: kept for digest, job in jobs.items() if (kept := find_docked(cache, job)) is not None}
    todo = [job for digest, job in jobs.items() if digest not in results]
    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("docking", total=len(jobs), completed=len(results))
        waiting = _write_ready(batches, results)
        with closing(dock_each(todo, program.dock, n_jobs)) as docking:
            for job, docked in docking:
                keep_docked(cache, job, docked)
                results[job.digest] = docked
                bar.update(shown, completed=len(results))
                waiting = _write_ready(waiting, results)


def _write_ready(waiting: Sequence[Batch], results: Mapping[str, Docked]) -> list[Batch]:
    """Write the datasets of the runs whose molecules are all done, and return the others."""
    ready = [batch for batch in waiting if all(job.digest in results for job in batch.jobs.values())]
    for batch in ready:
        found = {key: results[job.digest] for key, job in batch.jobs.items()}
        write_docking(batch.run, batch.record, found)
        _print_scores(batch, found)
    return [batch for batch in waiting if batch not in ready]


def _print_scores(batch: Batch, found: Mapping[str, Docked]) -> None:
    scores = {key: docked.score for key, docked in found.items() if docked.score is not None}
    receptor = batch.record["receptor"]
    say(f"docked {len(scores)} of {count_of(len(found), 'molecule')} of {batch.run.path} into {receptor}")
    for key, docked in found.items():
        if docked.error:
            say(f"  failed: {key}: {docked.error}")
    _print_means(batch, scores)
    say(f"{batch.run.path / DOCKING}")


def _print_means(batch: Batch, scores: Mapping[str, float]) -> None:
    """Print the mean docking scores of the top molecules, and each score of the last iteration.

    One mean is of the last iteration. The other is over the last five iterations, each with the same weight.
    """
    tops = [{key: scores[key] for key in top if key in scores} for top in batch.tops]
    means = [fmean(top.values()) for top in tops if top]
    last = f"{means[-1]:.2f}" if tops[-1] else "—"
    each = f"{fmean(means):.2f}" if means else "—"
    say(f"  mean score in kcal/mol: last iteration {last}, last {count_of(len(tops), 'iteration')} {each}")
    for key, score in tops[-1].items():
        say(f"  {score:7.2f}  {key}")
