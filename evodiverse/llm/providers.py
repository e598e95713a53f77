"""What is known of providers and their models: addresses, keys, and the parameters that a request may have.

Models of the providers and servers that speak OpenAI's chat-completions protocol are asked by `evodiverse.llm.chat`,
all others through litellm. Names, addresses and environment variables are those of litellm.

The table of families has the well-known limits of sampling parameters: ranges, combinations, and models behind a
gateway. For models that are asked through litellm, `evodiverse.llm.clients.litellm` also asks litellm which parameters
they accept at all; others refuse them when they are first asked. The table depends on nothing but the model's name, so
that a replay, which asks no provider, has the same parameters as the run that it repeats.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from evodiverse.llm.library import find_entry


class Provider(NamedTuple):
    """A provider, or a kind of server.

    Attributes:
        usual: The usual address of its API, or None if each user has another one.
        addresses: The environment variables that may hold another address; the first with a value counts.
        keys: The environment variables that may hold the API key; the first with a value counts.
        needs_key: Whether it answers no request without a key.
        translated: The additional parameters of requests that litellm translates for it; ``*`` stands for all.
    """

    usual: str | None
    addresses: tuple[str, ...]
    keys: tuple[str, ...]
    needs_key: bool = True
    translated: tuple[str, ...] = ()

    def find_address(self, api_base: str | None) -> str | None:
        """Return the address of the API, or None if there is none; ``api_base`` is the one that the user gave."""
        return next(filter(None, [api_base, *map(os.environ.get, self.addresses), self.usual]), None)

    def find_key(self) -> str | None:
        """Return the API key of the environment, or None if there is none."""
        return next((key for name in self.keys if (key := os.environ.get(name, "").strip())), None)


_OLLAMA: Final = Provider(
    "http://localhost:11434", ("OLLAMA_API_BASE",), ("OLLAMA_API_KEY",), needs_key=False, translated=("*",)
)
PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider("https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
    "deepseek": Provider(
        "https://api.deepseek.com/beta", ("DEEPSEEK_API_BASE",), ("DEEPSEEK_API_KEY",), translated=("reasoning_effort",)
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1", ("OPENROUTER_API_BASE",), ("OPENROUTER_API_KEY", "OR_API_KEY")
    ),
    "hosted_vllm": Provider(None, ("HOSTED_VLLM_API_BASE",), ("HOSTED_VLLM_API_KEY",), needs_key=False),
    "ollama": _OLLAMA,
    "ollama_chat": _OLLAMA,
}
"""The providers, by the first part of their models' names."""
ANTHROPIC: Final = "anthropic"
MESSAGES: Final = Provider(
    "https://api.anthropic.com", ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), ("ANTHROPIC_API_KEY",)
)
"""Anthropic's API, which has another protocol; only its batches are used without litellm."""
# Parameters that are meant for litellm, which does not send them under these names.
_OF_LITELLM: Final = ("allowed_openai_params", "extra_body", "extra_headers")


def find_provider(name: str, extra: Collection[str] = ()) -> tuple[str, str] | None:
    """Return the provider of a model, a key of `PROVIDERS`, and its own name for the model.

    The result is None if the model must be asked through litellm: another provider has it, it does not answer chat
    completions, or a parameter must be translated.

    Args:
        name: The model's name in litellm, such as ``openai/gpt-5`` or ``gpt-5``.
        extra: The names of the additional parameters of requests.
    """
    provider, slash, model = name.partition("/")
    entry = find_entry(name)
    if not slash and entry.get("litellm_provider") == "openai":
        provider, model = "openai", name
    if provider not in PROVIDERS or model.startswith("responses/") or entry.get("mode", "chat") != "chat":
        return None
    translated = {*_OF_LITELLM, *PROVIDERS[provider].translated}
    return None if translated & {*extra} or (extra and "*" in translated) else (provider, model)


def find_batches(name: str, extra: Collection[str] = ()) -> tuple[str, str] | None:
    """Return the kind of endpoint that takes batches for a model, and the provider's name of the model.

    The kind is ``openai``, also for other servers that speak OpenAI's protocol, or ``anthropic``. The result is None if
    EvoDiverse knows no batches of the provider.

    Args:
        name: The model's name in litellm.
        extra: The names of the additional parameters of requests.
    """
    if found := find_provider(name, extra):
        return found if found[0] == "openai" else None
    provider, slash, model = name.partition("/")
    if not slash:
        provider, model = find_entry(name).get("litellm_provider", ""), name
    return (provider, model) if provider == ANTHROPIC else None


