"""What a docking is asked for, and what it answers."""

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
        exhaustiveness: Independent searches for the best pose, at least 1; the time is proportional to it.
        versions: The program and the libraries that have a say in the result, with their versions.
        seed: Of the embedding and the docking, above 0; to Vina 0 would mean any.
        n_poses: Poses that are refined at the end, as many as the program ``vina`` reports; the best one counts.
    """

    exhaustiveness: int
    versions: Mapping[str, str]
    seed: int = 1
    n_poses: int = 9


@dataclass(frozen=True, slots=True)
class Job:
    """A molecule to be docked.

    Attributes:
        key: Its SMILES.
        target: Where.
        settings: How.
    """

    key: str
    target: Target
    settings: Settings

    @property
    def digest(self) -> str:
        """32 hex digits that any other molecule, receptor, box, setting or version would change."""
        facts = [self.key, identify(self.target, self.settings)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Docked:
    """A molecule's best pose, or why it has none.

    Attributes:
        score: In kcal/mol, lower binds better; None if the docking failed.
        pose: The pose as an MDL mol block with hydrogens, in the receptor's coordinates; empty if there is none.
        error: Why it failed, on one line; empty if it did not.
    """

    score: float | None
    pose: str = ""
    error: str = ""


class Program(Protocol):
    """What docks molecules; a module can be one."""

    def check_installed(self) -> None:
        """Check that all it needs is installed.

        Raises:
            InputError: Something is not; says how to install it.
        """

    def find_versions(self) -> dict[str, str]:
        """Return the versions of what has a say in its results, by name."""

    def dock(self, job: Job, /) -> Docked:
        """Dock a molecule on one thread, with the same result wherever it is done.

        It is called in a process of its own. Whatever it raises is the molecule's error.
        """


def identify(target: Target, settings: Settings) -> dict[str, Any]:
    """Return what decides all scores besides the molecule, as JSON has it."""
    box = {name: list(values) for name, values in asdict(target.box).items()}
    return {"receptor_sha256": target.sha256, "box": box, "settings": asdict(settings)}
