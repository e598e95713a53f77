"""Sweeps: check all runs, launch those that are not complete, and print a summary.

A sweeper that chooses its runs, such as Optuna's, launches them itself. For such a sweep, only failed runs are listed.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.hydra import Hydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.commands.run import RunFailed, is_basic
from evodiverse.errors import EvoDiverseError, ServiceError, describe
from evodiverse.runlog.standing import Standing, read_standing
from evodiverse.runner.overview import Listed, Overview, choose_sheet
from evodiverse.runner.process import complain, say
from evodiverse.settings.command_line import parse_arguments
from evodiverse.settings.compose import CONFIG_NAME, hydra_session
from evodiverse.settings.sweep import Composer, SweptRun, expand, name_runs, parse_override, plan_sweep
from evodiverse.text import count_of

_MOST_ROWS: Final = 100
Job = Callable[[DictConfig], Any]


def run_sweep(arguments: Sequence[str], job: Job) -> int:
    """Run a sweep, and print a summary.

    Args:
        arguments: The arguments of the command.
        job: A function that runs one configuration, in this process or in another, and raises `RunFailed` if the run
            fails.

    Returns:
        The exit code: 1 if a run failed, and otherwise 0.

    Raises:
        InputError: Some runs of a sweep over lists of values are invalid; the message lists all problems of all runs.
            No run has started.
        HydraException: The configuration of a run cannot be composed.
    """
    parsed = parse_arguments(arguments)
    with hydra_session(parsed.config_dir) as hydra:
        given = [*parsed.overrides, *([] if "hydra.mode=MULTIRUN" in parsed.overrides else ["hydra.mode=MULTIRUN"])]
        master = hydra.compose_config(CONFIG_NAME, _without_sweeps(given), RunMode.MULTIRUN)
        if not is_basic(master.hydra):
            return _run_adaptive(hydra, given, job)
        params = [f"{key}={value}" for key, value in (master.hydra.sweeper.params or {}).items()]
        overrides = [parse_override(text) for text in (*params, *parsed.overrides)]
        own = [override for override in overrides if not override.is_hydra_override()]
        varied = [override.get_key_element() for override in own if override.is_sweep_override()]
        runs = name_runs(expand(own), varied)
        composer = Composer(hydra.config_loader, master)
        planned = plan_sweep(runs, varied, composer)
        todo = [run for run in planned if not run.is_complete]
        failed = _launch_missing(composer, master, job, planned, todo)
    if any(run.plan.config.dry_run for run in todo):
        return _complain_of(planned, failed, "would fail")
    return _sum_up(planned, failed)


def _run_adaptive(hydra: Hydra, overrides: Sequence[str], job: Job) -> int:
    """Run a sweep whose sweeper chooses the runs, list the failed ones, and return the exit code.

    Failed runs never end the sweep, unless ``hydra.sweeper.max_failure_rate`` of Optuna's plugin is set. Its default is
    0, so a 0 counts only if the command line sets it.
    """
    logging.getLogger("hydra_plugins").setLevel(logging.CRITICAL)  # the sweeper would report failed runs as well
    config = hydra.compose_config(CONFIG_NAME, list(overrides), RunMode.MULTIRUN, with_log_configuration=True)
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(config))
    chosen: list[str] = OmegaConf.to_container(config.hydra.overrides.task)  # type: ignore[assignment]
    is_limited = any(word.startswith("hydra.sweeper.max_failure_rate=") for word in config.hydra.overrides.hydra)
    trials = Trials(goes_on=not (is_limited or config.hydra.sweeper.get("max_failure_rate")))
    plugins = Plugins.instance()
    instantiate = plugins.instantiate_launcher
    # The sweeper gets the trials in place of the launcher that Hydra creates for it.
    plugins.instantiate_launcher = lambda *args, **more: trials.use(instantiate(*args, **more))  # type: ignore[assignment, method-assign]
    try:
        sweeper = plugins.instantiate_sweeper(hydra_context=context, task_function=job, config=config)
    finally:
        del plugins.instantiate_launcher
    try:
        sweeper.sweep(chosen)
    except (ValueError, RunFailed):  # no run has a score, or too many runs failed
        if not trials.failed:
            raise
    finally:
        fixed = {parse_override(text).get_key_element() for text in _without_sweeps(chosen)}
        for number, (words, error) in sorted(trials.failed.items()):
            varied = dict(word.split("=", maxsplit=1) for word in words if word.partition("=")[0] not in fixed)
            complain(f"trial {number:,} ({_label(varied)}) failed: {error}")
        if trials.failed:
            complain(f"{len(trials.failed):,} of {count_of(trials.n_launched, 'run')} failed")
    return EvoDiverseError.exit_code if trials.failed else 0


class Trials:
    """Launches the runs of a sweep whose sweeper, such as Optuna's, chooses them as it goes, and collects the failed.

    Args:
        goes_on: Whether the results of failed runs become None, so that the sweeper goes on.
    """

    def __init__(self, *, goes_on: bool) -> None:
        self._goes_on = goes_on
        self._launcher: Launcher
        self.n_launched = 0
        self.failed: dict[int, tuple[Sequence[str], str]] = {}  # overrides and errors of failed runs, by number

    def use(self, launcher: Launcher) -> "Trials":
        """Start runs with this launcher from now on."""
        self._launcher = launcher
        return self

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Launch a batch of runs and return their results; the sweeper calls this like a launcher of Hydra.

        Args:
            job_overrides: The overrides of each run.
            initial_job_idx: The number of the first run, counted from 0.

        Raises:
            ServiceError: The launcher itself failed.
        """
        results = _launch_all(self._launcher, job_overrides, initial_job_idx)
        self.n_launched += len(results)
        for number, result in enumerate(results, initial_job_idx):
            if result.status is not JobStatus.COMPLETED:
                self.failed[number] = (list(result.overrides or ()), str(result._return_value))
                if self._goes_on:
                    result.status, result.return_value = JobStatus.COMPLETED, None
        return results


