"""litellm, loaded only when a model is used, without log output or network access of its own."""

import functools
import logging
import os
import warnings
from types import ModuleType


@functools.cache
def load_litellm() -> ModuleType:
    """Import litellm, which takes seconds, with its built-in price map, no banner, and no silently dropped parameters.

    Its requests and responses follow the rules of `evodiverse.llm.transfer`.
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
