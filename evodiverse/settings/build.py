"""The composition root: from a composed configuration to a checked plan, and from the plan to a run."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig

from evodiverse.cache_folder import cache_folder
from evodiverse.data.artefacts import find_artefact
from evodiverse.data.cache import artefact_path
from evodiverse.errors import InputError
from evodiverse.kit.documented import find_beyond
from evodiverse.llm.clients import KINDS
from evodiverse.llm.estimate import describe_estimate
from evodiverse.llm.open import opened
from evodiverse.llm.settings import ModelSettings
from evodiverse.ports import Display, Domain, Prompted, Prompts, Snapshot, Task
from evodiverse.runner.ledger import Ledger
from evodiverse.runner.loop import Loop, Setup
from evodiverse.runner.process import deferred_signals
from evodiverse.runner.proposers import ModelProposer, OperatorProposer, Proposer
from evodiverse.runner.workers import Bench, Workers, available_cores
from evodiverse.sandbox.confinement import find_gaps
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.search.streams import Streams
from evodiverse.settings import schema
from evodiverse.settings.compose import compose_published, read, resolve
from evodiverse.settings.domain import import_domain, read_settings
from evodiverse.settings.freeze import freeze_caps, freeze_method, freeze_model, freeze_search
from evodiverse.settings.identity import digest, find_overrides, identity, override_label, quiet_keys
from evodiverse.settings.validate import find_violations
from evodiverse.store.datasets import schemas
from evodiverse.store.journal import Journal
from evodiverse.store.lock import locked
from evodiverse.store.provenance import git_commit, package_versions
from evodiverse.store.record import check_same_data, check_same_run, continue_record, kept, new_record, read_record
from evodiverse.store.run_directory import JOURNAL, RunDirectory, delete_run, writing_to
from evodiverse.vocabulary import Candidate, Prompt, Query, Request, Sampler, Stream

_LOG = logging.getLogger("evodiverse.settings")
ModelRound = Callable[[Task, Ledger], ModelProposer]
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked configuration: what would run, and where.

    Attributes:
        config: All keys but the domain's own.
        domain: The module of the task's domain.
        task: The domain's own settings.
        settings: The flat settings that make the run the run it is.
        overrides: Those in which it differs from its task, method and llm alone.
        path: The run directory.
        model: The language model's settings, None for a run without one.
    """

    config: schema.Config
    domain: Domain
    task: Any
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    path: Path
    model: ModelSettings | None

    @property
    def n_initial(self) -> int:
        """Oracle calls that the initial candidates cost at most."""
        n_draws = 1 if self.domain.is_shared(self.task) else self.n_pools
        return self.domain.count_initial(self.task) * n_draws

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return len(self.config.method.ladder)

    @property
    def summary(self) -> str:
        """What a dry run says."""
        n_calls = self.config.budget.oracle_calls
        lines = [f"would run in {self.path}", f"with {self.n_initial:,} initial of {n_calls:,} oracle calls"]
        if self.model is not None:
            fewest = n_calls - self.n_initial
            most = fewest * self.config.search.attempts
            cap = most if self.config.budget.llm_calls is None else self.config.budget.llm_calls
            lines += describe_estimate(self.example_queries(self.model), self.model, min(fewest, cap), min(most, cap))
        return "\n".join(lines)

    def build_prompts(self) -> Prompts:
        """Return the prompts of a run with a language model.

        Raises:
            InputError: A model cannot be asked about this task; says what is missing.
        """
        if not isinstance(self.domain, Prompted):
            raise TypeError("the domain has no prompts")
        return self.domain.build_prompts(self.task)

    def samplers(self, model: ModelSettings) -> list[Sampler]:
        """Return what each pool samples with, as the method says; its last entry holds for all further pools."""
        names = self.config.method.samplers
        return [model.samplers[names[min(pool, len(names) - 1)]] for pool in range(self.n_pools)]

    def example_queries(self, model: ModelSettings) -> list[Query]:
        """Return a query of usual length for each pool."""
        prompts, stream = self.build_prompts(), Stream(0, 0)
        *parents, best = (
            Candidate(call, prompts.example, "", 0.0, 0.0) for call in range(self.config.method.parents + 1)
        )
        messages = prompts.messages(Request(0, 0, 0, 0, tuple(parents), Prompt.COLD, stream, best))
        return [Query(sampler.model, messages, sampler.decoding, stream) for sampler in self.samplers(model)]


