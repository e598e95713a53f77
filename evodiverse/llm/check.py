"""What is wrong with the choice of a model, found before a run charges anything."""

import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from evodiverse.errors import InputError, ModelUnavailableError
from evodiverse.llm.client import sent_parameters
from evodiverse.llm.keys import load_env_file
from evodiverse.llm.library import load_litellm
from evodiverse.llm.model import CachedModel
from evodiverse.llm.prices import find_price
from evodiverse.llm.settings import ModelSettings
from evodiverse.vocabulary import Message, Query, Sampler, Stream

# Sent once a model, to see that the key is right and that the model takes the parameters.
_PROBE = (Message("user", "Reply with the single word: ready"),)
_PROBE_TOKENS = 16
_SERVED_HERE = ("ollama", "ollama_chat")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def find_violations(settings: ModelSettings, *, needs_price: bool) -> list[str]:
    """Return what is wrong with the models, each with the key that mends it.

    Args:
        settings: Of the models.
        needs_price: A cap on USD was set.
    """
    if settings.client == "replay":
        absent = f"llm=replay: there is no reply cache {settings.cache}; name it with llm.cache=…"
        return [] if settings.cache.is_file() else [absent]
    if settings.client == "local":
        return list(_find_local(settings))
    load_env_file(Path(".env"))
    violations = list(_find_in_address(settings))
    if violations:  # to look closer would tell a key that stands in the wrong place
        return violations
    for name, used in settings.samplers.items():
        violations += _find_in_sampler(name, used, settings)
    for model in settings.models if needs_price and not violations else ():
        if find_price(settings.litellm_name(model)) is None:
            violations.append(f"budget.usd: the price of {model} is unknown; set budget.tokens in its place")
    return list(dict.fromkeys(violations))


def probe(model: CachedModel, settings: ModelSettings) -> None:
    """Ask each model for one word, unless it was asked before and the reply is in the cache.

    Raises:
        InputError: A model refuses, for instance the key or a parameter.
        ModelUnavailableError: It does not answer.
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


def _find_local(settings: ModelSettings) -> Iterator[str]:
    if importlib.util.find_spec("xllamacpp") is None:
        yield "llm=local needs xllamacpp; pip install 'evodiverse[local]'"
    if settings.gguf is not None and not settings.gguf.is_file():
        yield f"llm.local.gguf={settings.gguf} is no file; name a GGUF file"


def _find_in_address(settings: ModelSettings) -> Iterator[str]:
    if settings.api_base is not None:
        try:
            address = urlsplit(settings.api_base)
            is_address = address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
        except ValueError:  # of the port, or of brackets
            is_address = False
        if not is_address or any(character.isspace() for character in settings.api_base):
            yield "llm.api_base must be an address such as http://127.0.0.1:8000/v1"
        elif "@" in address.netloc:
            yield "llm.api_base must hold no password, for it is logged; name a variable with llm.api_key_env"
    if settings.api_key_env is not None and not _VARIABLE.fullmatch(settings.api_key_env):
        yield "llm.api_key_env must name a variable that holds the key, such as OPENAI_API_KEY, not be the key"


def _find_in_sampler(sampler: str, used: Sampler, settings: ModelSettings) -> Iterator[str]:
    litellm = load_litellm()
    try:
        model, provider, *_ = litellm.get_llm_provider(settings.litellm_name(used.model), api_base=settings.api_base)
    except litellm.BadRequestError:
        yield f"llm.model={used.model} names no provider that litellm knows; write provider/name"
        return
    yield from _find_missing_key(used.model, provider, settings)
    for key, value in sent_parameters(used.decoding).items():
        place = f"llm.extra.{key}" if key in used.decoding.extra else f"llm.pools.{sampler}.{key}"
        try:
            litellm.utils.get_optional_params(model=model, custom_llm_provider=provider, **{key: value})
        except litellm.UnsupportedParamsError:
            yield f"{place}={value}: {used.model} refuses it; set {place}=null"


def _find_missing_key(model: str, provider: str, settings: ModelSettings) -> Iterator[str]:
    name = settings.api_key_env
    if name is not None:
        missing = [] if os.environ.get(name) else [name]
    elif settings.is_compatible_server:
        missing = []
    else:
        missing = [
            name
            for name in load_litellm().validate_environment(f"{provider}/{model}")["missing_keys"]
            if not (name.endswith("_API_BASE") and (settings.api_base or provider in _SERVED_HERE))
            and not name.startswith("AWS_")  # a profile or a role will do too
        ]
    keys = " or ".join(name for name in missing if name.endswith("_API_KEY"))  # one of several will do
    needed = [*([keys] if keys else []), *(name for name in missing if not name.endswith("_API_KEY"))]
    if needed:
        yield f"{model} needs {' and '.join(needed)}; export it or write it into a file .env"
