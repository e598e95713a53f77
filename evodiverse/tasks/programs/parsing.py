"""Parsing of programs: the only place that decides which texts are programs and which programs are the same."""

import ast
import hashlib
from collections.abc import Iterator

from evodiverse.kit.python import parse_quietly
from evodiverse.tasks.programs.forms import write_form
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# The depth limit of syntax trees. It is far below Python's own limit. The result of parsing therefore depends neither
# on the caller's stack nor on Python's version, and no code that walks the tree of a hypothesis runs out of stack.
MAX_DEPTH = 100
_TOO_DEEP = Rejection(Reason.UNPARSABLE, "nested too deeply")
_PLACES = {"Return": "function", "Yield": "function", "Break": "loop", "Continue": "loop"}


def parse_program(text: str, entry_point: str, max_characters: int) -> Hypothesis | Rejection:
    """Return the program in ``text``, comments included, or the reason why the text is not a program.

    Programs are the same, and have the same key, if their forms are the same (see `write_form`): layout, comments,
    docstrings and local names make no difference. The returned source ends with exactly one newline.

    Args:
        text: Any text.
        entry_point: The function that the program must define, at module level.
        max_characters: The length above which a program is rejected before it is parsed.
    """
    source = unify_newlines(text).lstrip("\n").rstrip() + "\n"
    if source == "\n":
        return Rejection(Reason.EMPTY)
    if len(source) > max_characters:
        return Rejection(Reason.TOO_LARGE, f"{len(source)} characters, at most {max_characters}")
    if "\0" in source:
        return Rejection(Reason.UNPARSABLE, "a NUL character")
    try:
        source.encode()
    except UnicodeEncodeError:
        return Rejection(Reason.UNPARSABLE, "characters that UTF-8 cannot encode")
    tree = _read_tree(source)
    if isinstance(tree, Rejection):
        return tree
    if entry_point not in [one.name for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]:
        return Rejection(Reason.UNPARSABLE, f"defines no function {entry_point}")
    return Hypothesis(source, hashlib.sha256(write_form(tree).encode()).hexdigest())


def unify_newlines(text: str) -> str:
    """Return the text with each CRLF and CR replaced by LF, also in string literals, as Python itself reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_tree(source: str) -> ast.Module | Rejection:
    """Return the syntax tree, or what is wrong with the source.

    The source is not compiled, although compiling would find more errors: on hostile programs, Python's compiler takes
    forever (nested ``finally``) or crashes the process (nested comprehensions, Python 3.12).
    """
    try:
        tree = parse_quietly(source)
    except (SyntaxError, ValueError) as error:
        line, told = getattr(error, "lineno", None), " ".join(getattr(error, "msg", str(error)).split())
        return Rejection(Reason.UNPARSABLE, told if line is None else f"line {line}: {told}")
    except (RecursionError, MemoryError):
        return _TOO_DEEP
    if _depth(tree) > MAX_DEPTH:
        return _TOO_DEEP
    misplaced = next(_find_misplaced(tree, frozenset()), None)
    return tree if misplaced is None else Rejection(Reason.UNPARSABLE, misplaced)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _find_misplaced(node: ast.AST, around: frozenset[str]) -> Iterator[str]:
    """Yield an error for each misplaced statement, such as a ``return`` left outside a function by bad indentation.

    Args:
        node: The node to check, with everything in it.
        around: Which of a function and a loop is around the node.
    """
    kind = type(node).__name__
    place = _PLACES.get(kind)
    if place and place not in around:
        yield f"line {node.lineno}: '{kind.lower()}' outside {place}"  # type: ignore[attr-defined]
    inside = around
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        inside = frozenset({"function"})
    elif isinstance(node, ast.ClassDef):
        inside = frozenset()
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        inside = around | {"loop"}
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _find_misplaced(part, inside if name == "body" else around)
