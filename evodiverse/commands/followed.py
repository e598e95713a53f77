"""What the process that follows a sweep and the runs of the sweep have in common."""

from typing import TYPE_CHECKING

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.conf import HydraConf
from hydra.types import RunMode

if TYPE_CHECKING:
    from evodiverse.settings.plan import Plan


class RunFailed(Exception):  # noqa: N818 (it reads as what it says)
    """Carries what a run of a sweep failed with, from the process that made it.

    Args:
        message: What it failed with.
        exit_code: What a run by itself would exit with.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message, exit_code)
        self.message = message
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.message


plans: "dict[tuple[str, ...], Plan]" = {}
"""The checked plans of the runs that this process is about to make, by their overrides, without Hydra's own."""


def is_followed(hydra: HydraConf) -> bool:
    """Return whether a run is one of a sweep over lists of values, all of which are shown together.

    Args:
        hydra: Hydra's own part of the run's configuration.
    """
    return hydra.mode is RunMode.MULTIRUN and is_basic(hydra)


def is_basic(hydra: HydraConf) -> bool:
    """Return whether a sweep is one over lists of values, and not a search by a sweeper that chooses its own."""
    return str(hydra.sweeper.get("_target_")).endswith(f".{BasicSweeper.__name__}")
