"""The import of litellm, which happens only when a model is used, and its prices.

litellm is set up so that it writes no log output, and sends nothing over the network except queries to models.
"""

import functools
import logging
import os
import warnings
from types import ModuleType
from typing import NamedTuple


class Price(NamedTuple):
    """The price of a model, in USD per token of the prompt and of the reply."""

    prompt: float
    completion: float


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm and configure it. The first call takes seconds.

    litellm then uses its built-in price map instead of downloading one, prints no banner, and drops no parameter
    silently. Its requests and responses follow the rules of `evodiverse.llm.transfer`.
    """
    from evodiverse.llm.transfer import watch_httpx  # not at the top: a run without a model does not need httpx

    watch_httpx()
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else litellm itself reads .env files from the current folder upwards
    for limit in ("AIOHTTP_CONNECTOR_LIMIT", "AIOHTTP_CONNECTOR_LIMIT_PER_HOST"):
        os.environ.setdefault(limit, "100000")  # `llm.concurrency` is the only limit
    warnings.filterwarnings("ignore", module=r"pydantic\.|litellm\.")  # warnings about litellm's own code
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.modify_params = False
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)  # failures are raised as exceptions
    return litellm


@functools.cache
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
