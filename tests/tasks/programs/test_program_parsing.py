"""From text to a program, and when two programs are one."""

import ast
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.programs.parsing import MAX_DEPTH, parse_program
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

SOURCE = '''"""Areas."""
import math  # for pi


def area(r, *, scale=1.0):
    """Return the area."""
    names = {**{}, 0x1F: f"{r:>{4}}\\t{r!r}", 2: b"x", 1e999: 2j, None: (), ...: True}
    total = [0 for _ in range(3) if r is not None]
    return math.pi * r ** 2 + -1
'''
DEEP = Rejection(Reason.UNPARSABLE, "nested too deeply")


def parse(text: str, max_characters: int = 100_000) -> Hypothesis | Rejection:
    return parse_program(text, "area", max_characters)


def key(text: str) -> str:
    parsed = parse(text)
    assert isinstance(parsed, Hypothesis), parsed
    return parsed.key


def define(body: str) -> str:
    """A program that does something and defines the entry point."""
    return f"{body}\ndef area(r): pass\n"


def test_the_genotype_keeps_comments_and_docstrings() -> None:
    parsed = parse(SOURCE)
    assert isinstance(parsed, Hypothesis)
    assert parsed.genotype == SOURCE


def test_the_key_is_the_same_for_good() -> None:
    assert key("def area(r): return r") == "1c0e97991e56916c8c946e148011ebfbf49a330c15ebbe07fcc0e969214c8c61"


@pytest.mark.parametrize(
    "text", [SOURCE.replace("\n", "\r\n"), SOURCE.replace("\n", "\r"), f"\n\n{SOURCE} \n\t\n", SOURCE.rstrip()]
)
def test_line_endings_and_blank_lines_around_a_program_are_made_one(text: str) -> None:
    assert parse(text) == parse(SOURCE)


@pytest.mark.parametrize(
    "text",
    [
        ast.unparse(ast.parse(SOURCE)),
        SOURCE.replace("# for pi", "# for 3.14"),
        SOURCE.replace('"""Areas."""', ""),
        SOURCE.replace('"""Return the area."""', ""),
        SOURCE.replace('"x"', "'x'").replace("0x1F", "31").replace("1.0", "1."),
        SOURCE.replace("r ** 2 + -1", "(r**2) + (-1)"),
        SOURCE.replace("    ", "\t"),
        SOURCE.replace("def area", "# so\n\n\ndef area"),
    ],
)
def test_formatting_comments_and_docstrings_do_not_make_another_program(text: str) -> None:
    assert key(text) == key(SOURCE)


@pytest.mark.parametrize(
    "text",
    [
        SOURCE.replace("-1", "1"),
        SOURCE.replace("1.0", "1"),
        SOURCE.replace("True", "1"),
        SOURCE.replace("0x1F", "30"),
        SOURCE.replace("**{}", "None: {}"),
        SOURCE.replace("is not None", "is None"),
        SOURCE.replace("math.pi", "math.tau"),
        SOURCE.replace("!r", "!s"),
        SOURCE.replace('b"x"', '"x"'),
        SOURCE.replace("*, ", ""),
    ],
)
def test_a_program_that_does_something_else_is_another_one(text: str) -> None:
    assert text != SOURCE
    assert key(text) != key(SOURCE)


def test_a_function_that_only_has_a_docstring_is_an_empty_one() -> None:
    assert key('def area(r): "Nothing."') == key("def area(r): pass")


STATEMENTS = st.lists(
    st.sampled_from(
        [
            "x = 1",
            '"""text"""',
            "class A:\n    '''doc'''\n    x: int = 2",
            "def area(r):\n    '''doc'''\n    return [a for a, *b in r if a < 1 <= 2 or not b]",
            "async def g(a, /, b=1, *c, d, **e):\n    await a\n    yield lambda x, *, y=2: x if y else ...",
            "try:\n    pass\nexcept (A, B) as e:\n    raise X from e\nelse:\n    del x[1:2, ...]\nfinally:\n    pass",
            "with a as b, c:\n    global d\n    d += f'{b!r:>{c}}' u'e' r'\\d'",
            "match a:\n    case [1, *_] | {'k': A(b=2)} if d:\n        pass",
            "while (y := 3):\n    break\nelse:\n    assert a, 'b'",
            "for i in a: continue",
            "from .. import a as b, c",
            "@a\n@b.c(1)\nclass B(A, metaclass=C): ...",
        ]
    ),
    max_size=6,
    unique=True,
).map(lambda parts: "\n".join([*parts, "def area(r): return r", ""]))


