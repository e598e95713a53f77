"""Extraction of the proposed equation from a language model's reply."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from evodiverse.kit.python import parse_quietly, read_code
from evodiverse.tasks.equations.prompts.reply_code import find_code
from evodiverse.tasks.equations.skeleton import NAME, PARAMS
from evodiverse.vocabulary import Reason, Rejection

Functions: TypeAlias = dict[str, ast.FunctionDef]

_BODY = ""  # the name given to a function that comes without its header
_VERSION = re.compile(rf"{NAME}(?:_v\d+)?")


def read_reply(reply: str, variables: Sequence[str], earlier: Mapping[str, str], asked: str) -> str | Rejection:
    """Return the program that a reply proposes: a function ``equation``, preceded by the functions that it calls.

    Docstrings, decorators and annotations of arguments are dropped, and so is everything outside functions, unless it
    is the body of a function without its header.

    Args:
        reply: The text of the reply, which may be anything.
        variables: The names of the variables that the function depends on.
        earlier: The programs that a reply may call, each under the name by which the reply calls it. If the reply
            defines a function of that name itself, its own function is used.
        asked: The name of the function that the model was asked for.

    Returns:
        The source code, or the reason why the reply proposes nothing.
    """
    return read_code(reply, lambda answer: _read_answer(answer, [*variables, PARAMS], earlier, asked))


def _read_answer(answer: str, arguments: list[str], earlier: Mapping[str, str], asked: str) -> str | Rejection:
    known = {name: _read_earlier(source, name) for name, source in earlier.items()}
    code = list(find_code(answer))
    problems = [part for part in code if isinstance(part, Rejection)]
    trees = [part for part in code if isinstance(part, ast.Module)]
    try:
        functions = _find_functions(trees, arguments)
        found = {function.name: function for function in functions}
        chosen = _choose(found, known, asked, arguments) or (None if problems else _choose_other(found, known))
        if chosen is None:
            instead = Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {_describe_other(trees, found)}")
            return problems[-1] if problems else instead
        return _write(chosen, known | {name: function for name, function in found.items() if function is not chosen})
    except (RecursionError, ValueError) as error:  # Python parses deeper nesting and longer numbers than it can write
        return Rejection(Reason.UNPARSABLE, f"not Python ({type(error).__name__})")


def _describe_other(trees: Sequence[ast.Module], found: Functions) -> str:
    """Return what a reply without a usable function has instead; all functions in ``found`` are earlier versions."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    silent = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if found:
        return f"{next(reversed(found))} is an earlier function, unchanged"
    if silent:
        return f"the function {silent[-1]} returns nothing"
    return "a lambda without a name" if any(isinstance(node, ast.Lambda) for node in nodes) else "no function"


def _read_earlier(source: str, name: str) -> ast.FunctionDef:
    *_, function = _walk(parse_quietly(source).body)
    return _build(name, function.args, function.body)


def _find_functions(trees: Iterable[ast.Module], arguments: Sequence[str]) -> Iterator[ast.FunctionDef]:
    """Yield the functions of each tree. If a tree has a return outside functions, one more function follows.

    This function has no name, and its body consists of the statements outside functions.
    """
    for tree in trees:
        yield from (_simplify(function, arguments) for function in _walk(tree.body))
        if any(isinstance(statement, ast.Return) for statement in tree.body):
            header = ast.arguments([], [ast.arg(name) for name in arguments], None, [], [], None, [])
            body = [statement for statement in tree.body if not isinstance(statement, ast.FunctionDef)]
            yield _simplify(_build(_BODY, header, body), arguments)


def _walk(statements: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Yield the functions that return something: those at module level, methods, and lambdas assigned to a name."""
    for statement in statements:
        match statement:
            case ast.FunctionDef() if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                yield statement
            case ast.ClassDef():
                yield from _walk(statement.body)
            case ast.Assign([ast.Name(name)], ast.Lambda(arguments, value)):
                yield _build(name, arguments, [ast.Return(value)])
            case ast.AnnAssign(ast.Name(name), _, ast.Lambda(arguments, value)):
                yield _build(name, arguments, [ast.Return(value)])


def _build(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])


def _simplify(function: ast.FunctionDef, arguments: Sequence[str]) -> ast.FunctionDef:
    """Return a function without its docstring, decorators and annotations, and without ``self`` or ``cls``."""
    is_static = any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in function.decorator_list)
    places = function.args.posonlyargs or function.args.args
    if places and places[0].arg in {"self", "cls"}.difference(arguments) and not is_static:
        owner = places.pop(0).arg
        for node in ast.walk(function):
            match node:
                case ast.Call(ast.Attribute(ast.Name(name), method)) if name == owner:
                    node.func = ast.Name(method, ast.Load())
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    is_documented = ast.get_docstring(function, clean=False) is not None
    return _build(function.name, function.args, function.body[is_documented:])


def _choose(found: Functions, known: Functions, asked: str, arguments: list[str]) -> ast.FunctionDef | None:
    """Return the function with the requested name, else with a similar name, else with the expected arguments.

    If no function has the expected arguments, a function with the expected number of arguments is chosen. If several
    functions qualify by name, the last one is returned. If several qualify by their arguments, the last one that is not
    called by any of them is returned. If no function qualifies, the function that the reply gives without its header is
    returned, or None if there is no such function.
    """
    new = [function for name, function in found.items() if name not in known and name != _BODY]
    alike = [function for function in new if _arguments(function) == arguments]
    alike = alike or [function for function in new if len(_arguments(function)) == len(arguments)]
    called = {name for function in alike for name in _callees(function)}
    ranked = (
        [function for function in new if function.name == asked]
        or [function for function in new if _VERSION.fullmatch(function.name)]
        or [function for function in alike if function.name not in called]
        or alike
    )
    return ranked[-1] if ranked else found.get(_BODY)


def _choose_other(found: Functions, known: Functions) -> ast.FunctionDef | None:
    """Return the last function of a reply with a name that is not in ``known``, whatever its arguments.

    If there is none, return the last one whose code differs from that of the function with the same name in ``known``;
    None if there is no such function either.
    """
    new = [function for name, function in found.items() if name not in known]
    edited = [function for name, function in found.items() if name in known and _text(function) != _text(known[name])]
    return next(reversed(new or edited), None)


def _arguments(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]


def _callees(function: ast.FunctionDef) -> list[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return [called.id for called in calls if isinstance(called, ast.Name)]


def _write(chosen: ast.FunctionDef, others: Functions) -> str:
    """Return the source code of a function, renamed ``equation`` and preceded by the other functions that it needs."""
    functions = list(_with_callees(chosen, others, set()))
    chosen.args.defaults, chosen.args.kw_defaults = [], [None] * len(chosen.args.kwonlyargs)
    if NAME in others:  # the chosen function takes this name, so the other function needs a new one
        while others[NAME].name in {*others, chosen.name}:
            others[NAME].name += "_"
        for node in (node for function in functions for node in ast.walk(function)):
            match node:
                case ast.Call(ast.Name(name) as called) if name == NAME:
                    called.id = others[NAME].name
    chosen.name = NAME
    return "\n\n\n".join(map(_text, functions)) + "\n"


def _with_callees(function: ast.FunctionDef, others: Functions, seen: set[str]) -> Iterator[ast.FunctionDef]:
    """Yield the functions that a function calls, directly or not, each after its own callees, and then the function."""
    for name in _callees(function):
        if name in others and name not in seen:
            seen.add(name)
            yield from _with_callees(others[name], others, seen)
    yield function


def _text(function: ast.FunctionDef) -> str:
    return ast.unparse(ast.fix_missing_locations(function))
