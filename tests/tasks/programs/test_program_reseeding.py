"""New random numbers for a program: every seed is drawn again, and nothing else changes."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.programs.operators.reseeding import MAX_SEED, Reseeder, reseed, reseed_all, seeds_of
from evodiverse.tasks.programs.operators.syntax import write_program
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream
from tests.runs import plan, rows, run_here
from tests.tasks.programs.builders import write
from tests.tasks.programs.samples import read, tried

IMPORTS = (
    "import random\nimport numpy as np\nimport numpy.random as npr\nfrom numpy.random import default_rng as make\n"
)


def reseeded(source: str, seed: int = 0) -> str:
    child = reseed_all(read(source), np.random.default_rng(seed))
    return write_program(child)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("np.random.default_rng(5)", "np.random.default_rng(#)"),
        ("np.random.default_rng(seed=5)", "np.random.default_rng(seed=#)"),
        ("np.random.default_rng()", "np.random.default_rng(#)"),
        ("np.random.default_rng(None)", "np.random.default_rng(#)"),
        ("make(5)", "make(#)"),
        ("npr.seed(5)", "npr.seed(#)"),
        ("np.random.seed(5)", "np.random.seed(#)"),
        ("np.random.RandomState(5)", "np.random.RandomState(#)"),
        ("random.seed(-5)", "random.seed(#)"),
        ("random.seed('five')", "random.seed(#)"),
        ("random.Random(5)", "random.Random(#)"),
        ("make(np.random.SeedSequence(5))", "make(np.random.SeedSequence(#))"),
        ("np.random.Generator(np.random.PCG64(5))", "np.random.Generator(np.random.PCG64(#))"),
        ("[make(trial) for trial in range(3)]", "[make(trial + #) for trial in range(3)]"),
        ("[make(trial + 5) for trial in range(3)]", "[make(trial + #) for trial in range(3)]"),
    ],
)
def test_a_seed_is_drawn_again_and_nothing_else_changes(call: str, expected: str) -> None:
    drawn = reseeded(f"{IMPORTS}x = {call}\n").splitlines()[-1]
    assert re.sub(r"\d{4,}", "#", drawn) == f"x = {expected}"
    assert drawn != reseeded(f"{IMPORTS}x = {call}\n", seed=1).splitlines()[-1]


@pytest.mark.parametrize(
    "line",
    [
        "x = 5",
        "x = shuffle.seed(5)",
        "x = default_rng(5)",
        "x = random.choice([5])",
        "x = [make(child) for child in np.random.bit_generator.spawn(3)]",
        "x = [make(one) for one in (None, 'a')]",
        "x = make([1, 2])",
        "x = make(**options)",
        "def f(seed=None):\n    return make(seed)",
    ],
)
def test_what_may_not_be_an_integer_stays(line: str) -> None:
    assert tried(reseed_all, read(f"{IMPORTS}{line}\n"), np.random.default_rng(0)) is None


def test_a_constant_that_is_read_only_for_seeds_is_drawn_again_where_it_is_bound() -> None:
    source = f"{IMPORTS}SEED: int = 5\nN = 5\nx = make(SEED)\ny = make(SEED)\nz = make(N)\ncount = N\n"
    found = re.sub(r"\d{4,}", "#", reseeded(source))
    assert found.splitlines()[5:] == [
        "SEED: int = #",
        "N = 5",
        "x = make(SEED)",
        "y = make(SEED)",
        "z = make(N + #)",
        "count = N",
    ]


def test_seeds_in_while_loops_and_nested_functions_are_found() -> None:
    source = f"{IMPORTS}def f():\n    while True:\n        def g():\n            return make(5)\n        return g()\n"
    assert "make(5)" not in reseeded(source)


TWO = f"{IMPORTS}x = make(5)\ny = make(5)\n"


def test_one_seed_is_drawn_again() -> None:
    children = [reseed(read(TWO), np.random.default_rng(seed)) for seed in range(20)]
    texts = [write_program(child) for child in children]
    assert {text.count("make(5)") for text in texts} == {1}
    assert {"x = make(5)" in text for text in texts} == {True, False}
    assert tried(reseed, read("x = 5\n"), np.random.default_rng(0)) is None


def test_seeds_are_below_the_limit_and_what_was_read_is_what_runs_again() -> None:
    drawn = [int(number) for seed in range(50) for number in re.findall(r"make\((\d+)\)", reseeded(TWO, seed))]
    assert len(set(drawn)) == 100
    assert 0 <= min(drawn) < MAX_SEED / 4 < 3 * MAX_SEED / 4 < max(drawn) < MAX_SEED
    assert len(seeds_of(ast.parse(reseeded(TWO)))) == 2


def test_the_best_of_the_pool_is_drawn_again() -> None:
    worse, best = (Candidate(call, f"{IMPORTS}x = make({call})\nbest = {call}\n", "", 0.0, 0.0) for call in (1, 2))
    (proposal,) = Reseeder().propose([Request(1, 0, 0, 1, (worse,), Prompt.COLD, Stream(0, 0), best)])
    assert proposal.operator == "reseed"
    assert proposal.genotype is not None
    assert "best = 2" in proposal.genotype


LUCK = """
    import numpy as np

    SEED = 3

    def main():
        return float(np.random.default_rng(SEED).random())
"""
EVALUATOR = "ENTRY_POINT = 'main'\ndef score(result):\n    return result\n"


def restarts(folder: Path, program: str) -> list[str]:
    files = [write(folder, name, text) for name, text in (("evaluator.py", EVALUATOR), ("start.py", program))]
    named = [f"task.evaluator={files[0]}", f"task.initial.path={files[1]}", f"outputs={folder}"]
    small = ["budget.oracle_calls=12", "evaluator.workers=1", "task.score_timeout=null"]
    return ["task=program", "method=restarts", *small, *named]


def test_a_search_by_restarts_scores_one_program_with_other_random_numbers(tmp_path: Path) -> None:
    made = rows(run_here(*restarts(tmp_path, LUCK)), "evaluations")
    assert [row["operator"] for row in made] == ["initial"] + ["reseed"] * 11
    assert len({row["score"] for row in made}) == 12
    for row in made:
        (seed,) = re.findall(r"SEED = (\d+)\n", row["genotype"])
        assert row["score"] == np.random.default_rng(int(seed)).random()
    best_before = [max(range(call), key=lambda at: made[at]["score"]) + 1 for call in range(1, 12)]
    assert [row["parents"] for row in made[1:]] == [[call] for call in best_before]


def test_a_program_without_random_numbers_has_no_restarts(tmp_path: Path) -> None:
    for _ in range(2):  # started again, it says the same
        with pytest.raises(InputError, match=r"no offspring .* in 20 of 20 attempts: .* draws no random numbers"):
            run_here(*restarts(tmp_path, "def main():\n    return 1.0\n"))
    (record,) = tmp_path.glob("program/restarts/off/*/seed0/run.json")
    assert json.loads(record.read_text())["status"] == "failed"


def test_restarts_with_a_model_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-none")
    with pytest.raises(
        InputError, match=r"^method=restarts makes offspring with the operator reseed, not with a model"
    ):
        plan("task=circle_packing", "method=restarts", "llm=deepseek")


def test_an_operator_of_the_method_is_the_tasks() -> None:
    assert plan("task=circle_packing", "method=pt", "method.operator=reseed").overrides == {"task.operator": "reseed"}
    assert plan("task=circle_packing", "method=restarts").overrides == {}
