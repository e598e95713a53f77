"""Opening a language model from its settings."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.cache import ReplyCache
from evodiverse.llm.client import sent_parameters
from evodiverse.llm.clients import KINDS
from evodiverse.llm.failures import REMEDIES
from evodiverse.llm.model import CachedModel
from evodiverse.llm.settings import ModelSettings
from evodiverse.vocabulary import Decoding, Message, Query, Stream

# Sent once with each set of parameters, to check that the key is right and that the model accepts the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)


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
    for name in settings.models:
        samplers = {key: used.decoding for key, used in settings.samplers.items() if used.model == name}
        queries = [Query(name, _PROBE, decoding, Stream(0, 0)) for decoding in samplers.values()]
        try:
            model.probe(list({repr(query): query for query in queries}.values()))
        except ModelUnavailableError as error:
            if error.status is None:
                raise
            remedy = "" if error.status in REMEDIES else f"; {_find_remedy(str(error), samplers, settings)}"
            raise InputError(f"{error}{remedy}") from error


def _find_remedy(refusal: str, samplers: Mapping[str, Decoding], settings: ModelSettings) -> str:
    """Return what to do about a refusal: what removes the parameter that it names, if it names one.

    A temperature counts only if no other parameter is named, since models that take only one of two should keep it.
    """
    sent: dict[str, list[str]] = defaultdict(list)
    for name, decoding in samplers.items():
        for key in sent_parameters(decoding, settings.length_parameter):
            sent[key].append(name)
    for key in sorted(sent, key="temperature".__eq__):
        if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", refusal):
            shorter = ", or lower llm.pools.*.max_tokens" if key == settings.length_parameter else ""
            return settings.remedy(key, sent[key]) + shorter
    return "check llm.model, llm.pools and llm.extra"
