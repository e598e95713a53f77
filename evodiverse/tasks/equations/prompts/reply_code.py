"""The Python in a model's reply, however it is wrapped."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from evodiverse.kit.python import NOT_PYTHON, parse_quietly
from evodiverse.vocabulary import Reason, Rejection

# These limits are enough for any answer and keep the reading of any reply fast. Only the end of a longer reply is read.
MAX_CHARACTERS = 50_000
_MAX_PIECES = 20
_MAX_DEFINITIONS = 40
_FENCE = re.compile(r"`{3,}")
_DEFINITION = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def\b|class\b|\w+[ \t]*(?::[^=]*)?=[ \t]*lambda\b)")
_STATEMENT = re.compile(
    r"[ \t]*(?:(?:return|for|if|while|with|try|import|from)\b|\"{3}|'{3}"
    r"|\(?[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*\)?[ \t]*(?::[^=]*)?(?:[-+*/%]|\*\*|//)?=(?!=))"
)
_RETURN = re.compile(r"[ \t]*return\b")


def find_code(answer: str) -> Iterator[ast.Module | Rejection]:
    """Yield the syntax trees of the Python code in an answer, and a rejection for code that does not parse.

    A tree holds definitions, or the statements of a function without its header.
    """
    answer = answer.replace("\r\n", "\n").replace("\r", "\n")
    for lines in _split(answer[-MAX_CHARACTERS:])[-_MAX_PIECES:]:
        whole = _parse(lines)
        if isinstance(whole, ast.Module):
            yield whole
        else:  # prose is mixed with the code
            yield from map(_parse, _find_definitions(lines)[-_MAX_DEFINITIONS:])
            body = _find_body(lines)
            if body:
                yield _parse(body)


def _split(answer: str) -> list[list[str]]:
    """Return the lines of each piece between code fences. Any piece may be code, since not every fence is closed."""
    first, *others = [piece.split("\n") for piece in _FENCE.split(answer)]
    for lines in others:
        if not (_DEFINITION.match(lines[0]) or _STATEMENT.match(lines[0])):
            del lines[0]  # for example the name of the language
    return [first, *others]


def _parse(lines: Sequence[str]) -> ast.Module | Rejection:
    """Parse lines of code, and return a rejection if that fails. The first line may have lost its indentation."""
    first, *others = [_indent(line) for line in lines if line.strip()] or [0]
    problems = []
    for indent in dict.fromkeys((first, max(first, min(others, default=0)))):
        try:
            return parse_quietly("\n".join(line[min(indent, _indent(line)) :] for line in lines))
        except SyntaxError as error:
            problems.append(f"line {error.lineno or 1}: {error.msg}")
        except NOT_PYTHON as error:
            problems.append(f"not Python ({type(error).__name__})")
    return Rejection(Reason.UNPARSABLE, problems[0])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _find_definitions(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines of each definition: its first line, and those indented below it."""
    blocks: list[list[str]] = []
    indent = -1
    for line in lines:
        if line.strip() and _indent(line) <= indent and line.strip()[0] not in ")]}#":
            indent = -1
        if indent >= 0:
            blocks[-1].append(line)
        elif _DEFINITION.match(line):
            indent = _indent(line)
            blocks.append([line])
    return blocks


def _find_body(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that may be the body of a function without its header; empty if there is no such body.

    The body ends with the last ``return`` statement before the first definition. It begins after the last earlier line
    that does not look like code.
    """
    end = next((at for at, line in enumerate(lines) if _DEFINITION.match(line)), len(lines))
    last = max((at for at in range(end) if _RETURN.match(lines[at])), default=None)
    if last is None:
        return []
    start = last
    while start and (
        lines[start - 1][:1] in " \t)]}#" or _STATEMENT.match(lines[start - 1])
    ):  # also true of an empty line
        start -= 1
    depths = accumulate(sum(map(line.count, "([{")) - sum(map(line.count, ")]}")) for line in lines[last:end])
    stop = next((at for at, depth in enumerate(depths, last + 1) if depth <= 0), end)
    return lines[start:stop]
