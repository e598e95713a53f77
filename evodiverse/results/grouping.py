"""The grouping of runs, as tables, figures and pages need it."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items in groups with the same key, in the order in which the keys first occur."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def sort_values(values: Iterable[str]) -> list[str]:
    """Return the distinct values of a setting, as `write_setting` writes them: numbers by size, then others by text."""

    def order(text: str) -> tuple[int, float, str]:
        try:
            return 0, float(text), text
        except ValueError:
            return 1, 0.0, text

    return sorted({*values}, key=order)
