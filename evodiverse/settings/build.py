"""The composition root: from a composed configuration to a checked plan, and from the plan to a run."""

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig

from evodiverse.data.artefacts import find_artefact
from evodiverse.data.cache import artefact_path
from evodiverse.errors import InputError, Interrupted, describe
from evodiverse.ports import Display, Domain, Snapshot, Task
from evodiverse.runner.display import DISPLAYS
from evodiverse.runner.loop import Loop, Setup
from evodiverse.runner.process import deferred_signals
from evodiverse.runner.workers import Bench, Workers, available_cores
from evodiverse.search.exchange import exchange_rules, schedules
from evodiverse.search.settings import EarlyStop, MatingPool, Method, Search, Survivors, Swap
from evodiverse.search.streams import Streams
from evodiverse.search.survivors import survivor_rules
from evodiverse.search.weights import weights
from evodiverse.settings import schema
from evodiverse.settings.compose import compose_alone, merge_typed, read, resolve
from evodiverse.settings.identity import digest, identity, override_label, quiet_keys
from evodiverse.settings.validate import find_violations
from evodiverse.store.lock import locked
from evodiverse.store.provenance import git_commit, package_versions
from evodiverse.store.record import check_same_data, check_same_run, continue_record, kept, new_record, read_record
from evodiverse.store.run_directory import RunDirectory, delete_run, writing_to
from evodiverse.vocabulary import Prompt

