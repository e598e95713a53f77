"""From a configuration to a run: the schema, its validation, the identity of a run, and the assembly of its parts."""

from pathlib import Path


def find_conf() -> Path:
    """Return the folder of the YAML files: inside an installed package, but next to the package in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"
