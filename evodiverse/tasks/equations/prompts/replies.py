"""Extraction of the proposed equation from a language model's reply."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from evodiverse.kit.python import NOT_PYTHON, parse_quietly, read_code
from evodiverse.tasks.equations.skeleton import NAME, PARAMS, list_arguments, name_fault
from evodiverse.vocabulary import Reason, Rejection

Functions: TypeAlias = dict[str, ast.FunctionDef]

_BODY = ""  # the name given to a function that comes without its header
MAX_CHARACTERS = 50_000
"""Only the end of a longer answer is read, and only its last pieces and definitions, so that reading is always fast."""

_DEFINITION = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def\b|class\b|\w+[ \t]*(?::[^=]*)?=[ \t]*lambda\b)")
_STATEMENT = re.compile(
    r"[ \t]*(?:(?:return|for|if|while|with|try|import|from)\b|\"{3}|'{3}"
    r"|\(?[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*\)?[ \t]*(?::[^=]*)?(?:[-+*/%]|\*\*|//)?=(?!=))"
)


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
    known = {}
    for name, source in earlier.items():
        *_, function = _walk(parse_quietly(source).body)
        known[name] = _build(name, function.args, function.body)
    code = list(_find_code(answer))
    problems = [part for part in code if isinstance(part, Rejection)]
    trees = [part for part in code if isinstance(part, ast.Module)]
    try:
        found = {function.name: function for function in _find_functions(trees, arguments)}
        chosen = _choose(found, known, asked, arguments, takes_any=not problems)
        if chosen is not None:
            return _write(chosen, known | {name: one for name, one in found.items() if one is not chosen})
        instead = Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {_describe_other(trees, found)}")
        return problems[-1] if problems else instead
    except (RecursionError, ValueError) as error:  # Python parses deeper nesting and longer numbers than it can write
        return Rejection(Reason.UNPARSABLE, name_fault(error))


def _describe_other(trees: Sequence[ast.Module], found: Functions) -> str:
    """Return what a reply without a usable function has instead; all functions in ``found`` are earlier versions."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    silent = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if found:
        return f"{next(reversed(found))} is an earlier function, unchanged"
    if silent:
        return f"the function {silent[-1]} returns nothing"
    return "a lambda without a name" if any(isinstance(node, ast.Lambda) for node in nodes) else "no function"


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
            case ast.Assign([ast.Name(name)], ast.Lambda() as one) | ast.AnnAssign(
                ast.Name(name), _, ast.Lambda() as one
            ):
                yield _build(name, one.args, [ast.Return(one.body)])


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


def _choose(
    found: Functions, known: Functions, asked: str, arguments: list[str], *, takes_any: bool
) -> ast.FunctionDef | None:
    """Return the function with the requested name, else with a similar name, else with the expected arguments.

    If no function has the expected arguments, a function with the expected number of arguments is chosen. If several
    functions qualify by name, the last one is returned. If several qualify by their arguments, the last one that is not
    called by any of them is returned. If no function qualifies, the function that the reply gives without its header is
    returned. If there is none, either, and ``takes_any`` is set, the last function with a name that is not in ``known``
    is returned, or else the last one whose code differs from that of the function with the same name in ``known``.
    """
    new = [function for name, function in found.items() if name not in known and name != _BODY]
    alike = [function for function in new if list_arguments(function) == arguments]
    alike = alike or [function for function in new if len(list_arguments(function)) == len(arguments)]
    called = {name for function in alike for name in _callees(function)}
    ranked = (
        [function for function in new if function.name == asked]
        or [function for function in new if re.fullmatch(rf"{NAME}(?:_v\d+)?", function.name)]
        or [function for function in alike if function.name not in called]
        or alike
        or [function for name, function in found.items() if name == _BODY]
    )
    if takes_any and not ranked:
        ranked = new or [one for name, one in found.items() if name in known and _text(one) != _text(known[name])]
    return ranked[-1] if ranked else None


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


def _find_code(answer: str) -> Iterator[ast.Module | Rejection]:
    """Yield the syntax trees of the Python code in an answer, and a rejection for code that does not parse.

    A tree holds definitions, or the statements of a function without its header.
    """
    answer = answer.replace("\r\n", "\n").replace("\r", "\n")
    # Any piece between code fences may be code, since not every fence is closed.
    first, *others = [piece.split("\n") for piece in re.split(r"`{3,}", answer[-MAX_CHARACTERS:])]
    for lines in others:
        if not (_DEFINITION.match(lines[0]) or _STATEMENT.match(lines[0])):
            del lines[0]  # for example the name of the language
    for lines in [first, *others][-20:]:
        whole = _parse(lines)
        if isinstance(whole, ast.Module):
            yield whole
        else:  # prose is mixed with the code
            yield from map(_parse, _find_definitions(lines)[-40:])
            if body := _find_body(lines):
                yield _parse(body)


def _parse(lines: Sequence[str]) -> ast.Module | Rejection:
    """Parse lines of code, and return a rejection if that fails. The first line may have lost its indentation."""
    first, *others = [_indent(line) for line in lines if line.strip()] or [0]
    problems = []
    for indent in dict.fromkeys((first, max(first, min(others, default=0)))):
        try:
            return parse_quietly("\n".join(line[min(indent, _indent(line)) :] for line in lines))
        except NOT_PYTHON as error:
            problems.append(name_fault(error))
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
    last = max((at for at in range(end) if re.match(r"[ \t]*return\b", lines[at])), default=None)
    if last is None:
        return []
    start = last
    # The first condition is also true of an empty line.
    while start and (lines[start - 1][:1] in " \t)]}#" or _STATEMENT.match(lines[start - 1])):
        start -= 1
    depths = accumulate(sum(map(line.count, "([{")) - sum(map(line.count, ")]}")) for line in lines[last:end])
    stop = next((at for at, depth in enumerate(depths, last + 1) if depth <= 0), end)
    return lines[start:stop]
