"""A small model that runs on this machine, without an account or a network."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evodiverse.kit.inputs import input_sha256
from evodiverse.llm.local_server import LocalServer
from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

if TYPE_CHECKING:
    from evodiverse.llm.client import LiteLlmClient

takes_model: Final = False
asks: Final = True

ARTIFACT: Final = "smollm2"
"""The published model file that is served unless the user names another one."""

_FREE: Final = Price(0.0, 0.0)


def find_violations(settings: ModelSettings, *, needs_price: bool) -> list[str]:  # noqa: ARG001 (it costs nothing)
    """Return what is missing: the library that serves models, or the model file that the user named."""
    violations = []
    if importlib.util.find_spec("xllamacpp") is None:
        violations.append("llm=local needs xllamacpp; run pip install 'evodiverse[local]'")
    if settings.gguf is not None and not settings.gguf.is_file():
        violations.append(f"llm.local.gguf={settings.gguf} is not a file; give the path of a GGUF file")
    return violations


def source(settings: ModelSettings, artifact_sha256: Callable[[str], str]) -> str:
    """Return the SHA-256 of the model file."""
    return artifact_sha256(ARTIFACT) if settings.gguf is None else _sha256(settings.gguf)


def complete(settings: ModelSettings, artifact: Callable[[str], Path]) -> ModelSettings:
    """Return the settings with the path of the model file, and with a model name that identifies this file.

    The name is ``local/``, the file's name without its suffix, ``@``, and the first 8 hex digits of its SHA-256.
    """
    gguf = settings.gguf or artifact(ARTIFACT)
    name = f"local/{gguf.stem}@{_sha256(gguf)[:8]}"
    samplers = {key: replace(sampler, model=name) for key, sampler in settings.samplers.items()}
    return replace(settings, gguf=gguf, samplers=samplers)


def price(model: str, settings: ModelSettings) -> Price:  # noqa: ARG001
    """Return a price of 0."""
    return _FREE


@contextmanager
def open(settings: ModelSettings) -> "Iterator[LiteLlmClient]":  # noqa: A001 (the name is set by `Kind`)
    """Serve the model within this context, and open a client of the server."""
    if settings.gguf is None:
        raise TypeError("the settings are not complete")
    longest = max(sampler.decoding.max_tokens for sampler in settings.samplers.values())
    from evodiverse.llm.client import LiteLlmClient  # not at the top: checking the settings does not need httpx

    with LocalServer(settings.gguf, settings.concurrency, longest) as server:
        names = dict.fromkeys(settings.models, f"openai/{settings.gguf.stem}")
        free = dict.fromkeys(settings.models, _FREE)
        yield LiteLlmClient(names, server.address, server.key, settings.timeout_s, free)


def _sha256(path: Path) -> str:
    return input_sha256(path, "llm.local.gguf", at_most=None)
