"""The providers and servers that speak OpenAI's chat-completions protocol: their addresses and keys.

Models of these are asked by `evodiverse.llm.chat`, all others through litellm. Names, addresses and environment
variables are those of litellm.
"""

import os
from collections.abc import Collection
from types import MappingProxyType
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
    translated: frozenset[str] = frozenset()

    def find_address(self, api_base: str | None) -> str | None:
        """Return the address of the API, or None if there is none; ``api_base`` is the one that the user gave."""
        return next(filter(None, [api_base, *map(os.environ.get, self.addresses), self.usual]), None)

    def find_key(self) -> str | None:
        """Return the API key of the environment, or None if there is none."""
        return next((key for name in self.keys if (key := os.environ.get(name, "").strip())), None)


_OLLAMA: Final = Provider(
    "http://localhost:11434", ("OLLAMA_API_BASE",), ("OLLAMA_API_KEY",), needs_key=False, translated=frozenset("*")
)
PROVIDERS: Final = MappingProxyType(
    {
        "openai": Provider("https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
        "deepseek": Provider(
            "https://api.deepseek.com/beta",
            ("DEEPSEEK_API_BASE",),
            ("DEEPSEEK_API_KEY",),
            translated=frozenset({"reasoning_effort"}),
        ),
        "openrouter": Provider(
            "https://openrouter.ai/api/v1", ("OPENROUTER_API_BASE",), ("OPENROUTER_API_KEY", "OR_API_KEY")
        ),
        "hosted_vllm": Provider(None, ("HOSTED_VLLM_API_BASE",), ("HOSTED_VLLM_API_KEY",), needs_key=False),
        "ollama": _OLLAMA,
        "ollama_chat": _OLLAMA,
    }
)
"""The providers, by the first part of their models' names."""
ANTHROPIC: Final = "anthropic"
MESSAGES: Final = Provider(
    "https://api.anthropic.com", ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), ("ANTHROPIC_API_KEY",)
)
"""Anthropic's API, which has another protocol; only its batches are used without litellm."""
# Parameters that are meant for litellm, which does not send them under these names.
_OF_LITELLM: Final = frozenset({"allowed_openai_params", "extra_body", "extra_headers"})


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
    translated = _OF_LITELLM | PROVIDERS[provider].translated
    return None if translated & {*extra} or (extra and "*" in translated) else (provider, model)


def find_batches(name: str, extra: Collection[str] = ()) -> tuple[str, str] | None:
    """Return the kind of endpoint that takes batches for a model, and the provider's name of the model.

    The kind is ``openai``, also for other servers that speak OpenAI's protocol, or ``anthropic``. The result is None if
    EvoDiverse knows no batches of the provider.

    Args:
        name: The model's name in litellm.
        extra: The names of the additional parameters of requests.
    """
    found = find_provider(name, extra)
    if found is not None:
        return found if found[0] == "openai" else None
    provider, slash, model = name.partition("/")
    if slash:
        return (ANTHROPIC, model) if provider == ANTHROPIC else None
    return (ANTHROPIC, name) if find_entry(name).get("litellm_provider") == ANTHROPIC else None


def api_address(provider: str, api_base: str | None) -> str:
    """Return the address of a provider's API, to which paths such as ``/chat/completions`` are added.

    Args:
        provider: The provider, a key of `PROVIDERS`.
        api_base: The address that the user gave, or None.
    """
    address = (PROVIDERS[provider].find_address(api_base) or "").rstrip("/").removesuffix("/chat/completions")
    return f"{address}/v1" if PROVIDERS[provider] is _OLLAMA and not address.endswith("/v1") else address


def chat_address(provider: str, api_base: str | None) -> str:
    """Return the address to which chat completions are sent.

    Args:
        provider: The provider, a key of `PROVIDERS`.
        api_base: The address of the API that the user gave, or None.
    """
    return f"{api_address(provider, api_base)}/chat/completions"
