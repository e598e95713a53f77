"""Data that come with EvoDiverse, as YAML files next to the modules that need them."""

from pathlib import Path
from typing import Any, Final

import yaml

# The first is six times as fast, but not every build of PyYAML has it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_shipped(path: Path) -> Any:
    """Return the content of a YAML file that comes with EvoDiverse."""
    return yaml.load(path.read_bytes(), _LOADER)  # noqa: S506 (both loaders are safe)
