"""The typed schema of the configuration keys, except those of the domains (``tasks/<domain>/settings.py``).

These classes give Hydra the types. They are not frozen because Hydra overrides their fields;
`evodiverse.settings.freeze` converts them into the frozen settings that the program uses.
"""

from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Final

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from evodiverse.kit.documented import documented, documented_mapping
from evodiverse.settings import choices
from evodiverse.vocabulary import LENGTH_PARAMETERS, Prompt

SAMPLERS: Final = ("cold", "hot")
PROMPTS: Final = tuple(prompt.value for prompt in Prompt)
CLASSICAL: Final = "classical"
FALLBACKS: Final = ("none", CLASSICAL)
STRICT: Final = "strict"
ON_FAILED_START: Final = ("stop", "continue")
REQUIREMENTS: Final = ("available", STRICT)

required = partial(documented, default=MISSING)
"""The field of a key whose value comes from a YAML file."""


@dataclass
class MatingPool:
    """The keys of ``method.mating_pool``."""

    size: int = required("number of draws that make up a mating pool", unit="candidates", least=1)
    replacement: bool = required("whether to draw with replacement")
    weight: str = required(
        "weight of each of n members in the draws: boltzmann is exp(βs) for the score s, boltzmann_floor exp(βs/0.8)"
        " + 0.05/n, score_floor s + 0.02/n, score_power s^β + 1e-10, rank exp(βq) for the quantile q of the score; "
        "quantile draws a share of the pool, log-uniformly from 0.001 to 1, and then one of the best members of this"
        " share",
        choices=choices.weight_rules,
    )


@dataclass
class Survivors:
    """The keys of ``method.survivors``."""

    rule: str = required(
        "how survivors are chosen: sample keeps the elites and draws the others by weight; niche also keeps only a "
        "few similar ones; append keeps the best candidates, founders only the initial ones",
        choices=choices.survivor_rules,
    )
    weight: str = required(
        "weight in the draws of survivors, as in method.mating_pool.weight",
        choices=choices.weight_rules,
    )


@dataclass
class Swap:
    """The keys of ``method.swap``."""

    rule: str = required(
        "exchange rule: random accepts every swap; ring copies the best candidates of each pool to the next",
        choices=choices.exchange_rules,
    )
    schedule: str = required(
        "which pairs of adjacent rungs exchange candidates: all, or every second one, beginning with the first or "
        "the second in turn (even_odd_alternating) or at random (even_odd_random)",
        choices=choices.schedules,
    )
    period: int = required("number of iterations from one exchange to the next", unit="iterations", least=1)
    size: int = required(
        "number of pairs of candidates that two pools try to swap at an exchange, k", unit="pairs", least=1
    )
    xi: float = required(
        "initial powering factor ξ",
        least=1e-3,
        most=1e3,
    )
    target: float = required("target swap rate, τ", least=0, most=1)
    tolerance: float = required(
        "width of the band around the target, ε",
        least=0,
        most=1,
    )
    window: int = required(
        "number of exchanges whose swap rates are averaged before ξ is adapted, L", unit="exchanges", least=1
    )


@dataclass
class Niche:
    """The keys of ``method.niche``."""

    radius: float = required(
        "least similarity, as the task measures it, at which two candidates count as similar", above=0, most=1
    )
    share: list[int] = required(
        "how many similar candidates a pool keeps at most, as long as dissimilar ones are available; one number for "
        "each rung, cold first; the last applies to all further rungs",
        unit="candidates",
        least=1,
    )


@dataclass
class Screen:
    """The keys of ``method.screen``."""

    proposals: int | None = documented(
        "number of proposals of a generation, over all pools, from which a surrogate chooses; 0 disables screening; "
        "null: 100 with llm=off, 0 with a language model",
        default=None,
        unit="proposals",
        least=0,
    )
    generations: int = required(
        "number of generations of proposals in an iteration; a language model makes only one",
        unit="generations",
        least=1,
    )
    kappa: list[Any] = required(
        "range from which each iteration draws κ, log-uniformly; proposals rank by mean + κ * standard deviation of "
        "the forecast; one range for each rung, cold first; the last applies to all further rungs"
    )
    radius: float = required(
        "least similarity, as the task measures it, at which two candidates count as similar", above=0, most=1
    )
    at_most: int = required(
        "how many of the candidates that an iteration evaluates may be similar to each other",
        unit="candidates",
        least=1,
    )
    batch: list[Any] = required(
        "number of oracle calls of an iteration, over all pools, as pairs: from this number of calls on, this many",
        unit="calls",
    )
    shortlist: int = required(
        "how many candidates of the task's library take part in each iteration",
        unit="candidates",
        least=0,
    )
    share: int | None = documented(
        "how many similar candidates may breed before the best of all other niches do; null: the forecasts alone "
        "decide",
        default=None,
        unit="candidates",
        least=1,
    )
    apart: int = required(
        "number of calls until which each pool learns from its own calls alone",
        unit="calls",
        least=0,
    )


