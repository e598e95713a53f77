"""Groups, orders and samples of values, as tables, figures and pages need them."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items in groups with the same key, in the order in which the keys first occur."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def to_number(text: str) -> float | None:
    """Return the number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def sort_values(values: Iterable[str]) -> list[str]:
    """Return the distinct values of a setting, as `write_setting` writes them: numbers by size, then others by text."""
    numbers = {text: to_number(text) for text in values}
    return sorted(numbers, key=lambda text: (numbers[text] is None, numbers[text] or 0.0, text))


def thin(values: Sequence[Item], n_most: int) -> list[Item]:
    """Return at most ``n_most`` of the values, evenly spaced, including the first and the last."""
    if len(values) <= n_most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (n_most - 1))] for place in range(n_most)]
