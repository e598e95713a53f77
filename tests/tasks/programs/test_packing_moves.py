"""The moves of circle packing: each keeps a program running and helps now and then."""

import ast
from functools import cache

import numpy as np
import pytest

from evodiverse.tasks.programs.circle_packing.blocks import climb, fit_radii, lay_rings, lay_rows, polish, soften
from evodiverse.tasks.programs.circle_packing.packing import find_violation
from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.moves import Place, insert_move, make_program, make_statements, places_for
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.operator import MAX_WORK, ProgramOperator
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from evodiverse.tasks.programs.settings import find_folder
from tests.tasks.programs.samples import BINS, SEED, blocks_of, find_fault, grammar_of, moves_of, read, request, tried

MOVES = moves_of("circle_packing")
BLOCKS = blocks_of("circle_packing")
CENTERS, RADII, BOTH = (MOVES[name].place for name in ("rows", "grow", "polish"))

NAMES = sorted(MOVES)
POLISHING = {name for name in NAMES if "polish" in MOVES[name].template}
ELEMENTARY = sorted(set(NAMES) - POLISHING - {"fit"})
SEED_SUM = 0.981
LAYOUT = """
import numpy as np


def construct_packing():
    centers = np.random.default_rng(5).uniform(0.01, 0.99, (26, 2))
    radii = np.full(26, 0.002)
    return centers, radii, radii.sum()
"""


def insert(source: str, name: str, seed: int) -> str:
    child = insert_move(read(source), np.random.default_rng(seed), MOVES[name], BLOCKS)
    return write_program(child)


