"""Replies only from the cache: a recorded run is repeated without a network."""

from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.settings import Llm


class Replay(Kind):
    """The replies of the cache; a reply that is missing there ends the run."""

    asks = False
    has_batches = True  # those of the run that is repeated

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:  # noqa: ARG002 (prices are those in the cache)
        """Return a violation if the cache does not exist."""
        cache = settings.find_cache()
        missing = f"llm=replay: the reply cache {cache} does not exist; name another one with llm.cache=…"
        return [] if cache.is_file() else [missing]