def api_address(provider: str, api_base: str | None) -> str:
    """Return the address of a provider's API, to which paths such as ``/chat/completions`` are added.

    Args:
        provider: The provider, `ANTHROPIC` or a key of `PROVIDERS`.
        api_base: The address that the user gave, or None.
    """
    known = PROVIDERS.get(provider, MESSAGES)
    address = (known.find_address(api_base) or "").rstrip("/")
    address = address.removesuffix("/chat/completions").removesuffix("/v1/messages")
    return f"{address}/v1" if known is _OLLAMA and not address.endswith("/v1") else address


def chat_address(provider: str, api_base: str | None) -> str:
    """Return the address to which chat completions are sent.

    Args:
        provider: The provider, a key of `PROVIDERS`.
        api_base: The address of the API that the user gave, or None.
    """
    return f"{api_address(provider, api_base)}/chat/completions"


class Family(NamedTuple):
    """Models with the same limits.

    Attributes:
        names: A pattern that is found in the name of each of its models.
        samples: Whether the models take sampling parameters; if not, they take a temperature and a top-p of 1 only.
        hottest: The highest temperature, or None if no lower limit than that of the OpenAI API is documented.
        takes_both: Whether a request may have a temperature and top-p at the same time.
    """

    names: re.Pattern[str]
    samples: bool = True
    hottest: float | None = None
    takes_both: bool = True


_CLAUDE = r"(?:^|[/.]|anthropic-|databricks-)claude"  # other models that were trained on its texts end with its name
# The first family with a matching pattern counts.
FAMILIES: Final = (
    Family(re.compile(rf"{_CLAUDE}\D*(?:4[.-]\d?[7-9]|[5-9])(?!\d)"), samples=False),
    Family(re.compile(rf"{_CLAUDE}\D*4[.-][1-6](?!\d)"), hottest=1.0, takes_both=False),
    Family(re.compile(_CLAUDE), hottest=1.0),
    Family(re.compile(r"(?:^|/)(?:o[1-9]|gpt-5(?!\.[1-4]|-chat)|gpt-[6-9])(?!\d)"), samples=False),
    Family(re.compile(r"^moonshot/kimi-k2\.[5-9]"), samples=False),
    Family(re.compile(r"^(?:bedrock|cohere(?:_chat)?|minimax|moonshot|zai)/"), hottest=1.0),
)
COUNTS_REASONING: Final = re.compile(r"(?:^|/)(?:o[1-9]|gpt-[5-9])(?!\d|-chat)")
"""What is found in the names of OpenAI's models that take ``max_completion_tokens`` instead of ``max_tokens``."""


class Misfit(NamedTuple):
    """A sampling parameter that a model does not take.

    Attributes:
        key: The parameter, ``temperature`` or ``top_p``.
        remedy: The nearest value that the model takes; None to leave the parameter out of requests.
        rule: What the model takes instead, for messages.
    """

    key: str
    remedy: float | None
    rule: str


def find_misfits(model: str, temperature: float | None, top_p: float | None) -> Iterator[Misfit]:
    """Yield each parameter that a model does not take. With the remedies in place of these values, it takes them all.

    Args:
        model: The name of the model, with or without its provider.
        temperature: The sampling temperature, or None if requests have none.
        top_p: The probability mass of nucleus sampling, or None if requests have none.
    """
    family = next((family for family in FAMILIES if family.names.search(model.lower())), None)
    if family is None:
        return
    if not family.samples:
        sent = {"temperature": temperature, "top_p": top_p}
        yield from (Misfit(key, None, f"takes no {key}") for key, value in sent.items() if value not in (None, 1))
        return
    if temperature is not None and family.hottest is not None and temperature > family.hottest:
        yield Misfit("temperature", family.hottest, f"takes a temperature of at most {family.hottest:g}")
    if not family.takes_both and temperature is not None and top_p is not None:
        yield Misfit("top_p", None, "takes only one of temperature and top_p")
