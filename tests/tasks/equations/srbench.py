"""A small benchmark in the layout of LLM-SRBench."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import parquet

TITLES = ("train_data", "id_test_data", "ood_test_data")


def numbers(n: int = 8, start: float = 0.5) -> np.ndarray:
    """Return rows of 2x + 3t + 1, x and t."""
    x = start + np.arange(n) / 4
    t = np.arange(n) % 3
    return np.stack([2 * x + 3 * t + 1, x, t], axis=1)


def row(name: str, **more: Any) -> dict[str, Any]:
    """Return the row of a table that describes a problem."""
    return {
        "name": name,
        "symbols": ["dv_dt", "x", "t"],
        "symbol_descs": ["Acceleration", "Position at time t", "Time"],
        "symbol_properties": ["O", "V", "V"],
        "expression": "F0*sin(t) - x(t)",
        **more,
    }


def write_table(root: Path, table: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the table of a science."""
    path = root / "data" / f"{table}-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def write_numbers(root: Path, group: str, splits: Mapping[str, Any]) -> Path:
    """Add a problem to the HDF5 file."""
    path = root / "lsr_bench_data.hdf5"
    with h5py.File(path, "a") as file:
        for title, values in splits.items():
            file[f"{group}/{title}"] = values
    return path


def write_benchmark(root: Path, group: str, names: Sequence[str]) -> Path:
    """Write problems of one science that are all alike."""
    write_table(root, group.replace("/", "_"), [row(name) for name in names])
    for name in names:
        splits = [numbers(), numbers(5), numbers(4, start=9.0)]
        write_numbers(root, f"{group}/{name}", dict(zip(TITLES, splits, strict=True)))
    return root
