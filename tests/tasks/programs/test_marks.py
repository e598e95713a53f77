"""EVOLVE-BLOCK marks: only what is between them changes, whoever proposes the change."""

from pathlib import Path
from textwrap import dedent

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.programs.initial import read_programs
from evodiverse.tasks.programs.marks import RULE, Region, find_regions, keep_outside, split_marked
from evodiverse.tasks.programs.operators.operator import ProgramOperator
from evodiverse.tasks.programs.operators.reseeding import Reseeder
from evodiverse.tasks.programs.prompts import ProgramPrompts
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Prompt, Reason, Rejection, Request, Stream

TWO = dedent('''\
    """Two blocks."""   # kept as it is

    # EVOLVE-BLOCK-START
    import numpy as np

    def walk(n,   step=0.5):
        rng = np.random.default_rng(7)
        total = 0.25
        for k in range(n):
            total = total + step * rng.normal()
        return total
    # EVOLVE-BLOCK-END
    FIXED   =   [1,2,  3]   # kept, spaces and all

    def run():
        x = 1.5
        # EVOLVE-BLOCK-START
        x = x * 2.5 + 0.75
        y = walk(12) - 0.125
        # EVOLVE-BLOCK-END
        return x  +  y
''')
ONE = TWO.partition("FIXED")[0] + "def run():\n    return walk(3)\n"


def request(*parents: str, slot: int = 0) -> Request:
    candidates = tuple(Candidate(call, text, text, 0.5, -0.5) for call, text in enumerate(parents, 1))
    return Request(1, 0, slot, 1, candidates, Prompt.COLD, Stream(0, 4, slot=slot), None)


def read(reply: str, parent: str = TWO) -> str | Rejection:
    return ProgramPrompts(ProgramSettings(), "Do it.", "run", parent).read(request(parent), reply)


def test_the_parts_of_a_program_with_marks_are_those_around_and_between_them() -> None:
    marked = split_marked(TWO)
    assert marked is not None
    assert "".join(marked) == TWO
    assert [text.splitlines()[-1].strip() for text in marked[:-1:2]] == ["# EVOLVE-BLOCK-START"] * 2
    assert marked[3] == "    x = x * 2.5 + 0.75\n    y = walk(12) - 0.125\n"
    assert split_marked("x = 1\n") is None
    assert split_marked("# EVOLVE-BLOCK-START\nx = 1\n") is None


def test_a_block_in_a_function_is_the_body_of_a_function_for_the_operator() -> None:
    first, second = find_regions(TWO)
    assert first.code.startswith("import numpy")
    assert second.code == "def evolve_block():\n    x = x * 2.5 + 0.75\n    y = walk(12) - 0.125\n"
    for region in (first, second):
        assert region.restore(region.code) == TWO
    assert second.restore("import numpy\n\n\n" + second.code) is None
    assert find_regions("x = 1\n") == [Region("", "x = 1\n", "")]


def test_methods_of_a_class_are_functions_for_the_operator() -> None:
    program = "class A:\n    # EVOLVE-BLOCK-START\n    def f(self):\n        return 2.5\n    # EVOLVE-BLOCK-END\n"
    (region,) = find_regions(program)
    assert region.code == "def f(self):\n    return 2.5\n"
    assert region.restore("def f(self):\n    return 3.5\n") == program.replace("2.5", "3.5")


@pytest.mark.parametrize("operator", [ProgramOperator("run"), Reseeder()])
def test_the_operators_change_only_what_is_between_marks(operator: ProgramOperator | Reseeder) -> None:
    outside = split_marked(TWO)
    assert outside is not None
    children = [one.genotype for one in operator.propose([request(TWO, slot=slot) for slot in range(40)])]
    made = [split_marked(child) for child in children if child is not None]
    assert len(made) > 10
    for child in made:
        assert child is not None
        assert child[::2] == outside[::2]
        assert child[1::2] != outside[1::2]
    for child in filter(None, children):
        compile(child, "child", "exec")
    changed = {index for child in made if child for index in (1, 3) if child[index] != outside[index]}
    assert changed == ({1, 3} if isinstance(operator, ProgramOperator) else {1})


def test_a_crossover_takes_from_the_same_block_of_the_donor() -> None:
    donor = TWO.replace("total = 0.25", "total = 0.875").replace("FIXED   =", "FIXED =")
    operator = ProgramOperator("run")
    proposals = operator.propose([request(TWO, donor, slot=slot) for slot in range(60)])
    crossed = [one.genotype for one in proposals if one.operator.startswith("crossover") and one.genotype]
    assert any("0.875" in child for child in crossed)
    assert all("FIXED   =   [1,2,  3]" in child for child in crossed)


def test_a_block_may_be_as_long_as_the_rest_of_the_program_leaves_room() -> None:
    limit = len(ONE) + 40
    children = ProgramOperator("run", None, limit).propose([request(ONE, slot=slot) for slot in range(60)])
    lengths = [len(one.genotype) for one in children if one.genotype]
    assert len(ONE) < max(lengths) <= limit


def test_blocks_of_a_reply_change_the_program_between_its_marks_only() -> None:
    reply = "<<<<<<< SEARCH\n    total = 0.25\n=======\n    total = 0.5\n>>>>>>> REPLACE\n"
    assert read(reply) == TWO.replace("total = 0.25", "total = 0.5")
    outside = "<<<<<<< SEARCH\n    x = 1.5\n=======\n    x = 99\n>>>>>>> REPLACE\n"
    assert read(reply + outside) == TWO.replace("total = 0.25", "total = 0.5")
    assert read(outside) == Rejection(Reason.NO_ANSWER, "the reply changes nothing in a block")


def test_of_a_whole_program_only_the_blocks_count() -> None:
    whole = TWO.replace("2.5", "3.5").replace("FIXED   =   [1,2,  3]", "FIXED = []")
    assert read(f"```python\n{whole}```") == TWO.replace("2.5", "3.5")
    lost = whole.replace("    # EVOLVE-BLOCK-END\n", "")
    assert read(f"```python\n{lost}```") == Rejection(
        Reason.NO_ANSWER, "the reply does not keep the lines with EVOLVE-BLOCK marks"
    )


def test_a_program_without_marks_may_change_everywhere() -> None:
    assert keep_outside("x = 1\n", "x = 2\n") == "x = 2\n"


def test_the_prompt_has_the_rule_only_for_programs_with_marks() -> None:
    for program, has_rule in ((TWO, True), ("def run():\n    return 1\n", False)):
        prompts = ProgramPrompts(ProgramSettings(), "Do it.", "run", program)
        assert (RULE in prompts.messages(request(program))[0].content) == has_rule


def test_a_start_with_unpaired_marks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "start.py"
    path.write_text(ONE.replace("# EVOLVE-BLOCK-END\n", ""))
    with pytest.raises(InputError, match=r"start\.py has EVOLVE-BLOCK marks that do not come in pairs; fix them"):
        read_programs([path], "run", 10_000)
