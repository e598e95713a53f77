"""litellm, loaded when a model is used, quiet, and without the network."""

import functools
import logging
import os
import warnings
from types import ModuleType


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm, which takes seconds, with the price map it ships, no banner, and nothing dropped in silence.

    What it sends and receives keeps the rules of `evodiverse.llm.transfer`.
    """
    from evodiverse.llm.transfer import watch_httpx  # here: a run without a model does not load httpx

    watch_httpx()
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it reads .env files from here upwards by itself
    for limit in ("AIOHTTP_CONNECTOR_LIMIT", "AIOHTTP_CONNECTOR_LIMIT_PER_HOST"):
        os.environ.setdefault(limit, "100000")  # `llm.concurrency` is the bound
    warnings.filterwarnings("ignore", module=r"pydantic\.|litellm\.")  # about its own code
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.modify_params = False
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)  # what goes wrong comes as an exception
    return litellm
