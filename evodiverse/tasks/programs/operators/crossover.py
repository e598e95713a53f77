"""Crossover of programs: exchange of functions, statements and constants between two parents.

Related programs share most of their source. Functions of the same name are therefore compared. Their common statements
stay. Where they differ, the child takes the statements of one parent, or of both.
"""

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import count, takewhile
from typing import Any, Final, TypeAlias

import numpy as np

from evodiverse.kit.python import is_docstring
from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.names import binds, names_of, parameters

Crossover: TypeAlias = Callable[[ast.Module, ast.Module, np.random.Generator], ast.Module]
"""A function that gets the trees of two parents and returns the first with random parts of the second. It raises
`NoChildError` if there is nothing to exchange. The operator calls it."""

BOTH_RATE: Final = 0.3
"""The probability that, where the child takes the statements of the second parent, it also keeps those of the first."""


MAX_EQUAL: Final = 20_000
"""The most pairs of equal statements that are compared; with more, the two function bodies count as one `Hunk`."""


Hunk: TypeAlias = tuple[slice, slice]
"""A place where two blocks of statements differ: the positions of the statements in the first and the second block."""


def exchange_function(tree: ast.Module, other: ast.Module, rng: np.random.Generator) -> ast.Module:
    """Replace a function of ``tree`` with the other program's function of the same name and arity."""
    mine, theirs = syntax.draw(twins(tree, other), rng)
    return graft(tree, other, mine, theirs)


def exchange_statements(tree: ast.Module, other: ast.Module, rng: np.random.Generator) -> ast.Module:
    """Merge two functions of the same name and arity: where they differ, take the statements of one, or of both.

    In at least one place, the child takes the statements of the other program. Functions with a ``global`` or
    ``nonlocal`` statement are left out. No child is made if the merged body would be empty.
    """
    pairs = [pair for pair in twins(tree, other) if not any(syntax.declares_scope(function) for function in pair)]
    mine, theirs = syntax.draw(pairs, rng)
    found = hunks(mine, theirs)
    taken = rng.random(len(found)) < 0.5
    taken[rng.integers(len(found))] = True
    kept = [not is_taken or rng.random() < BOTH_RATE for is_taken in taken]
    body = list(mine.body)
    for (place, its_place), is_kept, is_taken in reversed(list(zip(found, kept, taken, strict=True))):
        body[place] = [*(mine.body[place] if is_kept else []), *(theirs.body[its_place] if is_taken else [])]
    return graft(tree, other, mine, syntax.rebuilt(mine, body=syntax.some(body)))


def exchange_constants(tree: ast.Module, other: ast.Module, rng: np.random.Generator) -> ast.Module:
    """Take numbers from those statements of the other program that differ from a statement of ``tree`` only in numbers.

    Each number that differs is replaced with probability 1/2. It is replaced by the other number or, for floats,
    possibly by a number between the two. No child is made if no number is replaced.
    """
    theirs = {shape_of(statement): statement for _, statement in syntax.statements_of(other)}
    child = tree
    for path, statement in syntax.statements_of(tree):
        twin = theirs.get(shape_of(statement), statement)
        for (step, one), (_, its) in zip(numbers_of(statement), numbers_of(twin), strict=True):
            if one != its and rng.random() < 0.5:
                child = syntax.replace(child, path + step, syntax.number(_between(one, its, rng)))
    if child is tree:
        raise syntax.NoChildError
    return child


CROSSOVERS: Final[Mapping[str, tuple[Crossover, float]]] = {
    "functions": (exchange_function, 1.0),
    "statements": (exchange_statements, 2.0),
    "constants": (exchange_constants, 1.0),
}
"""The crossovers by kind, each with its relative frequency."""


def _between(one: Any, other: Any, rng: np.random.Generator) -> Any:
    """Return ``other``, or a number between ``one`` and ``other``.

    If ``one`` is a float, the result is a number between the two with probability 1/2. If ``one`` is an integer, the
    result is always ``other``.
    """
    if type(one) is int or rng.random() < 0.5:
        return other
    return float(f"{one + rng.random() * (other - one):.6g}")


@lru_cache(maxsize=4096)
def numbers_of(statement: ast.stmt) -> tuple[tuple[syntax.Path, Any], ...]:
    """Return the numbers in a statement that are not in ``while`` loops, each as (path, number).

    The path holds the field names and list indices that lead from the statement to the number in its syntax tree.
    """
    return tuple(
        (path, node.value)
        for path, node in syntax.parts_of(statement)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    )


