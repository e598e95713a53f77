"""litellm: its import, which happens only when a model needs it, and its price map.

litellm is set up so that it writes no log output, and sends nothing over the network except queries to models.
"""

import functools
import importlib.metadata
import json
import logging
import os
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

_PRICE_MAP: Final = "litellm/model_prices_and_context_window_backup.json"
_RATES: Final = (
    *("input_cost_per_token", "output_cost_per_token"),
    *("cache_read_input_token_cost", "cache_creation_input_token_cost"),
)


class Price(NamedTuple):
    """The price of a model, in USD per token.

    Attributes:
        prompt: The price of the prompt.
        completion: The price of the reply.
        cached: The price of the tokens of the prompt that the provider had in its cache; None: as the others.
        written: The price of the tokens of the prompt that the provider put into its cache; None: as the others.
    """

    prompt: float
    completion: float
    cached: float | None = None
    written: float | None = None

    def halved(self) -> "Price":
        """Return the price in a batch, which is half of the usual one at every provider that has batches."""
        return Price(*(None if usd is None else usd / 2 for usd in self))  # type: ignore[arg-type]

    def cost(self, prompt_tokens: int, completion_tokens: int, n_cached: int = 0, n_written: int = 0) -> float:
        """Return the cost of a reply in USD, given numbers of tokens; those of the prompt include the last two."""
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.written is None else self.written
        prompt = (prompt_tokens - n_cached - n_written) * self.prompt + n_cached * cached + n_written * written
        return prompt + completion_tokens * self.completion


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
def _load_price_map() -> dict[str, dict[str, Any]]:
    path = importlib.metadata.distribution("litellm").locate_file(_PRICE_MAP)
    return cast("dict[str, dict[str, Any]]", json.loads(Path(str(path)).read_bytes()))


def find_entry(name: str) -> dict[str, Any]:
    """Return what litellm's price map says about a model, by the model's name in litellm; empty if it says nothing."""
    models = _load_price_map()
    provider, _, model = name.partition("/")
    if name not in models and models.get(model, {}).get("litellm_provider") == provider:
        return models[model]
    return models.get(name, {})


def read_price(name: str, now: datetime | None = None) -> Price | None:
    """Return the price of a model as litellm's price map has it, without importing litellm; None if it is not there.

    Args:
        name: The model's name in litellm.
        now: The time at which the price holds, for providers that are cheaper at some hours; None: the highest price.
    """
    if name.startswith(("ollama/", "ollama_chat/")):
        return Price(0.0, 0.0)  # on the user's own machine
    entry = find_entry(name)
    rates = {**entry, **(_find_off_peak(entry, now.astimezone(UTC)) if now is not None else {})}
    prompt, completion, cached, written = (rates.get(key) for key in _RATES)
    return None if prompt is None or completion is None else Price(prompt, completion, cached, written)


@functools.cache
def find_price(name: str) -> Price | None:
    """Return the price of a model as litellm finds it, which has more names than its price map; None if unknown."""
    litellm = load_litellm()
    try:
        info = litellm.get_model_info(name)
    except Exception as error:
        if "mapped" not in str(error):
            raise
        return None
    prices = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    return None if None in prices else Price(*prices)


def _find_off_peak(entry: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    """Return the entries of the price map that replace others at a time in UTC."""
    off_peak: dict[str, Any] = entry.get("off_peak_pricing", {})
    clock = f"{now:%H:%M}"
    for window in off_peak.get("windows", []):
        hours = window["hours_utc"]
        for span in [hours] if isinstance(hours, str) else hours:
            start, end = span.split("-")
            is_open = start <= clock < end if start < end else clock >= start or clock < end
            if is_open and now.isoweekday() in window.get("weekdays", range(1, 8)):
                return off_peak
    return {}