@cache
def run(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the centers and radii that a program makes, which is one of ours."""
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102
    centers, radii, _ = names["construct_packing"]()  # type: ignore[operator]
    return centers, radii


@pytest.mark.parametrize("source", [SEED, LAYOUT])
@pytest.mark.parametrize("name", NAMES)
def test_a_move_keeps_a_program_running_and_its_packing_valid(name: str, source: str) -> None:
    for seed in range(1 if name in POLISHING else 3):
        centers, radii = run(insert(source, name, seed))
        assert centers.shape == (26, 2)
        assert radii.shape == (26,)
        assert np.isfinite(centers).all()
        assert np.isfinite(radii).all()
        assert source == LAYOUT or find_violation(centers, radii) is None


@pytest.mark.parametrize("name", [name for name in NAMES if MOVES[name].place is not CENTERS])
def test_moves_after_the_radii_leave_a_valid_packing_valid(name: str) -> None:
    for seed in range(1 if name in POLISHING else 4):
        assert find_violation(*run(insert(LAYOUT, name, seed))) is None


@pytest.mark.parametrize("name", ["fit", "trade", "walk", "lean", "hop"])
def test_moves_that_accept_what_is_better_never_make_it_worse(name: str) -> None:
    before = run(LAYOUT)[1].sum()
    assert all(run(insert(LAYOUT, name, seed))[1].sum() >= before for seed in range(5))


@pytest.mark.parametrize("name", sorted(set(ELEMENTARY) - {"jitter", "walls", "lean"}))
def test_an_elementary_move_helps_now_and_then_and_solves_nothing(name: str) -> None:
    sums = [run(insert(SEED, name, seed))[1].sum() for seed in range(10)]
    assert max(sums) > SEED_SUM + 0.002
    assert max(sums) < 2.4


@pytest.mark.parametrize("name", sorted(POLISHING))
def test_a_polishing_move_ends_at_a_local_optimum(name: str) -> None:
    centers, radii = run(insert(SEED, name, 0))
    assert 2.4 < radii.sum() < 2.636
    assert polish(centers, radii)[1].sum() == pytest.approx(radii.sum(), abs=1e-6)


def test_moves_one_after_the_other_come_further() -> None:
    source = SEED
    for seed, name in enumerate(["repel", "spread", "press", "swell", "walk", "walk"]):
        source = insert(source, name, seed)
    assert run(source)[1].sum() > 2.0


def test_the_number_of_circles_is_the_programs_own() -> None:
    few = SEED.replace("N = 26", "N = 7")
    for name in NAMES:
        centers, radii = run(insert(few, name, 3))
        assert centers.shape == (7, 2)
        assert np.isfinite(radii).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_move_holds_a_layout(name: str) -> None:
    texts = {ast.unparse(one) for seed in range(8) for one in make_statements(MOVES[name], np.random.default_rng(seed))}
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    assert not any(isinstance(node, (ast.Import, ast.ImportFrom, ast.While)) for node in nodes)
    assert sum(isinstance(node, ast.Constant) and type(node.value) is float for node in nodes) <= 15 * len(texts)
    assert max(map(len, texts)) < 700


def test_no_building_block_holds_a_layout() -> None:
    for function in functions_of(BLOCKS).values():
        numbers = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
        assert sum(type(value) is float for value in numbers) <= 10


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_of_a_move_vary(name: str) -> None:
    children = {insert(SEED, name, seed) for seed in range(12)}
    assert len(children) >= {"grow": 3, "fit": 1, "polish": 1}.get(name, 9)


@pytest.mark.parametrize("name", NAMES)
def test_the_work_of_a_move_is_bounded(name: str) -> None:
    before = estimate_work(read(SEED), "construct_packing")
    works = [estimate_work(read(insert(SEED, name, seed)), "construct_packing") - before for seed in range(4)]
    assert 0 < max(works) < (400_000 if name in POLISHING else 12_000)


@pytest.mark.parametrize("name", NAMES)
def test_a_move_reads_only_what_is_there(name: str) -> None:
    assert all(undefined_names(read(insert(SEED, name, seed))) == set() for seed in range(4))


def places(place: Place) -> dict[str, list[str]]:
    """Return the statements before which the seed's functions take a move."""
    return {
        name: [ast.unparse(function.body[position]).split("(")[0] for position in places_for(function, place)]
        for name, function in functions_of(read(SEED)).items()
    }


def test_centers_are_moved_between_their_making_and_the_radii() -> None:
    assert places(CENTERS) == {"construct_packing": ["radii = compute_radii"], "compute_radii": []}


def test_centers_and_radii_are_changed_together_only_where_both_are_made() -> None:
    assert places(BOTH) == {"construct_packing": ["return "], "compute_radii": []}


def test_radii_are_changed_wherever_they_are_made() -> None:
    made = ["for i in range", "return radii"]
    assert places(RADII) == {"construct_packing": ["return "], "compute_radii": made}


@pytest.mark.parametrize("source", [BINS, LAYOUT.replace("import numpy as np", "import numpy"), "x = 1\n"])
def test_a_move_needs_its_arrays_and_numpy(source: str) -> None:
    def inserted(name: str) -> object:
        return tried(insert_move, read(source), np.random.default_rng(0), MOVES[name], BLOCKS)

    assert [name for name in NAMES if inserted(name) is not None] == []


def test_the_grammar_leaves_the_number_of_circles_and_the_building_blocks_alone() -> None:
    grammar = grammar_of("circle_packing")
    assert grammar.fixed == {"N", "soften", "polish", "climb", "fit_radii", "lay_rows", "lay_rings"}


def test_a_move_brings_the_building_blocks_that_it_calls_once() -> None:
    once = insert(SEED, "layouts", 0)
    blocks = {"lay_rows", "soften", "polish", "climb"}
    assert functions_of(read(once)).keys() == {"construct_packing", "compute_radii", *blocks}
    assert once.count("from scipy.optimize import") == 1
    twice = insert(once, "stir", 1)
    assert functions_of(read(twice)).keys() == functions_of(read(once)).keys()
    assert twice.count("from scipy.optimize import") == 1
    assert "def polish" in insert(twice.replace("def polish", "def shine"), "stir", 1)


def test_building_blocks_that_nothing_calls_are_removed_again() -> None:
    operator = ProgramOperator("construct_packing", grammar_of("circle_packing"))
    parent = insert(SEED, "fit", 0)
    sources = [operator.propose([request(parent, slot=slot)])[0].genotype or "" for slot in range(250)]
    without = [source for source in sources if "= fit_radii" not in source]
    assert without
    assert not any("def fit_radii" in source for source in without)


def test_building_blocks_are_never_changed() -> None:
    grammar = grammar_of("circle_packing")
    operator = ProgramOperator("construct_packing", grammar)
    source = insert(SEED, "layouts", 0)
    blocks = [write_program(ast.Module([one], [])) for one in functions_of(BLOCKS).values()]
    for slot in range(60):
        child = operator.propose([request(source, slot=slot)])[0].genotype
        assert child is not None
        for name, function in functions_of(read(child)).items():
            if name in grammar.fixed:
                assert write_program(ast.Module([function], [])) in blocks


def test_a_program_of_many_moves_is_trimmed_until_its_work_is_allowed() -> None:
    source = SEED
    for seed in range(8):
        source = insert(source, "stir", seed)
    before = estimate_work(read(source), "construct_packing")
    assert before > MAX_WORK
    operator = ProgramOperator("construct_packing", grammar_of("circle_packing"))
    for slot in range(30):
        source = operator.propose([request(source, slot=slot)])[0].genotype or source
        assert estimate_work(read(source), "construct_packing") <= before
    for slot in range(30):
        child = operator.propose([request(insert(SEED, "stir", 0), insert(SEED, "shake", 0), slot=slot)])[0].genotype
        assert estimate_work(read(child or SEED), "construct_packing") <= MAX_WORK


@pytest.mark.parametrize("lay", [lay_rows, lay_rings])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 26, 40])
def test_layouts_place_any_number_of_circles_in_the_square(lay, n: int) -> None:
    layouts = [lay(np.random.default_rng(seed), n) for seed in range(20)]
    assert all(spots.shape == (n, 2) and (spots > 0).all() and (spots < 1).all() for spots in layouts)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_polished_circles_are_a_packing_and_no_smaller(n: int) -> None:
    rng = np.random.default_rng(n)
    centers, radii = polish(lay_rows(rng, n), np.full(n, 0.05))
    assert find_violation(centers, radii, tolerance=1e-12) is None
    assert radii.sum() > n * 0.05


