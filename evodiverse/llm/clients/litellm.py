"""Models of a provider or of the user's own server, asked through httpx, or through litellm if it must translate."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evodiverse.llm import providers
from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.keys import load_env_file
from evodiverse.llm.library import Price, find_price, load_litellm, read_price
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import Sampler

if TYPE_CHECKING:
    from evodiverse.llm.client import Clients
    from evodiverse.llm.endpoints import Endpoint

_ADDRESS = re.compile(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/\S*)?", re.ASCII)
# Parameters that litellm passes on to Anthropic as they are.
_ANTHROPIC_PARAMETERS = frozenset({"thinking", "top_k", "metadata", "service_tier", "output_config"})
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class LiteLlm(Kind):
    """A provider, or a server that speaks OpenAI's protocol."""

    has_batches = True

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the address, the keys, the models' names, the parameters or the prices."""
        load_env_file(Path(".env"))
        violations = [*_find_in_address(settings), *_find_in_price(settings)]
        if violations:  # further checks could print a key that is in the wrong place
            return violations
        for name, samplers in settings.samplers.items():
            for used in samplers:
                violations += _find_in_sampler(name, used, settings)
        violations += _find_in_batches(settings) if settings.batch else ()
        if needs_price and not violations:
            remedy = "set llm.price.input and llm.price.output, or budget.tokens instead"
            unknown = [model for model in settings.models if self.price(model, settings) is None]
            violations += [f"budget.usd: the price of {model} is unknown; {remedy}" for model in unknown]
        return list(dict.fromkeys(violations))

    def price(self, model: str, settings: Llm) -> Price | None:
        """Return the price of a model: that of the run's start, of ``llm.price`` or of litellm; None if unknown."""
        return settings.find_price(model) or _look_up(model, settings)

    def endpoints(self, settings: Llm) -> "dict[str, Endpoint]":
        """Return the endpoints that take batches, by model."""
        from evodiverse.llm.endpoints import ENDPOINTS

        found: dict[str, Endpoint] = {}
        for model in settings.models:
            if (batches := providers.find_batches(settings.litellm_name(model), settings.extra)) is None:
                continue
            api, name = batches
            variable = settings.api_key_env or providers.PROVIDERS.get(api, providers.MESSAGES).keys[0]
            address, key = providers.api_address(api, settings.api_base), os.environ.get(variable, "").strip()
            price, length = self.price(model, settings), settings.length_parameter
            halved = price and price.halved()
            found[model] = ENDPOINTS[api](address, key, variable, settings.timeout, name, halved, length)
        return found

    @contextmanager
    def open(self, settings: Llm) -> "Iterator[Clients]":
        """Open a client of the providers."""
        # Not at the top: these import httpx, which takes long.
        from evodiverse.llm.chat import ChatClient
        from evodiverse.llm.client import Clients, LiteLlmClient

        key = os.environ.get(settings.api_key_env or "", "").strip() or None
        named = {model: settings.litellm_name(model) for model in settings.models}
        direct = {model: name for model, name in named.items() if providers.find_provider(name, settings.extra)}
        others = {model: name for model, name in named.items() if model not in direct}
        given = {model: price for model in named if (price := settings.find_price(model)) is not None}
        prices = {model: price for model, price in given.items() if price != _look_up(model, settings)}
        clients = Clients()
        for kind, names in ((ChatClient, direct), (LiteLlmClient, others)):
            if names:  # one client for all of them, which share its connections
                client = kind(names, settings.api_base, key, settings.timeout, prices, settings.length_parameter)
                clients.update(dict.fromkeys(names, client))
        yield clients


def _look_up(model: str, settings: Llm) -> Price | None:
    name = settings.litellm_name(model)
    return read_price(name) if providers.find_provider(name, settings.extra) else find_price(name)


def _find_in_address(settings: Llm) -> Iterator[str]:
    if settings.api_base is not None:
        if re.match("https?://[^/]*@", settings.api_base):
            yield (
                "llm.api_base must not contain a password, since it is logged; put the key into an environment "
                "variable and set llm.api_key_env to the name of that variable"
            )
        elif not _is_address(settings.api_base):
            yield "llm.api_base must be an address such as http://127.0.0.1:8000/v1"
    if settings.api_key_env is not None and not _VARIABLE.fullmatch(settings.api_key_env):
        yield (
            "llm.api_key_env must be the name of a variable that holds the key, such as OPENAI_API_KEY, not the key "
            "itself"
        )


def _find_in_price(settings: Llm) -> Iterator[str]:
    given = {key: value is not None for key, value in vars(settings.price).items()}
    for key in ("input", "output"):
        if any(given.values()) and not given[key]:
            yield f"llm.price.{key} has no value; give the price of a million tokens in USD, or unset llm.price"
    if (own := settings.own_price) is not None and own.cached is not None and own.cached > own.prompt:
        yield "llm.price.cached must not exceed llm.price.input; cached tokens are the cheaper ones"


