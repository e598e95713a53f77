"""The typed schema of every configuration key but the domains' own, which stand in ``tasks/<domain>/settings.py``.

These classes give Hydra the types; they are not frozen because Hydra overrides their fields. `build` turns them into
the frozen settings that the program uses.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from evodiverse.kit.documented import documented, documented_mapping
from evodiverse.settings import choices
from evodiverse.vocabulary import Prompt

SAMPLERS: Final = ("cold", "hot")
PROMPTS: Final = tuple(prompt.value for prompt in Prompt)
CLASSICAL: Final = "classical"
FALLBACKS: Final = ("none", CLASSICAL)
STRICT: Final = "strict"
ON_FAILED_START: Final = ("stop", "continue")
REQUIREMENTS: Final = ("available", STRICT)


@dataclass
class MatingPool:
    """``method.mating_pool``."""

    size: int = documented("draws that make a mating pool", default=MISSING, unit="candidates", least=1)
    replacement: bool = documented("draw with replacement", default=MISSING)
    weight: str = documented("weight rule of the draws", default=MISSING, choices=choices.weight_rules)


@dataclass
class Survivors:
    """``method.survivors``."""

    rule: str = documented("how survivors are chosen", default=MISSING, choices=choices.survivor_rules)
    weight: str = documented("weight rule of the sample", default=MISSING, choices=choices.weight_rules)


@dataclass
class Swap:
    """``method.swap``."""

    rule: str = documented("exchange rule", default=MISSING, choices=choices.exchange_rules)
    schedule: str = documented("which adjacent rungs meet", default=MISSING, choices=choices.schedules)
    period: int = documented("iterations between exchanges", default=MISSING, unit="iterations", least=1)
    size: int = documented("pairs tried at an exchange, k", default=MISSING, unit="pairs", least=1)
    xi: float = documented("powering factor ξ at the start", default=MISSING, least=1e-3, most=1e3)
    target: float = documented("swap rate aimed at, τ", default=MISSING, least=0, most=1)
    tolerance: float = documented("width of the band around the target, ε", default=MISSING, least=0, most=1)
    window: int = documented("exchanges averaged before ξ moves, L", default=MISSING, unit="exchanges", least=1)


@dataclass
class Niche:
    """``method.niche``."""

    radius: float = documented(
        "similarity from which two hypotheses are alike, as the task measures it", default=MISSING, above=0, most=1
    )
    share: list[int] = documented(
        "members of a pool that may be alike while there are others, for each rung, cold first; the last entry repeats",
        default=MISSING,
        unit="candidates",
        least=1,
    )


@dataclass
class Screen:
    """``method.screen``."""

    proposals: int | None = documented(
        "proposals a slot, of which a surrogate chooses what is evaluated; 1 chooses nothing; "
        "null: 8 of the classical operator, 1 of a language model",
        default=None,
        unit="proposals",
        least=1,
    )
    explore: float = documented("how much the spread of the forecasts counts beside their mean", default=0.5, least=0)
    radius: float = documented(
        "similarity from which two proposals are alike, as the task measures it", default=0.4, above=0, most=1
    )
    at_most: int = documented(
        "proposals of a round that may be alike while there are others", default=2, unit="proposals", least=1
    )


@dataclass
class Method:
    """``method``: pure configuration; a new method is a YAML file."""

    name: str = documented("name of the method, a folder of the run directory", default=MISSING)
    needs_model: bool = documented("the method is meaningless without a language model", default=MISSING)
    ladder: list[float] = documented(
        "inverse temperatures β, cold to hot; inf keeps the best", default=MISSING, least=0
    )
    samplers: list[str] = documented(
        "how the model samples for each rung, cold first, as llm.pools says; the last entry repeats",
        default=MISSING,
        choices=SAMPLERS,
    )
    capacity: int = documented("members a pool holds at most", default=MISSING, unit="candidates", least=1)
    offspring: int = documented("offspring of a pool in an iteration", default=MISSING, unit="slots", least=1)
    parents: int = documented("parents of an offspring", default=MISSING, unit="candidates", least=1)
    elites: int = documented("best members that survive for certain", default=MISSING, unit="candidates", least=0)
    mutation_rate: float | None = documented(
        "chance that a child is mutated, where the task has such a key and refers to this one (task.mutation_rate)",
        default=None,
        changes_log=False,  # but by the task's key
        least=0,
        most=1,
    )
    operator: str | None = documented(
        "operator of the method's own, where the task has such a key and refers to this one (task.operator); null is "
        "the task's",
        default=None,
        changes_log=False,  # but by the task's key
    )
    hot_prompt: str = documented("prompt of the hot rungs", default=MISSING, choices=PROMPTS)
    mating_pool: MatingPool = field(default_factory=MatingPool)
    survivors: Survivors = field(default_factory=Survivors)
    swap: Swap = field(default_factory=Swap)
    niche: Niche | None = None
    screen: Screen | None = None


@dataclass
class LlmPool:
    """``llm.pools.*``: a way in which the model samples."""

    model: str | None = documented("model; null is llm.model", default=None)
    temperature: float | None = documented("sampling temperature; null sends none", default=None, least=0, below=inf)
    top_p: float | None = documented("nucleus of the sampling; null sends none", default=None, above=0, most=1)
    max_tokens: int = documented(
        "longest reply; one that was cut proposes nothing", default=2048, unit="tokens", least=1
    )
    seed: int | None = documented("from which each request's own seed is drawn; null sends none", default=None, least=0)


@dataclass
class LlmPools:
    """``llm.pools``: the two samplers, which ``method.samplers`` assigns to the rungs."""

    cold: LlmPool = field(default_factory=LlmPool)
    hot: LlmPool = field(default_factory=LlmPool)


@dataclass
class LlmLocal:
    """``llm.local``."""

    gguf: str | None = documented("GGUF file that llm=local serves; null is the small model it fetches", default=None)


@dataclass
class Llm:
    """``llm``: the language model; ``off`` uses the domain's classical operator."""

    name: str = documented("name of the option, a folder of the run directory", default=MISSING)
    client: str = documented("who answers", default="none", choices=choices.clients)
    model: str | None = documented("model, as litellm names it: provider/name", default=None)
    provider: str | None = documented("litellm's provider, where the models' names have none", default=None)
    pools: LlmPools = field(default_factory=LlmPools)
    extra: dict[str, Any] = documented_mapping("further parameters of every request, as litellm takes them")
    fallback: str = documented("what fills a slot that the model left empty", default="none", choices=FALLBACKS)
    local: LlmLocal = field(default_factory=LlmLocal)
    api_base: str | None = documented("address of the provider; null is its usual one", default=None, changes_log=False)
    api_key_env: str | None = documented(
        "variable that holds the key; null is the provider's usual one", default=None, changes_log=False
    )
    concurrency: int = documented("requests under way at once", default=64, unit="requests", changes_log=False, least=1)
    retries: int = documented("times a request that failed is sent again", default=8, changes_log=False, least=0)
    timeout: float = documented(
        "longest a reply may take", default=300.0, unit="s", changes_log=False, above=0, below=inf
    )
    cache: str | None = documented(
        "file that keeps all replies; null is replies.sqlite in EVODIVERSE_CACHE", default=None, changes_log=False
    )