@dataclass
class Method:
    """The keys of ``method``. A method is pure configuration, so a new method is only a YAML file."""

    name: str = required("name of the method")
    needs_model: bool = required("whether the method requires a language model")
    ladder: list[float] = required("inverse temperature β of each rung (pool), cold first", least=0)
    samplers: list[str] = required(
        "sampler with which each rung asks a language model (llm.pools), cold first; the last applies to all further"
        " rungs",
        choices=SAMPLERS,
    )
    capacity: int = required("maximum number of members of a pool", unit="candidates", least=1)
    offspring: int = required(
        "number of offspring of a pool per iteration",
        unit="slots",
        least=1,
    )
    parents: int = required("number of parents of each offspring", unit="candidates", least=1)
    elites: int = required(
        "number of best members that always survive, with the rules sample and niche",
        unit="candidates",
        least=0,
    )
    mutation_rate: float | None = documented(
        "default of task.mutation_rate, the probability that a child is mutated",
        default=None,
        changes_log=False,  # the task's key does
        least=0,
        most=1,
    )
    operator: str | None = documented(
        "operator that the method requires, which is the default of task.operator; null: the task's own operator",
        default=None,
        changes_log=False,  # the task's key does
    )
    hot_prompt: str = required("prompt of all rungs but the coldest", choices=PROMPTS)
    mating_pool: MatingPool = field(default_factory=MatingPool)
    survivors: Survivors = field(default_factory=Survivors)
    swap: Swap = field(default_factory=Swap)
    niche: Niche | None = None
    screen: Screen | None = None


@dataclass
class LlmPool:
    """The keys of ``llm.pools.*``: how the model samples."""

    model: str | None = documented("model that answers; null: llm.model", default=None)
    temperature: float | None = documented("sampling temperature; null: not sent", default=None, least=0, below=inf)
    top_p: float | None = documented(
        "probability mass of nucleus sampling; null: not sent", default=None, above=0, most=1
    )
    max_tokens: int = documented(
        "maximum length of a reply; a truncated reply proposes nothing", default=2048, unit="tokens", least=1
    )
    seed: int | None = documented(
        "seed from which the seed of each request is drawn; null: requests have no seed", default=None, least=0
    )


@dataclass
class LlmPools:
    """The keys of ``llm.pools``: two sets of sampling settings. ``method.samplers`` assigns one set to each pool."""

    cold: LlmPool = field(default_factory=LlmPool)
    hot: LlmPool = field(default_factory=LlmPool)


@dataclass
class LlmLocal:
    """The keys of ``llm.local``."""

    gguf: str | None = documented(
        "GGUF file that llm=local serves; null: a small model, which is downloaded", default=None
    )


@dataclass
class Llm:
    """The keys of ``llm``: the language model; ``llm=off`` uses the domain's classical operator."""

    name: str = required("name of the llm option")
    client: str = documented(
        "where the replies come from: a provider or server (litellm), a model that EvoDiverse runs, or only the cache",
        default="none",
        choices=choices.clients,
    )
    model: str | None = documented("model, as litellm names it: provider/name", default=None)
    provider: str | None = documented(
        "provider, as litellm names it; needed only if the model's name does not begin with it", default=None
    )
    pools: LlmPools = field(default_factory=LlmPools)
    extra: dict[str, Any] = documented_mapping("additional parameters of every request, as litellm expects them")
    length_parameter: str = documented(
        "name under which a request sends max_tokens",
        default=LENGTH_PARAMETERS[0],
        changes_log=False,
        choices=LENGTH_PARAMETERS,
    )
    fallback: str = documented(
        "operator that fills the slots that the model left empty; classical: the operator that llm=off uses",
        default="none",
        choices=FALLBACKS,
    )
    warn_after: int | None = documented(
        "number of requests without a usable reply after which a warning is printed; null: never",
        default=50,
        unit="requests",
        changes_log=False,
        least=1,
    )
    give_up_after: int | None = documented(
        "number of requests without a usable reply after which the run ends; null: never",
        default=200,
        unit="requests",
        changes_log=False,
        least=1,
    )
    local: LlmLocal = field(default_factory=LlmLocal)
    api_base: str | None = documented("address of the provider; null: its usual one", default=None, changes_log=False)
    api_key_env: str | None = documented(
        "environment variable that holds the API key; null: the provider's usual one", default=None, changes_log=False
    )
    concurrency: int = documented(
        "number of simultaneous requests", default=64, unit="requests", changes_log=False, least=1
    )
    retries: int = documented(
        "number of times that a failed request is sent again", default=8, changes_log=False, least=0
    )
    timeout: float = documented(
        "longest time that a reply may take", default=300.0, unit="s", changes_log=False, above=0, below=inf
    )
    cache: str | None = documented(
        "file that stores all replies; null: replies.sqlite in the folder EVODIVERSE_CACHE",
        default=None,
        changes_log=False,
    )


