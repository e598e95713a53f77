"""Rules across configuration keys. All violations are found, not just the first."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite, isnan

from evodiverse.settings.hints import nearest
from evodiverse.settings.schema import Config, Method, Swap

SWAPPING = ("metropolis", "random")
Names = Mapping[str, Sequence[str]]


def find_violations(config: Config, n_initial: int, names: Names, *, has_model: bool) -> list[str]:
    """Return what cannot be meant in a composed configuration, each with its key and what to do.

    Args:
        config: All keys but the domain's own.
        n_initial: Candidates that all pools together start from at most.
        names: The rules there are, by the key that selects one.
        has_model: A language model makes offspring.
    """
    return [
        *_unknown_names(config, names),
        *_ladder(config.method),
        *_counts(config),
        *_rates(config.method.swap),
        *_across(config, n_initial, has_model=has_model),
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


def _across(config: Config, n_initial: int, *, has_model: bool) -> Iterator[str]:
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
    if method.needs_model and not has_model:
        yield f"method={method.name} needs a model, got llm=off; choose one with llm=… or use method=pt"
