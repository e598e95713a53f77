"""EVOLVE-BLOCK marks: if a program has them, only the lines between them may change.

Each mark is a comment line, ``# EVOLVE-BLOCK-START`` or ``# EVOLVE-BLOCK-END``. A block is what stands between two such
lines.
"""

import ast
import re
from itertools import pairwise
from textwrap import dedent, indent
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.python import NOT_PYTHON, parse_quietly
from evodiverse.vocabulary import Reason, Rejection

RULE: Final = (
    "Only the lines between `# EVOLVE-BLOCK-START` and `# EVOLVE-BLOCK-END` may change. Keep these two lines; what "
    "changes outside of them is undone."
)
"""The rule in the prompts of a language model, for programs with marks."""

_MARK: Final = re.compile(r"^[ \t]*#[ \t]*EVOLVE-BLOCK-(START|END)\b.*\n?", re.MULTILINE)
_HEADER: Final = "def evolve_block():\n"
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class Region(NamedTuple):
    """The part of a program that an operator may change: one of its blocks, or all of a program without marks.

    Attributes:
        before, after: The program before and after the part.
        code: The part, as a module. If a block holds statements of a function, they are the body of a function here.
        margin: The indentation of the block.
    """

    before: str
    code: str
    after: str
    margin: str = ""

    def restore(self, code: str) -> str | None:
        """Return the program with this part changed to ``code``; None if ``code`` cannot stand there."""
        if self.code.startswith(_HEADER):
            if not code.startswith(_HEADER) or re.search(r"^\S", code.removeprefix(_HEADER), re.MULTILINE):
                return None
            code = dedent(code.removeprefix(_HEADER))
        return self.before + indent(code, self.margin) + self.after


def split_marked(source: str) -> list[str] | None:
    """Return the parts of a program with marks; None if it has none, or if they do not come in pairs.

    Every second part is a block. The others are around the blocks, with the lines of the marks.
    """
    marks = list(_MARK.finditer(source))
    if not marks or has_unpaired(source):
        return None
    cuts = [mark.end() if mark[1] == "START" else mark.start() for mark in marks]
    return [source[start:stop] for start, stop in pairwise([0, *cuts, len(source)])]


def has_unpaired(source: str) -> bool:
    """Return whether a program has marks that do not come in pairs."""
    kinds = _MARK.findall(source)
    return kinds != ["START", "END"] * (len(kinds) // 2)


def keep_outside(parent: str, child: str) -> str | Rejection:
    """Return a child with what is outside of its parent's blocks as in the parent, or why this is not possible."""
    restored, changed = split_marked(parent), split_marked(child)
    if restored is None:
        return child
    if changed is None or len(changed) != len(restored):
        return Rejection(Reason.NO_ANSWER, "the reply does not keep the lines with EVOLVE-BLOCK marks")
    restored[1::2] = changed[1::2]
    joined = "".join(restored)
    return Rejection(Reason.NO_ANSWER, "the reply changes nothing in a block") if joined == parent else joined


def find_regions(source: str) -> list[Region]:
    """Return the parts of a program that may change: its blocks, or all of a program without marks."""
    parts = split_marked(source)
    if parts is None:
        return [Region("", source, "")]
    regions = []
    for index in range(1, len(parts), 2):
        code = dedent(parts[index])
        margin = next((line[: -len(line.lstrip())] for line in parts[index].splitlines() if line.strip()), "")
        inner = code if not margin or _is_module(code) else _HEADER + parts[index]
        regions.append(Region("".join(parts[:index]), inner, "".join(parts[index + 1 :]), margin))
    return regions


def draw_region(source: str, rng: np.random.Generator) -> tuple[int, Region]:
    """Draw one of the parts of a program that may change, and return its index and the part."""
    regions = find_regions(source)
    index = 0 if len(regions) == 1 else int(rng.integers(len(regions)))
    return index, regions[index]


def _is_module(code: str) -> bool:
    try:
        return all(isinstance(statement, _DEFINITIONS) for statement in parse_quietly(code).body)
    except NOT_PYTHON:
        return False
