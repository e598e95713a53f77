"""Registries of functions (rules) that the configuration selects by name, such as the rules that choose survivors."""

from collections.abc import Callable
from typing import Generic, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Rules(Generic[F]):
    """The named rules of one kind, such as all weight rules.

    Decorating a function with an instance adds it under its own name, without leading and trailing underscores.

    Args:
        kind: The name of the kind in error messages.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._functions: dict[str, F] = {}

    def __call__(self, function: F) -> F:
        """Add a rule, and return the function unchanged."""
        self._functions[function.__name__.strip("_")] = function
        return function

    def __getitem__(self, name: str) -> F:
        """Return the rule with the given name.

        Raises:
            ValueError: There is no such rule.
        """
        if name not in self._functions:
            raise ValueError(f"unknown {self.kind} {name!r}, expected one of {', '.join(self.names)}")
        return self._functions[name]

    @property
    def names(self) -> list[str]:
        """The names of all rules, sorted."""
        return sorted(self._functions)
