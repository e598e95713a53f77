"""Opening a language model from its settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.clients import KINDS
from evodiverse.llm.model import CachedModel
from evodiverse.llm.settings import ModelSettings
from evodiverse.vocabulary import Message, Query, Stream

# Sent once with each set of parameters, to check that the key is right and that the model accepts the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)
_PROBE_TOKENS = 16


@contextmanager
def opened(settings: ModelSettings) -> Iterator[CachedModel]:
    """Open the reply cache and the models, check that each model answers, and yield them as one `CachedModel`.

    A model is not asked again if the cache has its reply to an earlier check.

    Raises:
        InputError: The cache cannot be opened, or the provider refuses the key, the name of a model or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    with (
        ReplyCache(settings.cache) as cache,
        KINDS[settings.client].open(settings) as client,
        CachedModel(cache, client, settings.concurrency, settings.retries) as model,
    ):
        if client is not None:
            _probe(model, settings)
        yield model


def _probe(model: CachedModel, settings: ModelSettings) -> None:
    """Ask each model for one word with each set of sampling parameters, unless the reply is already in the cache.

    Raises:
        InputError: A model refuses, for instance because of the key or a parameter.
        ModelUnavailableError: A model does not answer.
    """
    queries = [
        Query(used.model, _PROBE, replace(used.decoding, max_tokens=_PROBE_TOKENS), Stream(0, 0))
        for used in settings.samplers.values()
    ]
    try:
        model.probe(list({repr(query): query for query in queries}.values()))
    except ModelUnavailableError as error:
        if error.status is None:
            raise
        raise InputError(str(error)) from error
