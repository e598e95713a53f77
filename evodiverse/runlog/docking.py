"""Reading the docking scores of a run: the dataset ``docking/``, which is added to a complete run."""

from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.files import read_json
from evodiverse.runlog.runs import Run

DOCKING: Final = "docking"
DOCKING_RECORD: Final = "docking.json"
"""The file in the folder `DOCKING` that records the docking target and the docking settings."""

_MOST_BYTES: Final = 1 << 20


def read_docking(run: Run) -> dict[str, float | None] | None:
    """Return the docking scores of a run.

    Returns:
        For each molecule's key, its score in kcal/mol (lower is better), or None if the molecule could not be docked.
        If nothing was docked, or the docking target is not that of the run's task, the whole result is None.

    Raises:
        InputError: The dataset is damaged.
    """
    folder = run.path / DOCKING
    if not folder.is_dir():
        return None
    try:
        target = read_json(folder / DOCKING_RECORD, _MOST_BYTES).get("target")
    except FileNotFoundError:  # a dataset that the user added
        target = run.task
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / DOCKING_RECORD} is damaged ({error}); dock the run again") from error
    if target != run.task:
        return None
    rows = run.columns(DOCKING, ["key", "score"])
    return dict(zip(rows["key"], rows["score"], strict=True))
