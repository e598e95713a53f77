"""The interface of a kind of language-model client."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

if TYPE_CHECKING:
    from evodiverse.llm.client import Client


class Kind(Protocol):
    """What each client module of this package provides. A run uses the module that ``llm.client`` names."""

    @property
    def takes_model(self) -> bool:
        """Whether the user must name the model, for example with ``llm.model``; if not, naming one is an error."""

    @property
    def asks(self) -> bool:
        """Whether a model is asked for replies that the cache does not have; if not, a missing reply ends the run."""

    def find_violations(self, settings: ModelSettings, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the settings, one line each, with the key to change.

        Args:
            settings: The settings of the models.
            needs_price: Whether ``budget.usd`` is set. If so, the price of every model must be known.
        """

    def source(self, settings: ModelSettings, artifact_sha256: Callable[[str], str]) -> str | None:
        """Return the SHA-256 of the model file for the run's record, or None if the model is not on this machine.

        Args:
            settings: The settings of the models.
            artifact_sha256: A function that returns the SHA-256 of a file of ``evodiverse-data``, given its name.

        Raises:
            InputError: The file cannot be read.
        """

    def complete(self, settings: ModelSettings, artifact: Callable[[str], Path]) -> ModelSettings:
        """Return the settings with all values that `open` needs, such as the path of the model file.

        Args:
            settings: The settings of the models.
            artifact: A function that fetches a file of ``evodiverse-data`` and returns its path, given its name.

        Raises:
            InputError: A file cannot be obtained.
        """

    def price(self, model: str, settings: ModelSettings) -> Price | None:
        """Return the price of a model, or None if it is unknown."""

    def open(self, settings: ModelSettings) -> "AbstractContextManager[Client | None]":
        """Return a context manager that yields the client, or None if no model is asked.

        Args:
            settings: The settings of the models, as `complete` returns them.

        Raises:
            ServiceError: The models cannot be reached.
        """
