"""The columns that a domain adds to the log's dataset ``evaluations``, each defined together with its description."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class OwnColumn(NamedTuple):
    """A column that a domain adds.

    Attributes:
        kind: The type of the values: float, int, bool or str.
        meaning: The meaning of a value, as a phrase in Markdown.
        unit: The unit of a number; empty for a count, a name or a truth value.
        null: The case in which a candidate has no value although its evaluation succeeded; empty if there is none.
    """

    kind: type
    meaning: str
    unit: str = ""
    null: str = ""


def column_types(columns: Mapping[str, OwnColumn]) -> Mapping[str, type]:
    """Return the type of each column by name, in the form of `Task.columns`."""
    return MappingProxyType({name: column.kind for name, column in columns.items()})