@given(STATEMENTS)
def test_parsing_a_genotype_again_gives_the_same_program(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Hypothesis)
    assert parse(parsed.genotype) == parsed


@given(STATEMENTS)
def test_writing_a_program_from_its_tree_keeps_the_key(text: str) -> None:
    assert key(ast.unparse(ast.parse(text))) == key(text)


@given(STATEMENTS, st.data())
def test_comments_and_blank_lines_anywhere_keep_the_key(text: str, data: st.DataObject) -> None:
    lines = [line + data.draw(st.sampled_from(["", "  # so", " ", "\n\n#\n"])) for line in text.split("\n")]
    assert key("\n".join(lines)) == key(text)


@given(st.text())
def test_any_text_is_a_program_or_rejected(text: str) -> None:
    assert isinstance(parse(text), (Hypothesis, Rejection))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", Rejection(Reason.EMPTY)),
        (" \r\n\t\n", Rejection(Reason.EMPTY)),
        ("x" * 100, Rejection(Reason.TOO_LARGE, "101 characters, at most 60")),
        ("def area(r): pass\0", Rejection(Reason.UNPARSABLE, "a NUL character")),
        ("def area(r): '\ud800'", Rejection(Reason.UNPARSABLE, "characters that UTF-8 cannot encode")),
        ("# only this", Rejection(Reason.UNPARSABLE, "defines no function area")),
        ("def areas(r): pass", Rejection(Reason.UNPARSABLE, "defines no function area")),
        ("async def area(r): pass", Rejection(Reason.UNPARSABLE, "defines no function area")),
        ("class A:\n    def area(r): pass", Rejection(Reason.UNPARSABLE, "defines no function area")),
        ("area = lambda r: r", Rejection(Reason.UNPARSABLE, "defines no function area")),
        ("\nx = 1\ny = (\n", Rejection(Reason.UNPARSABLE, "line 2: '(' was never closed")),
        (
            "def area(r):\npass",
            Rejection(Reason.UNPARSABLE, "line 2: expected an indented block after function definition on line 1"),
        ),
    ],
)
def test_text_that_is_not_a_program_is_rejected_with_the_reason(text: str, problem: Rejection) -> None:
    assert parse(text, 60) == problem


def test_a_program_of_just_the_length_allowed_is_one() -> None:
    assert isinstance(parse("def area(r): pass", 18), Hypothesis)
    assert isinstance(parse("def area(r): pass", 17), Rejection)


def test_what_python_warns_of_stays_the_programs_own_business() -> None:
    assert isinstance(parse(define('x = "\\d" is 1, [1] [2, 3], 1 ()\nassert (x, "always")')), Hypothesis)


# Sources that are nested n levels deep, each in another way.
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + ")" * n,
    "unclosed parentheses": lambda n: "(" * n,
    "unclosed brackets": lambda n: "[" * n,
    "lists": lambda n: "[" * n + "]" * n,
    "dictionaries": lambda n: "{1:" * n + "1" + "}" * n,
    "signs": lambda n: "-" * n + "1",
    "negations": lambda n: "not " * n + "1",
    "attributes": lambda n: "a" + ".b" * n,
    "calls": lambda n: "a" + "()" * n,
    "subscripts": lambda n: "a" + "[0]" * n,
    "sums": lambda n: "1" + "+1" * n,
    "powers": lambda n: "1" + "**1" * n,
    "choices": lambda n: "1 if 1 else " * n + "1",
    "lambdas": lambda n: "lambda: " * n + "1",
    "comprehensions": lambda n: "[" * n + "1" + " for x in y]" * n,
    "formatted strings": lambda n: "f'{f\"{" * (n // 2) + "1" + "}\"}'" * (n // 2),
    "alternatives": lambda n: "if x: pass\n" + "elif x: pass\n" * n,
    "blocks": lambda n: "".join(f"{' ' * i}if x:\n" for i in range(n)) + " " * n + "pass",
    "patterns": lambda n: f"match x:\n case {'[' * n}{']' * n}: pass",
    "assignments": lambda n: "(x := " * n + "1" + ")" * n,
    "conjunctions": lambda n: "(x and " * n + "1" + ")" * n,
    "tuples": lambda n: "(x, " * n + "1" + ")" * n,
}
CHAINS = ["signs", "attributes", "sums", "alternatives", "lambdas"]


