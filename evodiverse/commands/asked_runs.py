"""Read the scores of candidates that are measured by hand, and resume the run that asked for them."""

import math
import os
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, Final

from omegaconf import DictConfig, OmegaConf

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError, describe
from evodiverse.kit.tables import TextFile, find_decimal_mark, read_number
from evodiverse.ports import Measurable, Task
from evodiverse.runlog.parts import check_parts
from evodiverse.runlog.record import ASKED
from evodiverse.runner import contracts
from evodiverse.runner.display import choose_display
from evodiverse.runner.evaluators import ASK
from evodiverse.runner.process import say
from evodiverse.runner.rows import journal_record
from evodiverse.settings.assembly import open_sandbox, run
from evodiverse.settings.compose import COMPOSITION_ERRORS, save_composition
from evodiverse.settings.plan import Plan, plan_run
from evodiverse.settings.schema import Config, register
from evodiverse.store.files import Journal, locked
from evodiverse.store.record import read_record
from evodiverse.store.run_directory import JOURNAL
from evodiverse.text import count_of
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_MOST_NOTES: Final = 5
_NAMES: Final = ("key", "genotype", "smiles")
"""The columns that may identify the candidate of a line; the first of these that the file has is used."""


def resume(path: Path, scores: Path | None = None) -> None:
    """Resume a run until it asks for scores again or ends. If the run is already complete, only report that.

    Args:
        path: The absolute path of the run directory.
        scores: A CSV file with measured scores, or None to ask for the same scores again.

    Raises:
        InputError: The run was not started with ``evaluator=ask``, or scores are given although the run is complete, or
            the file of scores is invalid; the message lists every invalid line. Or parts of the log of a complete run
            are damaged.
    """
    register()
    plan, composed, hydra_part = _plan_again(path)
    if plan.config.evaluator.name != ASK:
        raise InputError(f"{path} was not started with evaluator=ask; start another run with evaluator=ask")
    record = read_record(path)
    if record is not None and record["status"] == "complete":
        check_parts(path)
        complete = f"{path} is complete (stopped by {record.get('stopped_by')}); there is nothing to measure"
        if scores is not None:
            raise InputError(complete)
        say(complete)
        return
    if scores is not None:
        _tell(plan, scores, _read_asked(plan.path))
    display = choose_display(plan.config.display, str(plan.path))
    run(plan, display, say, lambda folder: save_composition(folder, composed, hydra_part))


def _plan_again(path: Path) -> tuple[Plan, DictConfig, Any]:
    """Return the plan of an existing run, its composed configuration, and Hydra's own part of it, to resume the run.

    Changes the current directory to the folder that the run was started from, if that still exists, since paths in the
    configuration may be relative to it.

    Args:
        path: The absolute path of the run directory.

    Raises:
        InputError: The directory holds no started run, or its configuration is damaged or no longer valid.
    """
    try:
        composed, hydra = (OmegaConf.load(path / ".hydra" / f"{name}.yaml") for name in ("config", "hydra"))
        config: Any = OmegaConf.merge(OmegaConf.structured(Config), composed)
        hydra_part = OmegaConf.select(hydra, "hydra")
        started_from = Path(str(hydra_part.runtime.cwd))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not a run directory; check the path") from error
    except (OSError, *COMPOSITION_ERRORS, AttributeError) as error:
        raise InputError(f"{path / '.hydra'} cannot be read ({describe(error)}); start the run again") from error
    if started_from.is_dir():
        os.chdir(started_from)
    for source in hydra_part.runtime.config_sources:
        if source.provider == "command-line" and not Path(str(source.path)).is_dir():
            raise InputError(f"{path} was started with --config-dir {source.path}, which is gone; restore that folder")
    return replace(plan_run(config, hydra_part), path=path), config, hydra_part


def _read_asked(path: Path) -> Mapping[str, str]:
    """Return the genotypes of the candidates whose scores a run is waiting for, by the keys of the candidates."""
    try:
        return {key: genotype for _, (key, genotype, *_) in TextFile(path / ASKED).table().rows}
    except (InputError, ValueError) as error:
        raise InputError(f"{path} is not waiting for scores; run evodiverse-ask {quote(str(path))}") from error


