"""Check a composed configuration and turn it into the plan of a run."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.conf import HydraConf
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import InputError
from evodiverse.kit.inputs import find_files, input_sha256
from evodiverse.kit.own_code import find_imports
from evodiverse.llm.clients import KINDS
from evodiverse.llm.providers import find_misfits
from evodiverse.llm.settings import Llm
from evodiverse.ports import Bounding, Domain, Named, Prompted, Prompts, Versioned
from evodiverse.runlog.earlier import KEPT, Earlier, read_best, read_kept
from evodiverse.runlog.record import CODE, RECORD
from evodiverse.runner.evaluators import ASK
from evodiverse.search.settings import SAMPLERS, at_rung
from evodiverse.settings import schema
from evodiverse.settings.compose import compose_published, overrides_nothing, read, resolve
from evodiverse.settings.domain import code_files, find_rule_files, import_domain, read_settings
from evodiverse.settings.identity import (
    NAMED_ELSEWHERE,
    find_overrides,
    identity,
    later_defaults,
    override_label,
    quiet_keys,
    show,
)
from evodiverse.settings.validate import find_violations
from evodiverse.text import count_of
from evodiverse.vocabulary import Candidate, Prompt, Query, Request, Sampler, Stream

if TYPE_CHECKING:
    from evodiverse.store.record import Source

_OWN_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=,\[\]-]*(/[A-Za-z0-9_][A-Za-z0-9._=,\[\]-]*)*")
_LONGEST_FOLDER = 200
# The SHA-256 that each imported file of the user's code had when this process first used it.
_IMPORTED: "dict[Path | None, str | None]" = {}
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
# For prompts that are half prose and half SMILES or code; a rough figure, used for estimates only.
BYTES_A_TOKEN = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked configuration: what would run, and where.

    Attributes:
        config: The configuration, in which ``task`` is a plain dictionary.
        domain: The domain of the task, as `import_domain` returns it.
        task: The settings of the domain, an object of its class `Domain.settings`.
        settings: The settings that identify the run, by dotted key.
        overrides: The settings that differ from those of a run with this task, method and llm and no other override,
            without the seed.
        path: The run directory.
        shelf: The folder of the runs with this task, method and llm that have no ``name``.
        n_draws: The number of pools that initial candidates are drawn for; 1 if all start from the same ones.
        n_initial: The largest number of oracle calls that the initial candidates can cost.
        adapted: What was changed in the task's sampling parameters because the model does not take them, for the user;
            empty if nothing was.
        earlier: The candidates of an earlier run to start from; None for the domain's own initial candidates.
    """

    config: schema.Config
    domain: Domain
    task: Any
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    path: Path
    shelf: Path
    n_draws: int
    n_initial: int
    adapted: str
    earlier: Earlier | None = None

    @property
    def model(self) -> Llm | None:
        """The settings of the language model, or None for a run without one."""
        return None if self.config.llm.client == "none" else self.config.llm

    @property
    def libraries(self) -> Sequence[str]:
        """The packages whose versions may change the results."""
        own = self.domain.libraries if isinstance(self.domain, Versioned) else ()
        return ["numpy", *own, *(["scipy"] if self.config.method.screen is not None else [])]

    @property
    def summary(self) -> str:
        """The output of a dry run."""
        n_calls = self.config.budget.oracle_calls
        calls = f"with {count_of(n_calls, 'oracle call')}, {self.n_initial:,} of them for the initial candidates"
        lines = [f"would run in {self.path}", calls]
        if self.model is not None:
            fewest, most = self._count_requests(n_calls)
            cap = most if self.config.budget.llm_calls is None else self.config.budget.llm_calls
            queries, n_under_way = self.example_queries(self.model), self.n_under_way
            lines += _describe_estimate(queries, self.model, min(fewest, cap), min(most, cap), n_under_way)
        lines += [self.adapted] if self.adapted else []
        return "\n".join(lines)

    @property
    def n_under_way(self) -> int:
        """The largest number of requests to a language model that are under way at the same time."""
        method, model = self.config.method, self.config.llm
        each = method.offspring * method.n_pools if method.screen is None else method.screen.n_proposals
        sent = each * (1 + self.config.search.lag)
        return sent if model.batch else min(sent, model.concurrency)

    def _count_requests(self, n_calls: int) -> tuple[int, int]:
        """Return the least and the largest number of requests to a language model that fill all slots of a run.

        If a classical operator fills some of the slots, these are expectations.
        """
        screen, n, share = self.config.method.screen, self.n_initial, self.config.method.model_share
        if screen is None:
            n_slots = round((n_calls - n) * share)
            return n_slots, n_slots * self.config.search.attempts
        n_requests = 0
        while n < n_calls:
            n_requests += screen.n_proposals
            n += screen.size(n)
        return round(n_requests * share), round(n_requests * share)

    def build_prompts(self) -> Prompts:
        """Return the prompts of a run with a language model.

        Raises:
            InputError: A model cannot be asked about this task; the message says what is missing.
        """
        if not isinstance(self.domain, Prompted):
            raise TypeError("the domain has no prompts")
        return self.domain.build_prompts(self.task)

    def samplers(self, model: Llm) -> list[Sequence[Sampler]]:
        """Return the samplers of each pool; the last entry of ``method.samplers`` applies to all further pools."""
        method = self.config.method
        return [model.samplers[at_rung(method.samplers, rung)] for rung in range(method.n_pools)]

    def example_queries(self, model: Llm) -> list[dict[Query, float]]:
        """Return queries of typical length, from which the cost of the run is estimated.

        For each pool, there is a query to each of its models, with the share of the requests that this model gets; with
        ``llm.choose=bandit``, only one to the dearest model, which may get all.
        """
        prompts, stream = self.build_prompts(), Stream(0, 0)
        *parents, best = (
            Candidate(call, prompts.example, "", 0.0, 0.0) for call in range(self.config.method.parents + 1)
        )
        messages = prompts.messages(Request(0, 0, 0, 0, tuple(parents), Prompt.COLD, stream, best))
        pools = [
            {
                Query(one.model, messages, one.decoding, stream): one.weight / sum(other.weight for other in used)
                for one in used
            }
            for used in self.samplers(model)
        ]
        return pools if model.choose == "weights" else [_keep_dearest(shares, model) for shares in pools]

    def find_sources(self, artifact_sha256: Callable[[str], str]) -> "dict[str, Source]":
        """Return the data and code that the results depend on besides the settings, by role, such as ``prompts``.

        Args:
            artifact_sha256: A function that returns the SHA-256 of a published file, given its name.

        Raises:
            InputError: A user's file cannot be read, or has changed since this process imported it.
        """
        found = dict(self.domain.sources(self.task, artifact_sha256))
        found |= {} if self.earlier is None else {"initial.run": self.earlier.sha256}
        found |= find_rule_files(self.config.method)
        found |= find_files(self.config.evaluator.command or (), "evaluator")
        found |= {} if self.model is None else find_files(self.model.command_words, "model")
        found |= _find_imported(found) | code_files(str(self.config.task["domain"]))
        if self.model is not None:
            found["prompts"] = self.build_prompts().sha256
            served = KINDS[self.model.client].source(self.model, artifact_sha256)
            found |= {} if served is None else {"model": served}
        read = {role: read_source(role, source) for role, source in found.items()}
        _check_imported(read)
        return read


