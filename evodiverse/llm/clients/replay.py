"""Replies only from the cache: a recorded run is repeated without a network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

takes_model: Final = True
asks: Final = False


def find_violations(settings: ModelSettings, *, needs_price: bool) -> list[str]:  # noqa: ARG001 (prices are those in the cache)
    """Return a violation if the cache does not exist."""
    missing = f"llm=replay: the reply cache {settings.cache} does not exist; name another one with llm.cache=…"
    return [] if settings.cache.is_file() else [missing]


def source(settings: ModelSettings, artifact_sha256: Callable[[str], str]) -> None:
    """Return None: the model is not on this machine."""


def complete(settings: ModelSettings, artifact: Callable[[str], Path]) -> ModelSettings:  # noqa: ARG001
    """Return the settings unchanged."""
    return settings


def price(model: str, settings: ModelSettings) -> Price:  # noqa: ARG001
    """Return a price of 0, since no reply is bought."""
    return Price(0.0, 0.0)


@contextmanager
def open(settings: ModelSettings) -> Iterator[None]:  # noqa: A001, ARG001 (the name is set by `Kind`)
    """Open nothing: no model is asked."""
    yield None
