"""New random numbers for a program: its generators get new seeds, and nothing else changes."""

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from evodiverse.tasks.programs.marks import draw_region
from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.settings import RESEED
from evodiverse.vocabulary import Proposal, Request

MAX_SEED: Final = 2**31
"""All new seeds are below this bound; every generator accepts such seeds."""

_MAKERS: Final = ("default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_SEEDED: Final = {
    "random.seed": "a",
    "random.Random": "x",
    "numpy.random.SeedSequence": "entropy",
    **{f"numpy.random.{name}": "seed" for name in ("seed", *_MAKERS)},
}
"""The functions that take a seed as their first argument, and the name of that argument."""

_INTEGERS: Final = frozenset(["int", "len", "hash", "abs", "round"])
_COUNTING: Final = frozenset(["range", "enumerate"])


Seed: TypeAlias = tuple[syntax.Path, Callable[[int], ast.expr | list[ast.expr]]]
"""A place in a program that sets the seed of a random generator: the path of the part of the syntax tree to replace,
and a function that takes the new seed and returns the new part. For a call that creates a generator without a seed, the
part is the list of the call's arguments; otherwise, it is an expression."""


class Reseeder:
    """An operator whose offspring are copies of a pool's best program with new seeds for all random generators.

    A search with this operator shows what the program reaches by luck alone. In a program with EVOLVE-BLOCK marks, only
    the generators of one block, drawn at random, get new seeds.
    """

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request: the best program of the pool (or else the first parent) with new seeds.

        The genotype of a proposal is None if this program is not Python, or if it has no place where a new seed for a
        random generator can be set.

        Raises:
            ValueError: A request has no parents.
        """
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        rng = request.stream.rng()
        _, region = draw_region((request.best or request.parents[0]).genotype, rng)
        tree = syntax.read_program(region.code)
        if tree is None:
            return Proposal(None, RESEED, "the program is not Python")
        try:
            return Proposal(region.restore(syntax.write_program(reseed_all(tree, rng))), RESEED)
        except syntax.NoChildError:
            return Proposal(None, RESEED, "the program draws no random numbers from a generator that it makes or seeds")


def reseed_all(tree: ast.Module, rng: np.random.Generator) -> ast.Module:
    """Return the program with new seeds for its random generators."""
    for seed in syntax.some(seeds_of(tree)):
        tree = _replace_seed(tree, seed, rng)
    return tree


def reseed(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:  # noqa: ARG001
    """Return the program with a new seed at one of the places that `seeds_of` finds, even in ``fixed`` functions."""
    return _replace_seed(tree, syntax.draw(seeds_of(tree), rng), rng)


def _replace_seed(tree: ast.Module, seed: Seed, rng: np.random.Generator) -> ast.Module:
    path, make = seed
    return syntax.replace(tree, path, make(int(rng.integers(MAX_SEED))))


def seeds_of(tree: ast.Module) -> list[Seed]:
    """Return the places in a program that set the seeds of random generators.

    What a new seed replaces depends on how the program sets the seed:

    * If the seed is a number, the number is replaced.
    * If the seed is a constant of the module that is read only as a seed, the value of the constant is replaced. This
      is one place, even if several generators use the constant.
    * If a generator has no seed, it gets one.
    * If the seed is another integer expression, such as ``run``, a number is added to it, so that generators with
      different seeds keep different seeds. If it is a sum that ends with a number, that number is replaced.
    * Any other seed stays as it is.
    """
    modules = _modules(tree)
    arguments: list[syntax.Part[ast.expr]] = []
    seeds: list[Seed] = []
    for path, node in syntax.walk(tree):
        keyword = _SEEDED.get(_full_name(node.func, modules)) if isinstance(node, ast.Call) else None
        if keyword is None or not isinstance(node, ast.Call) or any(given.arg is None for given in node.keywords):
            continue
        places: list[syntax.Part[ast.expr]] = [((*path, "args", 0), given) for given in node.args[:1]]
        named = [(at, one.value) for at, one in enumerate(node.keywords) if one.arg == keyword]
        places += [((*path, "keywords", at, "value"), given) for at, given in named]
        arguments += places[:1]
        seeds += [] if places else [((*path, "args"), lambda seed: [syntax.number(seed)])]
    constants = _constants_for_seeds(tree, [node for _, node in arguments])
    seeds += [(path, syntax.number) for path in constants.values()]
    unknown = _maybe_not_integers(tree)
    for path, node in arguments:
        if not (isinstance(node, ast.Name) and node.id in constants):
            seeds += _seeds_in(path, node, unknown)
    return seeds


def _seeds_in(path: syntax.Path, node: ast.expr, unknown: set[str]) -> list[Seed]:
    """Return the place, if any, where the argument that seeds a random generator is changed to set a new seed.

    A constant is replaced, and so is a constant that is the last term of a sum. To any other expression, a number is
    added. The list is empty if such an expression might not be an integer.

    Args:
        path: The path of the argument.
        node: The expression of the argument.
        unknown: The names that may be bound to something other than an integer.
    """
    if isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)):
        return [(path, syntax.number)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        return [((*path, "right"), syntax.number)]
    is_integer = all(
        isinstance(one, (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context))
        and not (isinstance(one, ast.Name) and one.id in unknown)
        for one in ast.walk(node)
    )
    return [(path, lambda seed: ast.BinOp(node, ast.Add(), syntax.number(seed)))] if is_integer else []


def _constants_for_seeds(tree: ast.Module, arguments: Sequence[ast.expr]) -> dict[str, syntax.Path]:
    """Return where the module sets constants that are bound once, to an integer, and read only as seeds.

    Args:
        tree: The module.
        arguments: The arguments that seed the generators of the module.

    Returns:
        The path of the value of each constant, by the name of the constant.
    """
    used = Counter(node.id for node in arguments if isinstance(node, ast.Name))
    named = (node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.arg)))
    names = Counter(node.id if isinstance(node, ast.Name) else node.arg for node in named)
    paths: dict[str, syntax.Path] = {}
    for index, statement in enumerate(tree.body):
        match statement:
            case ast.Assign([ast.Name(name)], ast.Constant(value)) | ast.AnnAssign(
                ast.Name(name), _, ast.Constant(value)
            ) if used[name] and names[name] == used[name] + 1 and type(value) is int:
                paths[name] = ("body", index, "value")
    return paths


def _maybe_not_integers(tree: ast.Module) -> set[str]:
    """Return the names that may be bound to something other than an integer, such as a generator or None."""
    names: set[str] = set()
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign) and not _may_be_integer(node.value):
            targets = node.targets
        elif isinstance(node, (ast.For, ast.comprehension)):
            is_counting = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", None) in _COUNTING
            is_listing = isinstance(node.iter, (ast.List, ast.Tuple)) and all(map(_may_be_integer, node.iter.elts))
            targets = [] if is_counting or is_listing else [node.target]
        elif isinstance(node, ast.arguments):
            given = [*node.kwonlyargs, *[*node.posonlyargs, *node.args][::-1]]
            defaults = [*node.kw_defaults, *node.defaults[::-1]]  # the last arguments by position have one
            pairs = zip(given, defaults, strict=False)
            names |= {one.arg for one, value in pairs if value and not _may_be_integer(value)}
        names |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names


def _may_be_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", None) in _INTEGERS
    return isinstance(node, (ast.Name, ast.BinOp, ast.UnaryOp, ast.Subscript))


def _modules(tree: ast.Module) -> dict[str, str]:
    """Return the full name of each imported name, as in ``{"np": "numpy", "make": "numpy.random.default_rng"}``."""
    full_names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                full_names |= {alias.asname: alias.name} if alias.asname else {first: first}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full_names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return full_names


def _full_name(node: ast.expr, modules: dict[str, str]) -> str:
    """Return the full name of an imported function; empty for other expressions.

    What a method is called on is not looked at, so that a long chain of calls takes no longer than its length.
    """
    if isinstance(node, ast.Name):
        return modules.get(node.id, "")
    owner = _full_name(node.value, modules) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""