NAMES = {
    "method.mating_pool.weight": weights.names,
    "method.survivors.weight": weights.names,
    "method.survivors.rule": survivor_rules.names,
    "method.swap.rule": exchange_rules.names,
    "method.swap.schedule": schedules.names,
    "method.hot_prompt": [prompt.value for prompt in Prompt],
    "display": DISPLAYS,
}
# Keys of `task` that are read here; the others are the domain's.
TASK_KEYS = ("name", "domain", "defaults")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked configuration: what would run, and where.

    Attributes:
        config: All keys but the domain's own.
        domain: The module of the task's domain.
        task: The domain's own settings.
        settings: The flat settings that make the run the run it is.
        path: The run directory.
    """

    config: schema.Config
    domain: Domain
    task: Any
    settings: Mapping[str, Any]
    path: Path

    @property
    def n_initial(self) -> int:
        """Oracle calls that the initial candidates cost at most."""
        n_draws = 1 if self.domain.is_shared(self.task) else len(self.config.method.ladder)
        return self.domain.count_initial(self.task) * n_draws

    @property
    def summary(self) -> str:
        """What a dry run says."""
        n_calls = self.config.budget.oracle_calls
        return f"would run in {self.path}\nwith {self.n_initial:,} initial of {n_calls:,} oracle calls"


def plan_run(composed: DictConfig, hydra: HydraConf) -> Plan:
    """Check a composed configuration.

    Args:
        composed: The run's configuration.
        hydra: Hydra's own part of it. Hydra must be running.

    Raises:
        InputError: It cannot be meant; names everything that is wrong.
    """
    config = read(composed)
    domain = _import_domain(config.task.get("domain"))
    task, violations = _merge_task(domain, config.task)
    settings = _identity(resolve(composed), domain)
    label = override_label(settings, _identity(compose_alone(hydra), domain))
    names = {"task": config.task.get("name"), "method": config.method.name, "llm": config.llm.name}
    outputs, bad_outputs = _outputs_folder(config.outputs)
    path = outputs.joinpath(*map(str, names.values()), label, f"seed{config.seed}")
    plan = Plan(config, domain, task, settings, path)
    has_model = hydra.runtime.choices["llm"] != "off"
    violations += [
        *(
            f"{group}.name must be a folder name, got {name!r}"
            for group, name in names.items()
            if name is None or not _FOLDER_NAME.fullmatch(str(name))
        ),
        *find_violations(config, 0 if task is None else plan.n_initial, NAMES, has_model=has_model),
        *([] if task is None else domain.find_violations(task)),
        *(bad_outputs or _find_unwritable(path)),
    ]
    if violations:
        raise InputError(*violations)
    return plan


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
    sources = plan.domain.sources(plan.task, lambda name: find_artefact(name).sha256)
    if _is_complete(_find_record(plan, sources), plan, say):
        return
    task = plan.domain.build_task(plan.task, artefact_path)
    _check_offers(task, Task, "the task of this domain")
    with locked(plan.path):
        if plan.config.overwrite:
            delete_run(plan.path)
        record = _find_record(plan, sources)  # once more: another process may have written since
        if _is_complete(record, plan, say):
            return
        versions = package_versions(["numpy", "rdkit"])
        if record is None:
            record = new_record(digest(plan.settings), plan.settings, sources, versions, git_commit())
        else:
            record = continue_record(plan.path, record, versions)
        directory = RunDirectory(plan.path, task.columns)
        with writing_to(plan.path):
            save_hydra(plan.path / ".hydra")
        result = _search(plan, task, directory, record, display)
    best = f"; best {result.best:.4g}  {result.best_genotype}" if result.best is not None else ""
    say(f"complete, stopped by {result.stopped_by}: {result.oracle_calls:,} oracle calls{best}")
    say(f"{plan.path}")


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


def _search(plan: Plan, task: Task, directory: RunDirectory, record: dict[str, Any], display: Display) -> Snapshot:
    """Run the loop, with `record` kept true."""
    evaluator = plan.config.evaluator
    bench = Bench(task, plan.domain.build_operator(plan.task), directory.journal)
    workers = Workers(bench, evaluator.workers or available_cores(), evaluator.batch)
    with deferred_signals() as check, display, workers, kept(directory, record):
        setup = Setup(
            method=freeze_method(plan.config.method),
            search=freeze_search(plan.config.search),
            streams=Streams(plan.config.seed),
            oracle_calls=plan.config.budget.oracle_calls,
            shared_start=plan.domain.is_shared(plan.task),
            task=task,
            workers=workers,
            store=directory,
            display=display,
            check=check,
        )
        result = Loop(setup).run()
        record["stopped_by"] = result.stopped_by
    return result


def freeze_method(method: schema.Method) -> Method:
    """Return the settings of the search core for ``method``."""
    return Method(
        ladder=tuple(method.ladder),
        capacity=method.capacity,
        offspring=method.offspring,
        parents=method.parents,
        elites=method.elites,
        hot_prompt=Prompt(method.hot_prompt),
        mating_pool=MatingPool(**asdict(method.mating_pool)),
        survivors=Survivors(**asdict(method.survivors)),
        swap=Swap(**asdict(method.swap)),
    )


def freeze_search(search: schema.Search) -> Search:
    """Return the settings of the search core for ``search``; an early stop without patience is none."""
    early_stop = search.early_stop
    if early_stop is None or early_stop.patience is None:
        return Search(search.attempts, search.patience, None)
    return Search(search.attempts, search.patience, EarlyStop(early_stop.top, early_stop.gain, early_stop.patience))


def _import_domain(name: object) -> Domain:
    """Return the module ``domain`` of a domain's package, which may lie in the current folder."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        domain: Domain = importlib.import_module(f"{name}.domain")
    except Interrupted:
        raise
    except BaseException as error:  # whatever a user's module raises
        raise InputError(
            f"task.domain={name} cannot be imported ({describe(error)}); name a package with a module domain"
        ) from error
    _check_offers(domain, Domain, f"task.domain={name}: its module")
    return domain


def _check_offers(part: object, port: type, name: str) -> None:
    """Refuse a part of a user's own domain that lacks something of its port."""
    offered = [word for word in [*inspect.get_annotations(port), *vars(port)] if not word.startswith("_")]
    absent = ", ".join(word for word in offered if not hasattr(part, word))
    if absent:
        raise InputError(f"{name} lacks {absent}; see {port.__name__} in evodiverse.ports")


def _merge_task(domain: Domain, task: Mapping[str, Any]) -> tuple[Any, list[str]]:
    return merge_typed(domain.settings, {key: task[key] for key in task if key not in TASK_KEYS}, "task.")


def _identity(values: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the flat settings that can change a run's log, with the domain's own as its types write them."""
    task, _ = _merge_task(domain, values["task"])
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