def _keep_dearest(shares: Mapping[Query, float], settings: Llm) -> dict[Query, float]:
    """Return the query to the dearest of a pool's models, as if it got all requests."""

    def find_cost(query: Query) -> float:
        price, n_bytes = KINDS[settings.client].price(query.model, settings), len(query.messages[-1].content.encode())
        return 0.0 if price is None else price.cost(round(n_bytes / BYTES_A_TOKEN), query.decoding.max_tokens)

    return {max(shares, key=find_cost): 1.0}


def _describe_estimate(
    pools: Sequence[Mapping[Query, float]], settings: Llm, fewest: int, most: int, n_under_way: int
) -> list[str]:
    """Return the lines of a dry run that say how many requests a run would send, with their tokens and cost.

    Args:
        pools: Typical queries of each pool, with the share of the requests that each stands for.
        settings: The settings of the models.
        fewest: The number of requests if each slot (the place of one offspring) needs only one attempt.
        most: The number of requests if each slot takes all its attempts.
        n_under_way: The largest number of requests that are under way at the same time.
    """
    queries = [(query, share / len(pools)) for shares in pools for query, share in shares.items()]
    prompt = sum(len(message.content.encode()) * share for query, share in queries for message in query.messages)
    prompt_tokens = prompt / BYTES_A_TOKEN
    reply_tokens = sum(query.decoding.max_tokens * share for query, share in queries)
    replies = _range(fewest * reply_tokens, most * reply_tokens)
    requests = "request" if max(fewest, most) == 1 else "requests"
    lines = [
        f"and {_range(fewest, most)} {requests} to {', '.join(settings.models)}, unless the search stops early",
        f"with up to {n_under_way:,} under way at a time,",
        f"of about {prompt_tokens:,.0f} tokens each: {_range(fewest * prompt_tokens, most * prompt_tokens)} in total",
    ]
    if settings.client != "command":  # which is not told of any limit
        lines.append(f"with replies of at most {reply_tokens:,.0f} tokens: {replies} in total")
    kind = KINDS[settings.client]
    if not kind.asks:
        return [*lines, "at no cost: the replies come from the cache"]
    cost = 0.0
    for query, share in queries:
        price = kind.price(query.model, settings)
        if price is None:
            return [*lines, "at an unknown price"]
        price = price.halved() if settings.batch else price
        cost += share * (price.prompt * prompt_tokens + price.completion * reply_tokens)
    how = "in batches, if these answer all of them, " if settings.batch else ""
    return [*lines, f"{how}for {_range(fewest * cost, most * cost, '${:,.2f}')} at most"]


