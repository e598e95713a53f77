"""Runs of other symbolic regression engines, which are logged like a search that ended after iteration 0."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import InputError
from evodiverse.kit.files import write_file
from evodiverse.ports import Discovery
from evodiverse.runlog.record import SETTINGS
from evodiverse.runner.process import say
from evodiverse.runner.rows import checkpoint, log_rows
from evodiverse.search.advance import start
from evodiverse.search.archive import Archive
from evodiverse.search.attempts import Attempts
from evodiverse.search.exchange import empty_pools
from evodiverse.search.mating import Slot
from evodiverse.settings.assembly import open_sandbox
from evodiverse.settings.command_line import explain, plan_each
from evodiverse.settings.compose import COMPOSITION_ERRORS
from evodiverse.settings.plan import Plan, find_folder, plan_run
from evodiverse.settings.schema import register
from evodiverse.settings.sweep import identify_run
from evodiverse.store.opening import check_openable, find_complete, open_run
from evodiverse.store.run_directory import RunDirectory
from evodiverse.tasks.equations.baselines import ENGINES, Front, Order, find_apart, write_model
from evodiverse.tasks.equations.data import read_dataset
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.metrics import OWN_FIT
from evodiverse.tasks.equations.problems import FloatArray
from evodiverse.tasks.equations.skeleton import SkeletonError
from evodiverse.tasks.equations.task import EquationTask
from evodiverse.vocabulary import Hypothesis, Prompt, Proposal, Reason, Rejection, Request, Stream

# The configuration behind every baseline: one pool, which keeps everything.
_BASE: Final = ("task=equation", "method=graph_ga", "llm=off")
_KEYS: Final = ("task", "seed", "outputs", "overwrite", "dry_run", "sandbox.require")
_MEANINGLESS: Final = tuple(
    f"task.{key}"
    for key in ["defaults", "fit", "domain", "operators", "max_size", "loss", "constraints", "data.units", "data.sigma"]
)
_EQUATIONS: Final = "evodiverse.tasks.equations"
_COLUMNS: Final[Mapping[str, type]] = {**EquationTask.columns, "selected": int}
_ERRORS: Final = ("nmse_train", "nmse_id", "nmse_ood")


class Budget(NamedTuple):
    """The limit of an engine: wall time, or evaluations as the engine counts them. Exactly one of the two is set."""

    seconds: int | None
    evaluations: int | None

    @property
    def settings(self) -> dict[str, int]:
        """The limit that is set, as ``run.json`` records it."""
        return {f"budget.{name}": value for name, value in self._asdict().items() if value is not None}

    @property
    def name(self) -> str:
        """The value of ``stopped_by`` for a run that reached the limit."""
        return "budget" if self.seconds is None else "seconds"


def run_all(engine: str, overrides: Sequence[str], budget: Budget) -> None:
    """Check all runs that a command line describes, then run them.

    Args:
        engine: The name of the engine.
        overrides: The settings on the command line, some of which may list several values.
        budget: The limit of the engine in each run.

    Raises:
        InputError: Some settings are invalid, or the engine's library is missing.
        ServiceError: The engine failed.
    """
    violations = list(_find_meaningless(overrides))
    if missing := [package for module, package in ENGINES[engine].libraries.items() if find_spec(module) is None]:
        violations.insert(0, f"--engine {engine} needs {' and '.join(missing)}; {ENGINES[engine].remedy}")
    if violations:
        raise InputError(*violations)
    register()
    words = [*_BASE, *overrides]
    try:
        plans = plan_each(words, partial(plan_baseline, engine, budget))
    except COMPOSITION_ERRORS as error:
        raise explain(error, ["-m", *words], plan_run) from error
    given = [f"--engine={engine}", *(f"--{key.removeprefix('budget.')}={n}" for key, n in budget.settings.items())]
    for plan in plans:
        run_baseline(engine, plan, budget, partial(_save, [*given, *overrides]))


def _find_meaningless(overrides: Sequence[str]) -> Iterator[str]:
    """Yield one message for each setting that a baseline does not accept."""
    for override in overrides:
        key = override.lstrip("+~").partition("=")[0]
        is_task = key.startswith("task.") and not key.startswith(_MEANINGLESS)
        if not (is_task or key in _KEYS):
            yield f"{override} has no effect on a baseline; set only keys of task, {', '.join(_KEYS[1:])}"


def plan_baseline(engine: str, budget: Budget, composed: DictConfig, hydra: HydraConf) -> Plan:
    """Check a composed configuration, and return the plan of a baseline's run.

    In such a run, another engine for symbolic regression, such as PySR, takes the place of the method. The plan has
    only the settings of the task, the budget and the engine, and those that every ``run.json`` must have.

    Args:
        engine: The name of the engine.
        budget: The limit of the engine.
        composed: The configuration.
        hydra: Hydra's own part of it.

    Raises:
        InputError: The configuration is invalid; the message lists all problems.
    """
    plan = plan_run(composed, hydra)
    if plan.config.task["domain"] != _EQUATIONS:
        raise InputError(
            f"baselines need an equation task, but task={plan.config.task['name']} is not one; use task=equation"
        )
    needed = {key for _, key in SETTINGS}
    settings = {key: value for key, value in plan.settings.items() if key.startswith("task.") or key in needed}
    settings |= {"method.name": engine, "task.fit": OWN_FIT} | budget.settings
    settings |= {f"engine.{key}": value for key, value in ENGINES[engine].settings.items()}
    overrides = dict(sorted({**plan.overrides, **budget.settings}.items()))
    outputs = plan.path.parents[4]
    shelf = outputs / plan.config.task["name"] / engine / plan.config.llm.name
    path = find_folder(shelf, plan.domain, plan.task, overrides) / plan.path.name
    return replace(plan, settings=settings, overrides=overrides, path=path)


def run_baseline(engine: str, plan: Plan, budget: Budget, save: Callable[[Path], None]) -> None:
    """Run an engine on the training data of a task, and log its final front.

    The front holds the equations that fit better than all simpler ones.
    If the run is already complete, only report that. With ``dry_run``, only report what would run.

    Args:
        engine: The name of the engine.
        plan: The plan of the run.
        budget: The limit of the engine.
        save: A function that is called with the folder ``.hydra`` of the run directory, and writes the options of the
            command line into it.

    Raises:
        InputError: The run directory holds another run, or the data cannot be used.
        ServiceError: The engine failed.
    """
    this = identify_run(plan)
    complete = None if plan.config.overwrite else find_complete(this)
    if complete is not None:
        say(complete)
        return
    check_openable(this, overwrite=plan.config.overwrite)
    if plan.config.dry_run:
        say(f"would run in {plan.path}")
        return
    libraries = list(dict.fromkeys([*plan.libraries, *ENGINES[engine].libraries.values()]))
    with open_run(this, _COLUMNS, libraries, save, overwrite=plan.config.overwrite) as run:
        if isinstance(run, str):  # another process has completed it in the meantime
            say(run)
            return
        saved = run.checkpoint() or _search(engine, plan, budget, run)
        run.ending = {"stopped_by": saved["stopped_by"], "engine": saved["engine"]}
        found = run.rows("evaluations", ["call", "score", "selected", *_ERRORS])
    say(f"complete, stopped by {saved['stopped_by']}: front of size {sum(row['call'] is not None for row in found):,}")
    for line in _describe(engine, found):
        say(line)
    say(f"{plan.path}")


def _search(engine: str, plan: Plan, budget: Budget, directory: RunDirectory) -> Mapping[str, Any]:
    """Run an engine (a symbolic regression method to compare with, such as PySR) and log the equations that it finds.

    They are evaluated, and written as iteration 0. The constants that the engine fitted are not fitted again. Return
    what ended the engine, and its number of evaluations.
    """
    dataset = read_dataset(plan.task)
    train = dataset.splits.train
    front = find_apart(engine, Order(train.inputs, train.target, dataset.names, plan.config.seed, *budget))
    began = time.perf_counter()
    written, given = _write_models(front, dataset.names)
    archive = Archive()
    attempts = Attempts([Slot(slot, 0) for slot in range(len(written))], empty_pools(1), archive)
    stream = Stream(plan.config.seed, 0)  # required by a request, but nothing is drawn from it
    requests = [Request(0, 0, slot, 1, (), Prompt.COLD, stream) for slot in range(len(written))]
    proposals = [Proposal(one.genotype if isinstance(one, Hypothesis) else None, engine) for one in written]
    charged = attempts.settle(requests, list(zip(proposals, written, strict=True)))
    with closing(open_sandbox(plan.config.sandbox, fitting.__name__)) as sandbox:
        task = EquationTask(dataset, sandbox, plan.task, given=given)
        rated = zip(charged, task.evaluate(charged), strict=True)
        took = time.perf_counter() - began
        chosen = written[front.selected]
        attempts.close([replace(one, details={**one.details, "selected": int(own == chosen)}) for own, one in rated])
        if (best := archive.best()) is not None:
            directory.write_best(task.show_best([Discovery(best, 0, 0)]))
    state, info = start(attempts, archive, plan.config.method)
    seconds = {"wall": front.seconds + time.perf_counter() - began, "operator": front.seconds, "oracle": took}
    each = dict.fromkeys(range(1, archive.n_calls + 1), took / max(1, archive.n_calls))
    ended = {"stopped_by": "engine" if front.is_finished else budget.name, "engine": {"evaluations": front.evaluations}}
    rows = log_rows(info, plan.config.method.ladder, each, seconds)
    directory.commit(0, rows, {**checkpoint(state, archive, seconds), **ended})
    return ended


def _describe(engine: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line about the equation with the highest score, and one about the equation that the engine chose.

    Each line gives the normalized mean squared errors (NMSE). An equation without a score gets no line.
    """
    good = [row for row in rows if row["score"] is not None]
    best = max(good, key=lambda row: row["score"], default=None)
    selected = next((row for row in good if row["selected"]), None)
    for what, row in {"best by training error": best, f"{engine}'s own choice": selected}.items():
        if row is not None:
            errors = [f"{name.removeprefix('nmse_')} {row[name]:.4g}" for name in _ERRORS if row[name] is not None]
            yield f"{what}: NMSE {', '.join(errors)}"


def _write_models(front: Front, names: tuple[str, ...]) -> tuple[list[Hypothesis | Rejection], dict[str, FloatArray]]:
    """Return the equations of an engine as hypotheses or rejections, and the parameters of each hypothesis by its key.

    An engine is another program for symbolic regression. ``names`` are those of the variables.
    """
    written: list[Hypothesis | Rejection] = []
    given: dict[str, FloatArray] = {}
    for model in front.models:
        try:
            hypothesis, params = write_model(model, names)
            given[hypothesis.key] = params
            written.append(hypothesis)
        except (SkeletonError, RecursionError) as error:
            written.append(Rejection(Reason.UNPARSABLE, str(error)))
    return written, given


def _save(given: Sequence[str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    write_file(folder / "overrides.yaml", OmegaConf.to_yaml(OmegaConf.create(list(given))).encode())
