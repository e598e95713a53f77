"""The moves of the tasks that place points or shapes: each keeps a program running and helps now and then."""

import ast
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from evodiverse.tasks.programs.circles_in_rectangle import blocks as circles_blocks
from evodiverse.tasks.programs.circles_in_rectangle.evaluator import CirclesInRectangle
from evodiverse.tasks.programs.distances import blocks as distances_blocks
from evodiverse.tasks.programs.distances.evaluator import Distances
from evodiverse.tasks.programs.heilbronn import blocks as heilbronn_blocks
from evodiverse.tasks.programs.heilbronn.evaluator import Heilbronn
from evodiverse.tasks.programs.heilbronn_convex import blocks as convex_blocks
from evodiverse.tasks.programs.heilbronn_convex.evaluator import HeilbronnConvex
from evodiverse.tasks.programs.hexagons import blocks as hexagons_blocks
from evodiverse.tasks.programs.hexagons.evaluator import Hexagons
from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.moves import Move, insert_move, make_statements, places_for
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.operator import MAX_WORK, ProgramOperator
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from evodiverse.tasks.programs.points import PointPlacing
from tests.tasks.programs.samples import blocks_of, grammar_of, moves_of, read, request, start_of


class Task(NamedTuple):
    problem: type[PointPlacing]
    moves: Mapping[str, Move]
    functions: ModuleType
    blocks: ast.Module
    seed: str


TASKS = {
    task: Task(problem, moves_of(task), functions, blocks_of(task), start_of(task))
    for task, problem, functions in (
        ("heilbronn", Heilbronn, heilbronn_blocks),
        ("distances", Distances, distances_blocks),
        ("heilbronn_convex", HeilbronnConvex, convex_blocks),
        ("circles_in_rectangle", CirclesInRectangle, circles_blocks),
        ("hexagons", Hexagons, hexagons_blocks),
    )
}
ALL = [(task, name) for task in TASKS for name in sorted(TASKS[task].moves)]
POLISHING = [(task, name) for task, name in ALL if "polish(" in TASKS[task].moves[name].template]
LOOPS = [(task, name) for task, name in ALL if "quality(" in TASKS[task].moves[name].template]


def insert(task: str, source: str, name: str, seed: int) -> str:
    tree = read(source)
    one = TASKS[task]
    child = insert_move(tree, np.random.default_rng(seed), one.moves[name], one.blocks)
    return write_program(child)


@cache
def run(task: str, source: str) -> np.ndarray:
    """Return the points that a program places, which is one of ours."""
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102
    points: np.ndarray = names[TASKS[task].problem.entry_point]()
    return points


def polish(task: str, points: np.ndarray) -> np.ndarray:
    """Return points polished by the task's own building block, in the form that programs return."""
    if task != "hexagons":
        return np.array(TASKS[task].functions.polish(points))
    turned = hexagons_blocks.polish(np.column_stack([points[:, :2], 2 * np.arctan(points[:, 2])]))
    return np.column_stack([turned[:, :2], np.tan(turned[:, 2] / 2)])


def measure(task: str, points: np.ndarray) -> float:
    """Return the score of points over the reference, which is larger for better ones."""
    problem = TASKS[task].problem
    value = float(problem.measure(points.tolist()))
    return value if problem.is_larger_better else 1 / value


@pytest.mark.parametrize(("task", "name"), ALL)
def test_a_move_keeps_a_program_running_and_its_points_valid(task: str, name: str) -> None:
    for seed in range(1 if (task, name) in POLISHING else 4):
        points = run(task, insert(task, TASKS[task].seed, name, seed))
        assert points.shape == (TASKS[task].problem.n, TASKS[task].problem.n_coordinates)
        assert measure(task, points) >= 0  # raises for invalid ones


@pytest.mark.parametrize(("task", "name"), LOOPS)
def test_moves_that_keep_what_is_better_never_make_it_worse(task: str, name: str) -> None:
    seed = TASKS[task].seed
    assert measure(task, run(task, insert(task, seed, name, 1))) >= measure(task, run(task, seed))


@pytest.mark.parametrize(("task", "name"), POLISHING)
def test_a_polishing_move_ends_where_polishing_changes_little(task: str, name: str) -> None:
    points = run(task, insert(task, TASKS[task].seed, name, 0))
    again = measure(task, polish(task, points))
    assert again == pytest.approx(measure(task, points), rel=1e-5)


@pytest.mark.parametrize(("task", "name"), ALL)
def test_the_number_of_points_is_the_programs_own(task: str, name: str) -> None:
    for n in (3, 7):
        points = run(task, insert(task, start_of(task, n), name, 3))
        assert len(points) == n
        assert np.isfinite(points).all(), n


@pytest.mark.parametrize(("task", "name"), ALL)
def test_no_move_holds_places(task: str, name: str) -> None:
    draws = [np.random.default_rng(seed) for seed in range(4)]
    texts = {ast.unparse(one) for rng in draws for one in make_statements(TASKS[task].moves[name], rng)}
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    assert not any(isinstance(node, (ast.Import, ast.ImportFrom, ast.While)) for node in nodes)
    assert sum(isinstance(node, ast.Constant) and type(node.value) is float for node in nodes) <= 5 * len(texts)


@pytest.mark.parametrize("task", TASKS)
def test_no_building_block_holds_places(task: str) -> None:
    for function in functions_of(TASKS[task].blocks).values():
        numbers = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
        assert sum(type(value) is float for value in numbers) <= 3
        assert len(ast.unparse(function)) < 1800


