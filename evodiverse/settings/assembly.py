"""The composition root: builds the parts of a planned run, connects them, and runs it."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any

from evodiverse.data.artifacts import find_artifact
from evodiverse.data.cache import artifact_path
from evodiverse.errors import Asked, InputError
from evodiverse.kit.text import count_of
from evodiverse.llm.clients import KINDS
from evodiverse.llm.open import opened
from evodiverse.ports import Comparable, Display, Evaluator, Featured, Measurable, Snapshot, Task
from evodiverse.runlog.record import ASKED, JOBS
from evodiverse.runlog.standing import read_standing
from evodiverse.runner.evaluators import ASK
from evodiverse.runner.evaluators.asking import AskingEvaluator
from evodiverse.runner.evaluators.command import CommandEvaluator, CommandSettings
from evodiverse.runner.evaluators.ray import RayEvaluator, RaySettings
from evodiverse.runner.ledger import Ledger
from evodiverse.runner.loop import Loop, Setup
from evodiverse.runner.process import deferred_signals
from evodiverse.runner.proposers import ModelProposer, OperatorProposer, Proposer
from evodiverse.runner.tracking import Committed, followed, open_tracker
from evodiverse.runner.workers import Bench, Workers, available_cores
from evodiverse.sandbox.confinement import find_gaps
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.search.settings import Method, Search
from evodiverse.search.streams import Streams
from evodiverse.settings import schema
from evodiverse.settings.freeze import freeze_caps, freeze_method, freeze_search
from evodiverse.settings.going_further import begin_from_shorter
from evodiverse.settings.identity import digest
from evodiverse.settings.plan import Plan
from evodiverse.store.datasets import add_columns
from evodiverse.store.journal import Journal
from evodiverse.store.opening import Identity, find_complete, open_run
from evodiverse.store.run_directory import JOURNAL, RunDirectory

_LOG = logging.getLogger("evodiverse.settings")
ModelRound = Callable[[Task, Ledger], ModelProposer]


def run(plan: Plan, display: Display, say: Callable[[str], None], save_hydra: Callable[[Path], None]) -> float | None:
    """Start or resume a run, and run it until it ends or asks a person for scores.

    If the run is already complete, only report that, unless ``overwrite`` is true.

    Args:
        plan: The plan of the run.
        display: The display that shows the progress of the run.
        say: A function that prints one line for the user.
        save_hydra: A function that is called with the folder ``.hydra`` of the run directory, and writes the composed
            configuration into it.

    Returns:
        The best score, or None if no candidate has a score.

    Raises:
        InputError: The run directory holds another run, or data cannot be used.
        ServiceError: A service that the run depends on failed permanently.
    """
    sources = plan.find_sources(lambda name: find_artifact(name).sha256)
    this = Identity(plan.path, digest(plan.settings), plan.settings, plan.overrides, sources)
    complete = None if plan.config.overwrite else find_complete(this)
    if complete is not None:
        say(complete)
        return read_standing(plan.path).best
    task = plan.domain.build_task(plan.task, artifact_path, lambda *preload: open_sandbox(plan.config.sandbox, preload))
    method = freeze_method(plan.config.method, has_model=plan.model is not None)
    _check_able(plan, task, method)
    columns = add_columns(task.columns, screens=method.screen is not None)  # before a folder is created
    try:
        result = _run(plan, this, task, method, columns, display, say, save_hydra)
    except Asked as asked:
        say(f"waiting for the scores of {count_of(asked.n, 'candidate')}: {asked.path}")
        say(f"to continue: evodiverse-tell {quote(str(plan.path))} SCORES.csv")
        return read_standing(plan.path).best
    if result is None:
        return read_standing(plan.path).best
    shown = result.headline or result.best_genotype or ""
    best = f"; best {result.best:.4g}  {shown}".rstrip() if result.best is not None else ""
    say(f"complete, stopped by {result.stopped_by}: {count_of(result.oracle_calls, 'oracle call')}{best}")
    say(f"{plan.path}")
    return result.best


def _run(
    plan: Plan,
    this: Identity,
    task: Task,
    method: Method,
    columns: Mapping[str, type],
    display: Display,
    say: Callable[[str], None],
    save_hydra: Callable[[Path], None],
) -> Snapshot | None:
    """Run a plan whose task is already built; return how the run ended, or None if another process completed it.

    Raises:
        Asked: The run needs scores from a person before it can continue.
    """
    with ExitStack() as stack:
        workers = stack.enter_context(_workers(plan, task))  # they load while the model opens
        by_model = _open_model(plan, stack)  # before a folder is created, and before overwrite deletes another run
        check = stack.enter_context(deferred_signals())
        search = freeze_search(plan.config.search)
        begin = partial(_begin, plan, this, task, method, search)
        opening = open_run(this, columns, plan.libraries, save_hydra, begin, overwrite=plan.config.overwrite)
        standing = stack.enter_context(opening)
        if isinstance(standing, str):  # another process completed it meanwhile
            say(standing)
            return None
        tracking = plan.config.tracking
        place = (tracking.name, tracking.uri, tracking.experiment, Path(plan.config.outputs).expanduser())
        committed = stack.enter_context(followed(lambda: open_tracker(*place), plan.path, plan.settings))
        evaluator = stack.enter_context(_opened_evaluator(plan, task, standing.directory))
        result = _search(
            plan, method, task, workers, evaluator, standing.directory, display, check, by_model, committed
        )
        standing.stopped_by = result.stopped_by
        (plan.path / ASKED).unlink(missing_ok=True)
    return result


def _begin(
    plan: Plan, this: Identity, task: Task, method: Method, search: Search, directory: RunDirectory
) -> Mapping[str, Any]:
    return begin_from_shorter(this, plan.shelf, directory, plan.libraries, task, method, search)


def _check_able(plan: Plan, task: Task, method: Method) -> None:
    """Refuse a method with niches or screening if the task lacks a function that they call.

    Raises:
        InputError: The task lacks a function; the message names it.
    """
    domain, name = plan.config.task.get("domain"), plan.config.method.name
    violations = []
    if (method.niche is not None or method.screen is not None) and not isinstance(task, Comparable):
        violations.append(f"method={name} compares hypotheses, but the task of {domain} has no `similarities`")
    if method.screen is not None and not isinstance(task, Featured):
        violations.append(f"method={name} screens proposals, but the task of {domain} has no `features`")
    if violations:
        raise InputError(*(f"{violation}; add it, or use method=pt" for violation in violations))


def open_sandbox(settings: schema.Sandbox, preload: Sequence[str]) -> ProcessSandbox:
    """Return the sandbox, and warn if this machine's kernel cannot confine programs completely.

    Args:
        settings: The keys of ``sandbox``.
        preload: The names of modules that the sandbox loads before any program.

    Raises:
        InputError: This machine's kernel cannot confine programs completely, but ``sandbox.require`` is ``strict``.
    """
    gaps = " and ".join(find_gaps())
    if gaps and settings.require == schema.STRICT:
        raise InputError(
            f"sandbox.require=strict: this kernel cannot prevent programs from reaching {gaps}; use another machine"
        )
    if gaps:
        _LOG.warning(
            "this kernel cannot prevent programs from reaching %s; sandbox.require=strict would refuse to run", gaps
        )
    return ProcessSandbox(preload)


def _open_model(plan: Plan, stack: ExitStack) -> ModelRound | None:
    """Open the language model, which ``stack`` closes, and return a function that builds the model's proposer.

    The proposer asks the model for offspring. The function is called later, with the task and with the run's ledger, in
    which the requests to the model and their costs are recorded. The result is None for a run without a model.
    """
    if plan.model is None:
        return None
    if plan.adapted:
        _LOG.warning("%s", plan.adapted)
    kind = KINDS[plan.model.client]
    settings = kind.complete(plan.model, artifact_path)
    model = stack.enter_context(opened(settings))
    round_bounds = model.bound_costs(plan.example_queries(settings)) * plan.config.method.offspring
    cap = Ledger(freeze_caps(plan.config.budget), plan.n_pools).find_cap(round_bounds, 0.0)
    if cap is not None and kind.asks:
        _LOG.warning("budget.%s does not cover the worst case of a round of %d requests", cap, len(round_bounds))
    prompts, llm = plan.build_prompts(), plan.config.llm
    limits = {"warn_after": llm.warn_after, "give_up_after": llm.give_up_after}
    return lambda task, ledger: ModelProposer(model, plan.samplers(settings), prompts, task, ledger, **limits)


def _workers(plan: Plan, task: Task) -> Workers:
    """Return the workers that make and evaluate the offspring; they are not started yet."""
    evaluator = plan.config.evaluator
    bench = Bench(task, plan.domain.build_operator(plan.task), Journal(plan.path / JOURNAL))
    proposes = plan.model is None or plan.config.llm.fallback == schema.CLASSICAL
    return Workers(bench, evaluator.workers or available_cores(), evaluator.batch, proposes=proposes)


@contextmanager
def _opened_evaluator(plan: Plan, task: Task, directory: RunDirectory) -> Iterator[Evaluator | None]:
    """Yield the open evaluator, or None if the workers themselves evaluate.

    Raises:
        InputError: The task does not accept scores from outside the run, or the cluster does not exist.
    """
    evaluator = plan.config.evaluator
    if evaluator.name in ("command", ASK) and not isinstance(task, Measurable):
        domain = plan.config.task.get("domain")
        raise InputError(
            f"evaluator={evaluator.name} takes scores from elsewhere, but the task of {domain} has no `rate`; add it, "
            "or use evaluator=local"
        )
    if evaluator.name == ASK:
        yield AskingEvaluator(plan.path / ASKED)
    elif evaluator.name == "command" and isinstance(task, Measurable):
        side_by_side = evaluator.workers or available_cores()
        settings = CommandSettings(
            tuple(evaluator.command or ()), side_by_side, evaluator.batch, evaluator.timeout, evaluator.retries
        )
        yield CommandEvaluator(task, settings, plan.path / JOBS, directory.journal, directory.has_answers)
    elif evaluator.name == "ray":
        name = f"{digest(plan.settings)}-{sha256(str(plan.path.absolute()).encode()).hexdigest()[:16]}"
        address = evaluator.address or "auto"
        ray = RaySettings(address, evaluator.cpus, evaluator.batch, evaluator.timeout, evaluator.retries, name)
        with RayEvaluator(task, ray, directory.journal) as opened:
            yield opened
    else:
        yield None


def _make_proposers(
    plan: Plan, task: Task, ledger: Ledger, workers: Workers, by_model: ModelRound | None
) -> list[Proposer]:
    """Return a proposer for each attempt to fill a slot (the place for one offspring), in the order of the attempts."""
    attempts = plan.config.search.attempts
    if by_model is None:
        return [OperatorProposer(workers, ledger)] * attempts
    proposers: list[Proposer] = [by_model(task, ledger)] * attempts
    if plan.config.llm.fallback == schema.CLASSICAL:
        proposers += [OperatorProposer(workers, ledger, is_fallback=True)] * attempts
    return proposers


def _search(
    plan: Plan,
    method: Method,
    task: Task,
    workers: Workers,
    evaluator: Evaluator | None,
    directory: RunDirectory,
    display: Display,
    check: Callable[[], None],
    by_model: ModelRound | None,
    committed: Committed,
) -> Snapshot:
    """Run the loop of the run to its end, and return its last state.

    The loop often calls ``check``, which raises `Interrupted` if a signal has arrived. After each iteration, the loop
    calls ``committed``, which reports to the tracker.
    """
    ledger = Ledger(freeze_caps(plan.config.budget), plan.n_pools)
    with display:
        setup = Setup(
            method=method,
            search=freeze_search(plan.config.search),
            streams=Streams(plan.config.seed),
            oracle_calls=plan.config.budget.oracle_calls,
            n_initial=plan.domain.count_initial(plan.task),
            shared_start=plan.domain.is_shared(plan.task),
            task=task,
            workers=workers,
            proposers=_make_proposers(plan, task, ledger, workers, by_model),
            ledger=ledger,
            store=directory,
            display=display,
            check=check,
            committed=committed,
            evaluator=evaluator,
        )
        return Loop(setup).run()
