"""What a kind of language-model client offers."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evodiverse.llm.prices import Price
from evodiverse.llm.settings import ModelSettings

if TYPE_CHECKING:
    from evodiverse.llm.client import Client


class Kind(Protocol):
    """What a module of this package offers: how models are checked, reached and paid."""

    @property
    def takes_model(self) -> bool:
        """Whether ``llm.model`` says which model answers."""

    @property
    def asks(self) -> bool:
        """Whether somebody is asked for what the cache does not have."""

    def find_violations(self, settings: ModelSettings, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the models, each with the key that mends it.

        Args:
            settings: Of the models.
            needs_price: A cap on USD was set.
        """

    def source(self, settings: ModelSettings, artifact_sha256: Callable[[str], str]) -> str | None:
        """Return the SHA-256 of the file that holds the model, None where it is not here.

        Args:
            settings: Of the models.
            artifact_sha256: That of a published file by its name.

        Raises:
            InputError: The file cannot be read.
        """

    def complete(self, settings: ModelSettings, artifact: Callable[[str], Path]) -> ModelSettings:
        """Return the settings with what has to be there before a model is opened.

        Args:
            settings: Of the models.
            artifact: The path of a published file by its name.

        Raises:
            InputError: It cannot be had.
        """

    def price(self, model: str, settings: ModelSettings) -> Price | None:
        """Return what a model costs, None if it is unknown."""

    def open(self, settings: ModelSettings) -> "AbstractContextManager[Client | None]":
        """Reach the models; None where nobody is asked.

        Raises:
            ServiceError: They cannot be reached.
        """