@dataclass
class Budget:
    """``budget``: hard limits of a run; null is none."""

    oracle_calls: int = documented("oracle calls a run may charge", default=MISSING, unit="calls", least=1)
    llm_calls: int | None = documented("requests to language models", default=None, unit="requests", above=0)
    tokens: int | None = documented("tokens of all prompts and replies", default=None, unit="tokens", above=0)
    usd: float | None = documented("what all replies cost, at litellm's prices", default=None, unit="USD", above=0)
    seconds: float | None = documented("wall time; a repeat may stop elsewhere", default=None, unit="s", above=0)


@dataclass
class EarlyStop:
    """``search.early_stop``."""

    top: int = documented(
        "best candidates of the whole run that are averaged", default=MISSING, unit="candidates", least=1
    )
    gain: float = documented("smaller gains of their mean score count as none", default=MISSING, least=0)
    patience: int | None = documented("iterations in a row without gain; null never stops", default=MISSING, least=1)


@dataclass
class Search:
    """``search``: limits that do not depend on the method."""

    attempts: int = documented("attempts at a slot before it stays empty", default=MISSING, least=1)
    patience: int = documented(
        "iterations without a charged call that end the run", default=MISSING, unit="iterations", least=1
    )
    early_stop: EarlyStop | None = field(default_factory=EarlyStop)
    target: float | None = documented("a score above it ends the run; null: none does", default=MISSING, least=-inf)
    on_failed_start: str = documented(
        "what is done where all initial candidates failed",
        default="stop",
        changes_log=False,  # a run that stops has the first iteration of the log of one that continues
        choices=ON_FAILED_START,
    )


