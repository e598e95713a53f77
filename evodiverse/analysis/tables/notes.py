"""What a reader of a table must know of the runs behind it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from evodiverse.analysis.tables.cells import EMPTY, Cell
from evodiverse.analysis.tables.layout import Column, Layout, Row
from evodiverse.analysis.tables.results import Result
from evodiverse.runlog.runs import CAPS

# In what runs of one cell may differ without a word.
_IGNORED: Final = {"seed", *CAPS}
# So many problems are named; of more, only where they come from.
_NAMED_PROBLEMS: Final = 8


def note_needs(columns: Sequence[Column], cells: Sequence[Sequence[Cell]], *, has_runs: bool) -> Iterator[str]:
    """Yield what runs lack that are there, but have no value."""
    needs: dict[str, list[str]] = defaultdict(list)
    for at, column in enumerate(columns):
        if column.needs and has_runs and all(row[at] == EMPTY for row in cells):
            needs[column.needs].append(column.full_title)
    for what, titles in needs.items():
        yield f"{' and '.join(dict.fromkeys(titles))}: needs {what}."


def note_columns(columns: Sequence[Column]) -> Iterator[str]:
    """Yield what a reader must know of single columns."""
    yield from dict.fromkeys(column.note for column in columns if column.note)


def note_problems(used: Sequence[Result]) -> Iterator[str]:
    """Yield which problems of equations the runs are of."""
    problems = sorted({result.problem for result in used if result.problem})
    if problems:
        sources = sorted({problem.partition("/")[0] for problem in problems})
        about = problems if len(problems) <= _NAMED_PROBLEMS else sources
        yield f"Ours: {count_of(len(problems), 'problem')} ({', '.join(about)})."


def note_ends(used: Sequence[Result]) -> Iterator[str]:
    """Yield how many runs ended before their budget of oracle calls was spent, and why."""
    paths = {result.run.path: result.run.record.get("stopped_by") for result in used}
    ends = Counter(str(why) for why in paths.values() if why not in (None, "budget"))
    if ends:
        counts = ", ".join(f"{count:,} by {why}" for why, count in sorted(ends.items()))
        yield f"Ended before their budget: {counts} (of {count_of(len(paths), 'run')})."


def note_dashes(columns: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield why there may be nothing in a cell although there are runs for its row."""
    certain = [[cell for column, cell in zip(columns, row, strict=True) if not column.needs] for row in cells]
    if any(EMPTY in row and any(cell.n_runs for cell in row) for row in certain):
        yield (
            "A dash in a row that has runs: there is nothing to measure, such as swaps of a single pool, errors "
            "without held-out data, a score that none reached, or a t-test of differences that are all the same."
        )


def note_models(layout: Layout, used: Sequence[Result]) -> Iterator[str]:
    """Yield which models the runs had, and by what names they were asked for."""
    if not layout.is_about_models or not used:
        return
    asked: dict[str, set[str]] = defaultdict(set)
    for result in used:
        asked[result.model].add(str(result.run.settings.get("llm.model")))
    models = [f"{model} (as {', '.join(sorted(names))})" for model, names in sorted(asked.items())]
    yield f"Ours: {', '.join(models)}."
    if len(asked) > 1 and any(column.llm is None for column in layout.columns):
        yield f"Averaged over {' and '.join(sorted(asked))}."
    if len(layout.llm) > len(asked):
        yield f"Only {', '.join(sorted(asked))} of {' and '.join(layout.llm)} stands here."


def note_mixtures(behind: Sequence[Sequence[Result]]) -> Iterator[str]:
    """Yield in what the runs differ that stand behind one row, or in one table, beside what the table is about."""
    by_model: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for at, own in enumerate(behind):
        for result in own:
            by_model[at, result.model].append(result)
    rows = {key for some in by_model.values() for key in _differing(some, lambda _: True)}
    tasks: dict[str, list[Result]] = defaultdict(list)
    by_method: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for own in behind:
        for result in own:
            tasks[result.run.task].append(result)
            by_method[result.run.task, result.run.method].append(result)
    budgets = {key for some in tasks.values() for key in _differing(some, lambda key: key == "budget.oracle_calls")}
    # Some keys of a task have another value with one method than with another, such as the rate of mutations.
    budgets |= {key for some in by_method.values() for key in _differing(some, lambda key: key.startswith("task."))}
    overridden = {key for own in behind for result in own for key in result.overrides}
    if rows | (budgets - overridden):
        yield f"Careful: these runs differ in {', '.join(sorted(rows | (budgets - overridden)))}."
    if data := sorted({role for some in tasks.values() for role in _differing_data(some)}):
        yield f"Careful: these runs read different data ({', '.join(data)})."
    versions = sorted({version for own in behind for result in own for version in result.run.versions})
    if len(versions) > 1:
        yield f"Careful: these runs were made by evodiverse {' and '.join(versions)}."


def _differing(results: Sequence[Result], counts: Callable[[str], bool]) -> set[str]:
    """Return the keys of settings in which runs differ, of those that count."""
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
    """Yield the roles of files that are not the same in all runs of a problem; prompts and models are no data."""
    seen: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for result in results:
        for role, sha256 in result.run.record.get("sources", {}).items():
            if role not in ("prompts", "model"):
                seen[result.problem, role].add(sha256)
    yield from (role for (_, role), digests in seen.items() if len(digests) > 1)


def note_left_out(layout: Layout, results: Sequence[Result], others: Sequence[tuple[Result, str]]) -> Iterator[str]:
    """Yield how many runs of these tasks, methods and models do not count, and why."""
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
        reasons["with other settings, see the tables of all runs"] = len(changed)
    if reasons:
        counts = [f"{count_of(count, 'run')} {why}" for why, count in sorted(reasons.items())]
        yield f"Left out: {', '.join(counts)}."


def _methods(row: Row) -> list[str]:
    """Return the methods that a row is about."""
    return [row.method, *([row.against] if row.against else [])]


def count_of(n: int, what: str) -> str:
    """Return a number with a noun."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
