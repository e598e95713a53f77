"""Syntax trees of programs: parsing, writing and walking trees, and replacing parts of them.

Trees are immutable by convention: an edit makes a new tree that shares the unchanged parts with the old one. Equal
statements share one node where possible. Results about a statement can therefore be cached by the identity of its node.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from io import StringIO
from textwrap import indent
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from evodiverse.kit.python import NOT_PYTHON, is_docstring, parse_quietly

Edit: TypeAlias = Callable[[ast.Module, np.random.Generator, frozenset[str]], ast.Module]
"""A function that changes a tree at random and returns the new tree. It leaves the functions and constants with the
given names unchanged, and raises `NoChildError` if the change does not apply."""

Path: TypeAlias = tuple[str | int, ...]
"""The steps from a node down to a part of it, each the name of a field or an index in a list, as in ``("body", 0)``."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)
Site = TypeVar("Site")
Part: TypeAlias = tuple[Path, Node]
"""A node in a statement or an expression, after the path from there to the node."""

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES: Final = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)

_PLAIN_FIELDS: Final = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment"})


class NoChildError(Exception):
    """A change does not apply to a program, or its result is not allowed."""


@lru_cache(maxsize=1024)
def read_program(source: str) -> ast.Module | None:
    """Return the tree of a source, or None if it is not Python or has constants that cannot be written back."""
    try:
        tree = parse_quietly(source)
        lines = StringIO(source, newline=None).read().split("\n")  # as Python counts lines: a form feed ends none
        tree = rebuilt(tree, body=[_share(statement, lines) for statement in tree.body])
        write_program(tree)
    except NOT_PYTHON:
        return None
    return tree


def _share(statement: ast.stmt, lines: Sequence[str]) -> ast.stmt:
    """Return a node equal to a statement; statements with the same lines of source get the same node, in functions too.

    A definition in a function, or a statement that shares a line with another one, is returned unchanged.

    Args:
        statement: The statement.
        lines: The lines of the whole program.
    """
    if isinstance(statement, FUNCTIONS):
        return rebuilt(
            statement, body=[one if isinstance(one, SCOPES) else _share(one, lines) for one in statement.body]
        )
    shared = _read_lines("\n".join(lines[statement.lineno - 1 : statement.end_lineno]))
    return shared if type(shared) is type(statement) and not isinstance(statement, SCOPES) else statement


@lru_cache(maxsize=4096)
def _read_lines(text: str) -> ast.stmt | None:
    """Return the only statement in a text, or None unless the text is one complete statement."""
    is_indented = text[:1].isspace()
    try:
        body = parse_quietly(f"if 1:\n{text}" if is_indented else text).body
    except SyntaxError:
        return None
    body = body[0].body if is_indented and isinstance(body[0], ast.If) else body
    return body[0] if len(body) == 1 else None


def write_program(tree: ast.Module) -> str:
    """Return the source of a tree; equal trees have the same source."""
    texts: list[str] = []
    for previous, statement in zip([None, *tree.body], tree.body, strict=False):
        if previous is not None:
            apart = isinstance(statement, SCOPES) or isinstance(previous, SCOPES)
            texts.append("\n\n\n" if apart else "\n\n" if is_import(previous) != is_import(statement) else "\n")
        texts.append(_function_text(statement) if isinstance(statement, FUNCTIONS) else statement_text(statement))
    return "".join(texts) + "\n"


@lru_cache(maxsize=4096)
def statement_text(statement: ast.stmt) -> str:
    """Return the source of one statement."""
    return ast.unparse(ast.Module([statement], []) if is_docstring(statement) else statement).strip("\n")


def _function_text(function: Function) -> str:
    start = 1 if is_docstring(function.body[0]) else 0
    texts = [statement_text(statement) for statement in function.body[start:]]
    # The indentation inside multi-line strings is kept.
    if not texts or any('"""' in text or "'''" in text for text in texts):
        return statement_text(function)
    head = ast.unparse(rebuilt(function, body=[*function.body[:start], ast.Pass()])).strip("\n")
    return head.removesuffix("\n    pass") + "".join("\n" + indent(text, "    ") for text in texts)


def children(node: ast.AST) -> Iterator[Part[ast.AST]]:
    """Yield the children of a node in the order of its fields, each with its path; skip operators and contexts."""
    for name in node._fields:
        if name not in _PLAIN_FIELDS:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        yield (name, index), item
            elif isinstance(value, ast.AST):
                yield (name,), value


