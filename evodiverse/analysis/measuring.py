"""Measures many runs at once, each only once: what was measured is kept, and used again while the run is the same."""

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from evodiverse.analysis.metrics import MOLECULES, find_kind, measure
from evodiverse.analysis.metrics.equations import Encode
from evodiverse.analysis.metrics.molecule_store import MoleculeStore
from evodiverse.analysis.metrics.values import Measurement
from evodiverse.diversity.encoders import load_codebert, load_minilm
from evodiverse.diversity.tfidf import tfidf
from evodiverse.errors import DataError, InputError, describe, reason
from evodiverse.kit.files import write_file
from evodiverse.runlog.runs import Run

TFIDF: Final = "tfidf"
CODEBERT: Final = "codebert"
MINILM: Final = "minilm"
# What the metrics depend on beside the log: a change of any measures all runs anew.
_SOURCES: Final = (
    "analysis/metrics",
    "runlog",
    "diversity",
    "tasks/molecules",
    "tasks/programs",
    "tasks/equations/problems",
)
_LIBRARIES: Final = ("numpy", "rdkit", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True)
class Tools:
    """What runs are measured with.

    Attributes:
        folder: Where is kept what was computed.
        encoders: By name, the folder of each model that embeds programs; that of TF-IDF is None.
    """

    folder: Path
    encoders: Mapping[str, Path | None]

    def measure(self, run: Run) -> Measurement:
        """Measure a run.

        Raises:
            InputError: Its log is damaged, or the folder cannot be used.
        """
        encoders = {name: _load_encoder(name, folder) for name, folder in self.encoders.items()}
        with MoleculeStore(self.folder) as store:
            return measure(run, store, encoders)

    def kept(self, run: Run) -> Path:
        """Return the file that keeps what is measured of a run as it is now."""
        known = [] if find_kind(run) == MOLECULES else sorted(self.encoders)
        state = json.dumps([_version(), known, run.record, [*_parts(run.path)]], sort_keys=True)
        return self.folder / "runs" / f"{hashlib.sha256(state.encode()).hexdigest()[:32]}.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """Runs with their metrics, and those that are damaged with the reason."""

    runs: Sequence[tuple[Run, Measurement]]
    damaged: Sequence[tuple[Run, InputError]]


def measure_runs(runs: Sequence[Run], tools: Tools, n_processes: int, told: Callable[[int], object]) -> Measured:
    """Measure runs, in as many processes as there are.

    Args:
        runs: Complete ones.
        tools: What they are measured with.
        n_processes: At most so many at once.
        told: Is called with the number of runs done, now and then.

    Raises:
        DataError: What was computed cannot be kept.
    """
    files = [tools.kept(run) for run in runs]
    found: dict[int, Measurement | InputError] = {}
    for at, file in enumerate(files):
        if (known := _read_kept(file)) is not None:
            found[at] = known
    told(len(found))
    todo = [at for at in range(len(runs)) if at not in found]
    for at, result in _measure_each(runs, todo, tools, min(n_processes, len(todo))):
        found[at] = result
        if not isinstance(result, InputError):
            _keep(files[at], result)
        told(len(found))
    results = [(run, found[at]) for at, run in enumerate(runs)]
    return Measured(
        [(run, result) for run, result in results if not isinstance(result, InputError)],
        [(run, result) for run, result in results if isinstance(result, InputError)],
    )


def _measure_each(
    runs: Sequence[Run], todo: Sequence[int], tools: Tools, n_processes: int
) -> Iterable[tuple[int, Measurement | InputError]]:
    """Yield the results as they come; a DataError of the tools themselves goes on."""
    if n_processes <= 1:
        yield from ((at, _try(tools, runs[at])) for at in todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        futures = {pool.submit(_try, tools, runs[at]): at for at in todo}
        try:
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, what is under way ends and nothing begins


def _try(tools: Tools, run: Run) -> Measurement | InputError:
    try:
        return tools.measure(run)
    except DataError:
        raise
    except InputError as error:
        return error
    except Exception as error:  # noqa: BLE001 (one run must not take the tables of all others with it)
        return InputError(
            f"{run.path} cannot be measured ({describe(error)}); move it away, and report it if it is whole"
        )


def _read_kept(file: Path) -> Measurement | None:
    """Return what was measured earlier, None if nothing was or the file is damaged."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None


def _keep(file: Path, measurement: Measurement) -> None:
    """Write what was measured at one stroke."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, json.dumps(measurement).encode())
    except OSError as error:
        raise DataError(f"{file} cannot be written ({reason(error)}); set EVODIVERSE_CACHE") from error


@lru_cache
def _load_encoder(name: str, folder: Path | None) -> Encode:
    if folder is None:
        return tfidf
    return (load_codebert(offline=True) if name == CODEBERT else load_minilm(folder)).embed


def _parts(path: Path) -> Iterable[tuple[str, int, int]]:
    """Yield name, size and time of every part of every dataset of a run."""
    for part in sorted(path.glob("*/part-*.parquet")):
        status = part.stat()
        yield str(part.relative_to(path)), status.st_size, status.st_mtime_ns


@lru_cache
def _version() -> str:
    """Return what changes whenever the metrics could."""
    package = Path(__file__).parents[1]
    files = [file for source in _SOURCES for file in sorted([package / source, *(package / source).rglob("*.py")])]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file()))
    return " ".join([digest.hexdigest(), *map(_library_version, _LIBRARIES)])


def _library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # an extra
        return "absent"
