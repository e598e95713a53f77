"""Evaluators other than the worker processes of the run, and the settings of all of them."""

import socket
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from evodiverse.errors import InputError, describe
from evodiverse.kit.documented import setting

ASK: Final = "ask"
EVALUATORS: Final = ("local", "command", "ray", ASK)
"""The values of ``evaluator.name``."""
AUTO: Final = "auto"
"""The address of a Ray cluster that Ray is to find itself."""


@dataclass
class EvaluatorSettings:
    """The keys of ``evaluator``.

    Attributes:
        name: how candidates are evaluated
        workers: number of processes that make offspring and evaluate them; null: one per core
        batch: number of evaluations per batch; null: for local, as many as take 20 ms; for command and ray, an even
            share
        command: for evaluator=command: the program that scores, and its arguments
        timeout: longest time of one run of the command, or from the submission of a Ray task to its answer
        retries: for command and ray: how often candidates without an answer are submitted again
        address: for ray: address of the cluster, which is auto or host:port of its head node
        cpus: for ray: number of cores that a Ray task reserves
    """

    name: str = setting(default="local", changes_log=False, choices=EVALUATORS)
    workers: int | None = setting(default=None, changes_log=False, least=1)
    batch: int | None = setting(default=None, unit="evaluations", changes_log=False, least=1)
    command: list[str] | None = None
    timeout: float | None = setting(default=None, unit="s", changes_log=False, above=0)
    retries: int = setting(default=2, changes_log=False, least=0)
    address: str | None = setting(default=None, changes_log=False)
    cpus: float = setting(default=1.0, unit="cores", changes_log=False, above=0)


def check_cluster(address: str) -> None:
    """Refuse an address of the form host:port at which nothing listens; Ray itself would wait for minutes.

    Raises:
        InputError: Nothing listens there, or Ray is not installed.
    """
    if find_spec("ray") is None:
        raise InputError("evaluator=ray needs Ray; run pip install 'evodiverse[ray]'")
    host, colon, port = address.rpartition(":")
    try:
        if colon and "://" not in address:
            socket.create_connection((host, int(port)), timeout=5.0).close()
    except (OSError, ValueError) as error:
        raise not_found(address, error) from error


def not_found(address: str, error: Exception) -> InputError:
    """Return the error that there is no Ray cluster at an address, for the caller to raise."""
    return InputError(
        f"no Ray cluster found at evaluator.address={address} ({describe(error)}); start one with ray start --head"
    )
