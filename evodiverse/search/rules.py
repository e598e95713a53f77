"""Registries of functions (rules) that the configuration selects by name, such as the rules that choose survivors."""

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Rules(dict[str, F]):
    """The rules of one kind by name, such as all weight rules.

    Decorating a function with an instance adds it under its own name, without leading and trailing underscores.
    """

    def __call__(self, function: F) -> F:
        """Add a rule, and return the function unchanged."""
        self[function.__name__.strip("_")] = function
        return function
