"""Configuration keys that document themselves."""

from dataclasses import MISSING, field
from typing import Any


def documented(doc: str, *, default: Any = MISSING, unit: str = "", changes_log: bool = True) -> Any:
    """Return a dataclass field for a configuration key.

    Args:
        doc: What the key means, as the configuration reference prints it.
        default: Its value where no YAML file sets one; for dictionaries see `documented_mapping`.
        unit: Physical or counting unit.
        changes_log: False for keys that cannot change the log of a run (workers, displays); they are no part of a run's
            identity.
    """
    return field(default=default, metadata={"doc": doc, "unit": unit, "changes_log": changes_log})


def documented_mapping(doc: str) -> Any:
    """Return a dataclass field for a configuration key that holds keys of others' own, none by default."""
    return field(default_factory=dict, metadata={"doc": doc, "unit": "", "changes_log": True})
