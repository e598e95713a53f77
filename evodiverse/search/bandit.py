"""The choice among language models by their gains per dollar (``llm.choose=bandit``)."""

from collections.abc import Mapping, Sequence
from math import inf, log1p, sqrt
from typing import NamedTuple

from evodiverse.search.sampling import FloatArray
from evodiverse.search.state import Attempt
from evodiverse.vocabulary import Outcome

HALF_LIFE = 1_000
"""After how many later requests, to all models, a request counts half: models gain ever less as a search goes on."""


class Arm(NamedTuple):
    """What requests to a model brought and cost.

    Attributes:
        requests: The number of requests.
        gains: The number of those that gained (see `gained`).
        usd: Their cost in USD.
    """

    requests: float = 0.0
    gains: float = 0.0
    usd: float = 0.0


def gained(attempt: Attempt, scores: FloatArray) -> bool:
    """Return whether an attempt found a new candidate that scores higher than each of its parents.

    Args:
        attempt: The attempt.
        scores: ``(n,)`` scores of all candidates; that of the oracle call ``c``, counted from 1, is at ``c - 1``.
    """
    if attempt.outcome is not Outcome.EVALUATED or attempt.evaluation is None or attempt.evaluation.score is None:
        return False
    score = attempt.evaluation.score
    return all(score > scores[parent - 1] for parent in attempt.parents)


def learn(arms: Mapping[str, Arm], seen: Mapping[str, Arm]) -> dict[str, Arm]:
    """Return what is known of each model after an iteration, by the model's name.

    Args:
        arms: What was known before.
        seen: The requests of the iteration to each model.
    """
    kept = 0.5 ** (sum(new.requests for new in seen.values()) / HALF_LIFE)
    pairs = {model: zip(arms.get(model, Arm()), seen.get(model, Arm()), strict=True) for model in {**arms, **seen}}
    return {model: Arm(*(kept * old + new for old, new in pair)) for model, pair in pairs.items()}


def find_indices(arms: Sequence[Arm], added: Sequence[int]) -> list[float]:
    """Return an upper confidence bound on the gains per dollar of each model.

    It is the upper end of Wilson's interval for the probability of a gain, ``sqrt(ln(1 + N) / 2)`` standard deviations
    above the mean after N requests in total, divided by the mean cost of a request. If no request cost anything, it is
    a bound on the gains per request. Such intervals suit rare gains (Heyden et al., Budgeted Multi-Armed Bandits with
    Asymmetric Confidence Intervals, 2023). A width of twice or four times ``ln(1 + N) / 2`` found fewer gains for the
    same dollars in simulations.

    Args:
        arms: What is known of each model; each has requests.
        added: The number of further requests to each model, which are taken to gain as often as those before them.
    """
    squared = log1p(sum(arm.requests for arm in arms) + sum(added)) / 2
    is_free = all(arm.usd == 0 for arm in arms)
    indices = []
    for arm, more in zip(arms, added, strict=True):
        mean, requests = arm.gains / arm.requests, arm.requests + more
        deviation = sqrt(squared * (requests * mean * (1 - mean) + squared / 4))
        bound = (requests * mean + squared / 2 + deviation) / (requests + squared)
        cost = 1.0 if is_free else arm.usd / arm.requests
        indices.append(bound / cost if cost else inf)
    return indices


def share_out(arms: Sequence[Arm], weights: Sequence[float], n_requests: int) -> list[float]:
    """Return the share of the requests of an iteration that each model gets.

    The requests are dealt one after another, each to the model with the highest index (see `find_indices`), the first
    of several. Those dealt before count as requests that gain as often as the model's others do.

    Args:
        arms: What is known of each model.
        weights: The weight of each model. The shares are proportional to them until each model has had a request.
        n_requests: The number of requests of the iteration, at least 1.
    """
    if any(arm.requests == 0 for arm in arms):
        return [weight / sum(weights) for weight in weights]
    dealt = [0] * len(arms)
    for _ in range(n_requests):
        indices = find_indices(arms, dealt)
        dealt[indices.index(max(indices))] += 1
    return [count / n_requests for count in dealt]
