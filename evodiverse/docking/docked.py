"""The jobs and the results of docking."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from evodiverse.docking.target import Target


@dataclass(frozen=True, slots=True)
class Settings:
    """How a molecule is docked.

    Attributes:
        exhaustiveness: The number of independent searches for the best pose, at least 1. The computing time is
            proportional to this number.
        versions: The versions of the program and of the libraries that affect the result, by name.
        seed: The seed of the embedding and of the docking, above 0; for Vina, 0 would mean a random seed.
        n_poses: The number of poses that are refined at the end, the same number that the program ``vina`` reports by
            default. Only the best pose counts.
    """

    exhaustiveness: int
    versions: Mapping[str, str]
    seed: int = 1
    n_poses: int = 9


@dataclass(frozen=True, slots=True)
class Job:
    """A molecule to be docked.

    Attributes:
        key: The SMILES of the molecule.
        target: The target to dock into.
        settings: The settings of the docking.
    """

    key: str
    target: Target
    settings: Settings

    @property
    def digest(self) -> str:
        """32 hex digits that identify the molecule, the receptor, the box, the settings and the versions."""
        facts = [self.key, identify(self.target, self.settings)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Docked:
    """A molecule's best pose, or why it has none.

    Attributes:
        score: The score in kcal/mol, where lower means stronger binding; None if the docking failed.
        pose: The pose as an MDL mol block with hydrogens, in the receptor's coordinates; empty if there is none.
        error: Why the docking failed, on one line; empty if it did not.
    """

    score: float | None
    pose: str = ""
    error: str = ""


class Program(Protocol):
    """A program that docks molecules; a module can be one."""

    def check_installed(self) -> None:
        """Check that everything that the program needs is installed.

        Raises:
            InputError: Something is missing; the message says how to install it.
        """

    def find_versions(self) -> dict[str, str]:
        """Return the versions of everything that affects the program's results, by name."""

    def dock(self, job: Job, /) -> Docked:
        """Dock a molecule on one thread.

        The result does not depend on where it is computed. This method is called in a separate process. Any exception
        becomes the error of the molecule.
        """


def identify(target: Target, settings: Settings) -> dict[str, Any]:
    """Return everything that determines a score, apart from the molecule, as JSON values."""
    box = {name: list(values) for name, values in asdict(target.box).items()}
    return {"receptor_sha256": target.sha256, "box": box, "settings": asdict(settings)}
