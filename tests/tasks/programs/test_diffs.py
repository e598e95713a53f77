"""How a reply changes a program."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evodiverse.tasks.programs.prompts.diffs import (
    MAX_BLOCKS,
    MAX_LINES,
    Block,
    apply_blocks,
    extract_program,
    find_blocks,
)
from evodiverse.vocabulary import Reason, Rejection
from tests.tasks.clock import is_read_in_time

SOURCE = "import math\n\n\ndef area(r):\n    square = r * r\n    return math.pi * square\n"
NO_CHANGE = Rejection(Reason.NO_ANSWER, "the reply changes nothing")


def block(search: str, replacement: str, marks: int = 7, after: str = "") -> str:
    """A block of texts, which end with a newline where they are not empty; ``after`` follows every marker."""
    opening, divider, closing = f"{'<' * marks} SEARCH", "=" * marks, f"{'>' * marks} REPLACE"
    return f"{opening}{after}\n{search}{divider}{after}\n{replacement}{closing}{after}\n"


def edit(reply: str, source: str = SOURCE) -> str | Rejection:
    blocks = find_blocks(reply)
    return blocks if isinstance(blocks, Rejection) else apply_blocks(source, blocks)


SIMPLE = block("    square = r * r\n", "    square = r**2\n")
SQUARED = SOURCE.replace("r * r", "r**2")


@pytest.mark.parametrize(
    "reply",
    [
        SIMPLE,
        f"I square it.\n\n{SIMPLE}\nThat is all.",
        f"```\n{SIMPLE}```",
        f"~~~python\n{SIMPLE}~~~\n",
        SIMPLE.replace("\n", "\r\n"),
        SIMPLE.rstrip("\n"),
        block("    square = r * r\n", "    square = r**2\n", marks=5),
        block("    square = r * r\n", "    square = r**2\n", marks=9),
        block("    square = r * r\n", "    square = r**2\n", after=" \t"),
        SIMPLE.replace("> REPLACE", ">REPLACE").replace("< SEARCH", "<  SEARCH"),
        SIMPLE.replace("<<<<<<<", "    <<<<<<<").replace("=======", "    ======="),
        block("    square = r * r  \t\n", "    square = r**2\n"),
        block("\n    square = r * r\n", "    square = r**2\n"),
        block("\n \n    square = r * r \n\n", "\n    square = r**2\n\n"),
        f"Head\n=======\n{SIMPLE}>>>>>>> REPLACE\n",
        "Each block looks like <<<<<<< SEARCH and so on.\n" + SIMPLE,
    ],
)
def test_a_block_is_applied_however_it_is_wrapped(reply: str) -> None:
    assert edit(reply) == SQUARED


def test_white_space_at_the_ends_of_the_programs_lines_is_ignored() -> None:
    assert edit(SIMPLE, SOURCE.replace("r * r", "r * r \t")) == SQUARED


def test_line_endings_of_the_program_are_ignored() -> None:
    assert edit(SIMPLE, SOURCE.replace("\n", "\r\n")) == SQUARED


def test_an_exact_match_goes_before_one_that_ignores_white_space() -> None:
    assert edit(block("a\n", "b\n"), "a  \na\na\t\n") == "a  \nb\na\t\n"


def test_indentation_is_never_ignored() -> None:
    assert edit(block("square = r * r\n", "x\n")) == Rejection(
        Reason.NO_MATCH, "block 1 matches nothing: square = r * r"
    )


def test_a_part_of_a_line_matches_nothing() -> None:
    assert edit(block("    square = r\n", "x\n")) == Rejection(Reason.NO_MATCH, "block 1 matches nothing: square = r")


def test_each_block_is_applied_to_the_result_of_the_one_before() -> None:
    assert edit(block("a\n", "b\nc\n") + block("c\n", "d\n") + block("b\nd\n", "e\n"), "a\n") == "e\n"


def test_an_empty_replacement_deletes() -> None:
    assert edit(block("import math\n\n\n", "")) == SOURCE.removeprefix("import math\n\n\n")


def test_all_of_a_program_can_be_deleted() -> None:
    assert edit(block("a\n", ""), "a\n") == ""


def test_a_divider_in_the_replacement_is_text() -> None:
    assert edit(block("a\n", "'''\nb\n=======\n'''\n"), "a\n") == "'''\nb\n=======\n'''\n"


@pytest.mark.parametrize(
    ("search", "problem"),
    [
        ("", "block 2 matches nothing: its SEARCH part is empty"),
        ("\n \n", "block 2 matches nothing: its SEARCH part is empty"),
        ("gone\n", "block 2 matches nothing: gone"),
        ("\n  gone \nb\n", "block 2 matches nothing: gone"),
        ("b\nx\n", "block 2 matches nothing: b"),
        (f"{'x' * 200}\n", f"block 2 matches nothing: {'x' * 80}"),
        ("b\n", "block 2 matches 3 places: b"),
        ("b\nb\n", "block 2 matches 2 places: b"),
        ("c \n", "block 2 matches 2 places: c"),
    ],
)
def test_a_block_that_does_not_match_exactly_once_is_named_with_its_first_line(search: str, problem: str) -> None:
    reply = block("a\n", "b\n") + block(search, "d\n")
    assert edit(reply, "a\nb\nb\nc\nc\n") == Rejection(Reason.NO_MATCH, problem)


@pytest.mark.parametrize("reply", [block("a\n", "a\n"), block("a\n", "b\n") + block("b\n", "a\n"), ""])
def test_a_reply_that_changes_nothing_is_not_an_answer(reply: str) -> None:
    assert edit(reply, "a\n") == NO_CHANGE


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("<<<<<<< SEARCH\na\n", "block 1: no >>>>>>> REPLACE at its end"),
        ("<<<<<<< SEARCH\na\n=======\nb\n", "block 1: no >>>>>>> REPLACE at its end"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "block 1: no ======= between its parts"),
        (f"<<<<<<< SEARCH\na\n{SIMPLE}", "block 1: another one begins before its end"),
        (f"{SIMPLE}<<<<<<< SEARCH\na\n=======\n{SIMPLE}", "block 2: another one begins before its end"),
    ],
)
def test_a_block_without_an_end_or_a_divider_is_reported(reply: str, problem: str) -> None:
    assert find_blocks(reply) == Rejection(Reason.UNPARSABLE, problem)


@pytest.mark.parametrize(
    "reply", ["", "a\n=======\nb\n>>>>>>> REPLACE\n", "<<<< SEARCH\n====\n>>>> REPLACE", "<<<<<<< HEAD"]
)
def test_text_without_a_block_has_none(reply: str) -> None:
    assert find_blocks(reply) == []


def test_too_many_blocks_are_rejected() -> None:
    assert find_blocks(block("a\n", "b\n") * (MAX_BLOCKS + 1)) == Rejection(Reason.TOO_LARGE, "51 blocks, at most 50")


LINES = st.lists(st.sampled_from(["", "a", "b", "  a", "a ", "b\t", "\N{GREEK SMALL LETTER BETA}"]), min_size=1)


@given(LINES, LINES, st.data(), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "```\n"]))
def test_any_lines_that_stand_in_a_program_once_can_be_replaced(
    lines: list[str], new: list[str], data: st.DataObject, newline: str, fence: str
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(first + 1, len(lines)))
    run = lines[first:end]
    assume("".join(run).strip() and run != new)
    assume([lines[at : at + len(run)] for at in range(len(lines))].count(run) == 1)
    parts = ["\n".join([*part, ""]) for part in (run, new)]
    reply = f"{fence}{block(*parts)}{fence}".replace("\n", newline)
    expected = [*lines[:first], *new, *lines[end:]]
    assert edit(reply, "\n".join([*lines, ""])) == "\n".join([*expected, ""])


@given(LINES, st.lists(st.sampled_from(["a", "b", "  a"]), min_size=1))
def test_lines_that_a_program_has_twice_are_never_replaced(lines: list[str], run: list[str]) -> None:
    text = "\n".join([*lines, *run, *run, ""])
    problem = edit(block("\n".join([*run, ""]), "new\n"), text)
    assert isinstance(problem, Rejection)
    assert problem.detail.startswith("block 1 matches ")
    assert problem.detail.endswith(f" places: {run[0].strip()}")


PROGRAM = "import math\n\ndef area(r):\n    return math.pi * r * r"


@pytest.mark.parametrize(
    "reply",
    [
        PROGRAM,
        f"\n{PROGRAM}\n",
        f"```python\n{PROGRAM}\n```",
        f"```\n{PROGRAM}\n```\n",
        f"````py\n{PROGRAM}\n````",
        f"~~~ python title=x\n{PROGRAM}\n~~~",
        f"Here it is:\n\n```python\n{PROGRAM}\n```\n\nIt is `fine`.",
        f"```python\n{PROGRAM}",
        f"```python\r\n{PROGRAM}\n```".replace("\n", "\r\n"),
        f"```\ndef other():\n    pass\n```\n```python\n{PROGRAM}\n```\n```sh\npython area.py\n```",
        f"```python\ndef area(x):\n    pass\n```\nor rather\n```python\n{PROGRAM}\n```",
        f"```sh\npip install numpy\n\n```python\n{PROGRAM}\n```",
        f"```python\n{PROGRAM}\n```\nwhere `area` is\n```\nthe area\n",
        "1. So:\n\n   ```python\n" + "\n".join(f"   {line}".rstrip() for line in PROGRAM.split("\n")) + "\n   ```\n",
        f"```I am code``` and so is\n```python\n{PROGRAM}\n```",
    ],
)
def test_the_last_fence_that_defines_the_entry_point_is_the_program(reply: str) -> None:
    program = extract_program(reply, "area")
    assert program is not None
    assert program.strip() == PROGRAM


@pytest.mark.parametrize("inner", ["    ```\n    area(1)\n    ```", "    ```python\n    area(1)\n    ```", "``", "~~~"])
def test_a_fence_in_a_docstring_does_not_end_a_program(inner: str) -> None:
    program = f'def area(r):\n    """Example.\n\n{inner}\n    """\n    return r * r\n'
    assert extract_program(f"```python\n{program}```", "area") == program


@pytest.mark.parametrize("inner", ["```\narea(1)\n```", "```python\narea(1)\n```"])
def test_a_longer_fence_holds_shorter_ones(inner: str) -> None:
    program = f'"""Example.\n\n{inner}\n"""\ndef area(r):\n    return r * r\n'
    assert extract_program(f"````python\n{program}````", "area") == program


@pytest.mark.parametrize(
    "reply", ["", "no", "```\n```", "```python\ndef areas(r): pass\n```", "  def area(r): pass", "defarea()"]
)
def test_a_reply_without_the_entry_point_holds_no_program(reply: str) -> None:
    assert isinstance(extract_program(reply, "area"), Rejection)


FLOODS = [
    *(
        "```\n",
        "`",
        "```python\n",
        "~~~ ",
        "~~~a\n",
        " ",
        "\n",
        "    \n",
        " \t",
        "<",
        "=======\n",
        "    =======",
        "def ",
    ),
    *(">>>>>>> REPLACE\n", "<<<<<<< SEARCH\n", "<<<<<<< SEARCH   ", "def area_\n", "```\n def area\n", "\r", "a\r\n"),
    block("", ""),
    block("", "").replace("\n", " \n"),
]


def read_all(reply: str) -> None:
    """Read a reply in every way, and refuse it in every way."""
    assert not isinstance(edit(reply), str)
    assert isinstance(extract_program(reply, "area"), Rejection)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "<<<<<<< SEARCH\n"])
def test_a_flood_is_read_in_linear_time_and_gives_nothing(before: str) -> None:
    def flood(unit: str, size: int) -> str:
        return f"{before}{unit * (size // len(unit))}x"

    assert [unit for unit in FLOODS if not is_read_in_time(read_all, partial(flood, unit))] == []


LAST = "    square = r * r\n"
TWICE = block(LAST, f"{LAST} \n") + block(f"\n{LAST}", f" \n{LAST}")


@pytest.mark.parametrize(
    "grow",
    [
        pytest.param(lambda size: block(LAST, "\n" * size + LAST), id="empty lines"),
        pytest.param(lambda size: block(LAST, "a \n" * (size // 3) + LAST), id="short lines"),
        pytest.param(lambda size: block(LAST, f"#{'a' * size}\n{LAST}"), id="a long line"),
        pytest.param(lambda size: block(LAST, LAST + "a\n" * (size // 2)) + block("a\na\nb\n", ""), id="repetition"),
    ],
)
def test_blocks_that_let_a_program_grow_are_applied_in_time(grow: Callable[[int], str]) -> None:
    assert is_read_in_time(edit, lambda size: grow(size) + TWICE * ((MAX_BLOCKS - 2) // 2))


def test_a_program_of_too_many_lines_between_two_blocks_is_too_large() -> None:
    n_more = MAX_LINES - SOURCE.count("\n")
    assert isinstance(edit(block(LAST, LAST + "\n" * n_more)), str)
    problem = Rejection(Reason.TOO_LARGE, "50,001 lines after block 1, at most 50,000")
    assert edit(block(LAST, LAST + "\n" * (n_more + 1)) + block(LAST, LAST)) == problem


def test_a_block_is_two_lists_of_lines() -> None:
    assert find_blocks(block("a\n\n", "")) == [Block(["a", ""], [])]
