"""What a run will ask of its models, told before it asks."""

from collections.abc import Sequence

from evodiverse.llm.clients import KINDS
from evodiverse.llm.settings import ModelSettings
from evodiverse.vocabulary import Query

# Of prompts that are half prose and half SMILES or code; a rough figure, for estimates alone.
BYTES_A_TOKEN = 3.0


def describe_estimate(queries: Sequence[Query], settings: ModelSettings, fewest: int, most: int) -> list[str]:
    """Return lines on how many requests there will be, how many tokens they have, and what they cost.

    Args:
        queries: A typical one of each pool.
        settings: Of the models.
        fewest: Requests if each first attempt at a slot is evaluated.
        most: Requests if each slot takes all its attempts.
    """
    prompt = sum(len(message.content.encode()) for query in queries for message in query.messages)
    prompt_tokens = prompt / len(queries) / BYTES_A_TOKEN
    reply_tokens = sum(query.decoding.max_tokens for query in queries) / len(queries)
    lines = [
        f"and {_range(fewest, most)} requests to {', '.join(settings.models)}, if no early stop ends it before",
        f"of about {prompt_tokens:,.0f} tokens each: {_range(fewest * prompt_tokens, most * prompt_tokens)} in all",
        f"and {reply_tokens:,.0f} a reply at most: {_range(fewest * reply_tokens, most * reply_tokens)} in all",
    ]
    kind = KINDS[settings.client]
    if not kind.asks:
        return [*lines, "for nothing: they come from the cache"]
    prices = [kind.price(query.model, settings) for query in queries]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return [*lines, "at a price that is unknown"]
    cost = sum(price.prompt * prompt_tokens + price.completion * reply_tokens for price in known) / len(known)
    return [*lines, f"for ${fewest * cost:,.2f} to ${most * cost:,.2f} at most"]


def _range(fewest: float, most: float) -> str:
    return f"{fewest:,.0f}" if most <= fewest else f"{fewest:,.0f} to {most:,.0f}"
