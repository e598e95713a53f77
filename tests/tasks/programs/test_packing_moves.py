"""The moves of circle packing: each keeps a program running, helps now and then, and solves nothing alone."""

import ast
from functools import cache, partial

import numpy as np
import pytest

from evodiverse.tasks.programs.circle_packing.moves import (
    MOVES,
    Phase,
    insert_move,
    make_statements,
    packing_moves,
    places_for,
)
from evodiverse.tasks.programs.circle_packing.packing import find_violation
from evodiverse.tasks.programs.operators.cost_model import estimate_work
from evodiverse.tasks.programs.operators.names import undefined_names
from evodiverse.tasks.programs.operators.syntax import functions_of, write_program
from tests.tasks.programs.samples import BINS, SEED, read

NAMES = sorted(MOVES)
SEED_SUM = 0.981
LAYOUT = """
import numpy as np


def construct_packing():
    centers = np.random.default_rng(5).uniform(0.01, 0.99, (26, 2))
    radii = np.full(26, 0.002)
    return centers, radii, radii.sum()
"""


def insert(source: str, name: str, seed: int) -> str:
    child = insert_move(read(source), np.random.default_rng(seed), name=name)
    assert child is not None
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
    for seed in range(3):
        centers, radii = run(insert(source, name, seed))
        assert centers.shape == (26, 2)
        assert radii.shape == (26,)
        assert np.isfinite(centers).all()
        assert np.isfinite(radii).all()
        assert source == LAYOUT or find_violation(centers, radii) is None


@pytest.mark.parametrize("phase", [Phase.RADII, Phase.BOTH])
def test_moves_after_the_radii_leave_a_valid_packing_valid(phase: Phase) -> None:
    moves = [name for name in NAMES if MOVES[name].phase is phase]
    for name in moves:
        for seed in range(4):
            assert find_violation(*run(insert(LAYOUT, name, seed))) is None, name


@pytest.mark.parametrize("name", ["trade", "walk", "lean", "hop"])
def test_moves_that_accept_what_is_better_never_make_it_worse(name: str) -> None:
    before = run(LAYOUT)[1].sum()
    assert all(run(insert(LAYOUT, name, seed))[1].sum() >= before for seed in range(5))


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"jitter", "walls", "lean"}))
def test_a_move_alone_helps_now_and_then_and_solves_nothing(name: str) -> None:
    sums = [run(insert(SEED, name, seed))[1].sum() for seed in range(10)]
    assert max(sums) > SEED_SUM + 0.002
    assert max(sums) < 2.4


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
def test_a_move_is_elementary(name: str) -> None:
    texts = {ast.unparse(one) for seed in range(8) for one in make_statements(MOVES[name], np.random.default_rng(seed))}
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    assert not any(isinstance(node, (ast.Import, ast.ImportFrom, ast.While)) for node in nodes)
    assert not any(word in text for text in texts for word in ("scipy", "optimize", "minimize", "linalg", "lstsq"))
    assert sum(isinstance(node, ast.Constant) and type(node.value) is float for node in nodes) <= 15 * len(texts)
    assert max(map(len, texts)) < 700


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_of_a_move_vary(name: str) -> None:
    children = {insert(SEED, name, seed) for seed in range(12)}
    assert len(children) >= (3 if name == "grow" else 9)


@pytest.mark.parametrize("name", NAMES)
def test_the_work_of_a_move_is_bounded(name: str) -> None:
    before = estimate_work(read(SEED), "construct_packing")
    works = [estimate_work(read(insert(SEED, name, seed)), "construct_packing") - before for seed in range(4)]
    assert 0 < max(works) < 12_000


@pytest.mark.parametrize("name", NAMES)
def test_a_move_reads_only_what_is_there(name: str) -> None:
    assert all(undefined_names(read(insert(SEED, name, seed))) == set() for seed in range(4))


def places(phase: Phase) -> dict[str, list[str]]:
    """Return the statements before which the seed's functions take a move."""
    return {
        name: [ast.unparse(function.body[place]).split("(")[0] for place in places_for(function, phase)]
        for name, function in functions_of(read(SEED)).items()
    }


def test_centers_are_moved_between_their_making_and_the_radii() -> None:
    assert places(Phase.CENTERS) == {"construct_packing": ["radii = compute_radii"], "compute_radii": []}


def test_centers_and_radii_are_changed_together_only_where_both_are_made() -> None:
    assert places(Phase.BOTH) == {"construct_packing": ["return "], "compute_radii": []}


def test_radii_are_changed_wherever_they_are_made() -> None:
    made = ["for i in range", "return radii"]
    assert places(Phase.RADII) == {"construct_packing": ["return "], "compute_radii": made}


@pytest.mark.parametrize("source", [BINS, LAYOUT.replace("import numpy as np", "import numpy"), "x = 1\n"])
@pytest.mark.parametrize("name", NAMES)
def test_a_move_needs_its_arrays_and_numpy(name: str, source: str) -> None:
    assert insert_move(read(source), np.random.default_rng(0), name=name) is None


def test_the_grammar_has_all_moves_and_keeps_the_number_of_circles() -> None:
    grammar = packing_moves()
    assert grammar.edits.keys() == grammar.weights.keys() == MOVES.keys()
    assert grammar.fixed == {"N"}
    rng = partial(np.random.default_rng, 4)
    child, again = grammar.edits["walk"](read(SEED), rng()), insert_move(read(SEED), rng(), name="walk")
    assert child is not None
    assert again is not None
    assert write_program(child) == write_program(again)
