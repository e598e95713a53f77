"""From settings to what scores molecules, with its data checked."""

from collections.abc import Callable
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.kit.documented import join_or
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.oracle import PUBLISHED, ClassifierOracle, OracleFunction, TargetOracle
from evodiverse.tasks.molecules.settings import Oracle


def find_oracle_violations(oracle: Oracle, prefix: str) -> list[str]:
    """Return what is wrong with the settings of an oracle, and with the user's own file or function that they name.

    Args:
        oracle: The settings.
        prefix: What stands before the names of its keys.
    """
    if oracle.path is not None and oracle._target_ is not None:
        return [f"{prefix}path and {prefix}_target_ are both set; set one of them to null"]
    if oracle.is_own:
        try:
            open_own_oracle(oracle)
        except InputError as error:
            return list(error.violations)
        return []
    if oracle.published is None:
        return [f"{prefix.rstrip('.')} names no oracle; set published, path or _target_"]
    if oracle.published not in PUBLISHED:
        return [f"{prefix}published={oracle.published} is unknown; use {join_or([*PUBLISHED])}"]
    return []


def open_oracle(oracle: Oracle, artefact: Callable[[str], Path]) -> OracleFunction:
    """Return the oracle that settings name; a published one scores its pinned molecules first.

    Args:
        oracle: The settings.
        artefact: Gives the path of a published file by its name.

    Raises:
        InputError: The user's own oracle cannot be used.
        DataError: A published one is damaged, or scores a pinned molecule otherwise than it must.
    """
    own = open_own_oracle(oracle)
    if own is not None:
        return own
    name = str(oracle.published)
    published = ClassifierOracle.published(name, artefact(name))
    published.check_pinned()
    return published


def open_own_oracle(oracle: Oracle) -> OracleFunction | None:
    """Return the user's own oracle, ready to score, None if there is none."""
    if oracle._target_ is not None:
        target = TargetOracle(oracle._target_)
        target.check()
        return target
    return None if oracle.path is None else ClassifierOracle.from_file(oracle.path)


def find_oracle_source(oracle: Oracle, artefact_sha256: Callable[[str], str]) -> Path | str:
    """Return the file that an oracle's scores depend on, or its SHA-256; of a user's function, that of its module."""
    if oracle._target_ is not None:
        return TargetOracle(oracle._target_).find_source()
    return artefact_sha256(str(oracle.published)) if oracle.path is None else expanded(oracle.path)
