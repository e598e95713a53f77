"""Comparison of several runs by the settings in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evodiverse.runlog.runs import Run, write_setting

_NAMES: Final = {"task.name": "task", "method.name": "method", "llm.name": "llm"}


@dataclass(frozen=True, slots=True)
class Compared:
    """A run in a comparison with others.

    Attributes:
        run: The run that is compared.
        differing: The run's values, as text, of the settings in which the compared runs differ, by the key of the
            setting. Three keys are shortened to ``task``, ``method`` and ``llm``.
        best: The highest score of the run; None if no candidate has a score.
        calls: The number of oracle calls; None if ``run.json`` does not record it.
    """

    run: Run
    differing: Mapping[str, str]
    best: float | None
    calls: int | None

    @property
    def name(self) -> str:
        """The run's task, method and model, what the user changed in which the runs differ, and the seed."""
        run, shown = self.run, {*_NAMES.values(), "seed"}
        changed = self.differing if self.run.overrides is None else self.run.overrides
        others = [f"{key}={value}" for key, value in self.differing.items() if key in changed and key not in shown]
        return " · ".join([run.task, run.method, run.llm, *others, f"seed {run.seed}"])


def compare(runs: Sequence[Run], best: Sequence[float | None]) -> list[Compared]:
    """Return an entry for each run, with the settings in which the runs differ, from the highest score to the lowest.

    Runs without a score come last.

    Args:
        runs: The runs to compare, at least one.
        best: The highest score of each run, in the order of ``runs``; None for a run without a score.
    """
    keys = differing_keys(runs)
    compared = [
        Compared(
            run,
            {_NAMES.get(key, key): _write(run, key) for key in keys},
            score,
            run.record.get("totals", {}).get("oracle_calls"),
        )
        for run, score in zip(runs, best, strict=True)
    ]
    return sorted(compared, key=lambda one: (one.best is None, -(one.best or 0.0), str(one.run.path)))


def differing_keys(runs: Sequence[Run]) -> list[str]:
    """Return the keys of the settings in which runs differ: task, method and model first, the seed last.

    Besides these four, the settings that a user changed in any run are considered. Settings that only follow from the
    choice of task, method and model are left out. But if all runs have the same task, method and model, or if a log
    does not record what the user changed, all settings except ``task.domain`` are considered.
    """
    changed = {key for run in runs for key in run.overrides or {}}
    known = {key for run in runs for key in run.settings}
    choices = [key for key in _NAMES if key in known]
    if any(run.overrides is None for run in runs) or _same(runs, choices):
        changed = known
    rest = sorted(changed - set(choices) - {"seed"} - {"task.domain"})
    return [key for key in [*choices, *rest, "seed"] if not _same(runs, [key])]


def _same(runs: Sequence[Run], keys: Sequence[str]) -> bool:
    return len({tuple(_write(run, key) for key in keys) for run in runs}) <= 1


def _write(run: Run, key: str) -> str:
    return write_setting(run.settings[key]) if key in run.settings else "–"