@pytest.mark.parametrize("n", [900, 5000])
def test_deep_nesting_is_rejected_and_breaks_nothing(n: int) -> None:
    parsed = {kind: parse(define(nest(n)), sys.maxsize) for kind, nest in NESTED.items()}
    assert [kind for kind, found in parsed.items() if not isinstance(found, Rejection)] == []


@pytest.mark.parametrize("n", [MAX_DEPTH, 3000, 30_000])
def test_deep_nesting_has_one_reason_whichever_check_finds_it(n: int) -> None:
    assert {kind: parse(define(NESTED[kind](n)), sys.maxsize) for kind in CHAINS} == dict.fromkeys(CHAINS, DEEP)


@pytest.mark.parametrize("kind", NESTED)
def test_the_deepest_program_can_be_written_from_its_tree(kind: str) -> None:
    texts = (define(NESTED[kind](n)) for n in range(MAX_DEPTH, -1, -1))
    deepest = next(text for text in texts if isinstance(parse(text), Hypothesis))
    assert key(ast.unparse(ast.parse(deepest))) == key(deepest)


@pytest.mark.parametrize(
    "wide",
    [
        "x = " * 5_000 + "1",
        "1" + " < 1" * 5_000,
        "x = [" + "1, " * 8_000 + "]",
        "@a\n" * 3_000,
        "'a' " * 5_000,
        "1; " * 8_000,
    ],
)
def test_a_wide_program_is_one(wide: str) -> None:
    assert isinstance(parse(define(wide)), Hypothesis)


def test_a_huge_integer_is_one_in_hexadecimal_and_a_syntax_error_in_decimal() -> None:
    assert key(define("x = 0x1" + "0" * 9000)) != key(define("x = 0x1" + "0" * 9001))
    decimal = parse(define("x = 1" + "0" * 9000))
    assert isinstance(decimal, Rejection)
    assert decimal.detail.startswith("line 1: Exceeds the limit (4300 digits)")


def test_a_program_that_would_take_forever_to_compile_is_none_of_the_parsers_business() -> None:
    body = "".join(f"{' ' * i}try:\n" + f"{' ' * i} if r: return\n" * 30 + f"{' ' * i}finally:\n" for i in range(1, 9))
    assert isinstance(parse(f"def area(r):\n{body}         pass"), Hypothesis)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return 1", "line 1: 'return' outside function"),
        ("class A:\n    yield", "line 2: 'yield' outside function"),
        ("for i in x:\n    pass\nelse:\n    break", "line 4: 'break' outside loop"),
        ("while x:\n    def f(): continue", "line 2: 'continue' outside loop"),
        ("def f():\n    class A:\n        return", "line 3: 'return' outside function"),
        ("def f(a=(yield)): pass", "line 1: 'yield' outside function"),
    ],
)
def test_a_statement_outside_its_function_or_loop_is_rejected(body: str, problem: str) -> None:
    assert parse(define(body)) == Rejection(Reason.UNPARSABLE, problem)


@pytest.mark.parametrize(
    "body",
    [
        "def f():\n    while x:\n        if y: break\n        return [(yield)]\n    else:\n        return",
        "for i in x:\n    for j in x: pass\n    else:\n        continue",
        "f = lambda: (yield)",
        "async def f():\n    async for i in x:\n        try: break\n        finally: continue",
    ],
)
def test_a_statement_inside_its_function_or_loop_is_fine(body: str) -> None:
    assert isinstance(parse(define(body)), Hypothesis)
