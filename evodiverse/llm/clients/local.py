"""A small model that runs on this machine, without an account or a network."""

import importlib.util
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evodiverse.errors import ServiceError, describe
from evodiverse.kit.apart import Apart
from evodiverse.kit.inputs import input_sha256
from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.library import Price
from evodiverse.llm.settings import Llm, LlmLocal

if TYPE_CHECKING:
    from evodiverse.llm.chat import ChatClient

ARTIFACT: Final = "smollm2"
"""The published model file that is served unless the user names another one."""

# The number of tokens that the server reserves for the prompt of each simultaneous query.
_PROMPT_TOKENS: Final = 4096
_servers: list[Any] = []  # of this process


class Local(Kind):
    """A model file that is served to this run alone, on the loopback interface and with a random key."""

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:  # noqa: ARG002 (it costs nothing)
        """Return what is missing: the library that serves models, or the model file that the user named."""
        violations = []
        if importlib.util.find_spec("xllamacpp") is None:
            violations.append("llm=local needs xllamacpp; run pip install 'evodiverse[local]'")
        if settings.gguf is not None and not settings.gguf.is_file():
            violations.append(f"llm.local.gguf={settings.gguf} is not a file; give the path of a GGUF file")
        if any(price is not None for price in vars(settings.price).values()):
            violations.append("llm=local costs nothing; unset llm.price")
        return violations

    def source(self, settings: Llm, artifact_sha256: Callable[[str], str]) -> str:
        """Return the SHA-256 of the model file."""
        return artifact_sha256(ARTIFACT) if settings.gguf is None else _sha256(settings.gguf)

    def complete(self, settings: Llm, artifact: Callable[[str], Path]) -> Llm:
        """Return the settings with the path of the model file, and with a model name that identifies this file.

        The name is ``local/``, the file's name without its suffix, ``@``, and the first 8 hex digits of its SHA-256.
        """
        gguf = settings.gguf or artifact(ARTIFACT)
        name = f"local/{gguf.stem}@{_sha256(gguf)[:8]}"
        return replace(settings, model=name, local=LlmLocal(str(gguf)))

    @contextmanager
    def open(self, settings: Llm) -> "Iterator[ChatClient]":
        """Serve the model in a process of its own within this context, and open a client of it."""
        from evodiverse.llm.chat import ChatClient  # not at the top: checking the settings does not need httpx

        gguf = Path(str(settings.local.gguf))
        longest = max(sampler.decoding.max_tokens for used in settings.samplers.values() for sampler in used)
        n_slots, key = settings.concurrency, secrets.token_urlsafe(24)
        with closing(Apart(None)) as process:
            try:
                address = process.call(serve, gguf, n_slots, n_slots * (_PROMPT_TOKENS + longest), key)
            except RuntimeError as error:
                raise ServiceError(
                    f"cannot serve {gguf} ({describe(error)}); check that it is a complete GGUF file"
                ) from error
            names = dict.fromkeys(settings.models, f"openai/{gguf.stem}")
            free = dict.fromkeys(settings.models, Price(0.0, 0.0))
            yield ChatClient(names, address, key, settings.timeout, free)


def serve(gguf: Path, n_slots: int, n_tokens: int, key: str) -> str:
    """Serve a model file with OpenAI's protocol until this process ends, and return the address.

    Args:
        gguf: The model file.
        n_slots: The number of queries answered at the same time.
        n_tokens: The size of the context in tokens, which these queries share.
        key: The API key that the server requires.
    """
    import xllamacpp

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the library prints
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_parallel = n_slots
    params.n_ctx = n_tokens
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    _servers.append(xllamacpp.Server(params))
    return f"{_servers[-1].listening_address}/v1"


def _sha256(path: Path) -> str:
    return input_sha256(path, "llm.local.gguf")