@lru_cache(maxsize=4096)
def nodes_of(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """Return all nodes of a statement, itself first, the others in no particular order."""
    return tuple(ast.walk(statement))


def walk(node: ast.AST, path: Path = (), *, into_whiles: bool = True) -> Iterator[Part[ast.AST]]:
    """Yield a node and all nodes below it that `children` finds, depth first, each node before its children."""
    yield path, node
    if into_whiles or not isinstance(node, ast.While):
        for step, child in children(node):
            yield from walk(child, path + step, into_whiles=into_whiles)


@lru_cache(maxsize=4096)
def parts_of(statement: ast.stmt) -> tuple[Part[ast.AST], ...]:
    """Return a statement and all nodes below it; see `walk`.

    The contents of ``while`` loops are left out, because an edit might keep such a loop from ending.
    """
    return tuple(walk(statement, into_whiles=False))


def rebuilt(node: Node, **fields: Any) -> Node:
    """Return a copy of a node with the given fields replaced."""
    copy = type(node).__new__(type(node))
    copy.__dict__.update(node.__dict__ | fields)
    return copy


def replace(node: Node, path: Path, new: Any) -> Node:
    """Return a copy of a node with the part at ``path`` replaced by ``new``."""
    replaced: Node = _replace(node, path, new)
    return replaced


def _replace(part: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [*part[:step], _replace(part[step], rest, new), *part[step + 1 :]]
    return rebuilt(part, **{step: _replace(getattr(part, step), rest, new)})


def insert(tree: ast.Module, block: Path, position: int, new: Sequence[ast.stmt]) -> ast.Module:
    """Return a copy of a module with new statements in one of its blocks, before the statement at a position."""
    statements: Any = tree
    for step in block:
        statements = statements[step] if isinstance(step, int) else getattr(statements, step)
    return replace(tree, block, [*statements[:position], *new, *statements[position:]])


def some(sites: Sequence[Site]) -> Sequence[Site]:
    """Return the sites of a program where a change is possible; raise `NoChildError` if there are none."""
    if not sites:
        raise NoChildError
    return sites


def draw(sites: Sequence[Site], rng: np.random.Generator) -> Site:
    """Draw one of the sites of a program, all with the same probability; raise `NoChildError` if there are none."""
    return some(sites)[int(rng.integers(len(sites)))]


def functions_of(tree: ast.Module) -> dict[str, Function]:
    """Return the functions of a module by name; of several with the same name, the last."""
    return {statement.name: statement for statement in tree.body if isinstance(statement, FUNCTIONS)}


def statements_of(tree: ast.Module, without: Collection[str] = frozenset()) -> Iterator[tuple[Path, ast.stmt]]:
    """Yield the statements of a module and of its top-level functions, each with its path from the module.

    A top-level function is not yielded itself, only the statements of its body. Every other statement, such as a class
    or a loop, is yielded as a whole: the statements in it are not yielded one by one. Functions named in ``without``
    are left out.
    """
    for index, statement in enumerate(tree.body):
        if isinstance(statement, FUNCTIONS):
            if statement.name in without:
                continue
            for position, child in enumerate(statement.body):
                yield ("body", index, "body", position), child
        else:
            yield ("body", index), statement


def blocks_of(tree: ast.Module, without: Collection[str] = frozenset()) -> Iterator[tuple[Path, list[ast.stmt]]]:
    """Yield the blocks (lists of statements) in a module's functions, each with its path from the module.

    A block comes before the blocks that are nested in it. Left out are:

    * blocks in ``while`` loops, classes, and ``except`` or ``case`` clauses;
    * functions that declare ``global`` or ``nonlocal`` names, because a change could put such a name before its
      declaration, which Python forbids;
    * functions named in ``without``.
    """
    for index, function in enumerate(tree.body):
        if isinstance(function, FUNCTIONS) and function.name not in without and not declares_scope(function):
            path: Path = ("body", index, "body")
            yield path, function.body
            for position, statement in enumerate(function.body):
                for step, block in _blocks_in(statement):
                    yield (*path, position, *step), block


def declares_scope(function: Function) -> bool:
    """Return whether a function has a ``global`` or ``nonlocal`` statement.

    The names that such a statement declares must not occur before it.
    """
    return any(_declares_scope(statement) for statement in function.body)


@lru_cache(maxsize=4096)
def _declares_scope(statement: ast.stmt) -> bool:
    return any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in nodes_of(statement))


@lru_cache(maxsize=4096)
def _blocks_in(statement: ast.stmt) -> tuple[tuple[Path, list[ast.stmt]], ...]:
    if isinstance(statement, (ast.While, ast.ClassDef)):
        return ()
    blocks: list[tuple[Path, list[ast.stmt]]] = []
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            blocks.append(((name,), block))
            for position, child in enumerate(block):
                blocks += [((name, position, *step), inner) for step, inner in _blocks_in(child)]
    return tuple(blocks)


def is_import(statement: ast.stmt) -> bool:
    """Return whether a statement is an import."""
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def called_name(call: ast.Call) -> str:
    """Return the name of the called function, without its module or object; empty if it has no name."""
    return getattr(call.func, "id", "") or getattr(call.func, "attr", "")


def number(value: float) -> ast.expr:
    """Return the syntax tree of a finite number; for a negative number, it is a minus sign and a positive number."""
    constant = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), constant) if value < 0 else constant
