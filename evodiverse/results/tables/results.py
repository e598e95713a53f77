"""Runs with their metrics, and with the attributes by which tables choose runs.

Runs of the same model fill the same rows of a table, no matter which hosts served the model.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from evodiverse.errors import InputError
from evodiverse.kit.files import read_shipped
from evodiverse.kit.hints import nearest_key
from evodiverse.ports import BEST_SCORE, Headline
from evodiverse.results.domains import find_metrics
from evodiverse.results.grouping import to_number
from evodiverse.results.tables.layout import OFF, Row
from evodiverse.runlog.log import Measurement
from evodiverse.runlog.runs import Run, write_setting

# The settings that define the score of a task. A run that changes one of them is a run of another task.
_ORACLE: Final = ("task.oracle.", "task.evaluator")
_PROPOSALS: Final = "budget.llm_calls"
CALLS_TO: Final = "calls_to_"
_POOLS: Final = ("cold", "hot")
# The settings that choose the model and its host. They do not change how the model samples.
_IDENTITY: Final = ("llm.model", "llm.provider", "llm.client", *(f"llm.pools.{pool}.model" for pool in _POOLS))

PAPERS_MODELS: Final[Mapping[str, Any]] = read_shipped(Path(__file__).with_name("models.yaml"))
"""The models of the paper.

Each has a ``pattern`` for the names that hosts give the model, in lower case and without the host, and ``words``, the
overrides that choose it on the command line. It may not accept a temperature and top-p (``takes_sampling``). Then it
must be asked without them, and with more tokens for its reasoning, so a run with such settings still counts as one with
the paper's settings.
"""


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


LeftOut: TypeAlias = Sequence[tuple[Result, str]]
"""Runs that do not count, with the reasons."""


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
    known = {BEST_SCORE.metric: run.record.get("totals", {}).get(BEST_SCORE.metric), **measured}
    task, named = _with_changes(run.task, oracle), _with_changes(model, find_changes(run, overrides, model))
    problem, group, fit, keys = subject.problem, subject.group, subject.fit, subject.keys
    rest = {key: value for key, value in overrides.items() if not key.startswith(("llm.", *_ORACLE, *keys))}
    headlines = getattr(metrics, "headlines", (BEST_SCORE,))
    return Result(run, known, metrics.kind, task, named, problem, group, fit, keys, rest, headlines)


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


def identify_model(run: Run) -> str:
    """Return the model of a run.

    For a run without a model, this is ``off``. For a model of the paper, it is the paper's name for the model. For any
    other model, it is the provider's name for the model, without the provider prefix. If the run had several models,
    the result names all of them.
    """
    settings = run.settings
    if settings.get("llm.client", "none" if run.llm == OFF else "litellm") == "none":
        return OFF
    named = []
    for pool in _POOLS:
        one = settings.get(f"llm.pools.{pool}.model") or settings.get("llm.model") or run.llm
        mixture = settings.get(f"llm.pools.{pool}.models")
        named += [one] if mixture is None else [model["model"] for model in mixture]
    return " and ".join(dict.fromkeys(_identify(str(name)) for name in named))


def find_changes(run: Run, overrides: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the settings of a run that change how its model is queried.

    These are the settings that differ from those of the chosen option of ``llm``, except those that choose the model
    and its host. For a model of the paper, three kinds of settings are added, no matter whether an option of ``llm`` or
    the user has set them: sampling parameters that differ from those of the task (or all that are set, if the model
    accepts none), a fallback for offspring, and extra parameters, except the one that disables reasoning. If this model
    accepts no temperature, the settings that this makes necessary are left out: a temperature or top-p of None, and any
    ``max_tokens``.

    Args:
        run: The run that queried the model.
        overrides: The settings of the run that differ from the defaults of its task, method and llm.
        model: The result of `identify_model` for the run.
    """
    changes = {key: value for key, value in overrides.items() if key.startswith("llm.") and key not in _IDENTITY}
    if model not in PAPERS_MODELS:
        return changes
    papers = PAPERS_MODELS[model]
    changes |= {key: value for key, value in run.settings.items() if _is_change(key, value, run.settings, papers)}
    nulls = [key for key, value in changes.items() if value is None and key.endswith((".temperature", ".top_p"))]
    needed = [] if papers["takes_sampling"] else [*nulls, *(key for key in changes if key.endswith(".max_tokens"))]
    return {key: value for key, value in changes.items() if key not in needed}


def _is_change(key: str, value: Any, settings: Mapping[str, Any], papers: Mapping[str, Any]) -> bool:
    """Return whether a setting of a run with one of the paper's models changes how the model is queried.

    There are three such cases:

    - The setting is a sampling parameter whose value differs from the one that the task defines. If the model accepts
      no sampling parameters, any value but None counts.
    - It names a fallback, which makes an offspring if the model's replies give none.
    - It is an extra parameter other than the one that disables reasoning.
    """
    if key.startswith("llm.extra."):
        return (key, value) != ("llm.extra.thinking.type", "disabled")
    if key == "llm.fallback":
        return bool(value != "none")
    parts = key.split(".")
    if parts[:2] != ["llm", "pools"] or parts[-1] not in ("temperature", "top_p", "max_tokens"):
        return False
    wanted = settings.get(f"task.defaults.decoding.{parts[2]}.{parts[-1]}") if papers["takes_sampling"] else None
    return bool(value != wanted)


def _identify(name: str) -> str:
    own = name.rstrip("/").rpartition("/")[2] or name
    matches = (re.fullmatch(papers["pattern"], own.lower(), re.VERBOSE) for papers in PAPERS_MODELS.values())
    known = next((model for model, match in zip(PAPERS_MODELS, matches, strict=True) if match), own)
    return f"a model named {OFF}" if known == OFF else known
