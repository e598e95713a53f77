"""Rules that configuration selects by name: a rule is one function beside its siblings."""

from collections.abc import Callable
from typing import Generic, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Rules(Generic[F]):
    """The named rules of one kind, for instance all weights.

    Decorating a function with an instance adds it under its own name, without leading and trailing underscores.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._functions: dict[str, F] = {}

    def __call__(self, function: F) -> F:
        """Add ``function`` and return it unchanged."""
        self._functions[function.__name__.strip("_")] = function
        return function

    def __getitem__(self, name: str) -> F:
        """Return the rule called ``name``.

        Raises:
            ValueError: There is none.
        """
        if name not in self._functions:
            raise ValueError(f"unknown {self.kind} {name!r}, expected one of {', '.join(self.names)}")
        return self._functions[name]

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._functions)
