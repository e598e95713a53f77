"""The page that shows all tables with links to their files."""

import html
from collections.abc import Sequence

from evodiverse.results.tables.formats import WRITERS, to_html
from evodiverse.results.tables.table import Table
from evodiverse.text import count_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } a { color: #0b62a8; }
section { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; border-bottom: 1px solid #dde3ea; white-space: nowrap; }
thead th { border-bottom: 2px solid #8b98a8; white-space: normal; vertical-align: bottom; }
ul { color: #4c5a6b; max-width: 60rem; } .files, .none { color: #6b7787; }
pre { background: #f3f5f8; padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { background: #14191f; color: #dde3ea; } a { color: #6db3f2; } ul, .files, .none { color: #9aa7b5; }
  th, td { border-color: #2a333d; } pre { background: #1d242c; }
}
"""


def to_page(tables: Sequence[Table], facts: Sequence[str]) -> str:
    """Return an HTML page of all tables.

    Args:
        tables: The tables, in the order of the page.
        facts: Sentences about the runs that were read.
    """
    filled = [table for table in tables if table.n_filled]
    empty = [table for table in tables if not table.n_filled]
    groups = [
        ("The paper's tables", [table for table in filled if table.is_of_paper]),
        ("All runs", [table for table in filled if not table.is_of_paper]),
    ]
    body = [f"<ul>{''.join(f'<li>{html.escape(fact)}</li>' for fact in facts)}</ul>"]
    body += [_contents(title, some) for title, some in groups if some]
    body += [_section(table) for _, some in groups for table in some]
    if empty:
        folded = "".join([_contents("Without numbers yet", empty), *map(_section, empty)])
        summary = f"{count_of(len(empty), 'table')} without numbers yet, with the commands to fill in what is missing"
        body.append(f'<details id="empty"><summary>{summary}</summary>{folded}</details>')
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>EvoDiverse: tables</title>'
    lines = ["<!doctype html>", f'<html lang="en"><head>{head}<style>{_STYLE}</style></head>', "<body>"]
    return "\n".join([*lines, "<h1>EvoDiverse: tables</h1>", *body, "</body></html>", ""])


def _contents(title: str, tables: Sequence[Table]) -> str:
    names = [html.escape(table.name) for table in tables]
    rows = "".join(
        f'<tr{"" if table.n_filled else " class=none"}><td><a href="#{name}">{name}</a></td>'
        f"<td>{html.escape(table.title)}</td><td>{table.n_filled} of {count_of(table.n_cells, 'cell')}</td>"
        f"<td>{_links(table)}</td></tr>"
        for table, name in zip(tables, names, strict=True)
    )
    return f"<h2>{title}</h2><table><tbody>{rows}</tbody></table>"


def _section(table: Table) -> str:
    title = f'<h2 id="{html.escape(table.name)}">{html.escape(table.title)}</h2>'
    return f'<section>{title}<p class="files">{html.escape(table.name)}: {_links(table)}</p>{to_html(table)}</section>'


def _links(table: Table) -> str:
    return " ".join(f'<a href="{html.escape(table.name)}.{ending}">{ending}</a>' for ending in WRITERS)
