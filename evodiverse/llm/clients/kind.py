"""What the kinds of language-model clients have in common."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from evodiverse.llm.library import Price
from evodiverse.llm.settings import Llm

if TYPE_CHECKING:
    from evodiverse.llm.client import Client
    from evodiverse.llm.endpoints import Endpoint


class Kind:
    """A kind of client, which ``llm.client`` names. This one asks no model, so its replies cost nothing.

    Attributes:
        asks: Whether a model is asked for replies that the cache does not have; if not, a missing reply ends the run.
        has_batches: Whether ``llm.batch`` has a meaning.
    """

    asks: ClassVar[bool] = True
    has_batches: ClassVar[bool] = False

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the settings, one line each, with the key to change.

        Args:
            settings: The settings of the models.
            needs_price: Whether ``budget.usd`` is set. If so, the price of every model must be known.
        """
        raise NotImplementedError

    def source(self, settings: Llm, artifact_sha256: Callable[[str], str]) -> str | None:  # noqa: ARG002
        """Return the SHA-256 of the model file for the run's record, or None if the model is not on this machine.

        Args:
            settings: The settings of the models.
            artifact_sha256: A function that returns the SHA-256 of a file of ``evodiverse-data``, given its name.

        Raises:
            InputError: The file cannot be read.
        """
        return None

    def complete(self, settings: Llm, artifact: Callable[[str], Path]) -> Llm:  # noqa: ARG002
        """Return the settings with all values that `open` needs, such as the path of the model file.

        Args:
            settings: The settings of the models.
            artifact: A function that fetches a file of ``evodiverse-data`` and returns its path, given its name.

        Raises:
            InputError: A file cannot be obtained.
        """
        return settings

    def price(self, model: str, settings: Llm) -> Price | None:  # noqa: ARG002
        """Return the price of a model, or None if it is unknown."""
        return Price(0.0, 0.0)

    def endpoints(self, settings: Llm) -> "Mapping[str, Endpoint]":  # noqa: ARG002
        """Return the endpoints that take batches, by model."""
        return {}

    @contextmanager
    def open(self, settings: Llm) -> "Iterator[Client | None]":  # noqa: ARG002
        """Open the client, or None if no model is asked.

        Args:
            settings: The settings of the models, as `complete` returns them.

        Raises:
            ServiceError: The models cannot be reached.
        """
        yield None
