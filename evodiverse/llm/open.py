"""From the settings of a language model to one that answers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.check import probe
from evodiverse.llm.client import LiteLlmClient
from evodiverse.llm.local import LocalServer
from evodiverse.llm.model import CachedModel
from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

# OpenAI's client wants a key even where a server does not.
_NO_KEY = "none"


@contextmanager
def opened(settings: ModelSettings) -> Iterator[CachedModel]:
    """Open the cache, reach the models and see that they answer.

    Raises:
        InputError: The cache cannot be opened, or a model refuses the key, its name or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    with (
        ReplyCache(settings.cache) as cache,
        _client(settings) as client,
        CachedModel(cache, client, settings.concurrency, settings.retries) as model,
    ):
        if client is not None:
            probe(model, settings)
        yield model


@contextmanager
def _client(settings: ModelSettings) -> Iterator[LiteLlmClient | None]:
    if settings.client == "replay":
        yield None
    elif settings.client == "local" and settings.gguf is not None:
        longest = max(sampler.decoding.max_tokens for sampler in settings.samplers.values())
        with LocalServer(settings.gguf, settings.concurrency, longest) as server:
            names = dict.fromkeys(settings.models, f"openai/{settings.gguf.stem}")
            free = dict.fromkeys(settings.models, Price(0.0, 0.0))
            yield LiteLlmClient(names, server.address, server.key, settings.timeout_s, free)
    else:
        names = {model: settings.litellm_name(model) for model in settings.models}
        yield LiteLlmClient(names, settings.api_base, _find_key(settings), settings.timeout_s)


def _find_key(settings: ModelSettings) -> str | None:
    """Return the key, None where litellm finds the provider's own."""
    if settings.api_key_env is not None:
        return os.environ.get(settings.api_key_env)
    return os.environ.get("OPENAI_API_KEY") or _NO_KEY if settings.is_compatible_server else None
