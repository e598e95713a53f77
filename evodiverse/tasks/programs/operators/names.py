"""The names that programs bind and read; a name that is read but not bound reveals a broken program before it runs."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from evodiverse.tasks.programs.operators import syntax

BUILTINS: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


class Names(NamedTuple):
    """The names of a statement.

    Attributes:
        reads: The names that the statement reads before it binds them.
        binds: The names that the statement binds in its own scope.
    """

    reads: frozenset[str]
    binds: frozenset[str]


@lru_cache(maxsize=4096)
def names_of(statement: ast.stmt) -> Names:
    """Return the names that a statement reads before it binds them, and the names that it binds.

    A name that a function or class in the statement reads counts as read where the function or class is defined.
    """
    bound: set[str] = set()
    reads = _unbound([statement], bound)
    return Names(frozenset(reads), frozenset(bound))


def parameters(function: syntax.Function | ast.Lambda) -> set[str]:
    """Return the names of a function's parameters."""
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def module_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module binds."""
    return frozenset().union(*(binds(statement) for statement in tree.body))


def binds(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement binds in its own scope."""
    return frozenset({statement.name}) if isinstance(statement, syntax.SCOPES) else names_of(statement).binds


def dead_names(tree: ast.Module, entry_point: str) -> set[str]:
    """Return the names that a module defines but does not need.

    A name is needed if it is the entry point, if a statement that is not a definition reads it, or if the definition of
    a needed name reads it.
    """
    reads: dict[str, set[str]] = {}
    for statement in filter(is_definition, tree.body):
        for name in binds(statement):
            reads.setdefault(name, set()).update(names_of(statement).reads)
    live = {entry_point}.union(*(names_of(statement).reads for statement in tree.body if not is_definition(statement)))
    while new := set[str]().union(*(reads.get(name, ()) for name in live)) - live:
        live |= new
    return reads.keys() - live


def without_names(tree: ast.Module, names: set[str]) -> ast.Module:
    """Return a module without the statements that define only these names."""
    body = [statement for statement in tree.body if not (is_definition(statement) and binds(statement) <= names)]
    return syntax.rebuilt(tree, body=body) if len(body) < len(tree.body) else tree


def is_definition(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing but bind names."""
    return isinstance(statement, (*syntax.SCOPES, ast.Assign, ast.AnnAssign)) and bool(binds(statement))


def undefined_names(tree: ast.Module) -> set[str]:
    """Return the names that a module's statements and functions read before anything binds them.

    "Before" means in the order of the text. Even a program that works may have undefined names by this rule: a name
    that only an earlier iteration of a loop binds counts as undefined. The operator therefore allows a child the
    undefined names that its parent has. A function may read any name that the module binds anywhere.
    """
    everything = module_names(tree) | BUILTINS
    bound = set(BUILTINS)
    undefined: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, syntax.FUNCTIONS):
            undefined |= missing_names(statement.body, everything | parameters(statement))
        else:
            undefined |= names_of(statement).reads - (everything if isinstance(statement, ast.ClassDef) else bound)
        bound |= binds(statement)
    return undefined


def missing_names(statements: Iterable[ast.stmt], bound: Iterable[str]) -> set[str]:
    """Return the names that consecutive statements read before anything binds them.

    Args:
        statements: The statements, in the order in which they run.
        bound: The names that are bound before the first statement.
    """
    missing: set[str] = set()
    known = set(bound)
    for statement in statements:
        names = names_of(statement)
        missing |= names.reads - known
        known |= names.binds
    return missing


def _unbound(nodes: Iterable[ast.AST], bound: set[str]) -> set[str]:
    """Return the names that a sequence of nodes reads before anything binds them.

    At the call, ``bound`` holds the names that are bound before the first node. This function adds the names that the
    nodes bind.
    """
    return set().union(*(_unbound_in(node, bound) for node in nodes))


def _unbound_in(node: ast.AST, bound: set[str]) -> set[str]:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Store):
            return {node.id} - bound
        bound.add(node.id)
        return set()
    if isinstance(node, syntax.COMPREHENSIONS):
        return _unbound(_in_order(node), set(bound))
    if isinstance(node, ast.Lambda):
        return _unbound_in(node.args, bound) | _unbound_in(node.body, bound | parameters(node))
    if isinstance(node, syntax.FUNCTIONS):
        bound.add(node.name)
        head = filter(None, [*node.decorator_list, node.args, node.returns])  # what is evaluated at the definition
        return missing_names(node.body, bound | parameters(node)) | _unbound(head, set(bound))
    if isinstance(node, ast.ClassDef):
        bound.add(node.name)
        return _unbound([*node.bases, *node.decorator_list, *node.body], set(bound))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        bound.add(node.name)
    return _unbound(_in_order(node), bound)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node in the order of evaluation: an assigned value comes before its targets."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield from (node.annotation, node.value) if isinstance(node, ast.AnnAssign) else (node.value,)
        yield from node.targets if isinstance(node, ast.Assign) else (node.target,)
    elif isinstance(node, ast.AugAssign):
        read = [ast.Name(node.target.id, ast.Load())] if isinstance(node.target, ast.Name) else []
        yield from (node.value, *read, node.target)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from (node.iter, node.target, *node.body, *node.orelse)
    elif isinstance(node, syntax.COMPREHENSIONS):
        for generator in node.generators:
            yield from (generator.iter, generator.target, *generator.ifs)
        yield from (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    else:
        yield from (child for _, child in syntax.children(node))
