"""The frozen settings of a language model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evodiverse.vocabulary import Sampler


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which models answer, and how they are reached.

    Attributes:
        client: Name of the kind of client, see `evodiverse.llm.clients`.
        samplers: By name, cold and hot.
        provider: Stands before the models' names as litellm wants them; None where the names have one.
        api_base: Address of the provider, None for its usual one.
        api_key_env: Variable that holds the key, None for the provider's usual one.
        concurrency: Queries under way at once.
        retries: Times a query that failed is sent again.
        timeout_s: Longest a reply may take.
        cache: File that keeps all replies.
        gguf: Model file that ``local`` serves.
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

    @property
    def is_compatible_server(self) -> bool:
        """Whether a server of the user's own answers over OpenAI's protocol, with or without a key."""
        return self.provider == "openai" and self.api_base is not None

    def litellm_name(self, model: str) -> str:
        """Return a model's name as litellm wants it."""
        return model if self.provider is None else f"{self.provider}/{model}"

    @property
    def models(self) -> list[str]:
        """Names of the models, each once."""
        return list(dict.fromkeys(sampler.model for sampler in self.samplers.values()))
