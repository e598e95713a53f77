"""Versions of the software that a run used, for ``run.json``."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from evodiverse import __version__

# The folders of the package whose code cannot change a log.
_IDLE: Final = ("commands", "data", "docking", "results")


def own_versions() -> dict[str, str]:
    """Return the version of EvoDiverse, and as ``code`` a digest of those of its files that can change a log."""
    return {"evodiverse": __version__, "code": _code_digest()}


def package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return `own_versions`, and the installed versions of Python and these packages, by name."""
    return {
        **own_versions(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def tell_change(sessions: Iterable[Mapping[str, str]], versions: Mapping[str, str]) -> tuple[str, str] | None:
    """Return, as two texts, the versions of the first session that differ from ``versions``, and their present values.

    The result is None if no session differs. Further versions of a session do not count.
    """
    for session in sessions:
        if differing := [name for name in versions if session.get(name) != versions[name]]:
            then = ", ".join(f"{name} {session.get(name, 'unknown')}" for name in differing)
            return then, ", ".join(f"{name} {versions[name]}" for name in differing)
    return None


@cache
def _code_digest() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _IDLE:
            digest.update(f"{place.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


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
