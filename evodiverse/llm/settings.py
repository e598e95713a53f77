"""The settings of a run's language models, which cannot change during the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evodiverse.vocabulary import LENGTH_PARAMETERS, Sampler


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of the models and of the way to reach them.

    Attributes:
        client: The name of the kind of client, see `evodiverse.llm.clients`.
        samplers: The two samplers, under the names ``cold`` and ``hot``. Each is a model with its sampling parameters.
        provider: The provider, such as ``openai``, with which litellm's name for a model begins; None if ``llm.model``
            already contains it.
        api_base: The address of the provider, or None for its usual one.
        api_key_env: The environment variable that holds the key, or None for the provider's usual one.
        concurrency: The largest number of queries in progress at the same time.
        retries: How many times a failed query is sent again, at most.
        timeout_s: The longest that a reply may take, in seconds.
        cache: The file that stores all replies.
        gguf: The model file that ``llm=local`` serves, or None for the published one (`clients.local.ARTIFACT`).
        length_parameter: The name in requests of the largest number of tokens of a reply, one of `LENGTH_PARAMETERS`.
    """

    client: str
    samplers: Mapping[str, Sampler]
    provider: str | None
    api_base: str | None
    api_key_env: str | None
    concurrency: int
    retries: int
    timeout_s: float
    cache: Path
    gguf: Path | None = None
    length_parameter: str = LENGTH_PARAMETERS[0]

    @property
    def is_compatible_server(self) -> bool:
        """Whether the user gave the address of a server that speaks OpenAI's protocol, which may need no key."""
        return self.provider == "openai" and self.api_base is not None

    def litellm_name(self, model: str) -> str:
        """Return litellm's name for a model, such as ``openai/gpt-5``, given the name in ``llm.model``."""
        return model if self.provider is None else f"{self.provider}/{model}"

    @property
    def models(self) -> list[str]:
        """The names of the models, each once."""
        return list(dict.fromkeys(sampler.model for sampler in self.samplers.values()))

    def place(self, parameter: str, sampler: str) -> str:
        """Return the key of the configuration that sets a parameter of the requests with a sampler."""
        if parameter in self.samplers[sampler].decoding.extra:
            return f"llm.extra.{parameter}"
        return f"llm.pools.{sampler}.{'max_tokens' if parameter in LENGTH_PARAMETERS else parameter}"

    def remedy(self, parameter: str, samplers: Iterable[str]) -> str:
        """Return what to set so that the requests with some samplers no longer have a parameter that they have now."""
        if parameter in LENGTH_PARAMETERS:
            (other,) = {*LENGTH_PARAMETERS} - {parameter}
            return f"set llm.length_parameter={other}"
        return f"set {' and '.join(dict.fromkeys(f'{self.place(parameter, name)}=null' for name in samplers))}"
