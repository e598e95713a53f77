"""The columns that a domain adds to ``evaluations``, each described where it is defined."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class OwnColumn(NamedTuple):
    """A column of a domain's own.

    Attributes:
        kind: The type of its values: float, int or str.
        meaning: What a value says, as a phrase of Markdown.
        unit: The unit of a number, empty for a count, a name or a truth value.
        null: When a row has no value besides those that were not evaluated or failed, empty if there is no such case.
    """

    kind: type
    meaning: str
    unit: str = ""
    null: str = ""


def column_types(columns: Mapping[str, OwnColumn]) -> Mapping[str, type]:
    """Return the type of each column, as `Task.columns` has them."""
    return MappingProxyType({name: column.kind for name, column in columns.items()})
