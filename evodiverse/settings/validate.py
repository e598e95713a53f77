"""Checks of how configuration keys fit together. All violations are reported, not just the first."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import Any

from evodiverse.kit.documented import find_beyond
from evodiverse.search.pareto import FEWEST, MOST, are_objectives
from evodiverse.search.settings import Method, Screen
from evodiverse.settings.domain import load_own_rules
from evodiverse.settings.schema import Config
from evodiverse.vocabulary import LENGTH_PARAMETERS

_MIXTURE = "[{model: openai/gpt-5, weight: 2}, {model: deepseek/deepseek-flash, weight: 1}]"
_FEATURES = "{length: [0, 10]}"
_PARETO = "[value,10-length]"
SWAPPING = ("metropolis", "random")
# With a larger exponent, the power of a score of 0.1 is less than 1e-10, which the paper's code adds to each power.
MAX_POWER = 10
# Request parameters that EvoDiverse sets itself, or that would change the form of a reply.
RESERVED = {
    *("api_key", "api_base", "base_url", "timeout", "max_retries", "num_retries"),
    *("model", "messages", "n", "stream", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed"),
    *("custom_llm_provider", "drop_params", "additional_drop_params", "mock_response", "fallbacks", "cache"),
}


def find_violations(config: Config, n_initial: int, *, can_ask: bool) -> list[str]:
    """Return one message for each contradiction in a composed configuration, with the key at fault and the remedy.

    Args:
        config: The configuration. The domain's own keys in ``task`` are checked elsewhere.
        n_initial: The largest possible number of initial candidates, for all pools together.
        can_ask: Whether the domain of the task has prompts for a model.
    """
    return [
        *find_beyond(config, ""),
        *load_own_rules(config.method),
        *_rungs(config.method),
        *_screen(config.method.screen),
        *_features(config),
        *_pareto(config),
        *_llm(config),
        *_evaluator(config),
        *_across(config, n_initial, can_ask=can_ask),
    ]


def _rungs(method: Method) -> Iterator[str]:
    ladder, rule = method.ladder, method.swap.rule
    if not method.samplers:
        yield "method.samplers must name a sampler for each rung, got []"
    if not ladder:
        yield "method.ladder must name at least one inverse temperature, got []"
    pairs = list(pairwise(ladder))
    if any(cold < hot for cold, hot in pairs):
        yield f"method.ladder must fall from cold to hot, got {ladder}; sort it"
    if rule in SWAPPING and any(cold == hot for cold, hot in pairs):
        yield f"method.ladder must have no equal neighbors if method.swap.rule={rule}, got {ladder}"
    draws_survivors = method.survivors.rule not in ("append", "founders", "dominated_novelty", "pareto")
    weights = [method.mating_pool.weight, *([method.survivors.weight] if draws_survivors else [])]
    if "score_power" in weights and any(MAX_POWER < beta < inf for beta in ladder):
        yield (
            f"method.ladder: each value must be at most {MAX_POWER} or .inf if a weight is score_power, got {ladder}: "
            f"above {MAX_POWER}, the floor of 1e-10 makes even good scores equal; use method.survivors.weight=rank"
        )
    if method.survivors.rule == "niche" and method.niche is None:
        yield "method.survivors.rule=niche needs method.niche, got null; set 'method.niche={radius: 0.4, share: [10]}'"
    if method.niche is not None and not method.niche.share:
        yield "method.niche.share must hold a number for each rung, got []"


def _screen(screen: Screen | None) -> Iterator[str]:
    if screen is None:
        return
    if not screen.kappa or not all(
        _is_pair(pair, int, float) and 0 < pair[0] <= pair[1] < inf for pair in screen.kappa
    ):
        yield f"method.screen.kappa must hold ranges above 0, such as [[0.01,1]], got {screen.kappa}"
    sizes = screen.batch
    if not sizes or not all(_is_pair(pair, int) and pair[0] >= 0 and pair[1] >= 1 for pair in sizes):
        yield f"method.screen.batch must hold pairs of whole numbers, such as [[0,10],[1000,100]], got {sizes}"
    elif sizes[0][0] != 0 or any(one[0] >= other[0] for one, other in pairwise(sizes)):
        yield f"method.screen.batch must begin with 0 calls and rise, such as [[0,10],[1000,100]], got {sizes}"


def _features(config: Config) -> Iterator[str]:
    features, rule = config.search.features, config.method.survivors.rule
    if features is None and rule == "dominated_novelty":
        yield f"method.survivors.rule={rule} needs search.features; name columns, such as 'search.features={_FEATURES}'"
    elif features is not None and not (
        isinstance(features, dict)
        and features
        and all(isinstance(name, str) for name in features)
        and all(_is_pair(pair, int, float) and 0 < pair[1] - pair[0] < inf for pair in features.values())
    ):
        yield f"search.features must give columns their lower and upper bounds, such as {_FEATURES}, got {features}"


def _pareto(config: Config) -> Iterator[str]:
    pareto, rule = config.task.get("pareto"), config.method.survivors.rule
    if pareto is None and rule == "pareto":
        yield f"method.survivors.rule={rule} needs task.pareto; name objectives, such as 'task.pareto={_PARETO}'"
    elif pareto is not None and not are_objectives(pareto):
        yield f"task.pareto must name {FEWEST} to {MOST} different objectives, such as {_PARETO}, got {pareto}"


def _is_pair(value: object, *kinds: type) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(one) in kinds for one in value)


def _llm(config: Config) -> Iterator[str]:
    llm = config.llm
    pools = vars(llm.pools)
    named = [bool(pool.model or pool.models) for pool in pools.values()]
    if llm.takes_model and not (llm.model or all(named)):
        yield f"llm.model has no value; name the model for llm={llm.name}"
    if llm.name == "off" and llm.client != "none":
        yield f"llm=off allows no client, got llm.client={llm.client}; use llm=litellm llm.model=provider/name"
    if not llm.takes_model and (llm.model or any(named)):
        yield f"llm={llm.name} takes no model; use llm=litellm llm.model=provider/name"
    for name, pool in pools.items():
        key = f"llm.pools.{name}.models"
        if pool.models is not None and not _is_mixture(pool.models):
            yield f"{key} must hold different models with weights above 0, such as {_MIXTURE}, got {pool.models}"
        if pool.models is not None and pool.model is not None:
            yield f"llm.pools.{name}.model={pool.model} cannot be used with {key}; set one of them to null"
    if llm.choose == "bandit" and not any(len(pool.models or ()) > 1 for pool in pools.values()):
        yield (
            f"llm.choose=bandit needs several models, such as llm.pools.cold.models={_MIXTURE}; name them, or use "
            "llm.choose=weights"
        )
    if llm.command is not None and llm.client not in ("command", "replay"):
        yield f"llm.command needs llm=command, got llm={llm.name}; choose llm=command, or unset llm.command"
    if llm.client == "command" and config.budget.tokens is not None:
        yield "budget.tokens: a command reports no tokens; set budget.llm_calls instead"
    if llm.provider is not None and llm.api_base is None and llm.client == "litellm":
        yield "llm.api_base has no value; give the server's address, such as http://127.0.0.1:8000/v1"
    for key in sorted(RESERVED & {str(key) for key in llm.extra}):
        own = f"set the number with llm.pools.*.max_tokens, and its name with llm.length_parameter={key}"
        remedy = own if key in LENGTH_PARAMETERS else "remove it"
        yield f"llm.extra.{key} is reserved for EvoDiverse; {remedy}"


def _is_mixture(models: list[Any]) -> bool:
    if not all(
        isinstance(one, dict)
        and one.keys() == {"model", "weight"}
        and one["model"]
        and isinstance(one["model"], str)
        and _is_weight(one["weight"])
        for one in models
    ):
        return False
    return 0 < len(models) == len({one["model"] for one in models}) and sum(one["weight"] for one in models) < inf


def _is_split(shares: object) -> bool:
    return isinstance(shares, dict) and shares.keys() == {"llm", "classical"} and all(map(_is_weight, shares.values()))


def _is_weight(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < inf  # type: ignore[operator]


def _evaluator(config: Config) -> Iterator[str]:
    evaluator = config.evaluator
    takes_command = evaluator.name == "command"
    if takes_command and not evaluator.command:
        yield "evaluator.command has no value; name the program that scores, such as [python, score.py]"
    if evaluator.command is not None and not takes_command:
        yield (
            f"evaluator.command needs evaluator=command, got evaluator={evaluator.name}; choose evaluator=command, or "
            "unset evaluator.command"
        )
    if evaluator.timeout is not None and evaluator.name not in ("command", "ray"):
        yield (
            f"evaluator.timeout needs evaluator=command or evaluator=ray, got evaluator={evaluator.name}; choose one "
            "of the two, or unset evaluator.timeout"
        )


def _across(config: Config, n_initial: int, *, can_ask: bool) -> Iterator[str]:
    method = config.method
    if method.swap.size > method.capacity:
        yield f"method.swap.size must not exceed method.capacity={method.capacity}, got {method.swap.size}"
    if method.elites > method.capacity:
        yield f"method.elites must not exceed method.capacity={method.capacity}, got {method.elites}"
    if config.budget.oracle_calls < n_initial:
        yield (
            f"budget.oracle_calls={config.budget.oracle_calls} does not cover the initial population of {n_initial}; "
            "raise it, or start from fewer candidates"
        )
    has_model = config.llm.client != "none"
    if method.needs_model and not has_model:
        yield f"method={method.name} needs a model, got llm=off; choose one with llm=… or use method=pt"
    if method.operators is not None and not _is_split(method.operators):
        yield f"method.operators must hold shares above 0, such as {{llm: 0.7, classical: 0.3}}, got {method.operators}"
    if method.operators is not None and not has_model:
        yield "method.operators needs a model, got llm=off; choose one with llm=…, or unset method.operators"
    if method.operator is not None and config.task.get("operator") != method.operator:
        yield (
            f"method={method.name} needs task.operator={method.operator}, got {config.task.get('operator')} in "
            f"task={config.task.get('name')}; use another method, or another task (program tasks have reseed)"
        )
    if method.operator is not None and has_model:
        yield f"method={method.name} makes offspring with the operator {method.operator}, not with a model; use llm=off"
    if config.search.novelty is not None and method.screen is not None and method.screen.n_proposals > 0:
        yield (
            f"search.novelty={config.search.novelty} has no effect where method={method.name} screens proposals; set "
            "search.novelty=null, or method.screen.proposals=0"
        )
    if has_model and not can_ask:
        yield f"task.domain={config.task.get('domain')} has no prompts for a model; use llm=off"
