"""The names that a key may have, where others keep them; read only when asked for, since help does without numpy."""

from collections.abc import Sequence


def exchange_rules() -> Sequence[str]:
    """Return the names of the exchange rules."""
    from evodiverse.search.exchange import exchange_rules as rules

    return rules.names


def schedules() -> Sequence[str]:
    """Return the names of the schedules, which say which rungs meet."""
    from evodiverse.search.exchange import schedules as rules

    return rules.names


def survivor_rules() -> Sequence[str]:
    """Return the names of the survivor rules."""
    from evodiverse.search.survivors import survivor_rules as rules

    return rules.names


def weight_rules() -> Sequence[str]:
    """Return the names of the weights."""
    from evodiverse.search.weights import weights

    return weights.names


def clients() -> Sequence[str]:
    """Return the names of the kinds of language-model clients, ``none`` among them."""
    from evodiverse.llm.clients import KINDS

    return ["none", *KINDS]


def takes_model(client: str) -> bool:
    """Return whether a kind of client is told by ``llm.model`` which model answers."""
    from evodiverse.llm.clients import KINDS

    return client != "none" and (client not in KINDS or KINDS[client].takes_model)


def trackers() -> Sequence[str]:
    """Return the names of what may follow runs, ``none`` among them."""
    from evodiverse.runner.tracking import NONE, TRACKERS

    return [NONE, *TRACKERS]


def displays() -> Sequence[str]:
    """Return the names of the displays."""
    from evodiverse.runner.display import DISPLAYS

    return DISPLAYS


def evaluators() -> Sequence[str]:
    """Return the names of who may evaluate."""
    from evodiverse.runner.evaluators import EVALUATORS

    return EVALUATORS


def asks(evaluator: str) -> bool:
    """Return whether somebody is asked for scores, who may find others than the task would."""
    from evodiverse.runner.evaluators import ASK

    return evaluator == ASK
