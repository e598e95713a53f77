"""Opening the oracle that settings name, and checking its data."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.documented import join_or
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.oracle import PUBLISHED, ClassifierOracle, ElsewhereOracle, OracleFunction, TargetOracle
from evodiverse.tasks.molecules.settings import Oracle

OWN_PREFIX: Final = "task.oracle."
"""The prefix of the keys of an oracle that gives the whole score, not only that of one component of an objective."""


def find_oracle_violations(oracle: Oracle, prefix: str) -> list[str]:
    """Return what is wrong with the settings of an oracle, and with the user's file or function that they name.

    Args:
        oracle: The settings.
        prefix: The prefix of their keys, for error messages: `OWN_PREFIX`, or that of a component of an objective.
    """
    is_whole_score = prefix == OWN_PREFIX
    keys = ("path", "_target_", "elsewhere") if is_whole_score else ("published", "path", "_target_")
    given = [key for key in keys if getattr(oracle, key) not in (None, False)]
    if len(given) > 1:
        return [f"{' and '.join(f'{prefix}{key}' for key in given)} exclude each other; set all but one to null"]
    if oracle.is_own:
        try:
            open_own_oracle(oracle)
        except InputError as error:
            return [_under(prefix, given[0], violation) for violation in error.violations]
        return []
    if oracle.published is None:
        known = "published, path, _target_ or elsewhere" if is_whole_score else "published, path or _target_"
        return [f"{prefix.rstrip('.')} names no oracle; set {known}"]
    if oracle.published not in PUBLISHED:
        return [f"{prefix}published={oracle.published} is unknown; use {join_or([*PUBLISHED])}"]
    return []


def _under(prefix: str, key: str, violation: str) -> str:
    """Return the message ``violation`` with the full key of the faulty setting at its start.

    If the message starts with ``task.oracle.``, this is replaced by ``prefix``. Otherwise ``prefix`` and ``key`` are
    put in front of it.
    """
    if violation.startswith(OWN_PREFIX):
        return f"{prefix}{violation.removeprefix(OWN_PREFIX)}"
    return f"{prefix}{key}: {violation}"


def open_oracle(oracle: Oracle, artifact: Callable[[str], Path]) -> OracleFunction:
    """Return the oracle that settings name. A published one is first tested on a few molecules with known scores.

    Args:
        oracle: The settings.
        artifact: A function that returns the path of a published file, given its name.

    Raises:
        InputError: The user's own oracle cannot be used.
        DataError: The published oracle is damaged, or does not give these molecules their known scores.
    """
    own = open_own_oracle(oracle)
    if own is not None:
        return own
    name = str(oracle.published)
    published = ClassifierOracle.published(name, artifact(name))
    published.check_pinned()
    return published


def open_own_oracle(oracle: Oracle) -> OracleFunction | None:
    """Return the user's own oracle after checking it, or None if the settings name none.

    For ``elsewhere=true``, this is an `ElsewhereOracle`, which cannot score molecules itself.
    """
    if oracle.elsewhere:
        return ElsewhereOracle()
    if oracle._target_ is not None:
        target = TargetOracle(oracle._target_)
        target.check()
        return target
    return None if oracle.path is None else ClassifierOracle.from_file(oracle.path)


def find_oracle_source(oracle: Oracle, artifact_sha256: Callable[[str], str]) -> Path | str:
    """Return what the scores of an oracle depend on: a user's file, or the SHA-256 of a published one.

    For a user's function, the source is the file of its module, or its dotted name if the module has no file. If the
    scores are obtained from outside this process (``task.oracle.elsewhere=true``), it is the word ``elsewhere``.

    Args:
        oracle: The settings.
        artifact_sha256: A function that returns the SHA-256 of a published file, given its name.
    """
    if oracle.elsewhere:
        return "elsewhere"
    if oracle._target_ is not None:
        return TargetOracle(oracle._target_).find_source()
    return artifact_sha256(str(oracle.published)) if oracle.path is None else expanded(oracle.path)
