"""From a composed configuration to a checked plan of a run."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.conf import HydraConf
from hydra.types import RunMode
from omegaconf import DictConfig

from evodiverse.cache_folder import cache_folder
from evodiverse.errors import InputError
from evodiverse.kit.documented import find_beyond
from evodiverse.kit.inputs import input_sha256
from evodiverse.llm.clients import KINDS
from evodiverse.llm.estimate import describe_estimate
from evodiverse.llm.settings import ModelSettings
from evodiverse.ports import Domain, Prompted, Prompts, Versioned
from evodiverse.runlog.record import RECORD
from evodiverse.settings import choices, schema
from evodiverse.settings.compose import compose_published, overrides_nothing, read, resolve
from evodiverse.settings.domain import code_files, import_domain, read_settings
from evodiverse.settings.freeze import freeze_model, freeze_screen
from evodiverse.settings.identity import NAMED_ELSEWHERE, find_overrides, identity, override_label, quiet_keys
from evodiverse.settings.validate import find_violations
from evodiverse.vocabulary import Candidate, Prompt, Query, Request, Sampler, Stream

if TYPE_CHECKING:
    from evodiverse.store.record import Source

_OWN_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=,\[\]-]*(/[A-Za-z0-9_][A-Za-z0-9._=,\[\]-]*)*")
_LONGEST_FOLDER = 200
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


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
        shelf: The folder of its task, method and model.
        model: The language model's settings, None for a run without one.
    """

    config: schema.Config
    domain: Domain
    task: Any
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    path: Path
    shelf: Path
    model: ModelSettings | None

    @property
    def libraries(self) -> Sequence[str]:
        """The packages whose versions may change the results."""
        own = self.domain.libraries if isinstance(self.domain, Versioned) else ()
        return ["numpy", *own, *(["scikit-learn"] if self.proposals > 1 else [])]

    @property
    def proposals(self) -> int:
        """How many proposals a slot gets in a round; of several a surrogate chooses."""
        screen = freeze_screen(self.config.method.screen, has_model=self.model is not None)
        return 1 if screen is None else screen.proposals

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
            fewest = self.proposals * (n_calls - self.n_initial)
            most = fewest * (self.config.search.attempts if self.proposals == 1 else 1)
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

    def find_sources(self, artifact_sha256: Callable[[str], str]) -> "dict[str, Source]":
        """Return what the results depend on beside the settings, by its role.

        Args:
            artifact_sha256: That of a published file by its name.

        Raises:
            InputError: A user's file cannot be read.
        """
        found = dict(self.domain.sources(self.task, artifact_sha256))
        found |= code_files(str(self.config.task["domain"]))
        found |= _find_files_of(self.config.evaluator.command or ())
        if self.model is not None:
            found["prompts"] = self.build_prompts().sha256
            served = KINDS[self.model.client].source(self.model, artifact_sha256)
            found |= {} if served is None else {"model": served}
        return {role: read_source(role, source) for role, source in found.items()}


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
    is_plain = overrides_nothing(composed, hydra, _quiet_keys(config.evaluator.name) | NAMED_ELSEWHERE)
    overrides = {} if is_plain else find_overrides(settings, _identity(compose_published(hydra), domain))
    names = {"task": config.task.get("name"), "method": config.method.name, "llm": config.llm.name}
    outputs, bad_outputs = _outputs_folder(config.outputs)
    shelf = outputs.joinpath(*map(str, names.values()))
    if config.name is None:
        path = shelf / override_label(overrides) / f"seed{config.seed}"
    else:
        path = outputs.joinpath(config.name, *_number_of_trial(hydra))
    plan = Plan(config, domain, task, settings, overrides, path, shelf, None)
    violations += [
        *_find_misnamed(names, hydra.runtime.choices),
        *find_violations(config, 0 if task is None else plan.n_initial, can_ask=isinstance(domain, Prompted)),
        *([] if task is None else find_beyond(task, "task.")),
        *([] if task is None else domain.find_violations(task)),
        *(_find_misplaced(config.name) or bad_outputs or _find_unwritable(path) or _find_nested(path, outputs)),
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
    plan = replace(plan, model=model)
    if plan.proposals > 1 and find_spec("sklearn") is None:
        violations.append("method.screen needs scikit-learn; pip install 'evodiverse[screen]'")
    tracker = config.tracking.name
    if tracker != "none" and find_spec(tracker) is None:
        violations.append(f"tracking={tracker} needs {tracker}; pip install 'evodiverse[{tracker}]'")
    if violations:
        raise InputError(*violations)
    return plan


def _find_files_of(command: Sequence[str]) -> dict[str, Path]:
    """Return the files that a command names by a path, but for the program that its first word is."""
    files = [Path(word) for word in command[1:] if Path(word).is_file()]
    return {f"evaluator/{place}": path for place, path in enumerate(files)}


def read_source(role: str, source: str | Path) -> "Source":
    """Return the SHA-256 of a source, and its path where it is a file of the user's."""
    from evodiverse.store.record import Source  # here: a mistake is answered without pyarrow

    return Source(source, None) if isinstance(source, str) else Source(input_sha256(source, role), source)


def _find_misnamed(names: Mapping[str, object], choices: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong with the names of the options; one is that of its file, so that no copy passes for another.

    Args:
        names: By group.
        choices: The files chosen, by group.
    """
    for group, name in names.items():
        file = str(choices[group])
        if not _FOLDER_NAME.fullmatch(file):
            yield f"{group}={file} must be named as a folder can be, by letters, digits and ._-; rename the file"
        elif name != file:
            yield f"{group}.name must be {file}, like its file {file}.yaml, got {name}; an option is named by its file"


def _number_of_trial(hydra: HydraConf) -> list[str]:
    """Return the folder of a run that a sweeper chose as it went; one over lists of values names its runs itself."""
    is_trial = hydra.mode is RunMode.MULTIRUN and not str(hydra.sweeper.get("_target_")).endswith(".BasicSweeper")
    return [f"trial{hydra.job.num}"] if is_trial else []


def _find_misplaced(name: str | None) -> list[str]:
    if name is None or (_OWN_FOLDER.fullmatch(name) and len(max(name.split("/"), key=len)) <= _LONGEST_FOLDER):
        return []
    rule = f"of letters, digits and ._=,- and at most {_LONGEST_FOLDER} characters (a/b is one in another)"
    return [f"name must be a folder below outputs, {rule}, got {name}"]


def _identity(values: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the flat settings that can change a run's log, with the domain's own as its types write them."""
    task, _ = read_settings(domain, values["task"])
    typed = {} if task is None else asdict(task)
    quiet = _quiet_keys(values["evaluator"]["name"])
    if task is not None:
        quiet |= {*quiet_keys(type(task), "task.")}
    return identity({**values, "task": {**values["task"], **typed}}, quiet)


def _quiet_keys(evaluator: str) -> frozenset[str]:
    """Return the keys beside the domain's own that cannot change a run's log, whoever evaluates."""
    # Somebody's measurements are not what the task would have found.
    return frozenset(quiet_keys(schema.Config)) - ({"evaluator.name"} if choices.asks(evaluator) else set())


def _outputs_folder(outputs: str) -> tuple[Path, list[str]]:
    """Return the folder of all runs, and what is wrong with its name."""
    try:
        return Path(outputs).expanduser(), [] if outputs else ["outputs must name a folder, got nothing"]
    except RuntimeError as error:  # a home that is none
        return Path(outputs), [f"outputs={outputs} cannot be used ({error}); choose another folder"]


def _find_nested(path: Path, outputs: Path) -> list[str]:
    """Return that a run directory would lie within that of another run, which ``overwrite=true`` deletes whole."""
    between = [folder for folder in path.parents if folder == outputs or outputs in folder.parents]
    holder = next((folder for folder in between if (folder / RECORD).is_file()), None)
    return [] if holder is None else [f"{path} would lie within the run {holder}; choose another name"]


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
