"""What is known of the docking of a run: the dataset ``docking/``, which is made after the run."""

from typing import Final

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import read_json
from evodiverse.runlog.runs import Run

DOCKING: Final = "docking"
DOCKING_RECORD: Final = "docking.json"
"""The file of that folder which says into what the molecules were docked, and how."""

_MOST_BYTES: Final = 1 << 20


def read_docking(run: Run) -> dict[str, float | None] | None:
    """Return the docking scores of a run by key, in kcal/mol, None for a molecule that could not be docked.

    Returns:
        None if nothing was docked, or not into the target of the run's task.

    Raises:
        InputError: The dataset is damaged.
    """
    folder = run.path / DOCKING
    if not folder.is_dir():
        return None
    try:
        target = read_json(folder / DOCKING_RECORD, _MOST_BYTES).get("target")
    except FileNotFoundError:  # a dataset of the user's own
        target = run.task
    except OSError as error:
        raise InputError(f"{folder / DOCKING_RECORD} cannot be read ({reason(error)})") from error
    except ValueError as error:
        raise InputError(f"{folder / DOCKING_RECORD} is damaged ({error}); dock the run again") from error
    if target != run.task:
        return None
    rows = run.columns(DOCKING, ["key", "score"])
    return dict(zip(rows["key"], rows["score"], strict=True))
