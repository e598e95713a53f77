"""An estimate of a run's requests to its models, for a dry run."""

from collections.abc import Sequence

from evodiverse.llm.clients import KINDS
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import Query

# For prompts that are half prose and half SMILES or code; a rough figure, used for estimates only.
BYTES_A_TOKEN = 3.0


def describe_estimate(queries: Sequence[Query], settings: Llm, fewest: int, most: int) -> list[str]:
    """Return the lines of a dry run that say how many requests a run would send, with their tokens and cost.

    Args:
        queries: A typical query of each pool.
        settings: The settings of the models.
        fewest: The number of requests if each slot (the place of one offspring) needs only one attempt.
        most: The number of requests if each slot takes all its attempts.
    """
    prompt = sum(len(message.content.encode()) for query in queries for message in query.messages)
    prompt_tokens = prompt / len(queries) / BYTES_A_TOKEN
    reply_tokens = sum(query.decoding.max_tokens for query in queries) / len(queries)
    replies = _range(fewest * reply_tokens, most * reply_tokens)
    requests = "request" if max(fewest, most) == 1 else "requests"
    lines = [
        f"and {_range(fewest, most)} {requests} to {', '.join(settings.models)}, unless the search stops early",
        f"of about {prompt_tokens:,.0f} tokens each: {_range(fewest * prompt_tokens, most * prompt_tokens)} in total",
        f"with replies of at most {reply_tokens:,.0f} tokens: {replies} in total",
    ]
    kind = KINDS[settings.client]
    if not kind.asks:
        return [*lines, "at no cost: the replies come from the cache"]
    prices = [kind.price(query.model, settings) for query in queries]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return [*lines, "at an unknown price"]
    cost = sum(price.prompt * prompt_tokens + price.completion * reply_tokens for price in known) / len(known)
    return [*lines, f"for {_range(fewest * cost, most * cost, '${:,.2f}')} at most"]


def _range(fewest: float, most: float, form: str = "{:,.0f}") -> str:
    return " to ".join(dict.fromkeys([form.format(fewest), form.format(max(fewest, most))]))
