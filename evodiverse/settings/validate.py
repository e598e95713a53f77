"""Rules across configuration keys. All violations are found, not just the first."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite, isnan

from evodiverse.settings.hints import nearest
from evodiverse.settings.schema import Budget, Config, Llm, Method, Swap

SWAPPING = ("metropolis", "random")
NAMED_CLIENTS = ("litellm", "replay")
UNNAMED_CLIENTS = ("none", "local")
FALLBACKS = ("none", "classical")
ON_FAILED_START = ("stop", "continue")
SAMPLERS = ("cold", "hot")
# Parameters of a request that EvoDiverse sets, or that would change what an answer is.
RESERVED = {
    *("api_key", "api_base", "base_url", "timeout", "max_retries", "num_retries"),
    *("model", "messages", "n", "stream", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed"),
    *("custom_llm_provider", "drop_params", "additional_drop_params", "mock_response", "fallbacks", "cache"),
}
Names = Mapping[str, Sequence[str]]


def find_violations(config: Config, n_initial: int, names: Names, *, can_ask: bool) -> list[str]:
    """Return what cannot be meant in a composed configuration, each with its key and what to do.

    Args:
        config: All keys but the domain's own.
        n_initial: Candidates that all pools together start from at most.
        names: The rules there are, by the key that selects one.
        can_ask: The task's domain has prompts.
    """
    return [
        *_unknown_names(config, names),
        *_ladder(config.method),
        *_samplers(config.method.samplers),
        *_counts(config),
        *_rates(config.method.swap),
        *_llm(config.llm),
        *_caps(config.budget),
        *_across(config, n_initial, can_ask=can_ask),
    ]


def _unknown_names(config: Config, names: Names) -> Iterator[str]:
    method = config.method
    chosen = {
        "method.mating_pool.weight": method.mating_pool.weight,
        "method.survivors.weight": method.survivors.weight,
        "method.survivors.rule": method.survivors.rule,
        "method.swap.rule": method.swap.rule,
        "method.swap.schedule": method.swap.schedule,
        "method.hot_prompt": method.hot_prompt,
        "llm.client": config.llm.client,
        "llm.fallback": config.llm.fallback,
        "search.on_failed_start": config.search.on_failed_start,
        "sandbox.require": config.sandbox.require,
        "display": config.display,
    }
    for key, name in chosen.items():
        if name not in names[key]:
            yield f"{key}={name} is unknown; {nearest(name, names[key])}"


def _ladder(method: Method) -> Iterator[str]:
    ladder, rule = method.ladder, method.swap.rule
    if not ladder:
        yield "method.ladder must name at least one inverse temperature, got []"
    if any(isnan(beta) or beta < 0 for beta in ladder):
        yield f"method.ladder must hold inverse temperatures of at least 0, got {ladder}"
    pairs = list(pairwise(ladder))
    if any(cold < hot for cold, hot in pairs):
        yield f"method.ladder must fall from cold to hot, got {ladder}; sort it"
    if rule in SWAPPING and any(cold == hot for cold, hot in pairs):
        yield f"method.ladder must have no equal neighbors where method.swap.rule={rule}, got {ladder}"
    if rule in SWAPPING and len(ladder) > 1 and inf in ladder:
        yield f"method.ladder must be finite where method.swap.rule={rule}, got {ladder}"


def _samplers(samplers: Sequence[str]) -> Iterator[str]:
    if not samplers or not set(samplers) <= set(SAMPLERS):
        yield f"method.samplers must name {' or '.join(SAMPLERS)} for each rung, cold first, got {list(samplers)}"


def _counts(config: Config) -> Iterator[str]:
    method, search = config.method, config.search
    least_one = {
        "method.capacity": method.capacity,
        "method.offspring": method.offspring,
        "method.parents": method.parents,
        "method.mating_pool.size": method.mating_pool.size,
        "method.swap.period": method.swap.period,
        "method.swap.size": method.swap.size,
        "method.swap.window": method.swap.window,
        "search.attempts": search.attempts,
        "search.patience": search.patience,
    }
    for key, value in {"workers": config.evaluator.workers, "batch": config.evaluator.batch}.items():
        if value is not None:
            least_one[f"evaluator.{key}"] = value
    if search.early_stop is not None:
        least_one["search.early_stop.top"] = search.early_stop.top
        if search.early_stop.patience is not None:
            least_one["search.early_stop.patience"] = search.early_stop.patience
        if not search.early_stop.gain >= 0:
            yield f"search.early_stop.gain must be at least 0, got {search.early_stop.gain}"
    if search.target is not None and isnan(search.target):
        yield f"search.target must be a number, or null for none, got {search.target}"
    for key, value in least_one.items():
        if value < 1:
            yield f"{key} must be at least 1, got {value}"
    if method.elites < 0:
        yield f"method.elites must be at least 0, got {method.elites}"
    if not 0 <= config.seed < 2**64:
        yield f"seed must be between 0 and 2**64 - 1, got {config.seed}"


def _rates(swap: Swap) -> Iterator[str]:
    for key, value in {"target": swap.target, "tolerance": swap.tolerance}.items():
        if not 0 <= value <= 1:
            yield f"method.swap.{key} must be between 0 and 1, got {value}"
    if not (isfinite(swap.xi) and 1e-3 <= swap.xi <= 1e3):
        yield f"method.swap.xi must be between 0.001 and 1000, got {swap.xi}"


def _llm(llm: Llm) -> Iterator[str]:
    least: dict[str, tuple[float, int]] = {"llm.concurrency": (llm.concurrency, 1), "llm.retries": (llm.retries, 0)}
    for sampler, pool in {"cold": llm.pools.cold, "hot": llm.pools.hot}.items():
        key = f"llm.pools.{sampler}"
        least[f"{key}.max_tokens"] = (pool.max_tokens, 1)
        if pool.temperature is not None:
            least[f"{key}.temperature"] = (pool.temperature, 0)
        if pool.seed is not None:
            least[f"{key}.seed"] = (pool.seed, 0)
        if pool.top_p is not None and not 0 < pool.top_p <= 1:
            yield f"{key}.top_p must be above 0 and at most 1, got {pool.top_p}"
    if llm.client in NAMED_CLIENTS and not (llm.model or (llm.pools.cold.model and llm.pools.hot.model)):
        yield f"llm.model has no value; name the model that {llm.name} is to use"
    if llm.name == "off" and llm.client != "none":
        yield f"llm=off has no client, got llm.client={llm.client}; use llm=litellm llm.model=provider/name"
    for key, (value, smallest) in least.items():
        if not smallest <= value < inf:
            yield f"{key} must be at least {smallest}, got {value}"
    if not 0 < llm.timeout < inf:
        yield f"llm.timeout must be above 0, got {llm.timeout}"
    if llm.client in UNNAMED_CLIENTS and (llm.model or llm.pools.cold.model or llm.pools.hot.model):
        yield f"llm={llm.name} takes no model; use llm=litellm llm.model=provider/name"
    if llm.provider is not None and llm.api_base is None and llm.client == "litellm":
        yield "llm.api_base has no value; give the server's address, such as http://127.0.0.1:8000/v1"
    for key in sorted(RESERVED & {str(key) for key in llm.extra}):
        yield f"llm.extra.{key} cannot be set; it is EvoDiverse's own"


def _caps(budget: Budget) -> Iterator[str]:
    caps = {
        "llm_calls": budget.llm_calls,
        "tokens": budget.tokens,
        "usd": budget.usd,
        "seconds": budget.seconds,
    }
    for key, value in caps.items():
        if value is not None and not value > 0:
            yield f"budget.{key} must be above 0, or null for no cap, got {value}"


def _across(config: Config, n_initial: int, *, can_ask: bool) -> Iterator[str]:
    method = config.method
    if method.swap.size > method.capacity:
        yield f"method.swap.size must not exceed method.capacity={method.capacity}, got {method.swap.size}"
    if method.elites > method.capacity:
        yield f"method.elites must not exceed method.capacity={method.capacity}, got {method.elites}"
    if config.budget.oracle_calls < n_initial:
        yield (
            f"budget.oracle_calls={config.budget.oracle_calls} does not cover the initial population of {n_initial}; "
            "raise it or start from fewer"
        )
    has_model = config.llm.client != "none"
    if method.needs_model and not has_model:
        yield f"method={method.name} needs a model, got llm=off; choose one with llm=… or use method=pt"
    if has_model and not can_ask:
        yield f"task.domain={config.task.get('domain')} has no prompts for a model; use llm=off"
