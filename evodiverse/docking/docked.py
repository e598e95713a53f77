"""The jobs and the results of docking, and a cache of results that any number of processes may share."""

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evodiverse.docking.target import Target
from evodiverse.kit.apart import Failure, call_each
from evodiverse.kit.files import read_json, write_cached


@dataclass(frozen=True, slots=True)
class Settings:
    """How a molecule is docked.

    Attributes:
        exhaustiveness: The number of independent searches for the best pose, at least 1. The computing time is
            proportional to this number.
        versions: The versions of the docking program and of the libraries that affect the result, by package name.
        seed: The random seed of the 3D embedding and of the docking, at least 1. Given 0, Vina would choose a seed.
        n_poses: The number of poses that Vina refines at the end, by default as many as its command-line program
            reports. Only the best pose counts.
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


class Docked(NamedTuple):
    """A molecule's best pose, or why it has none.

    Attributes:
        score: The score in kcal/mol, where lower means stronger binding; None if the docking failed.
        pose: The pose as an MDL mol block with hydrogens, in the receptor's coordinates; empty if there is none.
        error: Why the docking failed, on one line; empty if it did not.
    """

    score: float | None
    pose: str = ""
    error: str = ""


def dock_each(jobs: Sequence[Job], dock: Callable[[Job], Docked], n_processes: int) -> Generator[tuple[Job, Docked]]:
    """Yield each job with its result, in the order in which the jobs finish.

    Each molecule is docked in its own process, so that a crash of Vina affects only that molecule: its result is a
    `Docked` with an error. If the generator is closed early, the running processes are killed.

    Args:
        jobs: The molecules to dock.
        dock: The function that docks a molecule.
        n_processes: The number of processes that run at the same time, at least 1.
    """
    with closing(call_each(dock, jobs, n_processes, is_silent=True)) as calls:
        for job, answer in calls:
            yield job, Docked(None, error=answer.reason) if isinstance(answer, Failure) else answer


class Program(Protocol):
    """A docking program for ``evodiverse-dock``, such as the module `evodiverse.docking.vina`.

    The command first checks that the program is installed, then asks for the versions, and finally docks molecules.
    """

    def check_installed(self) -> None:
        """Check that everything that the program needs is installed.

        Raises:
            InputError: Something is missing; the message says how to install it.
        """

    def find_versions(self) -> dict[str, str]:
        """Return the versions of all packages that affect the program's results, by package name."""

    def dock(self, job: Job, /) -> Docked:
        """Dock a molecule on one thread.

        `dock_each` calls this method in a new process for each molecule, and records an exception as the error of the
        molecule. The result must depend only on the job, since it is cached.
        """


def identify(target: Target, settings: Settings) -> dict[str, Any]:
    """Return everything that determines a score, apart from the molecule, as JSON values."""
    box = {name: list(values) for name, values in target.box._asdict().items()}
    return {"receptor_sha256": target.sha256, "box": box, "settings": asdict(settings)}


def find_docked(folder: Path, job: Job) -> Docked | None:
    """Return the result of a job that is stored in a folder; None if there is no result or its file is damaged."""
    try:
        stored = read_json(folder / f"{job.digest}.json", most_bytes=10_000_000)
        return Docked(stored["score"], stored["pose"])
    except (OSError, ValueError, KeyError):
        return None


def keep_docked(folder: Path, job: Job, docked: Docked) -> None:
    """Store the pose and the score of a job in a folder, unless it failed, so that failed jobs are tried again.

    Raises:
        DataError: The file cannot be written.
    """
    if docked.score is not None:
        content = {"key": job.key, "score": docked.score, "pose": docked.pose}
        write_cached(folder / f"{job.digest}.json", json.dumps(content).encode())
