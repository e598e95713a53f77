"""What passes between a sweep and its runs: failures, the plan of each run, and whether the runs share one display.

A plan holds the settings of a run, which have been checked, and the path of its folder.
"""

from typing import TYPE_CHECKING

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.conf import HydraConf
from hydra.types import RunMode

if TYPE_CHECKING:
    from evodiverse.settings.plan import Plan


class RunFailed(Exception):  # noqa: N818 (the name states what happened)
    """The failure of one run of a sweep, which can be passed between processes.

    Args:
        message: The error message of the run.
        exit_code: The exit code that the run would have outside a sweep.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message, exit_code)
        self.message = message
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.message


plans: "dict[tuple[str, ...], Plan]" = {}
"""The checked plan of each run that a sweep launches, by the run's overrides without those of Hydra itself."""


def is_followed(hydra: HydraConf) -> bool:
    """Return whether a run belongs to a sweep over lists of values. Such a sweep shows one display for all of its runs.

    Args:
        hydra: Hydra's own part of the run's configuration.
    """
    return hydra.mode is RunMode.MULTIRUN and is_basic(hydra)


def is_basic(hydra: HydraConf) -> bool:
    """Return whether a sweep goes over lists of values, rather than letting a sweeper choose values as it goes."""
    return str(hydra.sweeper.get("_target_")).endswith(f".{BasicSweeper.__name__}")
