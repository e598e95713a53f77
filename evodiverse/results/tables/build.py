"""Fill tables: choose the runs for each cell, write the notes, and find the commands for missing runs."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from evodiverse.results.domains import find_domain, table_files
from evodiverse.results.tables.benchmark import benchmark_table
from evodiverse.results.tables.cells import DASH, EMPTY, Cell, make_cell, make_test_cell, pair_up
from evodiverse.results.tables.commands import Absent, experiment_commands, fill_commands
from evodiverse.results.tables.layout import FIT, Column, Layout, Row, found_layouts, paper_layouts
from evodiverse.results.tables.models import OFF
from evodiverse.results.tables.notes import (
    note_columns,
    note_dashes,
    note_ends,
    note_left_out,
    note_mixtures,
    note_models,
    note_needs,
    note_problems,
)
from evodiverse.results.tables.results import Result, choose_words, show_overrides
from evodiverse.results.tables.table import RUNS, Line, Table
from evodiverse.text import count_of

NEED_A_MODEL: Final = frozenset({"pt_same_prompt"})
# A variant of a metric is shown next to the metric itself only if the two differ by more than this in some row.
_UNLIKE: Final = 0.01
_ANY_KIND: Final = "search"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.=-]+")


def build_tables(
    results: Sequence[Result],
    left_out: Sequence[tuple[Result, str]],
    task: str | None = None,
    llm: str | None = None,
    own: Collection[str] = (),
    papers: Sequence[Layout] | None = None,
) -> list[Table]:
    """Return all tables: the paper's, copies of them for other models, and our own.

    Args:
        results: The complete runs with their metrics.
        left_out: All other runs, with the reasons why they do not count.
        task: The only task whose rows and runs count; None for all tasks.
        llm: The only language model whose runs and tables count; None for all models.
        own: The packages of the user's own domains.
        papers: The layouts of the paper's tables; None to read them from their files.
    """
    chosen = [result for result in results if _is_chosen(result, task, llm)]
    others = [(result, why) for result, why in left_out if _is_chosen(result, task, llm)]
    tables: list[Table] = []
    for layout in paper_layouts() if papers is None else papers:
        about = layout.for_task(task)
        if about.rows:
            tables += _paper_tables(about, chosen, others, llm)
    domains = [find_domain(name, frozenset(own)) for name in sorted({result.run.domain for result in chosen})]
    files = table_files(domain for domain in domains if domain is not None)
    tables += [table for layout in found_layouts(*files) if (table := _found_table(layout, chosen)).lines]
    return tables


def _is_chosen(result: Result, task: str | None, llm: str | None) -> bool:
    return task in (None, result.run.task) and llm in (None, result.model)


def _paper_tables(
    layout: Layout, results: Sequence[Result], others: Sequence[tuple[Result, str]], llm: str | None
) -> Iterator[Table]:
    """Yield a table of the paper, and a copy of it for each model of the runs that is not one of the table's models.

    If ``llm`` is given, the table is left out unless it uses runs of ``llm``, and only its part about ``llm`` is
    yielded. A copy is left out if none of its cells is filled. There are no copies of a table that is not about
    language models.
    """
    if llm is None or layout.admits(llm):
        own = layout if llm is None else _narrow(layout, llm)
        yield _paper_table(_split_by_fit(own, results, *([own.fit] if own.fit else [])), results, others)
    if layout.is_about_models:
        found = {result.model for result in results if any(result.belongs(row) for row in layout.rows)}
        layouts = [_split_by_fit(_for_model(layout, model), results) for model in sorted(found - set(layout.llm))]
        tables = [_paper_table(other, results, others) for other in layouts]
        yield from (table for table in tables if table.n_filled)


def _split_by_fit(layout: Layout, results: Sequence[Result], *fits: str) -> Layout:
    """Return a layout with each row repeated for each way of fitting equations (``task.fit``).

    A layout without `Layout.fit` is returned unchanged. There are rows for the ways in ``fits`` and for those that have
    runs. The paper's numbers stay only in the rows of the way of fitting that the paper used.
    """
    if layout.fit is None:
        return layout
    found = {
        result.fit
        for result in results
        if result.fit and layout.admits(result.model) and any(result.belongs(row) for row in layout.rows)
    }
    rows = [
        replace(
            row,
            of=(*row.of, fit),
            fit=fit,
            paper=row.paper if fit == layout.fit else (DASH,) * len(row.paper),
        )
        for row in layout.rows
        for fit in [*fits, *sorted(found - set(fits))]
    ]
    note = f"Fit: how the parameters of an equation are fitted ({FIT}); the released code uses {layout.fit}."
    return replace(layout, head=(*layout.head, "Fit"), rows=tuple(rows), notes=(*layout.notes, note))


def _narrow(layout: Layout, llm: str) -> Layout:
    """Return the part of a layout that is about one of its models."""
    if len(layout.llm) < 2:
        return layout
    notes = layout.notes
    if all(column.llm is None for column in layout.columns):
        notes = (*notes, f"The paper's values are means over {' and '.join(layout.llm)}.")
    reported = [column for column in layout.columns if not column.extra]
    kept = [at for at, column in enumerate(reported) if column.llm in (None, llm)]
    columns = tuple(column for column in layout.columns if column.llm in (None, llm))
    rows = tuple(replace(row, paper=tuple(row.paper[at] for at in kept)) for row in layout.rows)
    return replace(layout, llm=(llm,), columns=columns, rows=rows, notes=notes)


def _for_model(layout: Layout, model: str) -> Layout:
    """Return a copy of a layout for another model, without the paper's values."""
    columns: dict[tuple[str, str | None], Column] = {}
    for column in layout.columns:
        group = column.group if column.llm is None else None
        columns.setdefault((column.title, group), replace(column, llm=None, group=group))
    instead = "without a model (llm=off)" if model == OFF else f"with {model}"
    return replace(
        layout,
        name=f"{layout.name}_{_UNSAFE.sub('_', model).strip('_')}",
        title=f"{layout.title}: the same rows {instead}",
        llm=(model,),
        columns=tuple(columns.values()),
        rows=tuple(replace(row, paper=()) for row in layout.rows),
        notes=(*layout.notes, f"The paper's values are in the table {layout.name}."),
        label=f"{layout.label}-{_UNSAFE.sub('-', model).strip('-')}",
    )


