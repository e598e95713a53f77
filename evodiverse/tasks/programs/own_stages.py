"""The stages that a user's evaluator declares in ``STAGES``."""

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, Final, NamedTuple

from evodiverse.vocabulary import Limits

SOURCE: Final = "source"
"""The parameter of a user's ``score`` that gets the source of the program."""
_KEYS: Final = ("arguments", "timeout", "threshold")


class OwnStage(NamedTuple):
    """A stage as a user declares it.

    Attributes:
        arguments: The arguments that the entry point, or ``drive``, is called with; by default ``ARGUMENTS``.
        timeout: The limit on CPU time in seconds; None for that of the task, which applies in any case.
        threshold: The lowest score with which a program reaches the next stage; None for the last stage.
    """

    arguments: tuple[Any, ...]
    timeout: float | None = None
    threshold: float | None = None

    def limit(self, limits: Limits) -> Limits:
        """Return the limits of a program in this stage, given those of the task."""
        return limits if self.timeout is None else replace(limits, cpu_seconds=min(self.timeout, limits.cpu_seconds))


def read_stages(module: ModuleType) -> Mapping[str, OwnStage]:
    """Return the stages of an evaluator that passed `find_stage_violations`; without any, one with an empty name."""
    arguments = getattr(module, "ARGUMENTS", ())
    return {
        name: OwnStage(**{**stage, "arguments": tuple(stage.get("arguments", arguments))})
        for name, stage in getattr(module, "STAGES", {"": {}}).items()
    }


def find_stage_violations(module: ModuleType) -> list[str]:
    """Return what is wrong with ``STAGES`` of a user's evaluator, and with ``score`` if there are stages."""
    if not hasattr(module, "STAGES"):
        return []
    stages = module.STAGES
    if not (
        isinstance(stages, dict)
        and len(stages) > 1
        and all(isinstance(name, str) and name.isidentifier() and isinstance(stages[name], dict) for name in stages)
    ):
        return ["must define STAGES as a dictionary from names to dictionaries, of at least two stages, cheapest first"]
    *earlier, last = stages
    violations = [
        f"has STAGES, whose stage {name} has the unknown key {key!r}; expected {', '.join(_KEYS)}"
        for name, stage in stages.items()
        for key in stage
        if key not in _KEYS
    ]
    rules = {f"must give the stage {last} no threshold, because no stage follows": "threshold" not in stages[last]}
    for name in earlier:
        rules[f"must give the stage {name} a threshold, the score above 0 that the next stage needs"] = _is_above_0(
            stages[name].get("threshold")
        )
    for name, stage in stages.items():
        rules |= {
            f"must define the arguments of the stage {name} as a list of JSON values": is_json_list(
                stage.get("arguments", [])
            ),
            f"must give the stage {name} a timeout above 0, in seconds, or none": (
                "timeout" not in stage or _is_above_0(stage["timeout"])
            ),
        }
    rules["must define score(result, stage), because it has STAGES"] = _takes_two(getattr(module, "score", None))
    return violations + [message for message, holds in rules.items() if not holds]


def asks_for_source(function: object) -> bool:
    """Return whether a user's ``score`` has a parameter for the source of the program."""
    try:
        return callable(function) and SOURCE in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def is_json_list(arguments: object) -> bool:
    """Return whether an object is a list or tuple that JSON can express."""
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(arguments, list | tuple)


def _is_above_0(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < math.inf


def _takes_two(function: Callable[..., object] | None) -> bool:
    try:
        given = {SOURCE: ""} if asks_for_source(function) else {}
        return function is None or bool(inspect.signature(function).bind(None, "", **given))
    except (TypeError, ValueError):
        return False
