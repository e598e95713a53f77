"""The cost of a run (paper, "Computational Cost") and the size of its generations (table ``budget_details``)."""

from collections import defaultdict
from statistics import median

from evodiverse.runlog.log import Log, Measurement, select
from evodiverse.vocabulary import Outcome


def measure_cost(log: Log) -> Measurement:
    """Return the metrics of a run's cost by name: calls, tokens, USD, times and error rates.

    A metric is None if the log lacks the values for it, or if there is nothing to measure. ``failed_percent`` is the
    percentage of the evaluations after iteration 0 that failed.
    """
    wall = log.run.seconds.get("wall")
    tokens = [*log.llm_calls["prompt_tokens"], *log.llm_calls["completion_tokens"]]
    usd = log.llm_calls["cost_usd"]
    valid = [log.attempts["valid"][at] for at in log.charged if log.attempts["iteration"][at] > 0]
    return {
        "oracle_calls": log.n_calls,
        "iterations": len(log.states) - 1,
        "llm_calls": len(log.llm_calls["llm_call"]),
        "tokens_millions": None if None in tokens else sum(tokens) / 1e6,
        "cost_usd": None if None in usd else sum(usd),
        "wall_hours": None if wall is None else wall / 3600,
        "iteration_seconds": median_iteration_seconds(log),
        **measure_rates(log),
        "failed_percent": 100 * valid.count(False) / len(valid) if valid else None,
    }


def measure_generations(log: Log) -> Measurement:
    """Return five settings of a run that give the size of its generations, by the names that they have as metrics.

    - ``n_pools``: the number of pools
    - ``capacity``: the maximum size of a pool
    - ``parents``: the number of parents of each offspring
    - ``offspring``: the number of offspring of each pool per iteration
    - ``budget``: the budget of oracle calls
    """
    settings = log.run.settings
    sizes = {name: settings[f"method.{name}"] for name in ("capacity", "parents", "offspring")}
    return {"n_pools": len(settings["method.ladder"]), **sizes, "budget": settings["budget.oracle_calls"]}


def measure_rates(log: Log) -> Measurement:
    """Return the percentages of invalid replies and of replies with a duplicate, by name; both None without replies.

    A reply is invalid if it proposed nothing (``no_answer``) or its proposal was rejected. A reply has a duplicate if
    the outcome of its proposal is ``duplicate``. A request without a reply does not count. In a run without a model,
    the attempts after iteration 0 take the place of replies.
    """
    requests = dict(zip(log.llm_calls["llm_call"], log.llm_calls["outcome"], strict=True))
    made: dict[str, set[int]] = defaultdict(set)
    attempts = select(log.attempts, "iteration", "outcome", "llm_call")
    for number, (iteration, outcome, llm_call) in enumerate(attempts):
        if iteration > 0:
            made[outcome].add(llm_call if requests else number)
    replies = {number for number, outcome in requests.items() if outcome != "error"}
    if not requests:
        replies.update(*made.values())
    invalid = made[Outcome.REJECTED] | {number for number, outcome in requests.items() if outcome == "no_answer"}
    found = {"invalid_percent": invalid & replies, "duplicate_percent": made[Outcome.DUPLICATE] & replies}
    return {name: 100 * len(some) / len(replies) if replies else None for name, some in found.items()}


def median_iteration_seconds(log: Log) -> float | None:
    """Return the median over iterations of the time of the slowest attempt, in seconds; None without iterations.

    The time of an attempt is that of its request to a model plus that of its evaluation. Iteration 0 does not count.
    """
    asked = dict(zip(log.llm_calls["llm_call"], log.llm_calls["seconds"], strict=True))
    slowest: dict[int, float] = defaultdict(float)
    for iteration, llm_call, seconds in select(log.attempts, "iteration", "llm_call", "seconds"):
        if iteration > 0:
            slowest[iteration] = max(slowest[iteration], (seconds or 0.0) + (asked.get(llm_call) or 0.0))
    return median(slowest.values()) if slowest else None