@lru_cache(maxsize=4096)
def shape_of(statement: ast.stmt) -> str:
    """Return a string that is equal for statements that differ only in the values that `numbers_of` returns."""
    blank = statement
    for path, value in numbers_of(statement):
        blank = syntax.replace(blank, path, ast.Name(type(value).__name__, ast.Load()))
    return syntax.statement_text(blank)


def twins(tree: ast.Module, other: ast.Module) -> list[tuple[syntax.Function, syntax.Function]]:
    """Return the pairs of functions that differ but have the same name and arity, in the order of the first program."""
    others = syntax.functions_of(other)
    return [
        (function, others[name])
        for name, function in syntax.functions_of(tree).items()
        if name in others and signature_of(function) == signature_of(others[name]) and hunks(function, others[name])
    ]


def signature_of(definition: ast.stmt) -> tuple[object, ...]:
    """Return the type of a definition and the arity of a function: equal if one definition can replace the other."""
    if not isinstance(definition, syntax.FUNCTIONS):
        return (type(definition),)
    given = definition.args
    n_named = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
    return type(definition), n_named, given.vararg is None, given.kwarg is None


def hunks(mine: syntax.Function, theirs: syntax.Function) -> list[Hunk]:
    """Return the places where the bodies of two functions differ, in order.

    If the bodies differ but have more than `MAX_EQUAL` pairs of equal statements, the whole bodies count as one place.
    """
    texts, its_texts = (list(map(syntax.statement_text, function.body)) for function in (mine, theirs))
    counts = Counter(its_texts)
    if sum(counts[text] for text in texts) > MAX_EQUAL:
        return [] if texts == its_texts else [(slice(0, len(texts)), slice(0, len(its_texts)))]
    matcher = SequenceMatcher(None, texts, its_texts, autojunk=False)
    return [
        (slice(start, stop), slice(its_start, its_stop))
        for tag, start, stop, its_start, its_stop in matcher.get_opcodes()
        if tag != "equal"
    ]


def graft(tree: ast.Module, other: ast.Module, old: syntax.Function, new: syntax.Function) -> ast.Module:
    """Replace a function with one that contains statements of another program, and add the definitions that it needs.

    A definition that only the other program has is added. If both programs define a name, the definition of ``tree`` is
    used if the two are interchangeable (see `signature_of`); otherwise that of the other program is added under
    a new name.

    Args:
        tree: The program that receives the function.
        other: The program that the new statements come from.
        old: The function of ``tree`` to replace.
        new: The function that replaces it.
    """
    mine, theirs = definitions_of(tree), definitions_of(other)
    renamed: dict[str, str] = {}
    brought: set[str] = set()
    stack = sorted(names_of(new).reads & theirs.keys())
    while stack:
        name = stack.pop()
        is_alike = name in mine and signature_of(mine[name]) == signature_of(theirs[name])
        if is_alike or name in brought or name == old.name:
            continue
        if name in mine:
            taken = {*mine, *theirs, *renamed.values()}
            renamed[name] = next(new for new in map(f"{name}_{{}}".format, count(2)) if new not in taken)
        brought.add(name)
        stack += sorted(names_of(theirs[name]).reads & theirs.keys())
    imported = [rename(one, renamed) for one in other.body if binds(one) & brought]
    body = [rename(new, renamed) if statement is old else statement for statement in tree.body]
    n_head = len(list(takewhile(lambda one: is_docstring(one) or syntax.is_import(one), body)))
    return syntax.rebuilt(tree, body=[*body[:n_head], *imported, *body[n_head:]])


def definitions_of(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the statements of a module that bind names, by name; if several bind the same name, the last of them."""
    return {name: statement for statement in tree.body for name in sorted(binds(statement))}


def rename(node: syntax.Node, names: Mapping[str, str]) -> syntax.Node:
    """Return a definition, or a part of one, with module-level names replaced according to ``names``, old to new.

    Parameters keep their names.
    """
    if not names:
        return node
    if isinstance(node, (*syntax.FUNCTIONS, ast.Lambda)):
        names = {old: new for old, new in names.items() if old not in parameters(node)}
    changes: dict[str, Any] = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            changes[field] = rename(value, names)
        elif isinstance(value, list):
            changes[field] = [rename(item, names) if isinstance(item, ast.AST) else item for item in value]
        elif (field == "id" and isinstance(node, ast.Name)) or (field == "name" and isinstance(node, syntax.SCOPES)):
            changes[field] = names.get(value, value)
    return syntax.rebuilt(node, **changes)
