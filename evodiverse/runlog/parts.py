"""The list of the parts that a run has committed, each with its size and digest, by which later damage is found."""

import hashlib
import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import decode_line, read_file
from evodiverse.runlog.datasets import DATASETS, MOST_BYTES

PARTS: Final = "checkpoint/parts"
"""The file with the list, to which each commit appends. Runs of EvoDiverse 0.1 and 0.2.0 have none."""

_PART: Final = re.compile(rf"(?:{'|'.join(DATASETS)})/part-(\d{{6,9}})\.parquet")
_MOST_SHOWN: Final = 3


class Part(NamedTuple):
    """An entry of the list.

    Attributes:
        part: The path of the part below the run directory.
        n_bytes: Its size.
        sha256: The SHA-256 of its content.
    """

    part: str
    n_bytes: int
    sha256: str


def describe_part(part: Path, content: bytes) -> Part:
    """Return the entry of a part with this content."""
    return Part(f"{part.parent.name}/{part.name}", len(content), hashlib.sha256(content).hexdigest())


def check_parts(run: Path, last: int = sys.maxsize) -> list[Part] | None:
    """Check that the parts of a run are exactly those that it has committed, byte for byte.

    Args:
        run: The run directory.
        last: The last iteration committed. Parts that are newer are ignored.

    Returns:
        The entries of the parts; None if the run has no list, so that nothing was checked.

    Raises:
        InputError: Parts are damaged or missing, or the list is damaged; the message names them.
    """
    listed = _read_list(run)
    if listed is None:
        return None
    there = {f"{path.parent.name}/{path.name}" for name in DATASETS for path in (run / name).glob("part-*.parquet")}
    for name in sorted(there - listed.keys()):
        if _iteration_of(name) <= last:
            raise _refuse_list(run, f"it lacks {name}")
    committed = [part for part in listed.values() if _iteration_of(part.part) <= last]
    faults = {part.part: fault for part in committed if (fault := _find_fault(run, part)) is not None}
    if faults:
        (first, fault), *others = faults.items()
        also = f", as are {', '.join(name for name, _ in others[:_MOST_SHOWN])}" if others else ""
        more = f" and {len(others) - _MOST_SHOWN:,} more" if len(others) > _MOST_SHOWN else ""
        raise InputError(
            f"{run / first} is damaged ({fault}){also}{more}; "
            "restore it from a copy, or use overwrite=true to start over"
        )
    return committed


def _find_fault(run: Path, part: Part) -> str | None:
    """Return what is wrong with a part; None if it is as it was written."""
    path = run / part.part
    try:
        now = describe_part(path, read_file(path, MOST_BYTES))
    except FileNotFoundError:
        return "it is missing"
    except (OSError, ValueError) as error:
        return reason(error)
    if now.n_bytes != part.n_bytes:
        return f"it has {now.n_bytes:,} bytes, expected {part.n_bytes:,}"
    return None if now == part else "its content has changed"


def _read_list(run: Path) -> dict[str, Part] | None:
    """Return the entries of the list by the path of the part, the last one of each part; None if there is no list.

    The entries end before the first line that is damaged: a commit that did not finish may leave such a line.

    Raises:
        InputError: The list cannot be read.
    """
    try:
        lines = read_file(run / PARTS, MOST_BYTES).splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _refuse_list(run, str(error)) from error
    listed = {}
    for line in lines:
        try:
            entry = decode_line(line) or {}
            part = Part(str(entry["part"]), int(entry["n_bytes"]), str(entry["sha256"]))
        except (KeyError, TypeError, ValueError, RecursionError):
            break
        if not _PART.fullmatch(part.part):
            break
        listed[part.part] = part
    return listed


def _refuse_list(run: Path, why: str) -> InputError:
    return InputError(f"{run / PARTS} is damaged ({why}); delete it, and parts are only checked when they are read")


def _iteration_of(name: str) -> int:
    """Return the iteration in the path of a part; -1 if it is not such a path."""
    found = _PART.fullmatch(name)
    return int(found[1]) if found else -1