def _range(fewest: float, most: float, form: str = "{:,.0f}") -> str:
    return " to ".join(dict.fromkeys([form.format(fewest), form.format(max(fewest, most))]))


def plan_run(composed: DictConfig, hydra: HydraConf) -> Plan:
    """Check a composed configuration and return the plan of its run. The schema must be registered with Hydra.

    Args:
        composed: The run's configuration. A default of the task that the model does not take is replaced in it.
        hydra: Hydra's own part of the configuration.

    Raises:
        InputError: The configuration is invalid, or the run directory cannot be used; the message lists all problems
            that the first failing group of checks finds.
    """
    config = read(composed)
    method, search = config.method, config.search
    if method.screen is not None:
        method.screen.by_model = config.llm.client != "none"
    screens = method.screen is not None and method.screen.n_proposals > 0
    domain = import_domain(config.task.get("domain"))
    task, violations = read_settings(domain, config.task)
    n_draws = n_initial = 0
    if task is not None:
        # With screening, all pools start from the same candidates, as the surrogate of each pool learns from them.
        wanted = _find_start(task)
        n_draws = 1 if screens or wanted or domain.is_shared(task) else method.n_pools
        if wanted:
            n_initial = wanted[1]
        elif isinstance(domain, Bounding):
            n_initial = domain.count_charged(task, n_draws)
        else:
            n_initial = domain.count_initial(task) * n_draws
    names = {"task": config.task.get("name"), "method": method.name, "llm": config.llm.name}
    outputs, bad_outputs = _outputs_folder(config.outputs)
    shelf = outputs.joinpath(*map(str, names.values()))
    violations += [
        *_find_misnamed(names, hydra.runtime.choices),
        *find_violations(config, n_initial, can_ask=isinstance(domain, Prompted)),
        *([] if violations else domain.find_violations(task)),  # it may use values only within their bounds
        *(_find_misplaced(config.name) or bad_outputs),
    ]
    if violations:  # raised here, since the checks below take as long as those above
        raise InputError(*violations)
    adapted = _adapt_to_model(composed, config.llm)
    settings = _identity(resolve(composed), domain)
    is_plain = overrides_nothing(hydra, _quiet_keys(config.evaluator.name) | NAMED_ELSEWHERE)
    overrides: dict[str, Any] = {}
    if not is_plain:
        published = _identity(compose_published(hydra), domain)
        overrides = find_overrides(settings, published, _find_later(domain))
    if config.name is None:
        path = find_folder(shelf, domain, task, overrides) / f"seed{config.seed}"
    else:
        path = outputs.joinpath(config.name, *_number_of_trial(hydra))
    violations = _find_unwritable(path) or _find_nested(path, outputs)
    if violations:
        raise InputError(*violations)
    if not screens:
        method.screen = None
    if search.early_stop is not None and search.early_stop.patience is None:
        search.early_stop = None
    earlier = _read_start(task, config, path)
    n_initial = n_initial if earlier is None else len(earlier.genotypes)
    plan = Plan(config, domain, task, settings, overrides, path, shelf, n_draws, n_initial, adapted, earlier)
    tracker = config.tracking.name
    if (model := plan.model) is not None:
        model.find_cache()  # refuses a home directory that does not exist
        kind = KINDS[model.client]
        violations += kind.find_violations(model, needs_price=config.budget.usd is not None)
        if model.batch and not kind.has_batches:
            violations.append(f"llm.batch=true: llm={config.llm.name} has no batches; set llm.batch=false")
        violations += _find_incomparable(model) if model.choose == "bandit" and not violations else ()
        try:
            plan.build_prompts()
        except InputError as error:
            violations += error.violations
    if tracker != "none" and find_spec(tracker) is None:
        violations.append(f"tracking={tracker} needs {tracker}; run pip install 'evodiverse[{tracker}]'")
    if violations:
        raise InputError(*violations)
    return plan