@dataclass
class Evaluator:
    """``evaluator``."""

    name: str = documented(
        "who evaluates; its file chooses it", default="local", changes_log=False, choices=choices.evaluators
    )
    workers: int | None = documented(
        "processes that make offspring, and evaluate it or run evaluator.command; null: one a core",
        default=None,
        changes_log=False,
        least=1,
    )
    batch: int | None = documented(
        "evaluations made at a time, which a kill may lose; null: as many as take 20 ms, of command and ray an even "
        "share of what a round needs",
        default=None,
        unit="evaluations",
        changes_log=False,
        least=1,
    )
    command: list[str] | None = documented(
        "of evaluator=command: the program that scores, and its arguments", default=None
    )
    timeout: float | None = documented(
        "of command and ray: how long one start or task may take",
        default=None,
        unit="s",
        changes_log=False,
        above=0,
    )
    retries: int = documented(
        "of command and ray: how often a candidate is given out again that came back without a score",
        default=2,
        changes_log=False,
        least=0,
    )
    address: str | None = documented(
        "of ray: the cluster, auto or host:port of its head node", default=None, changes_log=False
    )
    cpus: float = documented("of ray: what a task takes", default=1.0, unit="cores", changes_log=False, above=0)


@dataclass
class Sandbox:
    """``sandbox``: where untrusted programs run."""

    require: str = documented(
        "what of the kernel's protection must be there: what is available, or, strict, all of it",
        default="available",
        changes_log=False,
        choices=REQUIREMENTS,
    )


@dataclass
class Tracking:
    """``tracking``: a copy of how runs go, for a service that follows many."""

    name: str = documented(
        "what follows runs; its file chooses it", default="none", changes_log=False, choices=choices.trackers
    )
    uri: str | None = documented(
        "where it keeps them; null: its own variable (MLFLOW_TRACKING_URI), else a database in the folder of all runs",
        default=None,
        changes_log=False,
    )
    experiment: str = documented("what it calls the runs together", default="evodiverse", changes_log=False)


@dataclass
class Config:
    """The whole configuration of a run."""

    task: Any = MISSING
    method: Method = field(default_factory=Method)
    llm: Llm = field(default_factory=Llm)
    budget: Budget = field(default_factory=Budget)
    search: Search = field(default_factory=Search)
    evaluator: Evaluator = field(default_factory=Evaluator)
    sandbox: Sandbox = field(default_factory=Sandbox)
    tracking: Tracking = field(default_factory=Tracking)
    seed: int = documented("seed of every random draw", default=0, least=0, most=2**64 - 1)
    outputs: str = documented("folder of all runs", default="outputs", changes_log=False)
    name: str | None = documented(
        "folder of this run or sweep below that of all runs; null: named by task, method, llm, overrides and seed",
        default=None,
        changes_log=False,
    )
    overwrite: bool = documented("delete the run directory and start afresh", default=False, changes_log=False)
    display: str = documented(
        "how a run shows itself; auto is rich on a terminal, else plain",
        default="auto",
        changes_log=False,
        choices=choices.displays,
    )
    dry_run: bool = documented("print what would run, and run nothing", default=False, changes_log=False)


def register() -> None:
    """Make the schema known to Hydra, under the name that ``conf/config.yaml`` starts from."""
    ConfigStore.instance().store(name="schema", node=Config)
