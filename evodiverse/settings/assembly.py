"""The composition root: builds the parts of a planned run, connects them, and runs it."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import cache, partial
from hashlib import sha256
from math import inf
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from evodiverse.data.cache import AbsentError, artifact_path, present_path
from evodiverse.errors import Asked, InputError
from evodiverse.kit.environment import is_offline
from evodiverse.kit.own_code import call
from evodiverse.llm.clients import KINDS
from evodiverse.llm.library import Price
from evodiverse.llm.model import opened
from evodiverse.llm.settings import CLASSICAL, Llm
from evodiverse.ports import ChecksStart, Comparable, Display, Evaluator, Featured, Measurable, Snapshot, Task
from evodiverse.runlog.earlier import KEPT
from evodiverse.runlog.record import ASKED, JOBS, PRICES
from evodiverse.runlog.standing import read_standing
from evodiverse.runner.bandit import Bandit
from evodiverse.runner.evaluators import ASK, AUTO, check_cluster
from evodiverse.runner.evaluators.asking import AskingEvaluator
from evodiverse.runner.evaluators.command import CommandEvaluator, check_command
from evodiverse.runner.ledger import Ledger
from evodiverse.runner.loop import Loop, Setup, Start, draw_start
from evodiverse.runner.process import deferred_signals
from evodiverse.runner.proposers import ModelProposer, OperatorProposer, Proposer, SplitProposer, Watch
from evodiverse.runner.tracking import followed, open_tracker
from evodiverse.runner.workers import Bench, Workers, available_cores
from evodiverse.sandbox.confinement import find_gaps
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.search.pareto import SCORE, VALUE, Objective, read_objective
from evodiverse.search.streams import Purpose, Streams
from evodiverse.settings import schema
from evodiverse.settings.going_further import begin_from_shorter
from evodiverse.settings.identity import digest
from evodiverse.settings.plan import Plan
from evodiverse.settings.sweep import identify_run
from evodiverse.store.files import Journal, read_json, write_json
from evodiverse.store.opening import check_openable, find_complete, finish, open_run
from evodiverse.store.record import Identity
from evodiverse.store.run_directory import JOURNAL, RunDirectory, add_columns
from evodiverse.text import count_of

_LOG = logging.getLogger("evodiverse.settings")


class Ready(NamedTuple):
    """The parts of a run that `prepare` has built and checked.

    Attributes:
        this: The identity of the run.
        task: The task.
        columns: The columns that the run adds to ``evaluations``.
        model: The complete settings of the language model, or None for a run without one.
        draw_start: A function that returns the initial candidates; they are drawn only once.
        objectives: What ``task.pareto`` stands for.
    """

    this: Identity
    task: Task
    columns: Mapping[str, type]
    model: Llm | None
    draw_start: Callable[[], Start]
    objectives: Sequence[Objective]


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
    ready = prepare(plan)
    try:
        result = ready if isinstance(ready, str) else _run(plan, ready, display, save_hydra)
    except Asked as asked:
        say(f"waiting for the scores of {count_of(asked.n, 'candidate')}: {asked.path}")
        say(f"to continue: evodiverse-tell {quote(str(plan.path))} SCORES.csv")
        return read_standing(plan.path).best
    if isinstance(result, str):
        say(result)
        return read_standing(plan.path).best
    shown = result.headline or result.best_genotype or ""
    best = f"; best {result.best:.4g}  {shown}".rstrip() if result.best is not None else ""
    say(f"complete, stopped by {result.stopped_by}: {count_of(result.oracle_calls, 'oracle call')}{best}")
    say(f"{plan.path}")
    return result.best


def rehearse(plan: Plan, say: Callable[[str], None]) -> None:
    """Say what `run` would do, and refuse what it would refuse before its first oracle call.

    Nothing is written, fetched or asked.

    Raises:
        InputError: The run would be refused.
    """
    try:
        ready = prepare(plan, artifact_path if is_offline() else present_path, is_dry=True)
    except AbsentError as error:
        say(f"{plan.summary}\nnot checked further, since {error}, or let the run do that")
    else:
        say(ready if isinstance(ready, str) else plan.summary)


def prepare(plan: Plan, artifact: Callable[[str], Path] = artifact_path, *, is_dry: bool = False) -> Ready | str:
    """Build the parts of a run, and refuse what can be refused before anything is written, asked or charged.

    Args:
        plan: The plan of the run.
        artifact: A function that returns the path of a published file, given its name.
        is_dry: Whether to leave out the choice of the initial candidates if it takes long.

    Returns:
        The parts, or the message that the run is complete.

    Raises:
        InputError: The run directory holds another run or is in use, or data cannot be used, or the task cannot be
            searched in the way that the settings ask for, or the evaluator does not exist.
    """
    overwrite = plan.config.overwrite
    this = identify_run(plan)
    if not is_dry:
        finish(plan.path)
    complete = None if overwrite else find_complete(this)
    if complete is not None:
        return complete
    is_new = check_openable(this, overwrite=overwrite)
    task = plan.domain.build_task(plan.task, artifact, partial(open_sandbox, plan.config.sandbox))
    _check_able(plan, task)
    objectives = _find_objectives(plan, task)
    if plan.config.evaluator.command:
        check_command(plan.config.evaluator.command)
    elif plan.config.evaluator.name == "ray":
        check_cluster(plan.config.evaluator.address or AUTO)
    columns = add_columns(task.columns, screens=plan.config.method.screen is not None)
    model = None if plan.model is None else KINDS[plan.model.client].complete(plan.model, artifact)
    streams, at_most = Streams(plan.config.seed), plan.domain.count_initial(plan.task)
    given = None if plan.earlier is None else plan.earlier.genotypes
    draw = cache(partial(draw_start, task, streams, plan.n_draws, at_most, given))
    if is_new and is_dry and given is None and isinstance(task, ChecksStart):
        for pool in range(plan.n_draws):
            call(task.check_initial, streams.at(Purpose.INITIAL, 0, pool=pool))
    elif is_new:
        draw()
    return Ready(this, task, columns, model, draw, objectives)


def _run(plan: Plan, ready: Ready, display: Display, save_hydra: Callable[[Path], None]) -> Snapshot | str:
    """Run a plan whose parts are built; return how the run ended, or a message if another process completed it.

    Raises:
        Asked: The run needs scores from a person before it can continue.
    """
    this, task, config = ready.this, ready.task, plan.config
    n_workers, ledger = config.evaluator.workers or available_cores(), Ledger(config.budget, config.method.n_pools)
    bench = Bench(task, plan.domain.build_operator(plan.task), Journal(plan.path / JOURNAL))
    proposes = plan.model is None or config.llm.fallback == CLASSICAL or config.method.operators is not None
    with ExitStack() as stack:
        # They load while the model opens.
        workers = stack.enter_context(Workers(bench, n_workers, config.evaluator.batch, proposes=proposes))
        # Before a folder is created, and before overwrite deletes another run.
        llm = None if ready.model is None else _with_prices(ready.model, plan.path / PRICES, is_new=config.overwrite)
        prices = {} if llm is None else {model: price and price._asdict() for model, price in llm.kept_prices.items()}
        bandit = None
        if llm is not None and llm.choose == "bandit":
            bandit = Bandit(plan.samplers(llm), {model: price.cost for model, price in llm.kept_prices.items()})
        proposers = _make_proposers(plan, ready._replace(model=llm), ledger, workers, stack, bandit)
        check = stack.enter_context(deferred_signals())
        standing = stack.enter_context(
            open_run(
                this,
                ready.columns,
                plan.libraries,
                save_hydra,
                lambda new, old: begin_from_shorter(this, plan, new, task, None if bandit is None else prices, old),
                overwrite=config.overwrite,
            )
        )
        if isinstance(standing, str):  # another process completed it meanwhile
            return standing
        if llm is not None:
            write_json(plan.path / PRICES, prices)
        if plan.earlier is not None:
            write_json(plan.path / KEPT, plan.earlier._asdict())
        tracking = config.tracking
        place = (tracking.name, tracking.uri, tracking.experiment, Path(config.outputs).expanduser())
        committed = stack.enter_context(followed(lambda: open_tracker(*place), plan.path, plan.settings))
        evaluator = stack.enter_context(_opened_evaluator(plan, task, standing))
        setup = Setup(
            method=config.method,
            search=replace(config.search, objectives=ready.objectives),
            streams=Streams(config.seed),
            oracle_calls=config.budget.oracle_calls,
            draw_start=ready.draw_start,
            task=task,
            workers=workers,
            proposers=proposers,
            ledger=ledger,
            store=standing,
            display=display,
            check=check,
            committed=committed,
            evaluator=evaluator,
            bandit=bandit,
            n_under_way=plan.n_under_way,
        )
        with display:
            loop = Loop(setup)
            result = loop.run()
        unused = {"llm_unused": asdict(loop.unused)} if loop.unused.calls else {}
        standing.ending = {"stopped_by": result.stopped_by, **unused}
        (plan.path / ASKED).unlink(missing_ok=True)
    return result


def _check_able(plan: Plan, task: Task) -> None:
    """Refuse a method or an evaluator if the task lacks a function that they call.

    Raises:
        InputError: The task lacks a function; the message names it.
    """
    domain, name, method = plan.config.task.get("domain"), plan.config.method.name, plan.config.method
    violations = []
    evaluator = plan.config.evaluator.name
    if evaluator in ("command", ASK) and not isinstance(task, Measurable):
        raise InputError(
            f"evaluator={evaluator} takes scores from elsewhere, but the task of {domain} has no `rate`; add it, "
            "or use evaluator=local"
        )
    if (method.niche is not None or method.screen is not None) and not isinstance(task, Comparable):
        violations.append(f"method={name} compares hypotheses, but the task of {domain} has no `similarities`")
    if method.screen is not None and not isinstance(task, Featured):
        violations.append(f"method={name} screens proposals, but the task of {domain} has no `features`")
    violations = [f"{violation}; add it, or use method=pt" for violation in violations]
    if plan.config.search.novelty is not None and not isinstance(task, Comparable):
        violations.append(
            f"search.novelty compares hypotheses, but the task of {domain} has no `similarities`; add it, or use "
            "search.novelty=null"
        )
    if violations:
        raise InputError(*violations)
    numbers = _find_numbers(task)
    unknown = [column for column in plan.config.search.features or {} if column not in numbers]
    if unknown:
        raise _refuse_column("search.features", unknown[0], numbers)


def _find_numbers(task: Task) -> list[str]:
    return [column for column, kind in task.columns.items() if kind in (float, int)]


def _refuse_column(key: str, column: str, known: Sequence[str]) -> InputError:
    has = f"it has {', '.join(known)}" if known else "it has none"
    return InputError(f"{key}: {column} is not a column of numbers that this task logs; {has}")


def _find_objectives(plan: Plan, task: Task) -> list[Objective]:
    """Return the objectives that ``task.pareto`` names.

    Raises:
        InputError: The task does not log one of the columns; the message names it, and those that it logs.
    """
    columns, objectives = [SCORE, *_find_numbers(task)], []
    for name in plan.config.task.get("pareto") or ():
        objective = read_objective(name, columns)
        if objective is None:
            raise _refuse_column("task.pareto", name, [column.removesuffix(VALUE) for column in columns])
        objectives.append(objective)
    return objectives


def open_sandbox(settings: schema.Sandbox, *preload: str, confines: bool = True) -> ProcessSandbox:
    """Return the sandbox, and warn if it does not confine programs, or not completely because the kernel cannot.

    Args:
        settings: The keys of ``sandbox``.
        preload: The names of modules that the sandbox loads before any program.
        confines: Whether the sandbox confines programs.

    Raises:
        InputError: Programs would not be confined, or not completely, but ``sandbox.require`` is ``strict``.
    """
    if not confines:
        if settings.require == schema.STRICT:
            raise InputError("sandbox.require=strict: task.trust=true runs programs outside of the sandbox; drop one")
        _LOG.warning("task.trust=true: programs run outside of the sandbox, with all the rights of your account")
        return ProcessSandbox(preload, confines=False)
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


def _with_prices(model: Llm, path: Path, *, is_new: bool) -> Llm:
    """Return the settings of the models with the prices that hold for the run: those in its directory, if it has any.

    Raises:
        InputError: The file with the prices is damaged.
    """
    try:
        saved = {} if is_new else read_json(path) or {}
        kept = {
            name: Price(**{key: usd and float(usd) for key, usd in price.items()})
            for name, price in saved.items()
            if price is not None
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); delete it to use the prices of today") from error
    price = partial(KINDS[model.client].price, settings=replace(model, kept_prices=kept))
    return replace(model, kept_prices={name: price(name) for name in model.models})


def _make_proposers(
    plan: Plan, ready: Ready, ledger: Ledger, workers: Workers, stack: ExitStack, bandit: Bandit | None
) -> list[Proposer]:
    """Return a proposer for each attempt to fill a slot (the place for one offspring), in the order of the attempts.

    If there is a language model, it is opened here, and ``stack`` closes it.
    """
    attempts, method, llm = plan.config.search.attempts, plan.config.method, plan.config.llm
    if ready.model is None:
        return [OperatorProposer(workers, ledger)] * attempts
    if plan.adapted:
        _LOG.warning("%s", plan.adapted)
    model, samplers = stack.enter_context(opened(ready.model)), plan.samplers(ready.model)
    per_pool = method.offspring if method.screen is None else -(-method.screen.n_proposals // method.n_pools)
    examples = [model.bound_costs(list(queries)) for queries in plan.example_queries(ready.model)]
    dearest = [max(bounds, key=lambda bound: inf if bound.usd is None else bound.usd) for bounds in examples]
    round_bounds = dearest * per_pool
    cap = ledger.find_cap(round_bounds, 0.0)
    if cap is not None and KINDS[ready.model.client].asks:
        _LOG.warning("budget.%s does not cover the worst case of a round of %d requests", cap, len(round_bounds))
    watch = Watch(ledger, [sampler.model for used in samplers for sampler in used], llm.warn_after, llm.give_up_after)
    by_model = ModelProposer(model, samplers, plan.build_prompts(), ready.task, ledger, watch, bandit)
    by_operator = OperatorProposer(workers, ledger)
    first = by_model if method.operators is None else SplitProposer(by_model, by_operator, method.model_share)
    fallback = [OperatorProposer(workers, ledger, is_fallback=True)] if llm.fallback == CLASSICAL else []
    return [*[first] * attempts, *fallback * attempts]


@contextmanager
def _opened_evaluator(plan: Plan, task: Task, directory: RunDirectory) -> Iterator[Evaluator | None]:
    """Yield the open evaluator, or None if the workers themselves evaluate.

    Raises:
        InputError: The cluster does not exist.
    """
    evaluator = plan.config.evaluator
    if evaluator.name == ASK:
        yield AskingEvaluator(plan.path / ASKED)
    elif evaluator.name == "command" and isinstance(task, Measurable):
        yield CommandEvaluator(task, evaluator, plan.path / JOBS, directory.journal, directory.has_answers)
    elif evaluator.name == "ray":
        from evodiverse.runner.evaluators.ray import RayEvaluator  # it imports Ray

        name = f"{digest(plan.settings)}-{sha256(str(plan.path.absolute()).encode()).hexdigest()[:16]}"
        with RayEvaluator(task, evaluator, name, directory.journal) as ray:
            yield ray
    else:
        yield None