def plan_run(composed: DictConfig, hydra: HydraConf) -> Plan:
    """Check a composed configuration.

    Args:
        composed: The run's configuration.
        hydra: Hydra's own part of it. Hydra must be running.

    Raises:
        InputError: It cannot be meant; names everything that is wrong.
    """
    config = read(composed)
    domain = import_domain(config.task.get("domain"))
    task, violations = read_settings(domain, config.task)
    settings = _identity(resolve(composed), domain)
    overrides = find_overrides(settings, _identity(compose_published(hydra), domain))
    names = {"task": config.task.get("name"), "method": config.method.name, "llm": config.llm.name}
    outputs, bad_outputs = _outputs_folder(config.outputs)
    path = outputs.joinpath(*map(str, names.values()), override_label(overrides), f"seed{config.seed}")
    plan = Plan(config, domain, task, settings, overrides, path, None)
    violations += [
        *_find_misnamed(names, hydra.runtime.choices),
        *find_violations(config, 0 if task is None else plan.n_initial, can_ask=isinstance(domain, Prompted)),
        *([] if task is None else find_beyond(task, "task.")),
        *([] if task is None else domain.find_violations(task)),
        *(bad_outputs or _find_unwritable(path)),
    ]
    if violations:
        raise InputError(*violations)
    try:
        model = freeze_model(config.llm, cache_folder())
    except RuntimeError as error:  # a home that is none
        raise InputError(f"llm.cache={config.llm.cache} cannot be used ({error}); choose another file") from error
    if model is not None:
        violations = KINDS[model.client].find_violations(model, needs_price=config.budget.usd is not None)
        try:
            plan.build_prompts()
        except InputError as error:
            violations += error.violations
    if violations:
        raise InputError(*violations)
    return replace(plan, model=model)


def run(plan: Plan, display: Display, say: Callable[[str], None], save_hydra: Callable[[Path], None]) -> None:
    """Run a plan to its end, from where it stands; a finished run only says so.

    Args:
        plan: What to run.
        display: Shows the run while it goes on.
        say: Tells a person one line.
        save_hydra: Writes what Hydra composed into the folder it is given.

    Raises:
        InputError: The run directory holds another run, or data cannot be used.
        ServiceError: Something that the run depends on failed for good.
    """
    sources = _find_sources(plan)
    if _is_complete(_find_record(plan, sources), plan, say):
        return
    task = plan.domain.build_task(
        plan.task, artefact_path, lambda *preload: _open_sandbox(plan.config.sandbox, preload)
    )
    schemas(task.columns)  # before there is a folder
    with ExitStack() as stack:
        workers = stack.enter_context(_workers(plan, task))  # they load while the model is opened
        by_model = _open_model(plan, stack)  # before there is a folder, and before another run is deleted
        stack.enter_context(locked(plan.path))
        record = _find_record(plan, sources)  # once more: another process may have written since
        if _is_complete(record, plan, say):
            return
        if plan.config.overwrite:
            delete_run(plan.path)
        versions = package_versions(["numpy", "rdkit", "scipy", "sympy"])
        if record is None:
            record = new_record(digest(plan.settings), plan.settings, plan.overrides, sources, versions, git_commit())
        else:
            record = continue_record(plan.path, record, versions)
        directory = RunDirectory(plan.path, task.columns)
        with writing_to(plan.path):
            save_hydra(plan.path / ".hydra")
        result = _search(plan, task, workers, directory, record, display, by_model)
    best = f"; best {result.best:.4g}  {result.best_genotype or ''}".rstrip() if result.best is not None else ""
    say(f"complete, stopped by {result.stopped_by}: {result.oracle_calls:,} oracle calls{best}")
    say(f"{plan.path}")


def _find_sources(plan: Plan) -> dict[str, str]:
    """Return the SHA-256 of all files that the results depend on, by their role."""
    sources = dict(plan.domain.sources(plan.task, _artefact_sha256))
    if plan.model is not None:
        sources["prompts"] = plan.build_prompts().sha256
        served = KINDS[plan.model.client].source(plan.model, _artefact_sha256)
        sources |= {} if served is None else {"model": served}
    return sources


def _artefact_sha256(name: str) -> str:
    return find_artefact(name).sha256


