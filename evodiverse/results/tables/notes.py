"""The notes below a table, most of them about the runs behind it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from evodiverse.results.tables.cells import EMPTY, Cell
from evodiverse.results.tables.layout import Column, Layout, Row
from evodiverse.results.tables.results import Result
from evodiverse.runlog.runs import CAPS
from evodiverse.text import count_of

# The settings in which the runs of a cell may differ without a note.
_IGNORED: Final = {"seed", *CAPS}
# The largest number of problems that are listed by name. For more, only their sources are listed.
_NAMED_PROBLEMS: Final = 8
BUDGET: Final = "budget.oracle_calls"


def note_needs(columns: Sequence[Column], cells: Sequence[Sequence[Cell]], *, has_runs: bool) -> Iterator[str]:
    """Yield a note for each requirement (`Column.needs`) of columns that are empty although the table has runs.

    Args:
        columns: The columns of the table.
        cells: The cells of each row.
        has_runs: Whether there are runs that could have filled the columns.
    """
    needs: dict[str, list[str]] = defaultdict(list)
    for at, column in enumerate(columns):
        if column.needs and has_runs and all(row[at] == EMPTY for row in cells):
            needs[column.needs].append(column.full_title)
    for requirement, titles in needs.items():
        yield f"{' and '.join(dict.fromkeys(titles))}: needs {requirement}."


def note_columns(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the note of each column that has one (`Column.note`), without duplicates."""
    yield from dict.fromkeys(column.note for column in columns if column.note)


def note_problems(used: Sequence[Result]) -> Iterator[str]:
    """Yield a note that lists the problems that the runs try to solve.

    If there are many problems, the note lists only their sources, such as ``srbench``.
    """
    problems = sorted({result.problem for result in used if result.problem})
    if problems:
        sources = sorted({problem.partition("/")[0] for problem in problems})
        about = problems if len(problems) <= _NAMED_PROBLEMS else sources
        yield f"Ours: {count_of(len(problems), 'problem')} ({', '.join(about)})."


def note_ends(used: Sequence[Result]) -> Iterator[str]:
    """Yield a note on how many runs ended before their budget of oracle calls was spent, and why."""
    paths = {result.run.path: result.run.record.get("stopped_by") for result in used}
    ends = Counter(str(why) for why in paths.values() if why not in (None, "budget"))
    if ends:
        counts = ", ".join(f"{count:,} by {why}" for why, count in sorted(ends.items()))
        yield f"Ended before their budget was spent: {counts} (of {count_of(len(paths), 'run')})."


