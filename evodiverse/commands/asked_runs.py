"""Runs whose candidates somebody else evaluates: what they are told, and how they go on."""

import csv
import io
import math
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Final

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import TEXT_BYTES, read_text_input
from evodiverse.ports import Measurable, Task
from evodiverse.runlog.record import ASKED
from evodiverse.runner import contracts
from evodiverse.runner.display import choose_display
from evodiverse.runner.evaluators import ASK
from evodiverse.runner.process import say
from evodiverse.runner.rows import journal_record
from evodiverse.settings.assembly import open_sandbox, run
from evodiverse.settings.compose import save_composition
from evodiverse.settings.plan import Plan
from evodiverse.settings.reopen import plan_again
from evodiverse.settings.schema import register
from evodiverse.store.journal import Journal
from evodiverse.store.lock import locked
from evodiverse.store.run_directory import JOURNAL
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

_NAMES: Final = ("key", "genotype", "smiles")
"""The columns that may say which candidate a line is about; the first that is there counts."""


def go_on(path: Path, scores: Path | None = None) -> None:
    """Let a run go on until it asks again or ends.

    Args:
        path: The run directory.
        scores: A CSV file of what somebody measured, None to ask again.

    Raises:
        InputError: The run was not started to ask, or the file cannot be meant; names every line that is wrong.
    """
    given = None if scores is None else _read(scores)
    register()
    plan, composed, hydra_part = plan_again(path)
    if plan.config.evaluator.name != ASK:
        raise InputError(f"{path} does not ask; start it again with evaluator=ask")
    if given is not None:
        _tell(plan, given, _read_asked(plan.path))
    display = choose_display(plan.config.display, str(plan.path))
    run(plan, display, say, lambda folder: save_composition(folder, composed, hydra_part))


def _read_asked(path: Path) -> Mapping[str, str]:
    """Return the genotypes of the candidates that a run asked for last, by their keys."""
    try:
        _, lines = _parse(read_text_input(path / ASKED, TEXT_BYTES, "utf-8"))
        return {line["key"]: line["genotype"] for _, line in lines}
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} asks for nothing; run evodiverse-ask {path}") from error


def _read(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the lines of a table with their numbers.

    Raises:
        InputError: It cannot be read, or lacks a column.
    """
    try:
        columns, lines = _parse(read_text_input(path, TEXT_BYTES, "utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path} ({reason(error)}); check the path") from error
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path} is no table of comma-separated values ({error})") from error
    if "score" not in columns or not any(name in columns for name in _NAMES):
        raise InputError(
            f"{path} must have the columns score and {' or '.join(_NAMES)}, got {', '.join(columns) or '-'}"
        )
    return lines


def _parse(text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the columns of a table, and its lines with their numbers."""
    reader = csv.DictReader(io.StringIO(text))
    columns = list(reader.fieldnames or ())
    lines = [(reader.line_num, {name: line.get(name) or "" for name in columns}) for line in reader]
    return columns, lines


def _tell(plan: Plan, given: list[tuple[int, dict[str, str]]], asked: Mapping[str, str]) -> None:
    """Keep what was measured, for the run to find.

    Raises:
        InputError: A line is about no candidate that was asked for, or its score is none; names them all.
    """
    task = plan.domain.build_task(plan.task, artifact_path, lambda *preload: open_sandbox(plan.config.sandbox, preload))
    if not isinstance(task, Measurable):
        raise InputError(f"the task of {plan.config.task.get('domain')} takes no scores from elsewhere")
    journal = Journal(plan.path / JOURNAL)
    records, violations = [], []
    with locked(plan.path):
        told = {str(record["key"]) for record in journal.read()}
        for number, line in given:
            if not line["score"].strip():
                continue  # not measured yet
            try:
                hypothesis = _find(task, line, asked, told)
                records.append(journal_record(hypothesis, _rate(task, hypothesis, line["score"]), 0.0))
            except InputError as error:
                violations += [f"line {number}: {violation}" for violation in error.violations]
        if violations:
            raise InputError(*violations)
        journal.append(records)
    keys = {record["key"] for record in records}
    again = keys - asked.keys()
    say(f"told {len(keys - again):,} of {len(asked):,} scores{f', and {len(again):,} again' if again else ''}")


def _find(task: Task, line: Mapping[str, str], asked: Mapping[str, str], told: Container[str]) -> Hypothesis:
    """Return the candidate that a line is about, which may be written otherwise than it was asked for.

    Args:
        task: Reads what is written.
        line: Its cells by column.
        asked: The genotypes of the candidates that the run asks for now, by their keys.
        told: The keys of those of the same round that it was told of before, which may be told again.
    """
    name = next(name for name in _NAMES if name in line)
    text = line[name].strip()
    if name == "key" and text in asked:
        return Hypothesis(asked[text], text)
    (parsed,) = contracts.parse(task, [text])
    if isinstance(parsed, Rejection):
        raise InputError(f"{name} {text!r} is no candidate ({parsed})")
    if parsed.key in asked:
        return Hypothesis(asked[parsed.key], parsed.key)
    if parsed.key in told:
        return parsed
    raise InputError(f"{text} was not asked for; {ASKED} has what was")


def _rate(task: Measurable, hypothesis: Hypothesis, text: str) -> Evaluation:
    try:
        score = float(text)
    except ValueError:
        raise InputError(f"score must be a number, nan for a failed measurement, got {text!r}") from None
    if math.isnan(score):
        error = str(Rejection(Reason.NON_FINITE, "the measurement failed"))
        return Evaluation(None, None, valid=False, error=error)
    if math.isinf(score):
        raise InputError(f"score must be finite, or nan for a failed measurement, got {text}")
    return contracts.rate(task, hypothesis, score)
