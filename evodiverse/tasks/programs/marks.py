"""EVOLVE-BLOCK marks: if a program has them, only the lines between them may change.

Each mark is a comment line, ``# EVOLVE-BLOCK-START`` or ``# EVOLVE-BLOCK-END``. A block is what stands between two such
lines.
"""

import ast
import re
from collections.abc import Sequence
from itertools import chain, pairwise, zip_longest
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


class Marked(NamedTuple):
    """A program with marks.

    Attributes:
        outside: The texts around the blocks, one more than there are blocks, with the lines of the marks.
        blocks: The texts of the blocks.
    """

    outside: tuple[str, ...]
    blocks: tuple[str, ...]

    def join(self) -> str:
        """Return the source of the program."""
        return "".join(chain.from_iterable(zip_longest(self.outside, self.blocks, fillvalue="")))


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


def split_marked(source: str) -> Marked | None:
    """Return the parts of a program with marks; None if it has none, or if they do not come in pairs."""
    marks = list(_MARK.finditer(source))
    if not marks or not _are_paired(marks):
        return None
    pairs = zip(marks[::2], marks[1::2], strict=True)
    places = [0, *chain.from_iterable((start.end(), end.start()) for start, end in pairs), len(source)]
    texts = [source[start:stop] for start, stop in pairwise(places)]
    return Marked(tuple(texts[::2]), tuple(texts[1::2]))


def has_unpaired(source: str) -> bool:
    """Return whether a program has marks that do not come in pairs."""
    return not _are_paired(list(_MARK.finditer(source)))


def keep_outside(parent: str, child: str) -> str | Rejection:
    """Return a child with what is outside of its parent's blocks as in the parent, or why this is not possible."""
    original = split_marked(parent)
    if original is None:
        return child
    changed = split_marked(child)
    if changed is None or len(changed.blocks) != len(original.blocks):
        return Rejection(Reason.NO_ANSWER, "the reply does not keep the lines with EVOLVE-BLOCK marks")
    restored = original._replace(blocks=changed.blocks).join()
    return Rejection(Reason.NO_ANSWER, "the reply changes nothing in a block") if restored == parent else restored


def find_regions(source: str) -> list[Region]:
    """Return the parts of a program that may change: its blocks, or all of a program without marks."""
    marked = split_marked(source)
    if marked is None:
        return [Region("", source, "")]
    regions = []
    for index, block in enumerate(marked.blocks):
        before = Marked(marked.outside[: index + 1], marked.blocks[:index]).join()
        after = Marked(marked.outside[index + 1 :], marked.blocks[index + 1 :]).join()
        margin = next((line[: len(line) - len(line.lstrip())] for line in block.splitlines() if line.strip()), "")
        code = dedent(block)
        regions.append(Region(before, code if not margin or _is_module(code) else _HEADER + block, after, margin))
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


def _are_paired(marks: Sequence[re.Match[str]]) -> bool:
    return [mark[1] for mark in marks] == ["START", "END"] * (len(marks) // 2)
