"""The allowed values of settings, collected from the EvoDiverse packages that define them.

The imports are inside the functions because ``--help`` must not load numpy.
"""

from collections.abc import Sequence


def exchange_rules() -> Sequence[str]:
    """Return the names of the exchange rules, which decide what pools exchange."""
    from evodiverse.search.exchange import exchange_rules as rules

    return rules.names


def schedules() -> Sequence[str]:
    """Return the names of the schedules, which decide which adjacent pools take part in an exchange."""
    from evodiverse.search.exchange import schedules as rules

    return rules.names


def survivor_rules() -> Sequence[str]:
    """Return the names of the survivor rules."""
    from evodiverse.search.survivors import survivor_rules as rules

    return rules.names


def weight_rules() -> Sequence[str]:
    """Return the names of the weight rules, by which mating pools and survivors are drawn."""
    from evodiverse.search.weights import weights

    return weights.names


def clients() -> Sequence[str]:
    """Return the names of the language-model clients, including ``none``."""
    from evodiverse.llm.clients import KINDS

    return ["none", *KINDS]


def takes_model(client: str) -> bool:
    """Return whether ``llm.model`` chooses the model for a client."""
    from evodiverse.llm.clients import KINDS

    return client != "none" and (client not in KINDS or KINDS[client].takes_model)


def trackers() -> Sequence[str]:
    """Return the names of the trackers, including ``none``."""
    from evodiverse.runner.tracking import NONE, TRACKERS

    return [NONE, *TRACKERS]


def displays() -> Sequence[str]:
    """Return the names of the displays."""
    from evodiverse.runner import DISPLAYS

    return DISPLAYS


def evaluators() -> Sequence[str]:
    """Return the names of the evaluators."""
    from evodiverse.runner.evaluators import EVALUATORS

    return EVALUATORS


def asks(evaluator: str) -> bool:
    """Return whether an evaluator asks a person for scores, which may differ from those that the task computes."""
    from evodiverse.runner.evaluators import ASK

    return evaluator == ASK