def find_folder(shelf: Path, domain: Domain, task: Any, overrides: Mapping[str, Any]) -> Path:
    """Return the folder of the runs with these overrides, one for each seed.

    The name of a user's own problem stands for the settings that define it. If there is a folder that names these
    settings, as there was before problems had names, it stays in use.

    Args:
        shelf: The folder of the runs with the same task, method and llm.
        domain: The domain of the task.
        task: The settings of the domain.
        overrides: The settings of the run that differ from the defaults of its task, method and llm, by dotted key.
    """
    earlier = shelf / override_label(overrides)
    named = domain.name_problem(task) if isinstance(domain, Named) else None
    if named is None or earlier.exists():
        return earlier
    name, keys = named
    others = {key: value for key, value in overrides.items() if not key.startswith(keys)}
    return shelf / override_label(others, name) if others != overrides else earlier


def _find_start(task: Any) -> tuple[str, int] | None:
    """Return ``task.initial.run`` and ``task.initial.best``, if the domain has these keys and the first has a value."""
    initial = asdict(task).get("initial")
    if not isinstance(initial, dict) or initial.get("run") is None:
        return None
    return str(initial["run"]), int(initial["best"])


def _read_start(task: Any, config: schema.Config, path: Path) -> Earlier | None:
    """Return the candidates of ``task.initial.run``, or None without one.

    Once the run has begun, they come from its own directory, whatever has become of the earlier run.
    """
    wanted = _find_start(task)
    if wanted is None:
        return None
    kept = None if config.overwrite else read_kept(path / KEPT)
    return read_best(*wanted, str(config.task["domain"])) if kept is None else kept


