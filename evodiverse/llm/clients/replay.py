"""Replies from the cache alone: what was recorded is repeated without a network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

takes_model: Final = True
asks: Final = False


def find_violations(settings: ModelSettings, *, needs_price: bool) -> list[str]:  # noqa: ARG001 (replies have theirs)
    """Return that the cache is absent."""
    absent = f"llm=replay: there is no reply cache {settings.cache}; name it with llm.cache=…"
    return [] if settings.cache.is_file() else [absent]


def source(settings: ModelSettings, artifact_sha256: Callable[[str], str]) -> None:
    """Return None: the model is elsewhere."""


def complete(settings: ModelSettings, artifact: Callable[[str], Path]) -> ModelSettings:  # noqa: ARG001
    """Return the settings as they are."""
    return settings


def price(model: str, settings: ModelSettings) -> Price:  # noqa: ARG001
    """Return that a reply which is there already costs nothing."""
    return Price(0.0, 0.0)


@contextmanager
def open(settings: ModelSettings) -> Iterator[None]:  # noqa: A001, ARG001 (`Kind` calls it so)
    """Reach nobody."""
    yield None
