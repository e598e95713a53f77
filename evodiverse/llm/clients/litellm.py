"""Models of a provider or of the user's own server, asked through litellm."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.families import find_misfits
from evodiverse.llm.keys import load_env_file
from evodiverse.llm.library import Price, find_price, load_litellm
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import Sampler

if TYPE_CHECKING:
    from evodiverse.llm.client import LiteLlmClient

# OpenAI's client requires a key even if the server does not.
_NO_KEY: Final = "none"
_SERVED_HERE = ("ollama", "ollama_chat")
_ADDRESS = re.compile(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/\S*)?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class LiteLlm(Kind):
    """A provider, or a server that speaks OpenAI's protocol."""

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the address, the keys, the models' names, the parameters or the prices."""
        load_env_file(Path(".env"))
        violations = list(_find_in_address(settings))
        if violations:  # further checks could print a key that is in the wrong place
            return violations
        for name, samplers in settings.samplers.items():
            for used in samplers:
                violations += _find_in_sampler(name, used, settings)
        for model in settings.models if needs_price and not violations else ():
            if self.price(model, settings) is None:
                violations.append(f"budget.usd: the price of {model} is unknown; set budget.tokens instead")
        return list(dict.fromkeys(violations))

    def price(self, model: str, settings: Llm) -> Price | None:
        """Return the price of a model, or None if litellm's price map does not have it."""
        return find_price(settings.litellm_name(model))

    @contextmanager
    def open(self, settings: Llm) -> "Iterator[LiteLlmClient]":
        """Open a client of the provider."""
        from evodiverse.llm.client import LiteLlmClient  # not at the top: checking the settings does not need httpx

        names = {model: settings.litellm_name(model) for model in settings.models}
        key, length_parameter = _find_key(settings), settings.length_parameter
        yield LiteLlmClient(names, settings.api_base, key, settings.timeout, length_parameter=length_parameter)


def _find_key(settings: Llm) -> str | None:
    """Return the API key, or None if litellm is to read it from the provider's usual environment variable."""
    if settings.api_key_env is not None:
        return os.environ.get(settings.api_key_env, "").strip() or None
    return os.environ.get("OPENAI_API_KEY") or _NO_KEY if settings.is_compatible_server else None


def _find_in_address(settings: Llm) -> Iterator[str]:
    if settings.api_base is not None:
        if re.match("https?://[^/]*@", settings.api_base):
            yield (
                "llm.api_base must not contain a password, since it is logged; put the key into an environment "
                "variable and set llm.api_key_env to the name of that variable"
            )
        elif not _ADDRESS.fullmatch(settings.api_base):
            yield "llm.api_base must be an address such as http://127.0.0.1:8000/v1"
    if settings.api_key_env is not None and not _VARIABLE.fullmatch(settings.api_key_env):
        yield (
            "llm.api_key_env must be the name of a variable that holds the key, such as OPENAI_API_KEY, not the key "
            "itself"
        )


def _find_in_sampler(sampler: str, used: Sampler, settings: Llm) -> Iterator[str]:
    litellm = load_litellm()
    try:
        model, provider, *_ = litellm.get_llm_provider(settings.litellm_name(used.model), api_base=settings.api_base)
    except litellm.BadRequestError:
        yield f"llm.model={used.model} names no provider that litellm knows; write provider/name"
        return
    yield from _find_in_key(used.model, provider, settings)
    from evodiverse.llm.client import sent_parameters

    found = find_misfits(used.model, used.decoding.temperature, used.decoding.top_p)
    misfits = {misfit.key: misfit for misfit in found}
    for key, value in sent_parameters(used.decoding, settings.length_parameter).items():
        place = settings.place(key, sampler)
        try:
            litellm.utils.get_optional_params(model=model, custom_llm_provider=provider, **{key: value})
        except litellm.UnsupportedParamsError:
            yield f"{place}={value}: {used.model} does not accept it; {settings.remedy(key, [sampler])}"
        else:
            if key in misfits:
                remedy = "null" if misfits[key].remedy is None else misfits[key].remedy
                yield f"{place}={value}: {used.model} {misfits[key].rule}; set {place}={remedy}"


def _find_in_key(model: str, provider: str, settings: Llm) -> Iterator[str]:
    name = settings.api_key_env
    if name is not None:
        missing = [] if os.environ.get(name, "").strip() else [name]
    elif settings.is_compatible_server:
        name, missing = "OPENAI_API_KEY", []
    else:
        name = f"{provider.upper()}_API_KEY"
        missing = [
            other
            for other in load_litellm().validate_environment(f"{provider}/{model}")["missing_keys"]
            if not (other.endswith("_API_BASE") and (settings.api_base or provider in _SERVED_HERE))
            and not other.startswith("AWS_")  # an AWS profile or role works too
        ]
    keys = " or ".join(name for name in missing if name.endswith("_API_KEY"))  # any one of them is enough
    needed = [*([keys] if keys else []), *(name for name in missing if not name.endswith("_API_KEY"))]
    if needed:
        yield f"{model} needs {' and '.join(needed)}; export it or put it into a file named .env"
    if odd := re.search("[^ -~]", os.environ.get(name, "").strip()):
        yield f"{name} contains {odd[0]!a}, which no header of a request can hold; copy the key again"