@dataclass
class Budget:
    """The keys of ``budget``: hard limits of a run; null means no limit."""

    oracle_calls: int = required("limit on oracle calls (evaluations of new candidates)", unit="calls", least=1)
    llm_calls: int | None = documented("limit on requests to language models", default=None, unit="requests", above=0)
    tokens: int | None = documented(
        "limit on the tokens of all prompts and replies", default=None, unit="tokens", above=0
    )
    usd: float | None = documented(
        "limit on the cost of all replies, at litellm's prices", default=None, unit="USD", above=0
    )
    seconds: float | None = documented(
        "limit on wall time; if the run is repeated, it may stop at another point", default=None, unit="s", above=0
    )


@dataclass
class EarlyStop:
    """The keys of ``search.early_stop``."""

    top: int = required("number of best candidates whose mean score early stopping watches", unit="candidates", least=1)
    gain: float = required("smallest increase of that mean score that counts as a gain", least=0)
    patience: int | None = required(
        "number of consecutive iterations without a gain after which the run ends; null: never", least=1
    )


@dataclass
class Search:
    """The keys of ``search``: limits that do not depend on the method."""

    attempts: int = required(
        "maximum number of attempts to fill a slot (the place for one offspring); llm.fallback then has as many",
        least=1,
    )
    patience: int = required(
        "number of consecutive iterations without a new oracle call after which the run ends",
        unit="iterations",
        least=1,
    )
    early_stop: EarlyStop | None = field(default_factory=EarlyStop)
    target: float | None = required("score above which the run ends; null: no target", least=-inf)
    on_failed_start: str = documented(
        "what to do if all initial candidates failed",
        default="stop",
        changes_log=False,  # what a run logs before it stops is the same with both values
        choices=ON_FAILED_START,
    )


@dataclass
class Evaluator:
    """The keys of ``evaluator``."""

    name: str = documented(
        "how candidates are evaluated",
        default="local",
        changes_log=False,
        choices=choices.evaluators,
    )
    workers: int | None = documented(
        "number of processes that make offspring and evaluate them; null: one per core",
        default=None,
        changes_log=False,
        least=1,
    )
    batch: int | None = documented(
        "number of evaluations per batch; null: for local, as many as take 20 ms; for command and ray, an even share",
        default=None,
        unit="evaluations",
        changes_log=False,
        least=1,
    )
    command: list[str] | None = documented(
        "for evaluator=command: the program that scores, and its arguments", default=None
    )
    timeout: float | None = documented(
        "longest time of one run of the command, or from the submission of a Ray task to its answer",
        default=None,
        unit="s",
        changes_log=False,
        above=0,
    )
    retries: int = documented(
        "for command and ray: how often candidates without an answer are submitted again",
        default=2,
        changes_log=False,
        least=0,
    )
    address: str | None = documented(
        "for ray: address of the cluster, which is auto or host:port of its head node", default=None, changes_log=False
    )
    cpus: float = documented(
        "for ray: number of cores that a Ray task reserves", default=1.0, unit="cores", changes_log=False, above=0
    )


@dataclass
class Sandbox:
    """The keys of ``sandbox``: where untrusted programs run."""

    require: str = documented(
        "available uses the protection from programs that the kernel offers, strict refuses to run unless it offers "
        "all",
        default="available",
        changes_log=False,
        choices=REQUIREMENTS,
    )


@dataclass
class Tracking:
    """The keys of ``tracking``: the service that runs report their progress to."""

    name: str = documented(
        "service that tracks runs",
        default="none",
        changes_log=False,
        choices=choices.trackers,
    )
    uri: str | None = documented(
        "address of the service; null: MLFLOW_TRACKING_URI, else a database in the folder of all runs",
        default=None,
        changes_log=False,
    )
    experiment: str = documented("name of the group of runs in the service", default="evodiverse", changes_log=False)


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
    seed: int = documented("seed of all random draws", default=0, least=0, most=2**64 - 1)
    outputs: str = documented("folder of all runs", default="outputs", changes_log=False)
    name: str | None = documented(
        "folder of this run or sweep, below outputs",
        default=None,
        changes_log=False,
    )
    overwrite: bool = documented(
        "whether to delete the run directory and start from scratch", default=False, changes_log=False
    )
    display: str = documented(
        "how a run shows its progress; auto: rich on a terminal, else plain",
        default="auto",
        changes_log=False,
        choices=choices.displays,
    )
    dry_run: bool = documented(
        "whether to print what would run, or why it would be refused, but run nothing",
        default=False,
        changes_log=False,
    )


def register() -> None:
    """Register the schema with Hydra, under the name that ``conf/config.yaml`` starts from."""
    ConfigStore.instance().store(name="schema", node=Config)
