"""Hooks for the build of the documentation site with MkDocs.

- Links that leave ``docs/`` are redirected to a page of the site if there is one, otherwise to the repository. Their
  targets must exist.
- Formulas between dollar signs become MathML, so readers need neither scripts nor the network.
- The build fails if the site would fetch anything from elsewhere.
"""

import html
import logging
import os
import re
from functools import partial
from pathlib import Path, PurePosixPath

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/evodiverse/evodiverse"
# Files outside docs/ that become pages of the site.
PAGES = {"CHANGELOG.md": "changelog.md", "benchmarks/README.md": "benchmarks.md"}
# Pages without a table of contents, to make room for wide tables.
WIDE_PAGES = {"configuration.md", "columns.md"}
SITE_SUFFIXES = {".md", ".png", ".svg", ".gif", ".jpg"}

CODE = re.compile(r"^ {0,3}(```+|~~~+)(?s:.*?)^ {0,3}\1`*[ \t]*$|(`+)[^`](?s:.*?)(?<!`)\2(?!`)|^ {4,}.*$", re.MULTILINE)
LINK = re.compile(r"(?P<before>\]\()(?P<target>[^()\s#]+)(?P<anchor>#[^()\s]*)?(?=[)\s])")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
CELL = re.compile(r"<td(?P<style>[^>]*)>(?P<content>(?:(?!</td>).){1,80})</td>")
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc(?:set)?=[\"']?(?:https?:)?//[^>]*>"
    r"|<link\b[^>]*\bhref=[\"']?(?:https?:)?//[^>]*>"
    r"|@import[^;]*(?:https?:)?//[^;]*;|url\([\"']?(?:https?:)?//[^)]*\)"
)

log = logging.getLogger("mkdocs.hooks.evodiverse")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose files are outside ``docs/``."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=_move_links(source, (ROOT / source).read_text("utf-8"))))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Redirect links that leave ``docs/``, and hide the table of contents on pages with wide tables (`WIDE_PAGES`).

    Each link is redirected to a page of the site if there is one for its target, otherwise to the repository.
    """
    if page.file.src_uri in WIDE_PAGES:
        page.meta["hide"] = ["toc"]
    if page.file.src_uri in PAGES.values():
        return markdown
    return _outside_code(markdown, partial(_redirect, folder=PurePosixPath("docs", page.file.src_uri).parent))


def on_page_content(content: str, **_: object) -> str:
    """Convert formulas to MathML, and keep short cells of tables, such as numbers and keys, on one line."""
    content = FORMULA.sub(lambda found: _set_formula(found[2], is_block=found[1] == "div"), content)
    return CELL.sub(_keep_short, content)


@event_priority(-200)  # after the offline plugin has written its search index
def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that a browser cannot show without the network.

    Raises:
        PluginError: A page or a style sheet would fetch files from elsewhere.
    """
    site = Path(config.site_dir)
    faults = [
        f"{path.relative_to(site)}: {found[0][:120]}"
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for found in FETCHED.finditer(path.read_text("utf-8"))
    ]
    if faults:
        raise PluginError("the site would fetch files from elsewhere:\n" + "\n".join(faults))


def _outside_code(markdown: str, change: "partial[str]") -> str:
    """Return the page after applying ``change`` to all its text except code blocks and inline code."""
    parts, end = [], 0
    for code in CODE.finditer(markdown):
        parts += [change(markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(markdown[end:])])


def _redirect(text: str, folder: PurePosixPath) -> str:
    def replace(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        path = PurePosixPath(os.path.normpath(folder / target))
        if path.parts[0] == "docs" and path.suffix in SITE_SUFFIXES:
            return found[0]  # MkDocs checks this link
        if str(path) in PAGES:
            up = "../" * (len(folder.parts) - 1)
            return f"{found['before']}{up}{PAGES[str(path)]}{anchor}"
        return f"{found['before']}{_find(path)}{anchor}"

    return LINK.sub(replace, text)


def _move_links(source: str, markdown: str) -> str:
    """Return the text of a file outside ``docs/`` with links that work when the file is a page in ``docs/``."""
    folder = PurePosixPath(source).parent

    def replace(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        path = PurePosixPath(os.path.normpath(folder / target))
        if path.parts[0] == "docs" and path.suffix in SITE_SUFFIXES:
            return f"{found['before']}{path.relative_to('docs')}{anchor}"
        return f"{found['before']}{PAGES.get(str(path)) or _find(path)}{anchor}"

    return _outside_code(markdown, partial(LINK.sub, replace))


def _find(path: PurePosixPath) -> str:
    """Return the URL of a file or folder in the repository."""
    place = ROOT / path
    if not place.exists():
        log.warning(f"a page links to {path}, which does not exist")
    return f"{REPOSITORY}/{'tree' if place.is_dir() else 'blob'}/main/{path}"


def _keep_short(found: re.Match[str]) -> str:
    text = html.unescape(re.sub("<[^>]+>", "", found["content"]))
    is_short = len(text) <= (36 if found["content"].startswith("<code>") else 18)
    return f'<td class="short"{found["style"]}>{found["content"]}</td>' if is_short else found[0]


def _set_formula(tex: str, *, is_block: bool) -> str:
    return str(convert(html.unescape(tex).strip(), display="block" if is_block else "inline"))
