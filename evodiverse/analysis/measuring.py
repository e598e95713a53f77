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

from evodiverse.analysis.domains import find_domain, find_metrics, source_files
from evodiverse.analysis.metrics import measure
from evodiverse.diversity.distances import Encode
from evodiverse.diversity.encoders import load_codebert, load_minilm
from evodiverse.diversity.tfidf import tfidf
from evodiverse.errors import DataError, InputError, describe, reason
from evodiverse.kit.files import write_file
from evodiverse.ports import Tools
from evodiverse.runlog.runs import Run
from evodiverse.runlog.values import Measurement

TFIDF: Final = "tfidf"
CODEBERT: Final = "codebert"
MINILM: Final = "minilm"
# What the metrics of all domains depend on beside the log: a change of any measures all runs again.
_SOURCES: Final = ("analysis/metrics", "runlog", "diversity", "kit")
_LIBRARIES: Final = ("numpy", "scipy")


@dataclass(frozen=True, slots=True)
class Measurer:
    """Measures runs, and says where what was measured of one is kept.

    Attributes:
        folder: Where is kept what was computed.
        encoders: By name, the folder of each model that embeds programs; that of TF-IDF is None.
        own: The packages of the user's own domains.
    """

    folder: Path
    encoders: Mapping[str, Path | None]
    own: Sequence[str] = ()

    def measure(self, run: Run) -> Measurement:
        """Measure a run.

        Raises:
            InputError: Its log is damaged, or the folder cannot be used.
        """
        encoders = {name: load_encoder(name, folder) for name, folder in self.encoders.items()}
        return measure(run, find_metrics(run, self.own), Tools(self.folder, encoders))

    def kept(self, run: Run) -> Path:
        """Return the file that keeps what is measured of a run as it is now."""
        metrics = find_metrics(run, self.own)
        version = _version(run.domain, frozenset(self.own), *metrics.libraries)
        known = sorted(self.encoders) if metrics.reads_texts else []
        state = json.dumps([version, known, run.record, [*_parts(run.path)]], sort_keys=True)
        return self.folder / "runs" / f"{hashlib.sha256(state.encode()).hexdigest()[:32]}.json"


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """Runs with their metrics, and those that are damaged with the reason."""

    runs: Sequence[tuple[Run, Measurement]]
    damaged: Sequence[tuple[Run, InputError]]


def measure_runs(
    runs: Sequence[Run], measurer: Measurer, n_processes: int, told: Callable[[int], object]
) -> MeasuredRuns:
    """Measure runs, in as many processes as there are.

    Args:
        runs: Complete ones.
        measurer: Measures each.
        n_processes: At most so many at once.
        told: Is called with the number of runs done, now and then.

    Raises:
        DataError: What was computed cannot be kept.
    """
    files = [measurer.kept(run) for run in runs]
    found: dict[int, Measurement | InputError] = {}
    for at, file in enumerate(files):
        if (known := _read_kept(file)) is not None:
            found[at] = known
    told(len(found))
    todo = [at for at in range(len(runs)) if at not in found]
    for at, result in _measure_each(runs, todo, measurer, min(n_processes, len(todo))):
        found[at] = result
        if not isinstance(result, InputError):
            _keep(files[at], result)
        told(len(found))
    results = [(run, found[at]) for at, run in enumerate(runs)]
    return MeasuredRuns(
        [(run, result) for run, result in results if not isinstance(result, InputError)],
        [(run, result) for run, result in results if isinstance(result, InputError)],
    )


def _measure_each(
    runs: Sequence[Run], todo: Sequence[int], measurer: Measurer, n_processes: int
) -> Iterable[tuple[int, Measurement | InputError]]:
    """Yield the results as they come; a DataError of the measurer itself goes on."""
    if n_processes <= 1:
        yield from ((at, _try(measurer, runs[at])) for at in todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        futures = {pool.submit(_try, measurer, runs[at]): at for at in todo}
        try:
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, what is under way ends and nothing begins


def _try(measurer: Measurer, run: Run) -> Measurement | InputError:
    try:
        return measurer.measure(run)
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
def load_encoder(name: str, folder: Path | None) -> Encode:
    """Return what gives the vectors of programs, by its name and the folder of its model, None for TF-IDF."""
    if folder is None:
        return tfidf
    return (load_codebert(offline=True) if name == CODEBERT else load_minilm(folder)).embed


def _parts(path: Path) -> Iterable[tuple[str, int, int]]:
    """Yield name, size and time of every part of every dataset of a run."""
    for part in sorted(path.glob("*/part-*.parquet")):
        status = part.stat()
        yield str(part.relative_to(path)), status.st_size, status.st_mtime_ns


@lru_cache
def _version(domain: str, own: frozenset[str], *libraries: str) -> str:
    """Return what changes whenever the metrics of a domain could."""
    package = Path(__file__).parents[1]
    files = [file for source in _SOURCES for file in sorted((package / source).rglob("*.py"))]
    module = find_domain(domain, own)
    files += [] if module is None else source_files(module)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    return " ".join([digest.hexdigest(), *map(_library_version, (*_LIBRARIES, *libraries))])


def _library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # an extra
        return "absent"