def _adapt_to_model(composed: DictConfig, llm: Llm) -> str:
    """Replace the task's sampling parameters that the model does not take, and return a line about it, or "".

    The replaced values identify the run like any other, so its record and its folder show them. A value of the user is
    left as it is, for `Kind.find_violations` to refuse.

    Args:
        composed: The run's configuration, which is changed. In it, a default of the task is still a reference.
        llm: The keys of ``llm`` that were read from it, which are changed too.
    """
    changes: dict[str, list[str]] = defaultdict(list)
    for name in SAMPLERS if llm.takes_model else ():
        pool = getattr(llm.pools, name)
        for model in pool.weigh_models(llm.model or ""):
            for key, remedy, rule in find_misfits(model, pool.temperature, pool.top_p):
                if OmegaConf.is_interpolation(composed.llm.pools[name], key):
                    place = f"llm.pools.{name}.{key}"
                    changes[f"{model} {rule}"].append(f"{place}={show(remedy)} instead of {getattr(pool, key)}")
                    OmegaConf.update(composed, place, remedy)
                    setattr(pool, key, remedy)
    return "; ".join(f"{rule}: {', '.join(changed)}" for rule, changed in changes.items())


def _find_incomparable(llm: Llm) -> Iterator[str]:
    """Yield why the gains per dollar of the models that ``llm.choose=bandit`` chooses among cannot be compared."""
    models = dict.fromkeys(one.model for used in llm.samplers.values() if len(used) > 1 for one in used)
    prices = {model: KINDS[llm.client].price(model, llm) for model in models}
    unknown = [model for model, price in prices.items() if price is None]
    free = [model for model, price in prices.items() if price is not None and price.cost(1, 1) == 0]
    remedy = "set llm.price.input and llm.price.output, which hold for all models, or llm.choose=weights"
    if unknown:
        yield f"llm.choose=bandit: the price of {' and '.join(unknown)} is unknown; {remedy}"
    elif 0 < len(free) < len(prices):
        yield f"llm.choose=bandit: {' and '.join(free)} costs nothing, other models do; {remedy}"


def _find_imported(sources: Mapping[str, str | Path]) -> dict[str, Path]:
    """Return the files of the user's own code that the Python files among some sources import, by role."""
    return {
        f"{CODE}{role}/{os.path.relpath(file, source.absolute().parent)}": file
        for role, source in sources.items()
        if isinstance(source, Path) and source.suffix == ".py" and source.is_file()
        for file in find_imports(source)
    }


def _check_imported(sources: "Mapping[str, Source]") -> None:
    """Refuse user's code that has changed since an earlier run of this process, which would still execute the old code.

    Files of an evaluator or of a model do not count: they run in processes of their own, or are executed again when
    they change.

    Raises:
        InputError: A file has changed; the message names it.
    """
    for role, source in sources.items():
        is_imported = source.is_code and not role.removeprefix(CODE).startswith(("evaluator", "model"))
        if is_imported and _IMPORTED.setdefault(source.path, source.sha256) != source.sha256:
            raise InputError(f"{source.path} has changed since it was imported; restart the command or the notebook")


def read_source(role: str, source: str | Path) -> "Source":
    """Return the record of data or code that the results depend on.

    Args:
        role: The role of the source, for error messages.
        source: The path of a user's file, which is hashed, or the SHA-256 of anything else.
    """
    from evodiverse.store.record import Source  # here, so that errors are reported without loading pyarrow

    return Source(source, None) if isinstance(source, str) else Source(input_sha256(source, role), source)


def _find_misnamed(names: Mapping[str, object], choices: Mapping[str, object]) -> Iterator[str]:
    """Yield one message for each option whose ``name`` is not its file name, or whose file name cannot name a folder.

    The path of a run contains the ``name`` of each option. If a copy of an option file kept the ``name`` of the
    original, its runs would be put into the folder of the original and count as runs of the original.

    Args:
        names: The names in the configuration, by group.
        choices: The chosen files, by group.
    """
    for group, name in names.items():
        file = str(choices[group])
        if not _FOLDER_NAME.fullmatch(file):
            yield f"{group}={file} must be a valid folder name of letters, digits and ._-; rename the file"
        elif name != file:
            yield (
                f"{group}.name must be {file}, like its file {file}.yaml, got {name}; an option is named after its file"
            )