def test_one_circle_and_two_are_polished_to_what_is_known_by_hand() -> None:
    assert polish(np.array([[0.3, 0.4]]), np.array([0.1]))[1].sum() == pytest.approx(0.5)
    sums = [polish(np.array([[0.3, 0.4], [0.6, 0.7]]), np.array([0.1, 0.1]))[1].sum()]
    assert sums == pytest.approx([2 - np.sqrt(2)])


def test_the_slopes_that_climbing_uses_lead_to_a_point_no_step_improves() -> None:
    rng = np.random.default_rng(2)
    i, j = np.triu_indices(8, 1)
    circles = climb(np.vstack([lay_rows(rng, 8).T, np.full(8, 0.05)]), i, j, 9)
    best = circles[2].sum()
    for _ in range(200):
        near = circles + rng.normal(0, 1e-3, circles.shape)
        near[2] = fit_radii(near[:2].T)
        assert near[2].sum() < best + 1e-6


def soft_value(circles: np.ndarray, stiffness: float) -> float:
    """Return what soft circles cost: minus the sum of their radii, and the price of what they overlap and cross."""
    x, y, r = circles
    depths = [max(r[i] + r[j] - np.hypot(x[i] - x[j], y[i] - y[j]), 0) for i in range(len(r)) for j in range(i)]
    walls = np.maximum([r - x, r - y, x + r - 1, y + r - 1], 0)
    return float(stiffness * np.sqrt(len(r)) * ((walls**2).sum() + np.square(depths).sum()) - r.sum())


@pytest.mark.parametrize("stiffness", [0.3, 2.0])
def test_softened_circles_are_where_no_step_pays(stiffness: float) -> None:
    rng = np.random.default_rng(1)
    start = np.vstack([lay_rows(rng, 9).T, np.full(9, 0.05)])
    centers, radii = soften(start[:2].T, start[2], stiffness)
    circles = np.vstack([centers.T, radii])
    least = soft_value(circles, stiffness)
    assert least < soft_value(start, stiffness)
    for _ in range(200):
        assert soft_value(circles + rng.normal(0, 1e-3, circles.shape), stiffness) > least - 1e-6


def test_softer_circles_overlap_more() -> None:
    spots = lay_rows(np.random.default_rng(1), 26)
    sums = [soften(spots, np.full(26, 0.05), stiffness)[1].sum() for stiffness in (0.3, 1.0, 10.0)]
    assert sums == sorted(sums, reverse=True)
    assert sums[-1] > 2.5


def test_the_example_of_restarts_is_the_seed_with_one_move() -> None:
    example = make_program(find_folder("circle_packing"), "layouts")
    assert example is not None
    draws = {"SEED": "0..0", "TRIES": "8..8", "SIZE": "0.05..0.05", "STIFFNESS": "0.3~0.3"}
    move = MOVES["layouts"]._replace(draws=draws)
    child = insert_move(read(SEED), np.random.default_rng(0), move, BLOCKS)
    assert write_program(read(example)) == write_program(child)


@pytest.mark.parametrize("n", [1, 4, 26])
def test_fitted_radii_are_valid_and_at_least_those_of_the_seed(n: int) -> None:
    rng = np.random.default_rng(n)
    centers = rng.uniform(0.05, 0.95, (n, 2))
    radii = fit_radii(centers)
    assert find_fault(centers.tolist(), (radii - 1e-9).clip(0).tolist()) is None
    halves = [
        min(*centers[k], *(1 - centers[k]), *[np.hypot(*(centers[k] - one)) / 2 for one in np.delete(centers, k, 0)])
        for k in range(n)
    ]
    assert radii.sum() >= sum(halves) - 1e-9