def _find_in_batches(settings: Llm) -> Iterator[str]:
    for model in settings.models:
        found = providers.find_batches(settings.litellm_name(model), settings.extra)
        if found is None:
            yield (
                f"llm.batch=true: EvoDiverse knows the batches of OpenAI, of servers with OpenAI's protocol "
                f"(llm=openai_compatible) and of Anthropic, not those of {model}; set llm.batch=false"
            )
        elif found[0] == providers.ANTHROPIC and (odd := {*settings.extra} - _ANTHROPIC_PARAMETERS):
            yield f"llm.extra.{min(odd)}: litellm translates it, but batches bypass litellm; unset it or llm.batch"


def _find_in_sampler(sampler: str, used: Sampler, settings: Llm) -> Iterator[str]:
    from evodiverse.llm.client import sent_parameters

    name = settings.litellm_name(used.model)
    sent = sent_parameters(used.decoding, settings.length_parameter)
    refused: Collection[str] = ()
    if found := providers.find_provider(name, settings.extra):
        yield from _find_in_provider(used.model, providers.PROVIDERS[found[0]], settings)
    else:
        litellm = load_litellm()
        try:
            model, provider, *_ = litellm.get_llm_provider(name, api_base=settings.api_base)
        except litellm.BadRequestError:
            place = settings.model_place(sampler)
            yield f"{place}: {used.model} names no provider that litellm knows; write provider/name"
            return
        yield from _find_in_environment(used.model, provider, settings)
        refused = [key for key, value in sent.items() if not _accepts(model, provider, key, value)]
    limits = providers.find_misfits(used.model, used.decoding.temperature, used.decoding.top_p)
    misfits = {misfit.key: misfit for misfit in limits}
    for key, value in sent.items():
        place = settings.place(key, sampler)
        if key in refused:
            yield f"{place}={value}: {used.model} does not accept it; {settings.remedy(key, [sampler])}"
        elif key in misfits:
            remedy = "null" if misfits[key].remedy is None else misfits[key].remedy
            yield f"{place}={value}: {used.model} {misfits[key].rule}; set {place}={remedy}"


def _accepts(model: str, provider: str, key: str, value: object) -> bool:
    litellm = load_litellm()
    with suppress(litellm.UnsupportedParamsError):
        litellm.utils.get_optional_params(model=model, custom_llm_provider=provider, **{key: value})
        return True
    return False


def _is_address(text: str) -> bool:
    """Return whether requests can be sent to an address."""
    import httpx  # it takes long

    with suppress(httpx.InvalidURL, UnicodeError):
        url = httpx.URL(text)
        return bool(_ADDRESS.fullmatch(text) and url.host and (url.port or 0) < 2**16)
    return False


def _find_in_provider(model: str, provider: providers.Provider, settings: Llm) -> Iterator[str]:
    """Yield what is wrong with the address and the key of a provider that is asked without litellm."""
    address = provider.find_address(settings.api_base)
    if address is None:
        yield "llm.api_base has no value; give the server's address, such as http://127.0.0.1:8000/v1"
    elif not _is_address(address):
        yield f"{' or '.join(provider.addresses)} must be an address such as http://127.0.0.1:8000/v1"
    is_own = settings.provider == "openai" and settings.api_base is not None  # such a server may need no key
    is_lacking = provider.needs_key and not is_own and provider.find_key() is None
    yield from _find_in_keys(model, provider.keys, provider.keys[:1] if is_lacking else (), settings)


def _find_in_environment(model: str, provider: str, settings: Llm) -> Iterator[str]:
    """Yield what is wrong with the environment variables of a provider that is asked through litellm."""
    missing = [
        name
        for name in load_litellm().validate_environment(f"{provider}/{model}")["missing_keys"]
        if not (name.endswith("_API_BASE") and (settings.api_base or provider in providers.PROVIDERS))
        and not name.startswith("AWS_")  # an AWS profile or role works too
    ]
    yield from _find_in_keys(model, [f"{provider.upper()}_API_KEY"], missing, settings)


def _find_in_keys(model: str, names: Sequence[str], missing: Sequence[str], settings: Llm) -> Iterator[str]:
    """Yield what is wrong with the variables that may hold the key, and which variables a provider lacks."""
    if settings.api_key_env is not None:
        names = [settings.api_key_env]
        missing = [] if os.environ.get(settings.api_key_env, "").strip() else names
    keys = " or ".join(name for name in missing if name.endswith("_API_KEY"))  # any one of them is enough
    if needed := [*filter(None, [keys]), *(name for name in missing if not name.endswith("_API_KEY"))]:
        yield f"{model} needs {' and '.join(needed)}; export it or put it into a file named .env"
    for name in names:
        if odd := re.search("[^ -~]", os.environ.get(name, "").strip()):
            yield f"{name} contains {odd[0]!a}, which no header of a request can hold; copy the key again"
