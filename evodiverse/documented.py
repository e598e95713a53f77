"""Configuration keys that document themselves."""

from dataclasses import MISSING, field
from typing import Any


def documented(doc: str, *, default: Any = MISSING, unit: str = "", changes_log: bool = True) -> Any:
    """Return a dataclass field for a configuration key.

    Args:
        doc: What the key means, as the configuration reference prints it.
        default: Its value where no YAML file sets one; lists and dictionaries are not supported.
        unit: Physical or counting unit.
        changes_log: False for keys that cannot change the log of a run (workers, displays); they are no part of a run's
            identity.
    """
    return field(default=default, metadata={"doc": doc, "unit": unit, "changes_log": changes_log})
