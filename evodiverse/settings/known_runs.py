"""Notes on where the runs of earlier sweeps are stored.

With these notes, a sweep skips a complete run without composing its configuration, which would take 0.1 s.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError
from evodiverse.runlog.record import RECORD
from evodiverse.settings.conf_folder import find_conf
from evodiverse.store.files import read_json
from evodiverse.store.journal import Journal
from evodiverse.store.opening import Identity, describe_complete
from evodiverse.store.run_directory import writing_to
from evodiverse.version import VERSION

FILE: Final = "runs"
_FILES: Final = (".py", ".yaml")
# OmegaConf resolvers whose results depend only on the configuration. Others may read the clock or the environment.
_PURE: Final = {"oc.select", "oc.deprecated", "oc.decode", "oc.create", "oc.dict.keys", "oc.dict.values"}
_RESOLVER: Final = re.compile(r"\$\{\s*([\w.]+)\s*:")


class KnownRuns:
    """The runs that earlier sweeps planned, by their overrides, so that complete ones need not be composed again.

    An entry is valid as long as nothing that could change the meaning of the overrides has changed: the program, its
    option files and the user's own, the folder that the command was started from, and the files that the run reads. An
    entry does not store whether the run is complete; the run's ``run.json`` decides that.

    Args:
        folder: The folder of the file that holds the entries. It is created when the first entry is saved.
        hydra: Hydra's own part of the configuration of the sweep as a whole.
    """

    def __init__(self, folder: Path, hydra: HydraConf) -> None:
        self._folder = folder
        self._journal = Journal(folder / FILE)
        self._circumstances = _find_circumstances(hydra)
        self._entries: dict[str, dict[str, Any]] = {}
        self._new: list[dict[str, Any]] = []
        if folder.is_dir():
            self._entries = {str(entry["key"]): entry for entry in self._journal.read()}

    def find_complete(self, overrides: Sequence[str]) -> tuple[Path, str] | None:
        """Return the path of a run and a line that says that the run is complete; None if that is not known."""
        entry = self._entries.get(self._key(overrides))
        if entry is None:
            return None
        try:
            if any(_stamp(Path(file)) != stamp for file, stamp in entry["files"].items()):
                return None
            record = read_json(Path(entry["path"]) / RECORD)
            if record is None or record.get("digest") != entry["digest"] or record.get("sources") != entry["sources"]:
                return None
            line = describe_complete(Path(entry["path"]), record)
        except (OSError, EvoDiverseError):  # whoever opens the run says what is wrong with it
            return None
        return None if line is None else (Path(entry["path"]), line)

    def note(self, overrides: Sequence[str], run: Identity, composed: DictConfig) -> None:
        """Note where the run with these overrides is stored, so that later sweeps can skip it if it is complete.

        `save` writes the notes to disk. A run is left out if its configuration depends on something that may change
        unnoticed, such as the clock.
        """
        if not _is_foreseeable(composed):
            return
        key = self._key(overrides)
        entry = {
            "key": key,
            "path": str(run.path),
            "digest": run.digest,
            "sources": {role: source.sha256 for role, source in run.sources.items()},
            "files": {str(source.path): _stamp(source.path) for source in run.sources.values() if source.path},
        }
        if self._entries.get(key) != entry:
            self._new.append(entry)

    def save(self) -> None:
        """Append the runs that `note` added to the notes on disk, so that later sweeps know them.

        Raises:
            ServiceError: The disk is full or no longer available.
        """
        if self._new:
            with writing_to(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
            self._journal.append(self._new)

    def _key(self, overrides: Sequence[str]) -> str:
        content = json.dumps([self._circumstances, list(overrides)])
        return hashlib.sha256(content.encode()).hexdigest()


def _find_circumstances(hydra: HydraConf) -> str:
    """Return a digest of what a run depends on, apart from its overrides and the data that it reads.

    It covers the versions of EvoDiverse and Python, the working folder, the home folder and the overrides of Hydra's
    own settings. It also covers the paths, sizes and modification times of all Python and YAML files in EvoDiverse's
    package and in the configuration folders.
    """
    sources = [source for source in hydra.runtime.config_sources if source.schema == "file"]
    folders = [find_conf(), Path(__file__).parents[1], *(Path(source.path) for source in sources)]
    stamps = {str(path): _stamp(path) for folder in dict.fromkeys(folders) for path in _find_files(folder)}
    home = os.environ.get("HOME")
    content = [VERSION, sys.version, os.getcwd(), home, list(hydra.overrides.hydra), sorted(stamps.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _find_files(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(path, name) for name in files if name.endswith(_FILES))


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_mtime_ns, status.st_size]


def _is_foreseeable(composed: DictConfig) -> bool:
    plain = OmegaConf.to_container(composed)
    return {*_RESOLVER.findall(json.dumps(plain, default=str))} <= _PURE
