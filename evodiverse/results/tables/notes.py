"""What stands below a table: notes, most of them about its runs, and the commands that start missing runs."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from evodiverse.results.grouping import group_by
from evodiverse.results.tables.cells import EMPTY, Cell
from evodiverse.results.tables.layout import FIT, OFF, Column, Layout
from evodiverse.results.tables.results import LeftOut, Result
from evodiverse.runlog.runs import CAPS
from evodiverse.text import count_of

# The settings in which the runs of a cell may differ without a note.
_IGNORED: Final = {"seed", *CAPS}
_DASHES: Final = (
    "A dash in a row that has runs means that there is nothing to measure, such as swaps of a single pool, errors "
    "without held-out data, a score that no run reached, or a t-test of differences that are all the same."
)
BUDGET: Final = "budget.oracle_calls"
NEED_A_MODEL: Final = frozenset({"pt_same_prompt"})
Absent: TypeAlias = tuple[str | None, str]
"""Missing runs: how they fit equations (None if it does not matter), and their model; ``off`` for none."""


def note_table(
    layout: Layout, columns: Sequence[Column], cells: Sequence[Sequence[Cell]], behind: Sequence[Sequence[Result]]
) -> Iterator[str]:
    """Yield the notes of a layout, and notes on the problems, cells and models of a table and on how its runs differ.

    A table of the paper names the problems of its runs. If there are many problems, it names only their sources, such
    as ``srbench``. Requirements (`Column.needs`) are named if their columns are empty although the table has runs. The
    reasons for a dash are named if a row that has runs has an empty cell in a column without requirements.

    Args:
        layout: The layout of the table.
        columns: The columns of the table.
        cells: The cells of each row.
        behind: The results behind each row.
    """
    used = [result for own in behind for result in own]
    yield from layout.notes
    problems = sorted({result.problem for result in used if result.problem and layout.kind is None})
    if problems:
        sources = sorted({problem.partition("/")[0] for problem in problems})
        about = problems if len(problems) <= 8 else sources
        yield f"Ours: {count_of(len(problems), 'problem')} ({', '.join(about)})."
    yield from dict.fromkeys(column.note for column in columns if column.note)
    empty = [column for at, column in enumerate(columns) if column.needs and all(row[at] == EMPTY for row in cells)]
    for needs, some in group_by(empty if used or layout.is_filled_later else [], lambda column: column.needs).items():
        yield f"{' and '.join(dict.fromkeys(column.full_title for column in some))}: needs {needs}."
    certain = [[cell for column, cell in zip(columns, row, strict=True) if not column.needs] for row in cells]
    if any(EMPTY in row and any(cell.n_runs for cell in row) for row in certain):
        yield _DASHES
    if layout.is_about_models and used:
        yield from _note_models(layout, used)
    yield from note_ends(used)
    yield from note_mixtures(behind)


def _note_models(layout: Layout, used: Sequence[Result]) -> Iterator[str]:
    """Yield notes on the models of the runs, with the names that the hosts use for them."""
    names = {(result.model, str(result.run.settings.get("llm.model"))) for result in used}
    models = group_by(sorted(names), lambda named: named[0])
    named = [f"{model} (as {', '.join(name for _, name in some)})" for model, some in models.items()]
    yield f"Ours: {', '.join(named)}."
    if len(models) > 1 and any(column.llm is None for column in layout.columns):
        yield f"Averaged over {' and '.join(models)}."
    if len(layout.llm) > len(models):
        yield f"Of {' and '.join(layout.llm)}, only {', '.join(models)} has runs."


def note_ends(used: Sequence[Result]) -> Iterator[str]:
    """Yield a note on how many runs ended before their budget of oracle calls was spent, and why."""
    paths = {result.run.path: result.run.record.get("stopped_by") for result in used}
    ends = Counter(str(why) for why in paths.values() if why not in (None, "budget"))
    if ends:
        counts = ", ".join(f"{count:,} by {why}" for why, count in sorted(ends.items()))
        yield f"Ended before their budget was spent: {counts} (of {count_of(len(paths), 'run')})."


def note_mixtures(behind: Sequence[Sequence[Result]]) -> Iterator[str]:
    """Yield warnings about settings, data and versions that differ between the runs of a table but are not shown in it.

    Args:
        behind: The results behind each row.
    """
    used = [result for own in behind for result in own]
    rows = (some for own in behind for some in group_by(own, lambda result: result.model).values())
    # Some keys of a task depend on the method, such as the rate of mutations, so they are compared within a method.
    methods = group_by(used, lambda result: (result.run.task, result.run.method)).values()
    unseen = differing_budgets(used) | _differing(methods, "task.")
    yield from warn_of_settings(_differing(rows) | unseen.difference(*(result.overrides for result in used)))
    yield from note_sources(used)


def note_sources(used: Sequence[Result]) -> Iterator[str]:
    """Yield warnings if runs on the same problem read different data, or if runs used different versions of EvoDiverse.

    Data are compared by their role, which is a key under ``sources`` in ``run.json``, such as ``train``. The roles
    ``prompts`` and ``model`` are left out.
    """
    digests: dict[tuple[str, str | None, str], set[str]] = {}
    for result in used:
        for role, sha256 in result.run.record.get("sources", {}).items():
            digests.setdefault((result.run.task, result.problem, role), set()).add(sha256)
    data = {role for (*_, role), known in digests.items() if len(known) > 1} - {"prompts", "model"}
    if data:
        yield f"Careful: these runs read different data ({', '.join(sorted(data))})."
    versions = sorted({version for result in used for version in result.run.versions})
    if len(versions) > 1:
        yield f"Careful: these runs used different versions of EvoDiverse ({', '.join(versions)})."
    codes = {session.get("code") for result in used for session in result.run.record.get("versions", [])}
    if len(versions) == 1 and len(codes) > 1:
        yield f"Careful: these runs used EvoDiverse {versions[0]} with different code (code in their run.json)."


def warn_of_settings(keys: Collection[str]) -> Iterator[str]:
    """Yield a warning about settings in which runs differ."""
    if keys:
        yield f"Careful: these runs differ in {', '.join(sorted(keys))}."


def differing_budgets(results: Sequence[Result]) -> set[str]:
    """Return the key of the budget of oracle calls if runs on the same task differ in it, else an empty set."""
    return _differing(group_by(results, lambda result: result.run.task).values(), BUDGET)


def _differing(groups: Iterable[Sequence[Result]], start: str = "") -> set[str]:
    """Return the keys of the settings, among those that begin with ``start``, in which runs of the same group differ.

    The seed, the `CAPS` and the settings that define the problem are ignored.
    """
    return {
        key
        for some in groups
        for result in some
        for key in some[0].run.settings.keys() | result.run.settings.keys()
        if key.startswith(start)
        and not (key in _IGNORED or key.startswith(result.problem_keys))
        and some[0].run.settings.get(key) != result.run.settings.get(key)
    }


def note_left_out(layout: Layout, results: Sequence[Result], others: LeftOut) -> Iterator[str]:
    """Yield a note on how many runs of the table's tasks, methods and models are left out, and why.

    Args:
        layout: The table.
        results: All runs with metrics.
        others: All other runs, with the reasons why they do not count.
    """
    rows = [(row, method) for row in layout.rows for method in (row.method, row.against) if method]
    about = {(row.task, method) for row, method in rows}
    reasons = Counter(
        why for each, why in others if layout.admits(each.model) and (each.task, each.run.method) in about
    )
    unlike = [each for each in results if layout.admits(each.model) and not any(each.belongs(*row) for row in rows)]
    changed = sum(
        any(replace(each, overrides=row.overrides).belongs(row, method) for row, method in rows) for each in unlike
    )
    if changed:
        reasons["with other settings (see the tables of all runs)"] = changed
    if reasons:
        counts = [f"{count_of(count, 'run')} {why}" for why, count in sorted(reasons.items())]
        yield f"Left out: {', '.join(counts)}."


def choose_commands(layout: Layout, absent: Iterable[Absent], words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the commands that start missing runs, which are sweeps of an experiment. They skip runs that are complete.

    For each value of ``task.fit``, the setting that chooses how candidates are fitted, there is one sweep per model
    with missing runs. But if runs of all models of the experiment are missing, a single sweep makes them all.

    Args:
        layout: The whole table, which names the experiment whose sweep contains all runs of the table.
        absent: The missing runs.
        words: The overrides that choose each model on the command line, as `choose_words` returns them. A model without
            an entry is chosen by ``llm=`` and its name.
    """
    if layout.experiment is None:
        return
    task = [] if layout.task is None else [f"task={layout.task}"]
    methods = dict.fromkeys(row.method for row in layout.rows)
    classical = [method for method in methods if method not in NEED_A_MODEL]
    for fit, some in group_by(absent, lambda each: each[0]).items():
        models = {model for _, model in some}
        other_fit = [] if fit in (None, layout.fit) else [f"{FIT}={fit}"]
        for model in [None] if models == {*(layout.llm or [OFF])} else sorted(models):
            choice = [] if model is None else words.get(model, [f"llm={model}"])
            chosen = [f"method={','.join(classical)}"] if model == OFF and len(classical) < len(methods) else []
            named = [f"+experiment={layout.experiment}", *task, *choice, *chosen, *other_fit]
            yield shlex.join(["evodiverse", "-m", *named])
