"""Versions of the software that a run used, for ``run.json``."""

import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from evodiverse import __version__


def package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the installed versions of EvoDiverse, Python and these packages, by name."""
    return {
        "evodiverse": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def git_commit() -> str | None:
    """Return the commit that EvoDiverse runs from, with ``-dirty`` if files have changed; None if it is unknown."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
    try:
        described = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):  # git is not installed, or it refuses to read the repository
        return None
    return described.stdout.strip()
