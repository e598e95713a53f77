"""The classical operator for programs: mutation and crossover of syntax trees, without a language model."""

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.programs.marks import draw_region, find_regions
from evodiverse.tasks.programs.operators import names, syntax
from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.crossover import CROSSOVERS
from evodiverse.tasks.programs.operators.growth import GROWTH
from evodiverse.tasks.programs.operators.moves import Grammar, insert_move
from evodiverse.tasks.programs.operators.mutation import MUTATIONS, trim
from evodiverse.vocabulary import Candidate, Proposal, Request

FAILED: Final = "mutation"
"""The name of the operator that the log has for a failed proposal."""

MAX_CHARACTERS: Final = 9_000
MAX_WORK: Final = 300_000.0
"""The most work that a child may take, in microseconds as estimated by `estimate_work`."""

TRIES: Final = 10
CROSSOVER_RATE: Final = 0.4
MOVE_RATE: Final = 0.55
MORE_EDITS: Final = (0.4, 0.35, 0.25)
"""The probabilities of 0, 1 and 2 edits after a crossover or after a first edit."""

MAX_TRIMMED: Final = 8
"""A child that is too long or takes too much work is given up once this many statements are removed from it."""

EDITS: Final = {**MUTATIONS, **GROWTH}
"""The mutations by kind, each with its relative frequency."""
CONSTRUCTORS: Final = frozenset({"default_rng", "RandomState", "Random"})


class Parent(NamedTuple):
    """The part of a program that may change, and the properties that its children are compared with.

    Attributes:
        tree: The syntax tree of the part.
        source: The source that `write_program` returns for the tree.
        undefined: The names that the program seems to read before anything binds them; see `undefined_names`.
        dead: The names that the program defines but does not need; see `dead_names`.
        work: The estimated work of the program, in microseconds; see `estimate_work`.
        entry_point: The function of the part through which it is called.
        n_outside: The number of characters of the program outside of the part.
    """

    tree: ast.Module
    source: str
    undefined: set[str]
    dead: set[str]
    work: float
    entry_point: str
    n_outside: int


@lru_cache(maxsize=1024)
def read_parent(source: str, entry_point: str, outside: str = "") -> Parent | None:
    """Return the properties that the children of a program are compared with, or None if it is not Python.

    Args:
        source: The source of the program, or of the part of it that may change.
        entry_point: The entry point of the program. If the part does not define it, the last of its functions that
            occurs in the rest of the program stands in for it.
        outside: The rest of the program.
    """
    tree = syntax.read_program(source)
    if tree is None:
        return None
    functions = syntax.functions_of(tree)
    if outside and entry_point not in names.module_names(tree):
        called = [name for name in functions if re.search(rf"\b{re.escape(name)}\b", outside)]
        entry_point = (called or [*functions] or [entry_point])[-1]
    dead, work = names.dead_names(tree, entry_point), estimate_work(tree, entry_point)
    return Parent(tree, syntax.write_program(tree), names.undefined_names(tree), dead, work, entry_point, len(outside))