def _launch_missing(
    composer: Composer, master: DictConfig, job: Job, planned: Sequence[SweptRun], todo: Sequence[SweptRun]
) -> Mapping[int, str]:
    """Launch the runs that are not complete (``todo``), and return the error message of each failed run by number."""
    if n_complete := len(planned) - len(todo):
        are = "is" if n_complete == 1 else "are"
        say(f"{n_complete:,} of {count_of(len(planned), 'run')} {are} complete")
    if not todo:
        return {}
    # Names are compared, since Hydra imports the module again when it looks for plugins, which gives another class.
    is_here = str(master.hydra.launcher._target_).endswith(f".{BasicLauncher.__name__}")
    loader = composer if is_here else composer.loader
    # A launcher uses the loader only to compose runs.
    context = HydraContext(config_loader=loader, callbacks=Callbacks(master))  # type: ignore[arg-type]
    launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=job, config=master)
    listed = [Listed(run.number, _label(run.varied), run.plan.path) for run in todo]
    config = todo[0].plan.config
    display = "none" if config.dry_run else config.display
    failed: dict[int, str] = {}
    with Overview(listed, choose_sheet(display, listed, len(planned))) as overview:
        together = None if is_here else _launch_all(launcher, [run.overrides for run in todo], 0)
        for place, run in enumerate(todo):
            if together is None:
                overview.begin(run.number)
                (result,) = launcher.launch([list(run.overrides)], initial_job_idx=run.number - 1)
            else:
                result = together[place]
            error = None if result.status is JobStatus.COMPLETED else str(result._return_value)
            if error is not None:
                failed[run.number] = error
            if is_here or error is not None:  # elsewhere, only a refused run leaves no files for the overview
                overview.end(run.number, error)
    return failed


def _launch_all(launcher: Launcher, overrides: Sequence[Sequence[str]], first: int) -> Sequence[JobReturn]:
    """Let a launcher start all runs, and return how each run ended.

    Args:
        launcher: The launcher that starts the runs.
        overrides: The overrides of each run.
        first: The number of the first run, counted from 0.

    Raises:
        ServiceError: The launcher itself failed.
        HydraException: The configuration of a run cannot be composed.
    """
    try:
        return launcher.launch([list(words) for words in overrides], initial_job_idx=first)
    except (EvoDiverseError, HydraException):
        raise
    except Exception as error:  # a cluster's library may raise anything
        name = type(launcher).__name__
        raise ServiceError(f"{name} failed ({describe(error)}); run the same command again to resume") from error


def _sum_up(planned: Sequence[SweptRun], failed: Mapping[int, str]) -> int:
    """Print one line for each of the first `_MOST_ROWS` runs and the errors of failed runs; return the exit code."""
    from tabulate import tabulate  # here so that other commands start fast

    shown = [*planned[:_MOST_ROWS], *(run for run in planned[_MOST_ROWS:] if run.number in failed)]
    standings = {run.number: read_standing(run.plan.path) for run in shown}
    # Another process may have completed a run that failed here, unless the run could not be continued from the start.
    failed = {
        run.number: failed[run.number]
        for run in planned
        if run.number in failed and (run.is_refused or standings[run.number].state != "complete")
    }
    names = list(dict.fromkeys(name for run in planned for name in run.varied))
    rows = [[*_describe(run, names, standings[run.number], failed)] for run in planned[:_MOST_ROWS]]
    heads = {"run": "right", **dict.fromkeys(names, "left"), "state": "left", "calls": "right", "best": "right"}
    say(tabulate(rows, [*heads], tablefmt="plain", colalign=[*heads.values()], disable_numparse=True))
    if len(planned) > _MOST_ROWS:
        say(f"and {len(planned) - _MOST_ROWS:,} more")
    return _complain_of(planned, failed, "failed", "; run the same command again to retry them")


def _complain_of(planned: Sequence[SweptRun], failed: Mapping[int, str], verb: str, remedy: str = "") -> int:
    """Print the errors of failed runs, and return the exit code."""
    for run in planned:
        if run.number in failed:
            complain(f"run {run.number:,} ({_label(run.varied)}) {verb}: {failed[run.number]}")
    if failed:
        complain(f"{len(failed):,} of {count_of(len(planned), 'run')} {verb}{remedy}")
    return EvoDiverseError.exit_code if failed else 0


def _describe(run: SweptRun, names: Sequence[str], standing: Standing, failed: Mapping[int, str]) -> Iterator[str]:
    yield f"{run.number:,}"
    yield from (run.varied.get(name, "") for name in names)
    yield "failed" if run.number in failed else standing.state
    yield f"{standing.calls:,}"
    yield "" if standing.best is None else f"{standing.best:.6g}"


def _label(varied: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in varied.items()) or "(no key varied)"


def _without_sweeps(overrides: Sequence[str]) -> list[str]:
    return [text for text in overrides if not parse_override(text).is_sweep_override()]