def _number_of_trial(hydra: HydraConf) -> list[str]:
    """Return ``["trialN"]``, the folder of run number N (from 0) of a sweeper such as Optuna's; else ``[]``.

    A sweep over lists of values needs no such folder, since it names its runs itself (`name_runs`).
    """
    is_trial = hydra.mode is RunMode.MULTIRUN and not str(hydra.sweeper.get("_target_")).endswith(".BasicSweeper")
    return [f"trial{hydra.job.num}"] if is_trial else []


def _find_misplaced(name: str | None) -> list[str]:
    if name is None or (_OWN_FOLDER.fullmatch(name) and len(max(name.split("/"), key=len)) <= _LONGEST_FOLDER):
        return []
    rule = f"of letters, digits and ._=,-, with at most {_LONGEST_FOLDER} characters per folder (a/b is b inside a)"
    return [f"name must be a folder below outputs, {rule}, got {name}; choose another name"]


def _identity(values: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the settings that can change a run's log, by dotted key.

    The settings of the domain are converted to their types first.
    """
    task, _ = read_settings(domain, values["task"])
    typed = {} if task is None else asdict(task)
    quiet = _quiet_keys(values["evaluator"]["name"]) | quiet_keys(domain.settings, "task.")
    return identity({**values, "task": {**values["task"], **typed}}, quiet, _find_later(domain))


def _find_later(domain: Domain) -> dict[str, Any]:
    """Return the defaults that `identity` leaves out, of the keys of all runs and of the domain's own."""
    own = later_defaults(schema.Task, "task.") | later_defaults(domain.settings, "task.")
    return later_defaults(schema.Config) | own


def _quiet_keys(evaluator: str) -> frozenset[str]:
    """Return the dotted keys of the settings that cannot change a run's log.

    Keys under ``task``, which the domain (such as molecules) defines, are left out.
    """
    # A person's measurements may differ from what the task would compute, so asking a person can change the log.
    return quiet_keys(schema.Config) - ({"evaluator.name"} if evaluator == ASK else set())


def _outputs_folder(outputs: str) -> tuple[Path, list[str]]:
    """Return the folder of all runs, and a list of problems with its name."""
    try:
        return Path(outputs).expanduser(), [] if outputs else ["outputs must name a folder, got nothing"]
    except RuntimeError as error:  # no such home directory
        return Path(outputs), [f"outputs={outputs} cannot be used ({error}); choose another folder"]


def _find_nested(path: Path, outputs: Path) -> list[str]:
    """Return a message if the run directory would be inside that of another run.

    If the outer run were started again with ``overwrite=true``, that would delete both.
    """
    between = [folder for folder in path.parents if folder == outputs or outputs in folder.parents]
    holder = next((folder for folder in between if (folder / RECORD).is_file()), None)
    remedy = "choose another folder with name=… or outputs=…"
    return [] if holder is None else [f"{path} would be inside the run {holder}; {remedy}"]


def _find_unwritable(path: Path) -> list[str]:
    """Return a message if the run directory cannot be created or written to."""
    try:
        existing = next(folder for folder in [path, *path.absolute().parents] if folder.exists())
    except OSError as error:
        return [f"outputs: {path} cannot be used ({error.strerror}); choose another folder with outputs=…"]
    if not existing.is_dir():
        return [f"outputs: {existing} is not a folder; choose another one with outputs=…"]
    if not os.access(existing, os.W_OK | os.X_OK):
        return [f"outputs: {existing} cannot be written; choose another folder with outputs=…"]
    return []
