"""The typed schema of all configuration keys, except those of the domains (``tasks/<domain>/settings.py``)."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from hydra.core.config_store import ConfigStore

from evodiverse.kit.documented import MISSING, setting
from evodiverse.llm.clients import KINDS
from evodiverse.runner import DISPLAYS
from evodiverse.runner.evaluators import EvaluatorSettings
from evodiverse.runner.ledger import Budget
from evodiverse.runner.tracking import NONE, TRACKERS
from evodiverse.search.settings import Method, Search
from evodiverse.vocabulary import LENGTH_PARAMETERS

CLASSICAL: Final = "classical"
FALLBACKS: Final = ("none", CLASSICAL)
STRICT: Final = "strict"
REQUIREMENTS: Final = ("available", STRICT)


@dataclass
class LlmPool:
    """The keys of ``llm.pools.*``: how the model samples.

    Attributes:
        model: model that answers; null: llm.model
        temperature: sampling temperature; null: not sent
        top_p: probability mass of nucleus sampling; null: not sent
        max_tokens: maximum length of a reply; a truncated reply proposes nothing
        seed: seed from which the seed of each request is drawn; null: requests have no seed
    """

    model: str | None = None
    temperature: float | None = setting(default=None, least=0, below=inf)
    top_p: float | None = setting(default=None, above=0, most=1)
    max_tokens: int = setting(default=2048, unit="tokens", least=1)
    seed: int | None = setting(default=None, least=0)


@dataclass
class LlmPools:
    """The keys of ``llm.pools``: two sets of sampling settings. ``method.samplers`` assigns one set to each pool."""

    cold: LlmPool = field(default_factory=LlmPool)
    hot: LlmPool = field(default_factory=LlmPool)


@dataclass
class LlmLocal:
    """The keys of ``llm.local``.

    Attributes:
        gguf: GGUF file that llm=local serves; null: a small model, which is downloaded
    """

    gguf: str | None = None


@dataclass
class Llm:
    """The keys of ``llm``: the language model; ``llm=off`` uses the domain's classical operator.

    Attributes:
        name: name of the llm option
        client: where the replies come from: a provider or server (litellm), a model that EvoDiverse runs, or only the
            cache
        model: model, as litellm names it: provider/name
        provider: provider, as litellm names it; needed only if the model's name does not begin with it
        extra: additional parameters of every request, as litellm expects them
        length_parameter: name under which a request sends max_tokens
        fallback: operator that fills the slots that the model left empty; classical: the operator that llm=off uses
        warn_after: number of requests without a usable reply after which a warning is printed; null: never
        give_up_after: number of requests without a usable reply after which the run ends; null: never
        api_base: address of the provider; null: its usual one
        api_key_env: environment variable that holds the API key; null: the provider's usual one
        concurrency: number of simultaneous requests
        retries: number of times that a failed request is sent again
        timeout: longest time that a reply may take
        cache: file that stores all replies; null: replies.sqlite in the folder EVODIVERSE_CACHE
    """

    name: str = setting()
    client: str = setting(default="none", choices=("none", *KINDS))
    model: str | None = None
    provider: str | None = None
    pools: LlmPools = field(default_factory=LlmPools)
    extra: dict[str, Any] = field(default_factory=dict)
    length_parameter: str = setting(default=LENGTH_PARAMETERS[0], changes_log=False, choices=LENGTH_PARAMETERS)
    fallback: str = setting(default="none", choices=FALLBACKS)
    warn_after: int | None = setting(default=50, unit="requests", changes_log=False, least=1)
    give_up_after: int | None = setting(default=200, unit="requests", changes_log=False, least=1)
    local: LlmLocal = field(default_factory=LlmLocal)
    api_base: str | None = setting(default=None, changes_log=False)
    api_key_env: str | None = setting(default=None, changes_log=False)
    concurrency: int = setting(default=64, unit="requests", changes_log=False, least=1)
    retries: int = setting(default=8, changes_log=False, least=0)
    timeout: float = setting(default=300.0, unit="s", changes_log=False, above=0, below=inf)
    cache: str | None = setting(default=None, changes_log=False)

    @property
    def takes_model(self) -> bool:
        """Whether ``llm.model`` chooses the model of the client."""
        return self.client != "none" and (self.client not in KINDS or KINDS[self.client].takes_model)


@dataclass
class Sandbox:
    """The keys of ``sandbox``: where untrusted programs run.

    Attributes:
        require: available uses the protection from programs that the kernel offers, strict refuses to run unless it
            offers all
    """

    require: str = setting(default="available", changes_log=False, choices=REQUIREMENTS)


@dataclass
class Tracking:
    """The keys of ``tracking``: the service that runs report their progress to.

    Attributes:
        name: service that tracks runs
        uri: address of the service; null: MLFLOW_TRACKING_URI, else a database in the folder of all runs
        experiment: name of the group of runs in the service
    """

    name: str = setting(default="none", changes_log=False, choices=(NONE, *TRACKERS))
    uri: str | None = setting(default=None, changes_log=False)
    experiment: str = setting(default="evodiverse", changes_log=False)


@dataclass
class Config:
    """The whole configuration of a run.

    Attributes:
        seed: seed of all random draws
        outputs: folder of all runs
        name: folder of this run or sweep, below outputs
        overwrite: whether to delete the run directory and start from scratch
        display: how a run shows its progress; auto: rich on a terminal, else plain
        dry_run: whether to print what would run, or why it would be refused, but run nothing
    """

    task: Any = MISSING
    method: Method = field(default_factory=Method)
    llm: Llm = field(default_factory=Llm)
    budget: Budget = field(default_factory=Budget)
    search: Search = field(default_factory=Search)
    evaluator: EvaluatorSettings = field(default_factory=EvaluatorSettings)
    sandbox: Sandbox = field(default_factory=Sandbox)
    tracking: Tracking = field(default_factory=Tracking)
    seed: int = setting(default=0, least=0, most=2**64 - 1)
    outputs: str = setting(default="outputs", changes_log=False)
    name: str | None = setting(default=None, changes_log=False)
    overwrite: bool = setting(default=False, changes_log=False)
    display: str = setting(default="auto", changes_log=False, choices=DISPLAYS)
    dry_run: bool = setting(default=False, changes_log=False)


def register() -> None:
    """Register the schema with Hydra, under the name that ``conf/config.yaml`` starts from."""
    ConfigStore.instance().store(name="schema", node=Config)
