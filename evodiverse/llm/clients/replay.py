"""Replies only from the cache: a recorded run is repeated without a network."""

from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.library import Price, read_price
from evodiverse.llm.settings import Llm


class Replay(Kind):
    """The replies of the cache; a reply that is missing there ends the run."""

    asks = False
    has_batches = True  # those of the run that is repeated

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:  # noqa: ARG002 (prices are those in the cache)
        """Return a violation if the cache does not exist."""
        if (cache := settings.find_cache()).is_file():
            return []
        return [f"llm=replay: the reply cache {cache} does not exist; name another one with llm.cache=…"]

    def price(self, model: str, settings: Llm) -> Price | None:
        """Return the price at which a model was asked: that of ``llm.price`` or of the price map; None if unknown."""
        return settings.find_price(model) or read_price(settings.litellm_name(model))