class ProgramOperator:
    """The classical operator: edits of a program, sometimes after a crossover with another program.

    The operator changes the first parent that did not fail, or the first parent if all failed. The other program of a
    crossover, the donor, is the best of the other parents that did not fail. With probability `CROSSOVER_RATE` the
    child takes a function, statements or constants from the donor (`CROSSOVERS`), followed by 0, 1 or 2 edits
    (`MORE_EDITS`). Otherwise there are 1, 2 or 3 edits. If the task has its own moves, an edit is one of them with
    probability `MOVE_RATE`; all other edits are mutations (`EDITS`).

    A child defines the entry point, reads no undefined name that its parent did not read, and differs from its parent.
    It has at most ``max_characters`` characters, or as many as its parent if the parent is longer. Its estimated work
    is at most 0.3 s (`MAX_WORK`), or that of its parent if the parent takes more. A child above these limits is
    trimmed. Definitions and random generators that a child no longer reads are removed. The operator makes up to
    `TRIES` children until one meets these conditions.

    If a program has EVOLVE-BLOCK marks, all this holds for one of its blocks, drawn at random, and nothing else changes
    (see `evodiverse.tasks.programs.marks`).

    The operator name of a proposal joins the names of the changes, as in
    ``crossover_statements+mutation_constant+move_walk``.

    Args:
        entry_point: The function that a program must define.
        moves: The task's own moves, or None if it has none.
        max_characters: The maximum length of a child, unless its parent is longer.
    """

    def __init__(self, entry_point: str, moves: Grammar | None = None, max_characters: int = MAX_CHARACTERS) -> None:
        self._entry_point = entry_point
        self._max_characters = max_characters
        self._moves = moves
        self._fixed = frozenset() if moves is None else moves.fixed

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request; its genotype is a program, or None if no child could be made.

        Raises:
            ValueError: A request has no parents.
        """
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        rng = request.stream.rng()
        chosen, donor = _choose(request.parents)
        index, region = draw_region(chosen.genotype, rng)
        parent = read_parent(region.code, self._entry_point, region.before + region.after)
        if parent is None:
            return Proposal(None, FAILED, "the parent is not Python")
        regions = [] if donor is None else find_regions(donor.genotype)
        other = syntax.read_program(regions[index].code) if index < len(regions) else None
        for _ in range(TRIES):
            with suppress(syntax.NoChildError):
                tree, changes = self._vary(parent.tree, other, rng)
                program = region.restore(self._write(tree, parent, rng))
                if program is not None:
                    return Proposal(program, "+".join(changes))
        return Proposal(None, FAILED, f"no allowed child in {TRIES} tries")

    def _vary(
        self, tree: ast.Module, other: ast.Module | None, rng: np.random.Generator
    ) -> tuple[ast.Module, list[str]]:
        """Return a changed tree and the names of the changes; if none could be made, the tree itself and no names."""
        changes: list[str] = []
        n_edits = int(rng.choice(len(MORE_EDITS), p=MORE_EDITS))
        if other is not None and rng.random() < CROSSOVER_RATE:
            with suppress(syntax.NoChildError):
                kind, cross = pick([((kind, cross), weight) for kind, (cross, weight) in CROSSOVERS.items()], rng)
                tree, changes = cross(tree, other, rng), [f"crossover_{kind}"]
        for _ in range(n_edits if changes else n_edits + 1):
            with suppress(syntax.NoChildError):
                tree, name = self._edit(tree, rng)
                changes.append(name)
        return tree, changes

    def _edit(self, tree: ast.Module, rng: np.random.Generator) -> tuple[ast.Module, str]:
        """Return the tree after one edit, and the name of the edit.

        If a mutation does not apply, another kind is tried.
        """
        if self._moves is not None and rng.random() < MOVE_RATE:
            kind = pick([(kind, move.weight) for kind, move in self._moves.moves.items()], rng)
            return insert_move(tree, rng, self._moves.moves[kind], self._moves.blocks), f"move_{kind}"
        left = {kind: weight for kind, (_, weight) in EDITS.items()}
        while left:
            kind = pick(left.items(), rng)
            try:
                return EDITS[kind][0](tree, rng, self._fixed), f"mutation_{kind}"
            except syntax.NoChildError:
                del left[kind]
        raise syntax.NoChildError

    def _write(self, tree: ast.Module, parent: Parent, rng: np.random.Generator) -> str:
        """Return the source of a child that keeps the rules of `ProgramOperator`, trimmed if necessary."""
        is_needed = not parent.n_outside or parent.entry_point in names.module_names(parent.tree)
        is_lost = is_needed and parent.entry_point not in names.module_names(tree)
        if is_lost or names.undefined_names(tree) - parent.undefined:
            raise syntax.NoChildError
        most_characters = max(self._max_characters - parent.n_outside, len(parent.source))
        for _ in range(MAX_TRIMMED):
            tree = without_unread_generators(tree)
            tree = names.without_names(tree, names.dead_names(tree, parent.entry_point) - parent.dead)
            source = syntax.write_program(tree)
            works_long = estimate_work(tree, parent.entry_point) > max(MAX_WORK, parent.work)
            if not works_long and len(source) <= most_characters:
                if source == parent.source or names.undefined_names(tree) - parent.undefined:
                    break
                return source
            tree = trim(tree, rng, self._fixed, by_work=works_long)
        raise syntax.NoChildError


def _choose(parents: Sequence[Candidate]) -> tuple[Candidate, Candidate | None]:
    """Return the parent to change, and the donor of a crossover (None if there is no donor)."""
    sound = [parent for parent in parents if parent.score and not parent.error]
    chosen = sound[0] if sound else parents[0]
    donors = [parent for parent in sound if parent is not chosen]
    return chosen, max(donors, key=lambda parent: parent.score or 0.0, default=None)


def without_unread_generators(tree: ast.Module) -> ast.Module:
    """Return a module without the random generators that its functions assign but never read.

    Edits leave many of these behind. If a child differed from its parent only in the seed of such a generator, it would
    behave like its parent.
    """
    body = [_tidied(statement) if isinstance(statement, syntax.FUNCTIONS) else statement for statement in tree.body]
    return syntax.rebuilt(tree, body=body)


def _tidied(function: syntax.Function) -> ast.stmt:
    if syntax.declares_scope(function) or any(_has_scopes(statement) for statement in function.body):
        return function
    body = function.body
    kept = [one for position, one in enumerate(body) if not _is_unread_generator(one, body[position + 1 :])]
    return syntax.rebuilt(function, body=kept) if 0 < len(kept) < len(body) else function


@lru_cache(maxsize=4096)
def _has_scopes(statement: ast.stmt) -> bool:
    """Return whether a statement defines functions or classes, which may read a name whenever they are called."""
    return any(isinstance(node, (*syntax.SCOPES, ast.Lambda)) for node in syntax.nodes_of(statement))


@lru_cache(maxsize=4096)
def generator_name(statement: ast.stmt) -> str:
    """Return the name to which a statement assigns a new random generator; empty for any other statement."""
    value = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    is_new = isinstance(value, ast.Call) and syntax.called_name(value) in CONSTRUCTORS
    return getattr(statement.targets[0], "id", "") if is_new and isinstance(statement, ast.Assign) else ""


def _is_unread_generator(statement: ast.stmt, following: list[ast.stmt]) -> bool:
    name = generator_name(statement)
    if not name:
        return False
    users = (one for one in following if name in names.names_of(one).reads or name in names.binds(one))
    first = next(users, None)
    return first is None or (isinstance(first, ast.Assign) and name not in names.names_of(first).reads)
