"""The random generators that programs make, and the removal of those that they never use."""

import ast
from functools import lru_cache
from typing import Final

from evodiverse.tasks.programs.operators.names import binds, names_of
from evodiverse.tasks.programs.operators.syntax import FUNCTIONS, SCOPES, called_name, declares_scope, nodes_of, rebuilt

CONSTRUCTORS: Final = frozenset({"default_rng", "RandomState", "Random"})


def without_unread_generators(tree: ast.Module) -> ast.Module:
    """Return a module without the random generators that its functions assign but never read.

    Edits leave many of these behind. If a child differed from its parent only in the seed of such a generator, it would
    behave like its parent.
    """
    body = [_tidied(statement) if isinstance(statement, FUNCTIONS) else statement for statement in tree.body]
    is_same = all(one is other for one, other in zip(body, tree.body, strict=True))
    return tree if is_same else rebuilt(tree, body=body)


def _tidied(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    if declares_scope(function) or any(_has_scopes(statement) for statement in function.body):
        return function
    kept = [
        statement
        for position, statement in enumerate(function.body)
        if not ((name := generator_name(statement)) and _is_unread(name, function.body[position + 1 :]))
    ]
    return rebuilt(function, body=kept) if 0 < len(kept) < len(function.body) else function


@lru_cache(maxsize=4096)
def _has_scopes(statement: ast.stmt) -> bool:
    """Return whether a statement defines functions or classes, which may read a name whenever they are called."""
    return any(isinstance(node, (*SCOPES, ast.Lambda)) for node in nodes_of(statement))


@lru_cache(maxsize=4096)
def generator_name(statement: ast.stmt) -> str:
    """Return the name to which a statement assigns a new random generator; empty for any other statement."""
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(statement.value, ast.Call)
    ):
        return ""
    (target,) = statement.targets
    return target.id if isinstance(target, ast.Name) and called_name(statement.value) in CONSTRUCTORS else ""


def _is_unread(name: str, following: list[ast.stmt]) -> bool:
    for statement in following:
        if name in names_of(statement).reads:
            return False
        if isinstance(statement, ast.Assign) and name in binds(statement):
            return True
        if name in binds(statement):
            return False
    return True
