"""Runs with their metrics, and with the attributes by which tables choose runs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.hints import nearest_key
from evodiverse.ports import BEST_SCORE, Headline
from evodiverse.results.domains import find_metrics
from evodiverse.results.grouping import to_number
from evodiverse.results.tables.layout import Row
from evodiverse.results.tables.models import PAPERS_MODELS, find_changes, identify_model
from evodiverse.runlog.runs import Run, write_setting
from evodiverse.runlog.values import Measurement

# The settings that define the score of a task. A run that changes one of them is a run of another task.
_ORACLE: Final = ("task.oracle.", "task.evaluator")
_PROPOSALS: Final = "budget.llm_calls"
CALLS_TO: Final = "calls_to_"


@dataclass(frozen=True, slots=True)
class Result:
    """A run with its metrics.

    Attributes:
        run: The run that was measured.
        metrics: The metrics by name; empty for a run that was not measured.
        kind: The name of the set of tables that the metrics fill, such as "programs".
        task: The name of the task, with changes to its oracle in parentheses.
        model: The language model regardless of its host, with changes to its settings in parentheses.
        problem: The problem of the run; None for a task with a single problem.
        science: The group of the problem, such as the science that an equation comes from, by which tables aggregate;
            None for a task with a single problem, and for data without a group.
        fit: How the constants of candidates were fitted (``task.fit``); None if tables do not separate runs by it.
        problem_keys: Prefixes of the keys of the settings that define the problem.
        overrides: The settings that differ from the defaults of the chosen task, method and llm. Settings of the
            oracle, the model and the problem are excluded. Spending caps are excluded unless one of them ended the run.
            A cap on proposals that equals the budget of oracle calls is also excluded, in tasks for which the paper
            appears to count proposals as its budget.
        headlines: The metrics by which the run is compared with others, the most important first.
    """

    run: Run
    metrics: Measurement
    kind: str
    task: str
    model: str
    problem: str | None
    science: str | None
    fit: str | None
    problem_keys: tuple[str, ...]
    overrides: Mapping[str, Any]
    headlines: Sequence[Headline] = (BEST_SCORE,)

    @property
    def model_words(self) -> tuple[str, ...]:
        """The overrides that choose the model on the command line.

        If the run replayed recorded replies, these overrides make a new run ask the model instead. The address of a
        server is not recorded, so a placeholder takes its place. Values that Hydra would interpolate are left out,
        since the record may come from somebody else.
        """
        name = str(self.run.settings.get("llm.model"))
        option = ("litellm" if "/" in name else "openai_compatible") if self.run.llm == "replay" else self.run.llm
        words = [f"llm={option}"]
        for key, value in (self.run.overrides or {}).items():
            if key.startswith("llm.") and key != "llm.client" and "${" not in f"{key}{write_setting(value)}":
                plus = "++" if key.startswith("llm.extra.") else ""  # the key may not exist yet
                words.append(f"{plus}{key}={write_setting(value)}")
        return (*words, "llm.api_base=ADDRESS") if option == "openai_compatible" else tuple(words)

    def number(self, metric: str) -> float | None:
        """Return a metric; None if the run has no such metric, or has a list of values."""
        value = self.metrics.get(metric)
        return float(value) if isinstance(value, float | int) else None

    def belongs(self, row: Row, method: str | None = None) -> bool:
        """Return whether the run belongs to a row, or would if the method of the row were ``method``.

        The language model of the run does not matter.
        """
        return (
            (self.task, self.run.method) == (row.task, method or row.method)
            and (self.science == row.science if row.science else self.problem is None or self.science is not None)
            and row.fit in (None, self.fit)
            and self.overrides == row.overrides
        )


def read_result(run: Run, measured: Measurement, own: Collection[str] = ()) -> Result:
    """Return a run with its metrics, and with the attributes by which tables choose runs.

    Args:
        run: The run. If its record has no ``overrides``, the run counts as one without changes.
        measured: The metrics of the run.
        own: The user's own Python packages that define domains, as named with ``--domain``.
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
        {BEST_SCORE.metric: run.record.get("totals", {}).get(BEST_SCORE.metric), **measured},
        metrics.kind,
        _with_changes(run.task, oracle),
        _with_changes(model, find_changes(run, overrides, model)),
        subject.problem,
        subject.group,
        subject.fit,
        subject.keys,
        {key: value for key, value in overrides.items() if not key.startswith(("llm.", *_ORACLE, *subject.keys))},
        getattr(metrics, "headlines", (BEST_SCORE,)),
    )


def compare_by(results: Sequence[Result], names: Sequence[str]) -> list[Result]:
    """Return runs that are compared by metrics of the user's choice.

    The metric ``calls_to_<score>``, the number of calls until a run reached a score, exists for every score.

    Args:
        results: The runs.
        names: The names of the metrics, the most important first; empty to compare runs by those of their domains.

    Raises:
        InputError: No run has a number of this name.
    """
    if not names:
        return [*results]
    known = {headline.metric: headline for result in results for headline in result.headlines}
    chosen = tuple(
        known.get(name, Headline(name, name.replace("_", " "), None, arrow="↓" if name.startswith(CALLS_TO) else ""))
        for name in names
    )
    compared = [replace(result, metrics=_with_calls(result, names), headlines=chosen) for result in results]
    numbers = {name for each in compared for name in each.metrics if name in names or each.number(name) is not None}
    if unknown := [name for name in names if name not in numbers]:
        raise InputError(f"--metric: no run has {unknown[0]}; {nearest_key(unknown[0], sorted(numbers))}")
    return compared


def _with_calls(result: Result, names: Sequence[str]) -> Measurement:
    """Return the metrics of a run, and each ``calls_to_<score>`` among the names: None if the run never reached it."""
    found = dict(result.metrics)
    calls, scores = (result.metrics.get(f"curve.{name}") for name in ("best_calls", "best"))
    for name in {*names} - {*found}:
        score = to_number(name.removeprefix(CALLS_TO)) if name.startswith(CALLS_TO) else None
        if score is not None and isinstance(calls, list) and isinstance(scores, list):
            pairs = zip(calls, scores, strict=True)
            found[name] = next((call for call, best in pairs if best is not None and best >= score), None)
    return found


def show_overrides(overrides: Mapping[str, Any]) -> str:
    """Return overrides as they are written on the command line, separated by spaces."""
    return " ".join(f"{key}={write_setting(value)}" for key, value in overrides.items())


def choose_words(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Return the command-line overrides that choose each language model, by the name of the model.

    They become part of the commands that start missing runs. A model of the paper has fixed overrides, such as
    ``llm=gpt5``; any other model has those of one of its runs (`Result.model_words`).
    """
    fixed = {name: tuple(model["words"]) for name, model in PAPERS_MODELS.items()}
    return {result.model: result.model_words for result in results} | fixed


def _with_changes(name: str, changes: Mapping[str, Any]) -> str:
    return f"{name} ({show_overrides(changes)})" if changes else name
