"""What tells several runs apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evodiverse.runlog.runs import Run, write_setting

_ABSENT: Final = object()
_NAMES: Final = {"task.name": "task", "method.name": "method", "llm.name": "llm"}


@dataclass(frozen=True, slots=True)
class Compared:
    """A run among others.

    Attributes:
        run: The run.
        differing: The settings in which not all of them are the same, as one writes them, by name.
        best: Its highest score, None for a run without one.
        calls: Its oracle calls, None if its record does not say.
    """

    run: Run
    differing: Mapping[str, str]
    best: float | None
    calls: int | None


def compare(runs: Sequence[Run], best: Sequence[float | None]) -> list[Compared]:
    """Return runs by their best scores, the highest first, those without one last.

    Args:
        runs: At least one.
        best: The highest score of each.
    """
    keys = differing_keys(runs)
    compared = [
        Compared(
            run,
            {_NAMES.get(key, key): _write(run.settings.get(key, _ABSENT)) for key in keys},
            score,
            run.record.get("totals", {}).get("oracle_calls"),
        )
        for run, score in zip(runs, best, strict=True)
    ]
    return sorted(compared, key=lambda one: (one.best is None, -(one.best or 0.0), str(one.run.path)))


def differing_keys(runs: Sequence[Run]) -> list[str]:
    """Return the settings in which not all runs are the same: task, method and model, what users changed, the seed.

    What follows from the choice of task, method and model is left out, unless a user changed it in one of them.
    """
    changed = {key for run in runs for key in run.overrides or {}}
    known = {key for run in runs for key in run.settings}
    choices = [key for key in _NAMES if key in known]
    if any(run.overrides is None for run in runs) or _same(runs, choices):
        changed = known
    rest = sorted(changed - set(choices) - {"seed"} - {"task.domain"})
    return [key for key in [*choices, *rest, "seed"] if not _same(runs, [key])]


def _same(runs: Sequence[Run], keys: Sequence[str]) -> bool:
    return len({tuple(_write(run.settings.get(key, _ABSENT)) for key in keys) for run in runs}) <= 1


def _write(value: Any) -> str:
    return "–" if value is _ABSENT else write_setting(value)
