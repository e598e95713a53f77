"""A run with its metrics, in the terms in which tables choose among runs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evodiverse.analysis.domains import find_metrics
from evodiverse.analysis.tables.layout import Row
from evodiverse.analysis.tables.models import PAPERS_MODELS, find_changes, identify_model
from evodiverse.ports import Subject
from evodiverse.runlog.runs import Run, write_setting
from evodiverse.runlog.values import Measurement

# What a task is scored by. A run with another one is a run of another task.
_ORACLE: Final = ("task.oracle.", "task.evaluator")
_PROPOSALS: Final = "budget.llm_calls"


@dataclass(frozen=True, slots=True)
class Result:
    """A run with its metrics.

    Attributes:
        run: The run.
        metrics: By name; of a run that was not measured, none.
        kind: Which metrics it has.
        task: Its task, with what was changed of the oracle in brackets.
        model: Its language model, whoever served it, with what was changed of it in brackets.
        subject: Which of the task's problems it is about.
        overrides: What else was changed from what task, method and llm compose to. The problem is no such thing, nor is
            a cap on what may be spent that did not end the run, or that counts proposals where the paper seems to.
    """

    run: Run
    metrics: Measurement
    kind: str
    task: str
    model: str
    subject: Subject
    overrides: Mapping[str, Any]

    @property
    def model_words(self) -> tuple[str, ...]:
        """What chooses its model on the command line; of a replayed run, what asks the model itself.

        The address of a server is not recorded. A value that Hydra would interpolate is left out: the record may be
        somebody else's.
        """
        name = str(self.run.settings.get("llm.model"))
        option = ("litellm" if "/" in name else "openai_compatible") if self.run.llm == "replay" else self.run.llm
        words = [f"llm={option}"]
        for key, value in (self.run.overrides or {}).items():
            if key.startswith("llm.") and key != "llm.client" and "${" not in f"{key}{write_setting(value)}":
                plus = "++" if key.startswith("llm.extra.") else ""  # a key of a user's own
                words.append(f"{plus}{key}={write_setting(value)}")
        return (*words, "llm.api_base=ADDRESS") if option == "openai_compatible" else tuple(words)

    @property
    def problem(self) -> str | None:
        """Its problem, None for a task that has one alone."""
        return self.subject.problem

    @property
    def science(self) -> str | None:
        """Which problems its own is of, None for tasks with one alone, and for data without that label."""
        return self.subject.group

    @property
    def fit(self) -> str | None:
        """How candidates were fitted, None where that makes no rows of its own."""
        return self.subject.fit

    def belongs(self, row: Row) -> bool:
        """Return whether a row is about runs like this, whatever their model."""
        return self.has_method(row, row.method)

    def has_method(self, row: Row, method: str) -> bool:
        """Return whether a row would be about this run if its method were another."""
        return (
            (self.task, self.run.method) == (row.task, method)
            and (self.science == row.science if row.science else self.problem is None or self.science is not None)
            and row.fit in (None, self.fit)
            and self.overrides == row.overrides
        )


def read_result(run: Run, measured: Measurement, own: Collection[str] = ()) -> Result:
    """Return a run in the terms of tables; its ``overrides`` are known.

    Args:
        run: The run.
        measured: Its metrics.
        own: The packages of the user's own domains.
    """
    overrides = run.without_idle_caps(run.overrides or {})
    metrics = find_metrics(run, own)
    subject = metrics.subject
    if subject.counts_proposals and overrides.get(_PROPOSALS) == run.settings["budget.oracle_calls"]:
        del overrides[_PROPOSALS]
    model = identify_model(run)
    oracle = {key: value for key, value in overrides.items() if key.startswith(_ORACLE)}
    return Result(
        run,
        measured,
        metrics.kind,
        _with_changes(run.task, oracle),
        _with_changes(model, find_changes(run, overrides, model)),
        subject,
        {key: value for key, value in overrides.items() if not key.startswith(("llm.", *_ORACLE, *subject.keys))},
    )


def show_overrides(overrides: Mapping[str, Any]) -> str:
    """Return overrides as one would write them on the command line, separated by blanks."""
    return " ".join(f"{key}={write_setting(value)}" for key, value in overrides.items())


def choose_words(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Return by model what chooses it on the command line: the paper's as is usual, others as their runs did."""
    usual = {name: model.words for name, model in PAPERS_MODELS.items()}
    return {result.model: result.model_words for result in results} | usual


def _with_changes(name: str, changes: Mapping[str, Any]) -> str:
    return f"{name} ({show_overrides(changes)})" if changes else name
