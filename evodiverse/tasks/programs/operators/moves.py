"""Moves: statements with random parameters that make sense in the programs of one task.

A move names the arrays that it reads and changes. It may call building blocks, which are functions that are inserted
into the program together with the move. The search finds out which moves a program makes, in which order, and with
which numbers.
"""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from math import inf
from pathlib import Path as File
from string import Template
from typing import Any, Final, NamedTuple

import numpy as np
import yaml

from evodiverse.errors import InputError, describe, reason
from evodiverse.kit.files import read_shipped
from evodiverse.kit.inputs import read_input
from evodiverse.kit.python import parse, parse_file
from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.names import binds, module_names, names_of, parameters

LIBRARY: Final = "np"
"""The name under which all moves use numpy."""

MOVES: Final = "moves.yaml"
"""The file in the folder of a task that defines its moves."""

START: Final = "start.py"
"""The file in the folder of a task with the program that a search starts from."""

BLOCKS: Final = "blocks.py"
"""The file in the folder of a task with the functions that its moves call."""


class Place(NamedTuple):
    """The places in a function where a move makes sense, defined by the names that are bound there.

    A move is a few statements that a mutation inserts there.

    Attributes:
        after: The names that must be bound there.
        before: The names that must not be bound there yet.
        not_parameters: The names that must not be parameters of the function, because the function's caller would not
            see what the move assigns to them.
        not_added_to: The names that no later statement may change by an assignment such as ``+=``, because such a
            change would invalidate the move's result.
    """

    after: frozenset[str]
    before: frozenset[str] = frozenset()
    not_parameters: frozenset[str] = frozenset()
    not_added_to: frozenset[str] = frozenset()


class Move(NamedTuple):
    """Statements with random parameters.

    Attributes:
        place: The places where the move makes sense.
        weight: The frequency of the move relative to the other moves.
        template: The source of the statements, with the parameters written as ``$NAME``.
        draws: The distributions of the parameters, by name; see `draw_number`.
    """

    place: Place
    weight: float
    template: str
    draws: Mapping[str, str]


class Grammar(NamedTuple):
    """What makes sense only in the programs of one task.

    Attributes:
        moves: The moves by name.
        blocks: The module of the building blocks that the moves call; in these functions, mutations change only seeds.
        fixed: The names of these functions, and of the program's constants that no mutation may change.
    """

    moves: Mapping[str, Move]
    blocks: ast.Module
    fixed: frozenset[str]