def _find_record(plan: Plan, sources: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the record of the run that stands in the plan's directory, None if there is none to go on from."""
    if plan.config.overwrite:
        return None
    record = read_record(plan.path)
    if record is not None:
        check_same_run(plan.path, record, digest(plan.settings), plan.settings)
        check_same_data(plan.path, record, sources)
    return record


def _is_complete(record: Mapping[str, Any] | None, plan: Plan, say: Callable[[str], None]) -> bool:
    """Say so if the run is complete."""
    if record is None or record["status"] != "complete":
        return False
    say(f"{plan.path} is complete (stopped by {record.get('stopped_by')}); overwrite=true runs it afresh")
    return True


def _open_sandbox(settings: schema.Sandbox, preload: Sequence[str]) -> ProcessSandbox:
    """Return the sandbox, and say what this machine's kernel cannot keep a program from.

    Raises:
        InputError: There is such a thing, and the settings forbid it.
    """
    gaps = " and ".join(find_gaps())
    if gaps and settings.require == schema.STRICT:
        raise InputError(f"sandbox.require=strict: this kernel cannot keep programs from {gaps}; use another machine")
    if gaps:
        _LOG.warning("this kernel cannot keep programs from %s; sandbox.require=strict would refuse to run", gaps)
    return ProcessSandbox(preload)


def _open_model(plan: Plan, stack: ExitStack) -> ModelRound | None:
    """Return what makes the proposer of a round by a language model, None for a run without one."""
    if plan.model is None:
        return None
    kind = KINDS[plan.model.client]
    settings = kind.complete(plan.model, artefact_path)
    model = stack.enter_context(opened(settings))
    round_quotes = model.quote(plan.example_queries(settings)) * plan.config.method.offspring
    cap = Ledger(freeze_caps(plan.config.budget), plan.n_pools).find_cap(round_quotes, 0.0)
    if cap is not None and kind.asks:
        _LOG.warning("budget.%s does not cover a round of %d requests at its worst", cap, len(round_quotes))
    return lambda task, ledger: ModelProposer(model, plan.samplers(settings), plan.build_prompts(), task, ledger)


def _workers(plan: Plan, task: Task) -> Workers:
    """Return who makes and evaluates the offspring, not started yet."""
    evaluator = plan.config.evaluator
    bench = Bench(task, plan.domain.build_operator(plan.task), Journal(plan.path / JOURNAL))
    proposes = plan.model is None or plan.config.llm.fallback == schema.CLASSICAL
    return Workers(bench, evaluator.workers or available_cores(), evaluator.batch, proposes=proposes)


def _make_proposers(
    plan: Plan, task: Task, ledger: Ledger, workers: Workers, by_model: ModelRound | None
) -> list[Proposer]:
    """Return who answers the attempts at a slot, in their order."""
    attempts = plan.config.search.attempts
    if by_model is None:
        return [OperatorProposer(workers, ledger)] * attempts
    proposers: list[Proposer] = [by_model(task, ledger)] * attempts
    if plan.config.llm.fallback == schema.CLASSICAL:
        proposers += [OperatorProposer(workers, ledger, is_fallback=True)] * attempts
    return proposers


def _search(
    plan: Plan,
    task: Task,
    workers: Workers,
    directory: RunDirectory,
    record: dict[str, Any],
    display: Display,
    by_model: ModelRound | None,
) -> Snapshot:
    """Run the loop, with `record` kept true."""
    ledger = Ledger(freeze_caps(plan.config.budget), plan.n_pools)
    with deferred_signals() as check, display, kept(directory, record):
        setup = Setup(
            method=freeze_method(plan.config.method),
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
        )
        result = Loop(setup).run()
        record["stopped_by"] = result.stopped_by
    return result


def _find_misnamed(names: Mapping[str, object], choices: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong with the names of the options; one is that of its file, so that no copy passes for another.

    Args:
        names: By group.
        choices: The files chosen, by group.
    """
    for group, name in names.items():
        file = str(choices[group])
        if not _FOLDER_NAME.fullmatch(file):  # in a folder of its own it could bear a published name
            yield f"{group}={file} must be a file of {group}/ itself, whose name a folder can have; move or rename it"
        elif name != file:
            yield f"{group}.name must be {file}, like its file {file}.yaml, got {name}; an option is named by its file"


def _identity(values: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the flat settings that can change a run's log, with the domain's own as its types write them."""
    task, _ = read_settings(domain, values["task"])
    typed = {} if task is None else asdict(task)
    return identity({**values, "task": {**values["task"], **typed}}, frozenset(quiet_keys(schema.Config)))


def _outputs_folder(outputs: str) -> tuple[Path, list[str]]:
    """Return the folder of all runs, and what is wrong with its name."""
    try:
        return Path(outputs).expanduser(), [] if outputs else ["outputs must name a folder, got nothing"]
    except RuntimeError as error:  # a home that is none
        return Path(outputs), [f"outputs={outputs} cannot be used ({error}); choose another folder"]


def _find_unwritable(path: Path) -> list[str]:
    """Return what keeps a run directory from being made."""
    try:
        existing = next(folder for folder in [path, *path.absolute().parents] if folder.exists())
    except OSError as error:
        return [f"outputs: {path} cannot be used ({error.strerror}); choose another folder with outputs=…"]
    if not existing.is_dir():
        return [f"outputs: {existing} is no folder; choose another one with outputs=…"]
    if not os.access(existing, os.W_OK | os.X_OK):
        return [f"outputs: {existing} cannot be written; choose another folder with outputs=…"]
    return []