@pytest.mark.parametrize(("task", "name"), ALL)
def test_the_work_of_a_move_is_bounded_and_all_that_it_reads_is_there(task: str, name: str) -> None:
    for seed in range(4):
        child = read(insert(task, TASKS[task].seed, name, seed))
        assert undefined_names(child) == set()
        assert (
            0
            < estimate_work(child, TASKS[task].problem.entry_point)
            < (MAX_WORK if (task, name) in POLISHING else 12_000)
        )


@pytest.mark.parametrize("task", TASKS)
def test_moves_come_after_the_points_are_made(task: str) -> None:
    function = functions_of(read(TASKS[task].seed))[TASKS[task].problem.entry_point]
    places = places_for(function, TASKS[task].moves["polish"].place)
    assert [function.body[place] for place in places] == function.body[-1:]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_operator_makes_every_move(task: str) -> None:
    operator = ProgramOperator(TASKS[task].problem.entry_point, grammar_of(task))
    made = {
        part
        for slot in range(300)
        for proposal in operator.propose([request(TASKS[task].seed, slot=slot)])
        for part in proposal.operator.split("+")
    }
    assert {f"move_{name}" for name in TASKS[task].moves} <= made


@pytest.mark.parametrize("task", TASKS)
def test_the_number_of_points_and_the_building_blocks_are_left_alone(task: str) -> None:
    grammar = grammar_of(task)
    assert grammar is not None
    assert grammar.fixed == {"N", *functions_of(TASKS[task].blocks)}


@pytest.mark.parametrize("task", ["heilbronn", "distances", "heilbronn_convex"])
@pytest.mark.parametrize("start", range(3))
def test_polished_points_are_where_no_small_step_improves_them(task: str, start: int) -> None:
    rng = np.random.default_rng(start)
    blocks = TASKS[task].functions
    points = blocks.polish(rng.dirichlet([1, 1, 1], 8)[:, :2])
    best = measure(task, points)
    assert best == pytest.approx(blocks.quality(points))
    for size in (1e-2, 1e-3, 1e-4):
        for _ in range(60):
            moved = points + rng.normal(0, size, points.shape)
            near = heilbronn_blocks.inside(moved) if task == "heilbronn" else moved
            assert measure(task, near) <= best * (1 + 1e-6)


def test_four_points_and_six_are_polished_to_what_is_known_by_hand() -> None:
    rng = np.random.default_rng(0)
    shares = [heilbronn_blocks.quality(heilbronn_blocks.polish(rng.dirichlet([1, 1, 1], 4)[:, :2])) for _ in range(20)]
    assert max(shares) == pytest.approx(1 / 3)
    ratios = [distances_blocks.quality(distances_blocks.polish(rng.normal(0, 1, (4, 2)))) for _ in range(10)]
    assert max(ratios) == pytest.approx(1 / 2)


def test_few_circles_and_hexagons_are_polished_to_what_is_known_by_hand() -> None:
    rng = np.random.default_rng(0)
    sums = [circles_blocks.quality(circles_blocks.polish(circles_blocks.lay_anywhere(rng, 2))) for _ in range(10)]
    assert max(sums) == pytest.approx(2 / 3)
    sides = [-hexagons_blocks.quality(hexagons_blocks.polish(hexagons_blocks.lay_rows(rng, 3))) for _ in range(10)]
    assert min(sides) == pytest.approx(2)


@pytest.mark.parametrize("start", range(3))
def test_a_flip_moves_one_point_across_the_line_of_two_others(start: int) -> None:
    rng = np.random.default_rng(start)
    points = convex_blocks.round_out(rng.random((7, 2)))
    flipped = convex_blocks.flip(rng, points, 1)
    before, after = (convex_blocks.find_areas(one, convex_blocks.triples(7)) for one in (points, flipped))
    assert ((before * after < 0) & np.isclose(np.abs(before), np.abs(after))).any()
    assert (points == flipped).all(axis=1).sum() == 6


@pytest.mark.parametrize("n", [3, 4, 5, 11, 40])
@pytest.mark.parametrize(
    "lay", [heilbronn_blocks.lay_anywhere, heilbronn_blocks.lay_turned, heilbronn_blocks.lay_mirrored]
)
def test_layouts_of_the_triangle_lie_in_it(lay: Any, n: int) -> None:
    layouts = [heilbronn_blocks.inside(lay(np.random.default_rng(seed), n)) for seed in range(20)]
    assert all(spots.shape == (n, 2) and measure("heilbronn", spots) >= 0 for spots in layouts)


@pytest.mark.parametrize("n", [2, 3, 4, 16, 40])
@pytest.mark.parametrize(
    "lay",
    [
        distances_blocks.lay_disk,
        distances_blocks.lay_rows,
        distances_blocks.lay_rings,
        distances_blocks.lay_turned,
    ],
)
def test_layouts_of_the_plane_have_no_two_points_the_same(lay: Any, n: int) -> None:
    assert all(measure("distances", lay(np.random.default_rng(seed), n)) > 0 for seed in range(20))


def test_layouts_have_the_symmetry_that_they_say() -> None:
    rng = np.random.default_rng(1)
    x, y = heilbronn_blocks.lay_turned(rng, 12).T
    turned = np.stack([1 - x - y, x], axis=1)
    assert sorted(turned.round(9).tolist()) == sorted(np.stack([x, y], axis=1).round(9).tolist())
    points = heilbronn_blocks.lay_mirrored(rng, 11)
    assert sorted(points.tolist()) == sorted(points[:, ::-1].tolist())
    points = distances_blocks.lay_turned(rng, 15)
    assert sorted((points + 0.0).tolist()) == sorted((-points + 0.0).tolist())


def test_points_are_brought_inside_exactly() -> None:
    points = heilbronn_blocks.inside(np.random.default_rng(2).normal(0.3, 0.5, (2000, 2)))
    for start in range(0, 2000, 40):
        assert measure("heilbronn", points[start : start + 40]) >= 0
