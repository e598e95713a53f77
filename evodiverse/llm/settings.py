"""The settings of a run's language models: the group ``llm`` of the configuration.

Hydra reads the configuration into these classes. Once `evodiverse.settings.plan.plan_run` has checked them, nothing
changes them.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.documented import derived, setting
from evodiverse.kit.environment import cache_folder
from evodiverse.kit.inputs import expanded
from evodiverse.llm.library import Price
from evodiverse.vocabulary import LENGTH_PARAMETERS, Decoding, Sampler

CLIENTS: Final = ("none", "litellm", "local", "command", "replay")
"""The values of ``llm.client``; `evodiverse.llm.clients` has all of them but the first."""
SINGLE: Final = "single"
REPLIES: Final = "replies.sqlite"
"""The name of the reply cache in the cache folder."""
CLASSICAL: Final = "classical"


@dataclass
class LlmPool:
    """The keys of ``llm.pools.*``: how the model samples.

    Attributes:
        model: model that answers; null: llm.model
        models: models in place of one, with weights, such as [{model: a/b, weight: 2}, {model: c/d, weight: 1}]; each
            request draws one of them with a probability proportional to its weight
        temperature: sampling temperature; null: not sent
        top_p: probability mass of nucleus sampling; null: not sent
        max_tokens: maximum length of a reply; a truncated reply proposes nothing
        seed: seed from which the seed of each request is drawn; null: requests have no seed
    """

    model: str | None = None
    models: list[Any] | None = setting(default=None, is_later=True)
    temperature: float | None = setting(default=None, least=0, below=inf)
    top_p: float | None = setting(default=None, above=0, most=1)
    max_tokens: int = setting(default=2048, unit="tokens", least=1)
    seed: int | None = setting(default=None, least=0)

    def weigh_models(self, default: str) -> dict[str, float]:
        """Return the weight of each model, by name. The model is ``default`` if the keys name none."""
        if self.models is None:
            return {self.model or default: 1.0}
        return {one["model"]: one["weight"] for one in self.models}


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
class LlmPrice:
    """The keys of ``llm.price``: the price of the models; null: that of litellm's price map.

    Attributes:
        input: price of the tokens of prompts
        output: price of the tokens of replies
        cached: price of those tokens of prompts that the provider had in its cache; null: llm.price.input
    """

    input: float | None = setting(default=None, unit="USD per million", changes_log=False, least=0, below=inf)
    output: float | None = setting(default=None, unit="USD per million", changes_log=False, least=0, below=inf)
    cached: float | None = setting(default=None, unit="USD per million", changes_log=False, least=0, below=inf)


@dataclass
class Llm:
    """The keys of ``llm``: the language model; ``llm=off`` uses the domain's classical operator.

    Attributes:
        name: name of the llm option
        client: where the replies come from: a provider or server (litellm), a model that EvoDiverse runs, a command, or
            only the cache
        model: model, as litellm names it: provider/name
        command: for llm=command: program that reads a prompt on stdin and writes the reply to stdout, with its
            arguments; no shell runs it
        provider: provider, as litellm names it; needed only if the model's name does not begin with it
        choose: how the model of a request is chosen among llm.pools.*.models: weights draws it by its weight, bandit
            shifts the requests to the models that find the most improvements per dollar
        extra: additional parameters of every request, as litellm expects them
        length_parameter: name under which a request sends max_tokens
        fallback: operator that fills the slots that the model left empty; classical: the operator that llm=off uses
        warn_after: number of requests without a usable reply after which a warning is printed; null: never
        give_up_after: number of requests without a usable reply after which the run ends; null: never
        api_base: address of the provider; null: its usual one
        api_key_env: environment variable that holds the API key; null: the provider's usual one
        batch: whether the requests of a round go out as one batch, at half the price and within a day
        batch_fallback: how a request to which a batch brought no reply is sent again: single (at once, at the full
            price) or in another batch
        concurrency: number of simultaneous requests
        retries: number of times that a failed request is sent again
        timeout: longest time that a reply may take
        cache: file that stores all replies; null: replies.sqlite in the folder EVODIVERSE_CACHE
        kept_prices: prices of the models when the run was started, by their names, which hold when it is resumed
    """

    name: str = setting()
    client: str = setting(default="none", choices=CLIENTS)
    model: str | None = None
    command: str | None = setting(default=None, is_later=True)
    provider: str | None = None
    pools: LlmPools = field(default_factory=LlmPools)
    choose: str = setting(default="weights", is_later=True, choices=("weights", "bandit"))
    extra: dict[str, Any] = field(default_factory=dict)
    length_parameter: str = setting(default=LENGTH_PARAMETERS[0], changes_log=False, choices=LENGTH_PARAMETERS)
    fallback: str = setting(default="none", choices=("none", CLASSICAL))
    warn_after: int | None = setting(default=50, unit="requests", changes_log=False, least=1)
    give_up_after: int | None = setting(default=200, unit="requests", changes_log=False, least=1)
    local: LlmLocal = field(default_factory=LlmLocal)
    price: LlmPrice = field(default_factory=LlmPrice)
    api_base: str | None = setting(default=None, changes_log=False)
    api_key_env: str | None = setting(default=None, changes_log=False)
    batch: bool = setting(default=False, changes_log=False)
    batch_fallback: str = setting(default=SINGLE, changes_log=False, choices=(SINGLE, "batch"))
    concurrency: int = setting(default=64, unit="requests", changes_log=False, least=1)
    retries: int = setting(default=8, changes_log=False, least=0)
    timeout: float = setting(default=300.0, unit="s", changes_log=False, above=0, below=inf)
    cache: str | None = setting(default=None, changes_log=False)
    kept_prices: Any = derived(default=None)

    @property
    def takes_model(self) -> bool:
        """Whether the user must name the model, for example with ``llm.model``; if not, naming one is an error."""
        return self.client not in ("none", "local", "command")

    @property
    def command_words(self) -> list[str]:
        """The program of ``llm=command`` and its arguments; empty without a command, or if its quotes do not match."""
        try:
            return shlex.split(self.command or "")
        except ValueError:
            return []

    @property
    def gguf(self) -> Path | None:
        """The model file that ``llm=local`` serves, or None for the published one (`clients.local.ARTIFACT`)."""
        return None if self.local.gguf is None else expanded(self.local.gguf)

    @property
    def samplers(self) -> Mapping[str, Sequence[Sampler]]:
        """The samplers of all models, under the names ``cold`` and ``hot``; a model without a name gets one later."""
        found = {}
        for name, pool in vars(self.pools).items():
            decoding = Decoding(pool.temperature, pool.top_p, pool.max_tokens, pool.seed, dict(self.extra))
            weights = pool.weigh_models(self.model or self.client)
            found[name] = [Sampler(model, decoding, weight) for model, weight in weights.items()]
        return found

    @property
    def own_price(self) -> Price | None:
        """The price that the user gave, or None if that of litellm's price map holds."""
        price = self.price
        if price.input is None or price.output is None:
            return None
        return Price(price.input / 1e6, price.output / 1e6, None if price.cached is None else price.cached / 1e6)

    def find_price(self, model: str) -> Price | None:
        """Return the price of a model at the start of the run, or that of ``llm.price``; None if neither is known."""
        kept: Price | None = (self.kept_prices or {}).get(model)
        return kept or self.own_price

    def find_cache(self) -> Path:
        """Return the file that stores all replies.

        Raises:
            InputError: The home directory in ``llm.cache`` does not exist.
        """
        try:
            return cache_folder() / REPLIES if self.cache is None else Path(self.cache).expanduser()
        except RuntimeError as error:
            raise InputError(f"llm.cache={self.cache} cannot be used ({error}); choose another file") from error

    def litellm_name(self, model: str) -> str:
        """Return litellm's name for a model, such as ``openai/gpt-5``, given the name in ``llm.model``."""
        return model if self.provider is None else f"{self.provider}/{model}"

    @property
    def models(self) -> list[str]:
        """The names of the models, each once."""
        return list(dict.fromkeys(one.model for used in self.samplers.values() for one in used))

    def place(self, parameter: str, sampler: str) -> str:
        """Return the key of the configuration that sets a parameter of the requests with a sampler."""
        if parameter in self.extra:
            return f"llm.extra.{parameter}"
        return f"llm.pools.{sampler}.{'max_tokens' if parameter in LENGTH_PARAMETERS else parameter}"

    def model_place(self, sampler: str) -> str:
        """Return the key of the configuration that names the models of a sampler."""
        pool = getattr(self.pools, sampler)
        if pool.models is not None:
            return f"llm.pools.{sampler}.models"
        return f"llm.pools.{sampler}.model" if pool.model else "llm.model"

    def remedy(self, parameter: str, samplers: Iterable[str]) -> str:
        """Return what to set so that the requests with some samplers no longer have a parameter that they have now."""
        if parameter in LENGTH_PARAMETERS:
            (other,) = {*LENGTH_PARAMETERS} - {parameter}
            return f"set llm.length_parameter={other}"
        return f"set {' and '.join(dict.fromkeys(f'{self.place(parameter, name)}=null' for name in samplers))}"
