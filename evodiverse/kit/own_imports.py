"""The files of a user's own code that a Python file imports."""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import all_suffixes
from importlib.util import decode_source
from itertools import takewhile
from pathlib import Path
from typing import Final

from evodiverse.kit.python import NOT_PYTHON, parse_quietly

_OURS: Final = "evodiverse"
_LIBRARIES: Final = {"site-packages", "dist-packages"}
_STANDARD: Final = sysconfig.get_path("stdlib")


def find_imports(file: Path, without: Path | None = None) -> list[Path]:
    """Return the files of the user's own code that a Python file imports, directly or through each other, sorted.

    The import statements decide, wherever they are in the code, so the result is the same whether or not anything has
    been imported yet. Imports by a computed name are not found. Libraries and EvoDiverse itself are left out. If the
    file is part of an installed package, the other files of that package count as the user's.

    Args:
        file: The file, which is not part of the result.
        without: Another file that is neither part of the result nor searched for imports.
    """
    file = file.absolute()
    packages = [*takewhile(lambda folder: (folder / "__init__.py").is_file(), file.parents)]
    top = packages[-1].parent if packages else file.parent
    if _is_library(top):
        roots, only = [top], file.relative_to(top).with_suffix("").parts[0]
    else:
        roots, only = [top, *(Path(entry).absolute() for entry in sys.path if not _is_library(Path(entry)))], None
    found = {folder / "__init__.py" for folder in packages} - {file, without}
    seen, unread = found | {file, without}, [file, *found]
    while unread:
        here = unread.pop()
        for level, names in _find_statements(here, here.stat().st_mtime_ns):
            if not level and (names[0] == _OURS or only not in (None, names[0])):
                continue
            bases = here.parents[level - 1 : level] if level else roots
            fresh = {path for base in dict.fromkeys(bases) for path in _locate(base, names)} - seen
            seen |= fresh
            found |= fresh
            unread += [path for path in fresh if path.suffix == ".py"]
    return sorted(found)


def _is_library(folder: Path) -> bool:
    return not _LIBRARIES.isdisjoint(folder.parts) or folder.is_relative_to(_STANDARD)


@lru_cache(maxsize=1024)
def _find_statements(file: Path, _: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return what a file imports: the level (0 for an absolute import) and the parts of each dotted name.

    The second argument, when the file was last changed, makes the cache read a changed file again.
    """
    try:
        nodes = [*ast.walk(parse_quietly(decode_source(file.read_bytes())))]
    except NOT_PYTHON:  # importing it reports the error
        return []
    plain = [(0, name.name) for node in nodes if isinstance(node, ast.Import) for name in node.names]
    named = [
        (node.level, f"{node.module or ''}.{name.name}".strip("."))
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    return [(level, tuple(dotted.split("."))) for level, dotted in dict.fromkeys([*plain, *named])]


def _locate(base: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files below a folder that importing a dotted name runs: those of the packages and of the module."""
    for depth in range(1, len(names) + 1):
        place = base.joinpath(*names[:depth])
        files = [place / "__init__.py", *(place.with_name(f"{place.name}{suffix}") for suffix in all_suffixes())]
        yield from (path for path in files if path.is_file())
        if not place.is_dir():
            break
