"""The best candidates of an earlier run, from which another run starts (``task.initial.run``)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evodiverse.errors import InputError, damaged, reason
from evodiverse.kit.files import read_json
from evodiverse.kit.inputs import expanded
from evodiverse.runlog.record import RECORD

KEPT: Final = "initial.json"
"""The file in a run directory with the candidates that the run started from, which come from an earlier run."""

_MOST_BYTES: Final = 1 << 28


class Earlier(NamedTuple):
    """Candidates of an earlier run, best first.

    Attributes:
        run: The folder of the run, as the user named it.
        calls: The number of the oracle call of that run that evaluated each candidate.
        genotypes: The genotype of each candidate.
    """

    run: str
    calls: Sequence[int]
    genotypes: Sequence[str]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the genotypes."""
        return hashlib.sha256("\0".join(self.genotypes).encode("utf-8", "backslashreplace")).hexdigest()


def read_best(folder: str, n: int, domain: str) -> Earlier:
    """Return the best ``n`` valid candidates of a run, complete or not, or all if there are fewer; the older first.

    Args:
        folder: The run directory.
        n: The number of candidates, at least 1.
        domain: The package of the domain that the run must belong to.

    Raises:
        InputError: The folder is not that of a run, the run belongs to another domain, has no valid candidate with a
            score, or its log is damaged.
    """
    from evodiverse.runlog.log import read_log_so_far  # here so that a mistake is told without loading pyarrow
    from evodiverse.runlog.runs import Run, read_record

    path = expanded(folder)
    if not (path / RECORD).is_file():
        raise InputError(f"task.initial.run={folder} is not the folder of a run (no {RECORD}); name one that is")
    run = Run(path, read_record(path / RECORD))
    if run.domain != domain:
        raise InputError(
            f"task.initial.run={folder} is a run of task={run.task} ({run.domain}), not of {domain}; name another run"
        )
    log = read_log_so_far(run, {"genotype": str})
    genotypes, valid, scores = map(log.column, ("genotype", "valid", "score"))
    found = [call for call in sorted(valid) if valid[call] and genotypes[call] and scores[call] is not None]
    best = sorted(found, key=lambda call: -scores[call])[:n]
    if not best:
        raise InputError(f"task.initial.run={folder} has no valid candidate with a score; name another run")
    return Earlier(folder, best, [genotypes[call] for call in best])


def read_kept(path: Path) -> Earlier | None:
    """Return the candidates in the file `KEPT` of a run directory; None if there is no such file.

    Raises:
        InputError: The file is damaged.
    """
    try:
        kept = Earlier._make(map(read_json(path, _MOST_BYTES).get, Earlier._fields))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(path, reason(error)) from error
    lists = [(kept.calls, int), (kept.genotypes, str)]
    are_lists = all(isinstance(some, list) and all(isinstance(one, kind) for one in some) for some, kind in lists)
    if isinstance(kept.run, str) and are_lists:
        return kept
    raise damaged(path, "expected a run, calls and genotypes")
