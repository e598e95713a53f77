"""The prices of models, from litellm's price map."""

from functools import cache
from typing import NamedTuple

from evodiverse.llm.library import load_litellm


class Price(NamedTuple):
    """The price of a model, in USD per token of the prompt and of the reply."""

    prompt: float
    completion: float


@cache
def find_price(name: str) -> Price | None:
    """Return the price of a model by its name in litellm, or None if litellm's price map does not have it."""
    litellm = load_litellm()
    try:
        info = litellm.get_model_info(name)
    except Exception as error:
        if "mapped" not in str(error):
            raise
        return None
    prices = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    return None if None in prices else Price(*prices)