def _paper_table(layout: Layout, results: Sequence[Result], others: Sequence[tuple[Result, str]]) -> Table:
    mine = [result for result in results if layout.admits(result.model)]
    by_row = [[result for result in mine if result.belongs(row)] for row in layout.rows]
    by_row, uncommon = _keep_common(layout, by_row)
    columns = _shown_columns(layout, mine)
    lines, behind = [], []
    absent: list[Absent] = []
    for row, own in zip(layout.rows, by_row, strict=True):
        rivals = [result for result in mine if row.against and result.has_method(row, row.against)]
        filled = tuple(_fill(column, row, own, rivals) for column in columns)
        lines.append(Line(row.of, filled, _beside(columns, row)))
        behind += [own, rivals]
        absent += _find_absent(layout, row, own, rivals)
    used = [result for some in behind for result in some]
    columns, lines = _drop_twins(columns, lines)
    cells = [line.cells for line in lines]
    return Table(
        layout.name,
        layout.title,
        layout.head,
        columns,
        tuple(lines),
        (
            *layout.notes,
            *note_problems(used),
            *note_columns(columns),
            *note_needs(columns, cells, has_runs=bool(used) or layout.is_filled_later),
            *note_dashes(columns, cells),
            *note_models(layout, used),
            *note_ends(used),
            *note_mixtures(behind),
            *(
                [f"Left out: {uncommon}, so that all methods are compared on the same problems and models."]
                if uncommon
                else []
            ),
            *note_left_out(layout, results, others),
        ),
        tuple(_choose_commands(layout, absent, choose_words(mine))),
        layout.label,
        is_of_paper=True,
    )