def note_dashes(columns: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield a note with possible reasons for a dash, if a row that has runs also has an empty cell.

    Columns with `Column.needs` do not count.
    """
    certain = [[cell for column, cell in zip(columns, row, strict=True) if not column.needs] for row in cells]
    if any(EMPTY in row and any(cell.n_runs for cell in row) for row in certain):
        yield (
            "A dash in a row that has runs means that there is nothing to measure, such as swaps of a single pool, "
            "errors without held-out data, a score that no run reached, or a t-test of differences that are all the "
            "same."
        )


def note_models(layout: Layout, used: Sequence[Result]) -> Iterator[str]:
    """Yield notes on the models of the runs, with the names that the hosts use for them."""
    if not layout.is_about_models or not used:
        return
    names_by_model: dict[str, set[str]] = defaultdict(set)
    for result in used:
        names_by_model[result.model].add(str(result.run.settings.get("llm.model")))
    models = sorted(names_by_model)
    named = [f"{model} (as {', '.join(sorted(names_by_model[model]))})" for model in models]
    yield f"Ours: {', '.join(named)}."
    if len(models) > 1 and any(column.llm is None for column in layout.columns):
        yield f"Averaged over {' and '.join(models)}."
    if len(layout.llm) > len(models):
        yield f"Of {' and '.join(layout.llm)}, only {', '.join(models)} has runs."


def note_mixtures(behind: Sequence[Sequence[Result]]) -> Iterator[str]:
    """Yield warnings about settings, data and versions that differ between the runs of a table but are not shown in it.

    Args:
        behind: The results behind each row.
    """
    by_model: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for at, own in enumerate(behind):
        for result in own:
            by_model[at, result.model].append(result)
    rows = {key for some in by_model.values() for key in _differing(some, lambda _: True)}
    used = [result for own in behind for result in own]
    by_method: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in used:
        by_method[result.run.task, result.run.method].append(result)
    budgets = _differing_budgets(used)
    # Some keys of a task depend on the method, such as the rate of mutations, so they are compared within a method.
    budgets |= {key for some in by_method.values() for key in _differing(some, lambda key: key.startswith("task."))}
    overridden = {key for result in used for key in result.overrides}
    yield from _warn_of_settings(rows | (budgets - overridden))
    yield from note_sources(used)


def note_budgets(used: Sequence[Result]) -> Iterator[str]:
    """Yield a warning if runs on the same task have different budgets of oracle calls."""
    yield from _warn_of_settings(_differing_budgets(used))


def note_sources(used: Sequence[Result]) -> Iterator[str]:
    """Yield warnings if runs on the same task read different data, or if runs used different versions of EvoDiverse."""
    if data := sorted({role for some in _by_task(used) for role in _differing_data(some)}):
        yield f"Careful: these runs read different data ({', '.join(data)})."
    versions = sorted({version for result in used for version in result.run.versions})
    if len(versions) > 1:
        yield f"Careful: these runs used different versions of EvoDiverse ({', '.join(versions)})."
    codes = {session.get("code") for result in used for session in result.run.record.get("versions", [])}
    if len(versions) == 1 and len(codes) > 1:
        yield f"Careful: these runs used EvoDiverse {versions[0]} with different code (code in their run.json)."


def _warn_of_settings(keys: Collection[str]) -> Iterator[str]:
    if keys:
        yield f"Careful: these runs differ in {', '.join(sorted(keys))}."


def _by_task(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results in groups with the same task."""
    tasks: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        tasks[result.run.task].append(result)
    return [*tasks.values()]


def _differing_budgets(results: Sequence[Result]) -> set[str]:
    """Return the key of the budget of oracle calls if runs on the same task differ in it, else an empty set."""
    return {key for some in _by_task(results) for key in _differing(some, lambda key: key == BUDGET)}


def _differing(results: Sequence[Result], counts: Callable[[str], bool]) -> set[str]:
    """Return the keys of the settings in which runs differ, but only those keys for which ``counts`` returns true.

    The seed, the `CAPS` and the settings that define the problem are ignored.
    """
    first = results[0].run.settings if results else {}
    return {
        key
        for result in results
        for key in first.keys() | result.run.settings.keys()
        if not (key in _IGNORED or key.startswith(result.subject.keys))
        and counts(key)
        and first.get(key) != result.run.settings.get(key)
    }


def _differing_data(results: Sequence[Result]) -> Iterator[str]:
    """Yield the roles of the data and code files that differ between runs on the same problem.

    A role is a key under ``sources`` in ``run.json``, such as ``train``. The roles ``prompts`` and ``model`` are left
    out.
    """
    seen: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for result in results:
        for role, sha256 in result.run.record.get("sources", {}).items():
            if role not in ("prompts", "model"):
                seen[result.problem, role].add(sha256)
    yield from (role for (_, role), digests in seen.items() if len(digests) > 1)


def note_left_out(layout: Layout, results: Sequence[Result], others: Sequence[tuple[Result, str]]) -> Iterator[str]:
    """Yield a note on how many runs of the table's tasks, methods and models are left out, and why.

    Args:
        layout: The table.
        results: All runs with metrics.
        others: All other runs, with the reasons why they do not count.
    """
    about = {(row.task, method) for row in layout.rows for method in _methods(row)}
    reasons = Counter(
        why for result, why in others if layout.admits(result.model) and (result.task, result.run.method) in about
    )
    plain = [replace(row, overrides={}, method=method) for row in layout.rows for method in _methods(row)]
    changed = [
        result
        for result in results
        if layout.admits(result.model)
        and any(replace(result, overrides={}).belongs(row) for row in plain)
        and not any(result.has_method(row, method) for row in layout.rows for method in _methods(row))
    ]
    if changed:
        reasons["with other settings (see the tables of all runs)"] = len(changed)
    if reasons:
        counts = [f"{count_of(count, 'run')} {why}" for why, count in sorted(reasons.items())]
        yield f"Left out: {', '.join(counts)}."


def _methods(row: Row) -> list[str]:
    """Return the methods whose runs a row uses: its own and, in a table of tests, the one it is compared with."""
    return [row.method, *([row.against] if row.against else [])]