def _read(path: Path) -> tuple[str, str, list[tuple[int, str, str]]]:
    """Return a table of scores: the column that identifies the candidates, the scores' decimal mark, and the lines.

    A line is its number, its cell in that column, and its score. Lines without a score are left out.

    Raises:
        InputError: The file cannot be read, or a column is missing.
    """
    table = TextFile(path).table()
    try:
        score, *places = map(table.find_column, ("score", *_NAMES))
    except ValueError as error:
        raise InputError(f"{path} {error}") from error
    place = next((place for place in places if place is not None), None)
    if score is None or place is None:
        raise InputError(
            f"{path} must have the columns score and {' or '.join(_NAMES)}, got {', '.join(table.names) or '-'}"
        )
    rows = [(number, [*cells, *[""] * len(table.names)]) for number, cells in table.rows]
    mark = find_decimal_mark([cells[score] for _, cells in rows], table.delimiter)
    lines = [(number, cells[place].strip(), cells[score].strip()) for number, cells in rows]
    return _NAMES[places.index(place)], mark, [line for line in lines if line[2]]


def _tell(plan: Plan, scores: Path, asked: Mapping[str, str]) -> None:
    """Add the scores to the journal, where the run finds them. Lines with an empty score are skipped.

    Raises:
        InputError: The file cannot be read, the task does not accept scores, or some lines are invalid; the message
            lists all of these. A line is invalid if it names no candidate whose score the run asked for, or if it has
            no valid score.
    """
    name, mark, lines = _read(scores)
    task = plan.domain.build_task(plan.task, artifact_path, partial(open_sandbox, plan.config.sandbox))
    if not isinstance(task, Measurable):
        raise InputError(f"the task of {plan.config.task.get('domain')} does not accept measured scores")
    journal = Journal(plan.path / JOURNAL)
    records, violations, replaced = [], [], []
    with locked(plan.path):
        known = {str(record["key"]): record["score"] for record in journal.read()}
        for number, text, score in lines:
            try:
                hypothesis = _find(task, name, text, asked, known)
                evaluation = _rate(task, hypothesis, score, mark)
                records.append(journal_record(hypothesis, evaluation, 0.0))
                before = known.get(hypothesis.key, evaluation.score)
                if before != evaluation.score:
                    replaced.append(f"{hypothesis.genotype}: {evaluation.score} replaces {before}")
                known[hypothesis.key] = evaluation.score
            except InputError as error:
                violations += [f"line {number}: {violation}" for violation in error.violations]
        if violations:
            raise InputError(*violations)
        journal.append(records)
    keys = {record["key"] for record in records}
    again = keys - asked.keys()
    updated = f", and updated {len(again):,}" if again else ""
    for line in replaced[:_MOST_NOTES]:
        say(line)
    if len(replaced) > _MOST_NOTES:
        say(f"and {count_of(len(replaced) - _MOST_NOTES, 'other')} had another score before")
    say(f"received {len(keys - again):,} of {count_of(len(asked), 'score')}{updated}")


def _find(task: Task, name: str, text: str, asked: Mapping[str, str], known: Container[str]) -> Hypothesis:
    """Return the candidate that a line is about, even if the line writes it differently than the run did.

    Args:
        task: The task, which parses genotypes.
        name: The column that identifies the candidate, one of `_NAMES`.
        text: The cell of the line in this column.
        asked: The genotypes of the candidates that the run is waiting for, by their keys.
        known: The keys of the candidates whose scores are in the journal. A line may name one of them again, to replace
            its score.

    Raises:
        InputError: The line names no candidate, or one whose score the run did not ask for.
    """
    if name == "key" and text in asked:
        return Hypothesis(asked[text], text)
    (parsed,) = contracts.parse(task, [text])
    if isinstance(parsed, Rejection):
        raise InputError(f"{name} {text!r} is not a candidate ({parsed})")
    if parsed.key in asked:
        return Hypothesis(asked[parsed.key], parsed.key)
    if parsed.key in known:
        return parsed
    raise InputError(f"{text} was not asked for; {ASKED} lists the candidates")


def _rate(task: Measurable, hypothesis: Hypothesis, text: str, decimal_mark: str) -> Evaluation:
    try:
        score = read_number(text, decimal_mark)
    except ValueError as error:
        raise InputError(f"score {error}; write nan for a failed measurement") from None
    if math.isnan(score):
        return Evaluation(None, None, valid=False, error=str(Rejection(Reason.NON_FINITE, "the measurement failed")))
    if math.isinf(score):
        raise InputError(f"score must be finite, or nan for a failed measurement, got {text}")
    return contracts.rate(task, hypothesis, score)