def read_moves(folder: File) -> Grammar | None:
    """Return the moves of the task in a folder: those in ``moves.yaml``, which may call the functions in ``blocks.py``.

    Returns:
        The moves; None if the folder has no ``moves.yaml``.

    Raises:
        InputError: A file cannot be used; the message names it and the fault.
    """
    file = folder / MOVES
    if not file.is_file():
        return None
    try:
        text = read_input(file)
        content = _check_keys("the file", yaml.safe_load(text), "places moves", "fixed programs")
        places = {name: _read_place(name, keys) for name, keys in content["places"].items()}
        moves = {name: _read_move(name, keys, places) for name, keys in content["moves"].items()}
        blocks = parse(read_input(folder / BLOCKS)) if (folder / BLOCKS).is_file() else ast.Module([], [])
        fixed = content.get("fixed", [])
        if not isinstance(fixed, list) or not moves:
            raise ValueError("fixed must list names, and moves must have at least one move")  # noqa: TRY301
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({reason(error)}); check its {MOVES} and {BLOCKS}") from error
    except (ValueError, SyntaxError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise InputError(f"{file} has no moves ({describe(error)}); fix it as in the tasks of EvoDiverse") from error
    return Grammar(moves, blocks, frozenset(map(str, fixed)) | syntax.functions_of(blocks).keys())


def make_program(folder: File, name: str) -> str | None:
    """Return a program that comes with a task: its start with the move and the numbers listed in ``moves.yaml``.

    The move is inserted at the end of the first function. The result is None if no such program is listed.
    """
    content = read_shipped(folder / MOVES)
    listed = content.get("programs", {}).get(name)
    if listed is None:
        return None
    made = parse(Template(content["moves"][listed["move"]]["code"]).substitute(listed)).body
    tree = parse_file(folder / START)
    index, function = next((index, one) for index, one in enumerate(tree.body) if isinstance(one, ast.FunctionDef))
    tree = syntax.insert(tree, ("body", index, "body"), len(function.body) - 1, made)
    return syntax.write_program(bring_blocks(tree, made, parse_file(folder / BLOCKS)))


def _check_keys(what: str, content: Any, needed: str, optional: str) -> Mapping[str, Any]:
    """Return a mapping that has all needed keys, and besides these only optional ones."""
    least, most = set(needed.split()), {*needed.split(), *optional.split()}
    if not isinstance(content, dict) or not least <= content.keys() <= most:
        found = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise ValueError(f"{what} has {found}; expected the keys {needed}, and if wanted {optional}")
    return content


def _read_place(name: str, keys: Any) -> Place:
    content = _check_keys(f"the place {name}", keys, "after", "before not_parameters not_added_to")
    return Place(**{key: frozenset(names) for key, names in content.items()})


def _read_move(name: str, keys: Any, places: Mapping[str, Place]) -> Move:
    """Return a move, after checking that its code is Python."""
    content = _check_keys(f"the move {name}", keys, "place weight code", "draw")
    place, weight = content["place"], content["weight"]
    if place not in places:
        raise ValueError(f"the move {name} is at the unknown place {place}; expected one of {', '.join(places)}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < inf:
        raise ValueError(f"the move {name} has the weight {weight!r}; expected a number above 0")
    try:
        drawn = dict(each.split("=") for each in str(content.get("draw", "")).split())
        move = Move(places[place], weight, str(content["code"]), drawn)
        make_statements(move, np.random.default_rng(0))
    except (SyntaxError, LookupError, ValueError, ArithmeticError) as error:
        raise ValueError(
            f"the code of the move {name} is no Python, or a $NAME has no draw such as NAME=0.1..0.9: {error}"
        ) from None
    return move


def draw_number(bounds: str, rng: np.random.Generator) -> str:
    """Draw a number, as text; floats have three significant digits.

    ``low..high`` is uniform, over integers, bounds included, unless ``low`` has a decimal point; ``low~high`` is
    log-uniform.
    """
    low, sign, high = re.split(r"(~|\.\.)", bounds)
    if sign == ".." and "." not in low:
        return str(rng.integers(int(low), int(high) + 1))
    start, end, share = float(low), float(high), rng.random()
    value = start * (end / start) ** share if sign == "~" else start + share * (end - start)
    return repr(float(f"{value:.3g}"))


def insert_move(tree: ast.Module, rng: np.random.Generator, move: Move, blocks: ast.Module) -> ast.Module:
    """Insert a move at a position where it makes sense, and add those building blocks in ``blocks`` that it calls.

    A move consists of statements with random parameters. `Move.place` tells where it makes sense. No child is made if
    there is no such position, or if the program does not bind the name ``np`` (numpy).

    The function that receives the move is drawn uniformly from those with such a position. The last possible position
    in it has probability 1/2, the one before 1/4, and so on.
    """
    own = syntax.functions_of(blocks).keys()
    choices: list[tuple[syntax.Path, list[int]]] = [
        (("body", index, "body"), places)
        for index, function in enumerate(tree.body)
        if isinstance(function, ast.FunctionDef)
        and function.name not in own
        and LIBRARY in module_names(tree)
        and (places := places_for(function, move.place))
    ]
    path, places = syntax.draw(choices, rng)
    place = places[max(len(places) - int(rng.geometric(0.5)), 0)]
    made = make_statements(move, rng)
    return bring_blocks(syntax.insert(tree, path, place, made), made, blocks)


def places_for(function: syntax.Function, place: Place) -> list[int]:
    """Return the indices of the statements in a function's body before which ``place`` allows a move, ascending."""
    bound = parameters(function)
    if place.not_parameters & bound:
        return []
    places: list[int] = []
    for position, statement in enumerate(function.body):
        if place.after <= bound and not place.before & bound:
            places.append(position)
        if place.not_added_to & _added_to(statement):
            places.clear()
        if isinstance(statement, ast.Return):
            break
        bound |= binds(statement)
    return places


@lru_cache(maxsize=4096)
def _added_to(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement changes by augmented assignments such as ``+=``."""
    targets = [node.target for _, node in syntax.parts_of(statement) if isinstance(node, ast.AugAssign)]
    return frozenset(node.id for one in targets for node in ast.walk(one) if isinstance(node, ast.Name))


def make_statements(move: Move, rng: np.random.Generator) -> list[ast.stmt]:
    """Return the statements of a move with newly drawn parameters."""
    values = {name: draw_number(bounds, rng) for name, bounds in move.draws.items()}
    return parse(Template(move.template).substitute(values)).body


def bring_blocks(tree: ast.Module, made: list[ast.stmt], blocks: ast.Module) -> ast.Module:
    """Add to a module the building blocks that new statements call, directly or indirectly, and that the module lacks.

    The imports that these building blocks need are added too.

    Args:
        tree: The module, which already holds the new statements.
        made: The new statements.
        blocks: The module of the building blocks.
    """
    sources = _imports_of(blocks) | syntax.functions_of(blocks)
    known = module_names(tree)
    brought: dict[str, ast.stmt] = {}
    wanted = sorted(set().union(*(names_of(statement).reads for statement in made)))
    while wanted:
        name = wanted.pop(0)
        if name in sources and name not in known and name not in brought:
            brought[name] = sources[name]
            wanted += sorted(names_of(sources[name]).reads)
    n_imports = max((index + 1 for index, one in enumerate(tree.body) if syntax.is_import(one)), default=0)
    new_imports = [one for one in brought.values() if syntax.is_import(one)]
    new_functions = [one for one in brought.values() if not syntax.is_import(one)]
    return syntax.rebuilt(tree, body=[*tree.body[:n_imports], *new_imports, *tree.body[n_imports:], *new_functions])


def _imports_of(blocks: ast.Module) -> dict[str, ast.stmt]:
    """Return, for each name that a module imports, a statement that imports only this name."""
    return {
        alias.asname or alias.name: syntax.rebuilt(statement, names=[alias])
        for statement in blocks.body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }
