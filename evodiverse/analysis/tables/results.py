"""A run with its metrics, in the terms in which tables choose among runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evodiverse.analysis.metrics import EQUATIONS, find_kind
from evodiverse.analysis.metrics.equations import find_science
from evodiverse.analysis.metrics.values import Measurement
from evodiverse.analysis.runs import Run, write_setting
from evodiverse.analysis.tables.layout import Row

PROBLEM: Final = "task.problem"


@dataclass(frozen=True, slots=True)
class Result:
    """A run with its metrics.

    Attributes:
        run: The run.
        metrics: By name; of a run that was not measured, none.
        kind: Which metrics it has.
        model: Its option of language model, with what was changed of it in brackets.
        science: Which problems of equations its own is of, None for other tasks and for a user's own data.
        overrides: What else was changed from what task, method and llm compose to. The problem of equations is no such
            thing, nor is a cap on what may be spent that did not end the run.
    """

    run: Run
    metrics: Measurement
    kind: str
    model: str
    science: str | None
    overrides: Mapping[str, Any]

    @property
    def model_words(self) -> tuple[str, ...]:
        """What chooses its model on the command line."""
        words = [f"llm={self.run.llm}"]
        for key, value in (self.run.overrides or {}).items():
            if key.startswith("llm."):
                plus = "++" if key.startswith("llm.extra.") else ""  # a key of a user's own
                words.append(f"{plus}{key}={write_setting(value)}")
        return tuple(words)

    @property
    def problem(self) -> str | None:
        """The problem of equations, None for other tasks."""
        return None if self.kind != EQUATIONS else str(self.run.settings.get(PROBLEM))

    def belongs(self, row: Row) -> bool:
        """Return whether a row is about runs like this, whatever their model."""
        return self.has_method(row, row.method)

    def has_method(self, row: Row, method: str) -> bool:
        """Return whether a row would be about this run if its method were another."""
        return (
            (self.run.task, self.run.method) == (row.task, method)
            and (self.science == row.science if row.science else self.kind != EQUATIONS or self.science is not None)
            and self.overrides == row.overrides
        )


def read_result(run: Run, metrics: Measurement) -> Result:
    """Return a run in the terms of tables; its ``overrides`` are known."""
    overrides = run.without_idle_caps(run.overrides or {})
    kind = find_kind(run)
    changed = show_overrides({key: value for key, value in overrides.items() if key.startswith("llm.")})
    return Result(
        run,
        metrics,
        kind,
        f"{run.llm} ({changed})" if changed else run.llm,
        find_science(run) if kind == EQUATIONS else None,
        {
            key: value
            for key, value in overrides.items()
            if not key.startswith("llm.") and not (kind == EQUATIONS and key == PROBLEM)
        },
    )


def show_overrides(overrides: Mapping[str, Any]) -> str:
    """Return overrides as one would write them on the command line, separated by blanks."""
    return " ".join(f"{key}={write_setting(value)}" for key, value in overrides.items())
