"""A cache of docking results, in files that any number of processes may share."""

import json
from pathlib import Path
from typing import Final

from evodiverse.docking.docked import Docked, Job
from evodiverse.errors import DataError, reason
from evodiverse.kit.files import read_json, write_file

_MOST_BYTES: Final = 10_000_000


class DockingCache:
    """Stores the pose and the score of each job, but not failures, so that failed jobs are tried again.

    Args:
        folder: The folder for the files. It is created when the first file is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, job: Job) -> Docked | None:
        """Return the stored result of a job; None if there is no result or its file is damaged."""
        try:
            stored = read_json(self._file(job), _MOST_BYTES)
        except (OSError, ValueError):
            return None
        score, pose = stored.get("score"), stored.get("pose")
        if not (isinstance(score, float) and isinstance(pose, str) and pose and stored.get("key") == job.key):
            return None
        return Docked(score, pose)

    def keep(self, job: Job, docked: Docked) -> None:
        """Store the result of a job, unless it failed.

        Raises:
            DataError: The folder is not writable.
        """
        if docked.score is None:
            return
        content = {"key": job.key, "score": docked.score, "pose": docked.pose}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._file(job), json.dumps(content).encode())
        except OSError as error:
            raise DataError(
                f"{self._folder} cannot be written ({reason(error)}); set EVODIVERSE_CACHE to a writable folder"
            ) from error

    def _file(self, job: Job) -> Path:
        return self._folder / f"{job.digest}.json"
