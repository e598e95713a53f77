"""Computation of the metrics of many runs in parallel. A cache holds them until the run or the code changes."""

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.diversity.distances import Encode
from evodiverse.diversity.encoders import load_codebert, load_minilm
from evodiverse.diversity.tfidf import tfidf
from evodiverse.errors import DataError, InputError, describe
from evodiverse.kit.files import write_cached
from evodiverse.kit.own_code import folder_of
from evodiverse.ports import Tools
from evodiverse.results.domains import find_domain, find_metrics
from evodiverse.results.metrics import measure
from evodiverse.runlog.log import Measurement
from evodiverse.runlog.runs import Run

TFIDF: Final = "tfidf"
CODEBERT: Final = "codebert"
MINILM: Final = "minilm"
# The code that the metrics of all domains depend on: after a change in any of these files, all runs are measured again.
_SOURCES: Final = ("results/metrics", "runlog", "search", "diversity", "kit")
_LIBRARIES: Final = ("moocore", "numpy", "scipy")


@dataclass(frozen=True, slots=True)
class Measurer:
    """What the metrics of runs are computed with, and the files in which they are cached.

    Attributes:
        folder: The cache folder.
        encoders: The encoders to use, which turn programs into vectors. Each is given by its name and the folder of its
            model; None for TF-IDF, which has no model.
        own: The packages of the user's own domains.
    """

    folder: Path
    encoders: Mapping[str, Path | None]
    own: Sequence[str] = ()

    @property
    def tools(self) -> Tools:
        """What metrics may use; loads the models of the encoders."""
        return Tools(self.folder, {name: load_encoder(name, folder) for name, folder in self.encoders.items()})

    def kept(self, run: Run) -> Path:
        """Return the path of the cached metrics of a run; the path depends on the state of the run and on the code."""
        metrics = find_metrics(run, self.own)
        version = _version(run.domain, frozenset(self.own), *metrics.libraries)
        known = sorted(self.encoders) if metrics.reads_texts else []
        files = {str(part.relative_to(run.path)): part.stat() for part in sorted(run.path.glob("*/part-*.parquet"))}
        parts = [(name, status.st_size, status.st_mtime_ns) for name, status in files.items()]
        state = json.dumps([version, known, run.record, parts], sort_keys=True)
        return self.folder / "runs" / f"{hashlib.sha256(state.encode()).hexdigest()[:32]}.json"


class MeasuredRuns(NamedTuple):
    """The results of measuring runs.

    Attributes:
        runs: The runs with their metrics.
        damaged: The runs that could not be measured, with the reasons.
    """

    runs: Sequence[tuple[Run, Measurement]]
    damaged: Sequence[tuple[Run, InputError]]


def measure_runs(
    runs: Sequence[Run], measurer: Measurer, n_processes: int, report: Callable[[int], object]
) -> MeasuredRuns:
    """Return the metrics of runs: from the cache if they are there, otherwise computed in several processes.

    Args:
        runs: The runs, which are complete.
        measurer: What the metrics are computed with.
        n_processes: The largest number of processes to use.
        report: A callback that is called with the number of runs that are done, whenever this number changes.

    Raises:
        DataError: The cache cannot be written, or another data file is missing or damaged.
    """
    files = [measurer.kept(run) for run in runs]
    results: list[Measurement | InputError | None] = [_read_cached(file) for file in files]
    todo = [at for at, result in enumerate(results) if result is None]
    report(len(runs) - len(todo))
    measured = _measure_each([runs[at] for at in todo], measurer, n_processes)
    for n_done, (at, result) in enumerate(zip(todo, measured, strict=True), len(runs) - len(todo) + 1):
        results[at] = result
        if not isinstance(result, InputError):
            write_cached(files[at], json.dumps(result).encode())
        report(n_done)
    pairs = [(run, result) for run, result in zip(runs, results, strict=True) if result is not None]
    return MeasuredRuns(
        [(run, result) for run, result in pairs if not isinstance(result, InputError)],
        [(run, result) for run, result in pairs if isinstance(result, InputError)],
    )


def _measure_each(runs: Sequence[Run], measurer: Measurer, n_processes: int) -> Iterator[Measurement | InputError]:
    """Yield the metrics of each run or, if it cannot be measured, the error.

    Raises:
        DataError: A data file other than the log is missing, damaged or cannot be written, so that no run can be
            measured.
    """
    if min(n_processes, len(runs)) <= 1:
        yield from (_try(measurer, run) for run in runs)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_processes, context, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield from pool.map(partial(_try, measurer), runs)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, running jobs finish and no others start


def _try(measurer: Measurer, run: Run) -> Measurement | InputError:
    try:
        return measure(run, find_metrics(run, measurer.own), measurer.tools)
    except DataError:
        raise
    except InputError as error:
        return error
    except Exception as error:  # noqa: BLE001 (one run must not prevent the tables of all others)
        why = f"{run.path} cannot be measured ({describe(error)})"
        return InputError(f"{why}; move it away, and report a bug if it is intact")


def _read_cached(file: Path) -> Measurement | None:
    """Return cached metrics; None if the file is missing or damaged."""
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None


@lru_cache
def load_encoder(name: str, folder: Path | None) -> Encode:
    """Return an encoder: a function that turns the texts of programs into ``(n, d)`` vectors.

    Args:
        name: The name of the encoder: `TFIDF`, `CODEBERT` or `MINILM`.
        folder: The folder of the encoder's model; None for TF-IDF, which has no model. For CodeBERT, it can be any
            folder, since the model is always read from the cache of the Hugging Face hub.
    """
    if folder is None:
        return tfidf
    return (load_codebert(offline=True) if name == CODEBERT else load_minilm(folder)).embed


@lru_cache
def _version(domain: str, own: frozenset[str], *libraries: str) -> str:
    """Return a string that changes whenever the code or a library behind the metrics of a domain changes."""
    package = Path(__file__).parents[1]
    files = [file for source in _SOURCES for file in sorted((package / source).rglob("*.py"))]
    module = find_domain(domain, own)
    files += [] if module is None else sorted(folder_of(module).rglob("*.py"))  # a change may change the metrics
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    return " ".join([digest.hexdigest(), *map(_library_version, (*_LIBRARIES, *libraries))])


def _library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # the library comes with an extra, which is not installed
        return "absent"
