"""Rules of a user's own: the keys of `KINDS` may name a function by its module, such as ``my_rules.crowding``."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from evodiverse.errors import InputError
from evodiverse.kit.own_code import broken, call, locate, show
from evodiverse.search.exchange import Event, Exchanged, Pools, exchange_rules
from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray
from evodiverse.search.settings import Method
from evodiverse.search.survivors import Contenders, survivor_rules
from evodiverse.search.weights import weights

Function = Callable[..., Any]


def _check_survivors(function: Function, answer: Any, contenders: Contenders, method: Method, _: object) -> Any:
    n = len(contenders.scores)
    kept = np.asarray(answer)
    if not _is_set(kept, np.arange(n)) or len(kept) > method.capacity:
        raise broken(function, f"returned {show(answer)}", f"at most {method.capacity} different integers below {n}")
    return kept


def _check_weights(function: Function, answer: Any, scores: FloatArray, _: float) -> Any:
    found = np.asarray(answer)
    if found.shape != scores.shape or found.dtype.kind not in "iuf" or np.isnan(found).any():
        raise broken(function, f"returned {show(answer)}", f"{len(scores)} numbers, the logarithms of the weights")
    return found.astype(np.float64)


def _check_exchange(function: Function, answer: Any, pools: Pools, _: Event) -> Any:
    known = np.unique(np.concatenate(pools))
    if (
        not isinstance(answer, Exchanged)
        or len(answer.pools) != len(pools)
        or not all(_is_set(np.asarray(pool), known) and (np.diff(pool) > 0).all() for pool in answer.pools)
    ):
        raise broken(function, f"returned {show(answer)}", f"Exchanged with {len(pools)} sorted pools of their members")
    return answer


def _is_set(found: np.ndarray[Any, Any], known: np.ndarray[Any, Any]) -> bool:
    is_integer = found.ndim == 1 and (found.dtype.kind in "iu" or not len(found))
    return is_integer and len(np.unique(found)) == len(found) and bool(np.isin(found, known).all())


KINDS: Final[dict[str, tuple[Rules[Any], Function]]] = {
    "method.survivors.rule": (survivor_rules, _check_survivors),
    "method.swap.rule": (exchange_rules, _check_exchange),
    "method.mating_pool.weight": (weights, _check_weights),
    "method.survivors.weight": (weights, _check_weights),
}
"""The rules of each key, and the function that checks what a user's rule returns."""


def load_own_rules(method: Method) -> list[str]:
    """Import the user's rules that a method names, so that the search finds them; return what is wrong with them."""
    violations: list[str] = []
    for key, name in _find_own(method):
        rules, check = KINDS[key]
        try:
            function = locate(key, name)
        except InputError as error:
            violations += error.violations
        else:
            rules[name] = partial(_apply, function, check)
    return violations


def find_rule_files(method: Method) -> dict[str, Path]:
    """Return the files of the user's rules, after `load_own_rules`; the keys are their roles in ``run.json``."""
    modules = {name.rpartition(".")[0] for _, name in _find_own(method)}
    return {f"rule/{name}": Path(str(vars(sys.modules[name])["__file__"])) for name in sorted(modules)}


def _find_own(method: Method) -> Iterator[tuple[str, str]]:
    for key in KINDS:
        _, group, field = key.split(".")
        name = str(getattr(getattr(method, group), field))
        if "." in name:
            yield key, name


def _apply(function: Function, check: Function, *arguments: Any) -> Any:
    return check(function, call(function, *arguments), *arguments)
