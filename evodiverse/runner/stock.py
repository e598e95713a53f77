"""The library of a task as screening uses it: its features, which a cached file keeps, and the shortlist."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from evodiverse.kit.files import lock, replace_file
from evodiverse.ports import Stocked
from evodiverse.runner.workers import Bench, Workers
from evodiverse.search.process import MAX_COUNT, ROWS_AT_ONCE, Mean, as_bits, stack
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.search.screening import rank_values
from evodiverse.text import count_of
from evodiverse.vocabulary import Hypothesis

_LOG = logging.getLogger("evodiverse.runner")
N_WEIGHED: Final = 20_000
"""How many candidates of a library, those with the highest means, are ranked by their families as well."""
_AT_ONCE: Final = 20_000
_PARTS: Final = 16


class Stock:
    """A task's library, whose features are computed once and then kept in a file of the cache folder.

    Args:
        task: The task.
        workers: The worker processes, which compute the features.
        folder: The folder of the file.
    """

    def __init__(self, task: Stocked, workers: Workers, folder: Path) -> None:
        name = hashlib.sha256(f"{task.library_digest()} {MAX_COUNT}".encode()).hexdigest()[:16]
        self._workers, self._path = workers, folder / f"library-{name}.npz"
        self._genotypes, self._rows = _open(task, workers, self._path)

    def __len__(self) -> int:
        return len(self._genotypes)

    def genotypes(self, places: IntArray) -> list[str]:
        """Return the genotypes at places in the library."""
        return [self._genotypes[place] for place in places.tolist()]

    def rows(self, places: IntArray) -> csr_array:
        """Return the ``(n, d)`` bits of the genotypes at ``n`` places."""
        return self._rows[places]

    def rank(self, means: Sequence[Mean], worth: Callable[[csr_array], FloatArray] | None) -> list[IntArray]:
        """Return for each mean of a process all places, the best first; ties keep the order of the library.

        They are ranked by the mean; the first `N_WEIGHED` of them then by the mean * worth, if there is a worth.

        Args:
            means: The means.
            worth: A function that returns the worth of the families of hypotheses with ``(n, d)`` bits.
        """
        starts = range(0, len(self), ROWS_AT_ONCE * _PARTS)
        parts = [Part(self._path, start, mean) for mean in means for start in starts]
        rated = np.concatenate(self._workers.share_out(rate, parts)).reshape(len(means), len(self))
        return [rank_values(values) if worth is None else self._weigh(values, worth) for values in rated]

    def _weigh(self, values: FloatArray, worth: Callable[[csr_array], FloatArray]) -> IntArray:
        ranking = rank_values(values)
        first, others = ranking[:N_WEIGHED], ranking[N_WEIGHED:]
        parts = [first[at : at + ROWS_AT_ONCE] for at in range(0, first.size, ROWS_AT_ONCE)]
        weights = np.concatenate([worth(self._rows[part]) for part in parts])
        return np.concatenate([first[rank_values(values[first] * weights)], others])


class Part(NamedTuple):
    """A part of a library that a worker process rates: it begins at ``start`` and has ``ROWS_AT_ONCE * _PARTS`` rows.

    Attributes:
        path: The file of the library.
        start: The place of its first candidate.
        mean: The mean of a process.
    """

    path: Path
    start: int
    mean: Mean


def rate(_: Bench, parts: Sequence[Part]) -> list[FloatArray]:
    """Return the ``(n,)`` means of the candidates of each part; worker processes do this."""
    size = ROWS_AT_ONCE * _PARTS
    return [part.mean(_load(part.path)[1][part.start : part.start + size]) for part in parts]


def _open(task: Stocked, workers: Workers, path: Path) -> tuple[Sequence[str], csr_array]:
    """Return the genotypes of a task's library and their features; whichever process comes first computes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("wb") as lock_file:
        lock(lock_file.fileno(), waits=True)
        try:
            return _load(path)
        except FileNotFoundError:
            genotypes = task.library()
        rows = _describe(genotypes, workers)
        arrays: dict[str, NDArray[np.generic]] = {
            "text": np.frombuffer("\n".join(genotypes).encode(), dtype=np.uint8),  # one genotype a line
            "columns": rows.indices.astype(np.min_scalar_type(rows.shape[1])),  # the places of the bits of each
            "sizes": np.diff(rows.indptr).astype(np.uint16),
            "width": np.array(rows.shape[1]),
        }
        replace_file(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    return _load(path)


def _describe(genotypes: Sequence[str], workers: Workers) -> csr_array:
    """Return the features of genotypes, and report the progress."""
    counted = count_of(len(genotypes), "candidate")
    _LOG.info("computing the features of the %s of the library, once; this takes up to a minute", counted)
    parts = []
    for at in range(0, len(genotypes), _AT_ONCE):
        part = genotypes[at : at + _AT_ONCE]
        parts.append(stack(workers.describe([Hypothesis(genotype, genotype) for genotype in part])))
        if at:
            _LOG.info("%d%% of the library", 100 * (at + len(part)) // len(genotypes))
    return vstack(parts, format="csr")


@lru_cache(maxsize=1)
def _load(path: Path) -> tuple[Sequence[str], csr_array]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        rows = as_bits(arrays["columns"].astype(np.int32), arrays["sizes"], int(arrays["width"]))
        return arrays["text"].tobytes().decode().split("\n"), rows
