"""The changes that a reply makes to a program: SEARCH/REPLACE blocks, or a whole new program."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evodiverse.tasks.programs.parsing import unify_newlines
from evodiverse.vocabulary import Reason, Rejection

# More blocks than an edit of a program needs, and few enough to apply each of them to a long text.
MAX_BLOCKS = 50
# The most lines of a program after a block is applied, because the next block is searched for in all of them.
MAX_LINES = 50_000
_MAX_SHOWN = 80
_MARKER = re.compile(
    r"^[ \t]*(?:(?P<search><{5,9}[ \t]*SEARCH)|(?P<divider>={5,9})|(?P<replace>>{5,9}[ \t]*REPLACE))[ \t]*$",
    re.MULTILINE,
)
_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})(?P<info>.*)$", re.MULTILINE)
_DEFINITION = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+|\w+[ \t]*=[ \t]*lambda\b)", re.MULTILINE)


class Block(NamedTuple):
    """The lines to search for in a program, and the lines that replace them."""

    search: list[str]
    replacement: list[str]


def find_blocks(reply: str) -> list[Block] | Rejection:
    """Return the blocks of a reply in order, or the reason why they cannot be used.

    Each marker of a block (``<<<<<<< SEARCH``, the divider ``=======`` and ``>>>>>>> REPLACE``) has a line of its own
    and five to nine of the characters ``<``, ``=`` or ``>``. Text outside of the blocks is ignored, so blocks may be
    inside code fences. A divider outside of a block, or a second one inside, is ordinary text.
    """
    text = unify_newlines(reply)
    blocks: list[Block] = []
    markers: list[re.Match[str]] = []  # of the block that has begun
    for marker in _MARKER.finditer(text):
        kind = marker.lastgroup
        if kind == ("search", "divider", "replace")[len(markers)]:
            markers.append(marker)
        elif markers and kind != "divider":
            problem = "another one begins before its end" if kind == "search" else "no ======= between its parts"
            return _malformed(len(blocks) + 1, problem)
        if len(markers) == 3:
            start, divider, end = markers
            searched, replacing = text[start.end() + 1 : divider.start()], text[divider.end() + 1 : end.start()]
            blocks.append(Block(_split(searched), _split(replacing)))
            markers = []
    if markers:
        return _malformed(len(blocks) + 1, "no >>>>>>> REPLACE at its end")
    if len(blocks) > MAX_BLOCKS:
        return Rejection(Reason.TOO_LARGE, f"{len(blocks)} blocks, at most {MAX_BLOCKS}")
    return blocks


def apply_blocks(source: str, blocks: Sequence[Block]) -> str | Rejection:
    """Apply blocks in order, each to the result of the one before, and return the new source.

    If a block fails, or if the blocks change nothing, return the reason instead.

    The lines that a block searches for must occur exactly once, as whole lines. If they do not occur at all, trailing
    white space is ignored. If that does not help, the blank lines at the start and the end of each part of the block
    are removed, and both searches are repeated.
    """
    before = lines = _split(unify_newlines(source))
    for number, block in enumerate(blocks, 1):
        edited = _replace(lines, block)
        if isinstance(edited, str):
            return Rejection(Reason.NO_MATCH, f"block {number} {edited}")
        lines = edited
        if len(lines) > MAX_LINES:
            return Rejection(Reason.TOO_LARGE, f"{len(lines):,} lines after block {number}, at most {MAX_LINES:,}")
    if lines == before:
        return Rejection(Reason.NO_ANSWER, "the reply changes nothing")
    return "".join(f"{line}\n" for line in lines)


def extract_program(reply: str, entry_point: str) -> str | Rejection:
    """Return the content of the last code fence that defines the entry point.

    If no fence does, return the whole reply if it defines the entry point, else what the reply has instead.
    An unclosed fence ends where the next one opens or at the end of the reply.
    """
    text = unify_newlines(reply)
    definition = re.compile(rf"^(?:def|class)[ \t]+{re.escape(entry_point)}\b", re.MULTILINE)
    for candidate in reversed([text, *_fenced(text)]):
        if definition.search(candidate):
            return candidate
    others = [other[0].strip() for other in _DEFINITION.finditer(reply)]
    instead = f"{others[-1]}, not a line that begins with def {entry_point}" if others else f"no function {entry_point}"
    return Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")


def _malformed(number: int, problem: str) -> Rejection:
    return Rejection(Reason.UNPARSABLE, f"block {number}: {problem}")


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _replace(lines: list[str], block: Block) -> list[str] | str:
    """Return the lines of a program after a block is applied to them, or what is wrong with the block.

    A block consists of lines to search for in the program and of the lines that replace them.
    """
    shown = next((line.strip() for line in block.search if line.strip()), None)
    if shown is None:
        return "matches nothing: its SEARCH part is empty"
    shown = shown[:_MAX_SHOWN]
    for search, replacement in (block, Block(*map(_without_blank_ends, block))):
        for view in (str, str.rstrip):  # the lines as they are, and without trailing white space
            n_places, first = _locate(map(view, lines), map(view, search))
            if n_places == 1:
                return lines[:first] + replacement + lines[first + len(search) :]
            if n_places:
                return f"matches {n_places} places: {shown}"
    return f"matches nothing: {shown}"


def _without_blank_ends(lines: list[str]) -> list[str]:
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _locate(lines: Iterable[str], run: Iterable[str]) -> tuple[int, int]:
    """Return how often a run of lines occurs, and the index of the first line of its first occurrence.

    If occurrences overlap, the number may be too low, but it is at least 2. The search works on the joined lines, which
    takes linear time for any text.
    """
    # Both ends of each line are marked with characters that no line contains.
    text, wanted = ("\r" + "\n\r".join(part) + "\n" for part in (lines, run))
    first = text.find(wanted)
    if first < 0:
        return 0, 0
    n_places = 1 if text.find(wanted, first + 1) < 0 else max(2, text.count(wanted))
    return n_places, text.count("\n", 0, first)


def _fenced(text: str) -> Iterator[str]:
    """Yield the content of each code fence, without the fence's indentation."""
    opening = None
    for fence in _FENCE.finditer(text):
        marks, info = fence["marks"], fence["info"].strip()
        if opening is None:
            opening = None if "`" in info else fence  # a backtick in the info string: inline code
        elif marks.startswith(opening["marks"]) and len(fence["indent"]) <= len(opening["indent"]) + 3:
            yield _inside(text, opening, fence.start())
            opening = fence if info else None
    if opening is not None:
        yield _inside(text, opening, len(text))


def _inside(text: str, opening: re.Match[str], end: int) -> str:
    inside, indent = text[opening.end() + 1 : end], len(opening["indent"])
    return re.sub(rf"^[ \t]{{1,{indent}}}", "", inside, flags=re.MULTILINE) if indent else inside