def _choose_commands(layout: Layout, absent: Sequence[Absent], words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the commands that start missing runs.

    The layout may name an experiment, a file in ``conf/experiment/`` whose sweep contains all runs of the table. The
    commands are then sweeps of this experiment. Otherwise, they are the sweeps that `fill_commands` yields.

    Args:
        layout: The layout of the table.
        absent: The missing runs.
        words: The overrides that choose each model on the command line, as `choose_words` returns them.
    """
    if layout.experiment is None:
        return fill_commands(absent, words)
    methods = dict.fromkeys(row.method for row in layout.rows)
    classical = [method for method in methods if method not in NEED_A_MODEL]
    return experiment_commands(layout.experiment, absent, words, classical if len(classical) < len(methods) else None)


def _shown_columns(layout: Layout, results: Sequence[Result]) -> tuple[Column, ...]:
    """Return the columns of a layout, except the extra columns for metrics that no run has."""
    measured = {metric for result in results for metric in result.metrics}
    return tuple(column for column in layout.columns if not column.extra or column.metric in measured)


def _drop_twins(columns: Sequence[Column], lines: Sequence[Line]) -> tuple[tuple[Column, ...], list[Line]]:
    """Remove each column that shows a variant of another column's metric and agrees with that column in every row.

    `Column.unlike` names the metric of the other column. Two values agree if one of them is missing or if they differ
    by at most `_UNLIKE`.

    Returns:
        The remaining columns, and the lines with the cells of these columns only.
    """
    places = {column.metric: at for at, column in enumerate(columns)}
    kept = [
        at
        for at, column in enumerate(columns)
        if column.unlike is None or any(_differ(line.cells[at], line.cells[places[column.unlike]]) for line in lines)
    ]
    return tuple(columns[at] for at in kept), [
        Line(line.of, tuple(line.cells[at] for at in kept), tuple(line.paper[at] for at in kept)) for line in lines
    ]


def _differ(one: Cell, other: Cell) -> bool:
    return one.mean is not None and other.mean is not None and abs(one.mean - other.mean) > _UNLIKE


def _fill(column: Column, row: Row, own: Sequence[Result], rivals: Sequence[Result]) -> Cell:
    own, rivals = ([result for result in some if column.llm in (None, result.model)] for some in (own, rivals))
    if column.test is None:
        return make_cell(column, own)
    return make_test_cell(column, pair_up(own, rivals)) if row.against else EMPTY


def _beside(columns: Sequence[Column], row: Row) -> tuple[str | None, ...]:
    """Return the value that the paper reports for each column of a row; None for a column without a reported value."""
    reported = iter(row.paper)
    return tuple(None if column.extra else next(reported, None) for column in columns)


def _keep_common(layout: Layout, by_row: Sequence[Sequence[Result]]) -> tuple[list[list[Result]], str]:
    """Return the results for those problems and models for which all methods have results, by row.

    Only rows about a science, which is a group of problems, are affected. Methods without results are ignored.

    - For each science, a table that averages over models keeps a model only if all methods have results with it. It
      keeps a problem only if all methods have results for this problem with each of the models that are kept.
    - Any other table keeps, for each model separately, the problems for which all methods have results.

    Returns:
        The results that are kept, by row, and a phrase that says which results were dropped. The phrase is empty if
        none were dropped.
    """
    averages = all(column.llm is None for column in layout.columns)
    kept = [list(own) for own in by_row]
    if averages and len(layout.llm) > 1:
        kept = _keep_shared(layout.rows, kept, lambda _: "", lambda _: "", lambda result: result.model)
    split = (lambda _: "") if averages else (lambda result: result.model)
    kept = _keep_shared(layout.rows, kept, split, lambda result: result.model, lambda result: str(result.problem))
    remaining = {result.run.path for own in kept for result in own}
    dropped = {result.run.path: result for own in by_row for result in own if result.run.path not in remaining}
    about = sorted({f"{result.problem} with {result.model}" for result in dropped.values()})
    return kept, f"{count_of(len(dropped), 'run')} of {', '.join(about)}" if dropped else ""


def _keep_shared(
    rows: Sequence[Row],
    by_row: Sequence[Sequence[Result]],
    split: Callable[[Result], str],
    within: Callable[[Result], str],
    shared: Callable[[Result], str],
) -> list[list[Result]]:
    """Return, for each row, the results whose value of ``shared`` occurs in every comparable row.

    Rows are comparable if they have the same science, which is a group of problems, and the same way of fitting. Rows
    without results are ignored. A row without a science keeps all its results. The three functions are called with each
    result.

    Args:
        rows: The rows of the table.
        by_row: The results of each row.
        split: A function that returns the name of the part of the table to which a result belongs. Rows are compared
            within each part separately. Either there is one part per model, or all results belong to one part.
        within: A function that returns the subgroup of its row to which a result belongs, such as its model. A value
            of ``shared`` must occur in every subgroup of every comparable row.
        shared: A function that returns the value that must occur everywhere, such as the model or the problem.
    """
    sets: dict[tuple[str, str | None, str], dict[tuple[int, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    for at, (row, own) in enumerate(zip(rows, by_row, strict=True)):
        for result in own:
            sets[row.science or "", row.fit, split(result)][at, within(result)].add(shared(result))
    common = {place: set.intersection(*each.values()) for place, each in sets.items()}
    return [
        [result for result in own if not row.science or shared(result) in common[row.science, row.fit, split(result)]]
        for row, own in zip(rows, by_row, strict=True)
    ]


def _find_absent(layout: Layout, row: Row, own: Sequence[Result], rivals: Sequence[Result]) -> Iterator[Absent]:
    """Yield each pair of method and model for which a row has no runs.

    Yield nothing if the table needs data that are added after the runs, since new runs alone would not fill it.

    The model ``off`` stands for no model. It is not paired with a method that needs a model.
    """
    if layout.is_filled_later:
        return
    sides = [(row.method, own)] + ([(row.against, rivals)] if row.against else [])
    for method, found in sides:
        for model in layout.llm or [OFF]:
            has_any = any(result.model == model or not layout.llm for result in found)
            if not has_any and not (model == OFF and method in NEED_A_MODEL):
                chosen = {**row.overrides, **({FIT: row.fit} if row.fit else {})}
                yield Absent(row.task, method, model, row.science, tuple(chosen.items()), row.domain)


def _found_table(layout: Layout, results: Sequence[Result]) -> Table:
    if layout.benchmark is not None:
        return benchmark_table(layout, layout.benchmark, results)
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if layout.kind in (_ANY_KIND, result.kind):
            groups[_group(result, with_fit=layout.has_problems)].append(result)
    mine = [result for some in groups.values() for result in some]
    columns = _shown_columns(layout, mine)
    lines = []
    for of, some in sorted(groups.items()):
        n_problems = [str(len({result.problem for result in some}))] if layout.has_problems else []
        cells = tuple(make_cell(column, some) for column in columns)
        lines.append(Line((*of, *n_problems, str(len(some))), cells, (None,) * len(columns)))
    columns, lines = _drop_twins(columns, lines)
    head = (*layout.head, *(["problems"] if layout.has_problems else []), RUNS)
    notes = (
        *layout.notes,
        *note_columns(columns),
        *note_dashes(columns, [line.cells for line in lines]),
        *note_ends(mine),
        *note_mixtures(list(groups.values())),
    )
    return Table(layout.name, layout.title, head, columns, tuple(lines), notes, (), layout.name, is_of_paper=False)


def _group(result: Result, *, with_fit: bool) -> tuple[str, ...]:
    about = result.science or result.problem or result.task
    fit = {FIT: result.fit} if FIT in (result.run.overrides or {}) and not with_fit else {}
    overrides = show_overrides({**result.overrides, **fit}) or "default"
    return about, result.run.method, result.model, *([str(result.fit)] if with_fit else []), overrides
