"""Evaluators other than the worker processes of the run, and the settings of all of them."""

from dataclasses import dataclass
from typing import Final

from evodiverse.kit.documented import setting

ASK: Final = "ask"
EVALUATORS: Final = ("local", "command", "ray", ASK)
"""The values of ``evaluator.name``."""


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
