"""The moves of bin packing: each keeps a rule running, and changes what it prefers."""

import ast

import numpy as np
import pytest

from evodiverse.tasks.programs.operators.moves import insert_move, places_for
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from tests.tasks.programs.samples import moves_of, read, start_of

MOVES = moves_of("bin_packing")
VALUES = MOVES["step"].place
START = start_of("bin_packing")

NAMES = sorted(MOVES)
SPACES = np.array([10, 12, 20, 33, 50, 71, 100])


def insert(source: str, name: str, seed: int) -> str:
    child = insert_move(read(source), np.random.default_rng(seed), MOVES[name], ast.Module([], []))
    return write_program(child)


def values_of(source: str, item: int) -> np.ndarray:
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102
    return np.asarray(names["priority"](item, SPACES.copy()))  # type: ignore[operator]


def test_the_start_is_worst_fit() -> None:
    assert SPACES[values_of(START, 10).argmax()] == 71
    assert np.array([100])[values_of(START, 10)[-1:].argmax()] == 100


@pytest.mark.parametrize("name", NAMES)
def test_a_move_gives_each_space_a_finite_value(name: str) -> None:
    for seed in range(20):
        values = values_of(insert(START, name, seed), 10)
        assert values.shape == SPACES.shape
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_move_now_and_then_prefers_another_bin(name: str) -> None:
    chosen = {int(values_of(insert(START, name, seed), 10).argmax()) for seed in range(40)}
    assert len(chosen) > 1


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_of_a_move_vary_and_it_reads_only_what_is_there(name: str) -> None:
    children = {insert(START, name, seed) for seed in range(12)}
    assert len(children) >= 9
    assert not any(undefined_names(read(child)) for child in children)


def test_moves_come_where_the_priorities_are_made() -> None:
    (function,) = functions_of(read(START)).values()
    assert places_for(function, VALUES) == [2, 3]
    assert places_for(functions_of(read("def f(values, item, spaces):\n    return values\n"))["f"], VALUES) == []
