"""When two programs are one: which names count, and that equal programs do the same."""

import ast
from collections import defaultdict
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.programs.forms import write_form


def form(source: str) -> str:
    return write_form(ast.parse(source))


def inside(body: str, head: str = "def area(r):") -> str:
    return f"{head}\n" + "".join(f"    {line}\n" for line in body.split("\n"))


SAME = {
    "local": ("x = 1\nreturn x + r", "total = 1\nreturn total + r"),
    "swapped": ("x, y = r\nreturn x - y", "y, x = r\nreturn y - x"),
    "shadowed builtin": ("n = sum(r)\nreturn n", "size = sum(r)\nreturn size"),
    "comprehension": ("return [i * i for i in r if i]", "return [k * k for k in r if k]"),
    "comprehension that hides a local": ("i = 1\nreturn [i for i in r], i", "j = 1\nreturn [i for i in r], j"),
    "first iterable": ("i = r\nreturn {i: 1 for i in i}", "k = r\nreturn {i: 1 for i in k}"),
    "loops": ("for i in r:\n    pass\nelse:\n    del i", "for k in r:\n    pass\nelse:\n    del k"),
    "closure": (
        "x = 1\ndef f():\n    nonlocal x\n    x += 1\n    return x\nreturn f()",
        "y = 1\ndef grow():\n    nonlocal y\n    y += 1\n    return y\nreturn grow()",
    ),
    "function that is only called": (
        "def f(i, j=r):\n    return i - j\nreturn f(1) + f(2, 3)",
        "def g(a, b=r):\n    return a - b\nreturn g(1) + g(2, 3)",
    ),
    "key": ("return sorted(r, key=lambda p: p[0])", "return sorted(r, key=lambda q: q[0])"),
    "walrus": ("return (n := r) + n", "return (m := r) + m"),
    "walrus in a comprehension": ("return [y := i for i in r], y", "return [z := i for i in r], z"),
    "exception": ("try: r()\nexcept Exception as e: return str(e)", "try: r()\nexcept Exception as x: return str(x)"),
    "import as": ("import math as m\nreturn m.pi", "import math as mathematics\nreturn mathematics.pi"),
    "with": ("with r as f, r as g: return f - g", "with r as a, r as b: return a - b"),
    "match": (
        "match r:\n    case {'a': x, **y} | [x, *y]: return x, y",
        "match r:\n    case {'a': u, **v} | [u, *v]: return u, v",
    ),
    "method": (
        "class A:\n    def f(self):\n        x = r\n        return x",
        "class A:\n    def f(self):\n        y = r\n        return y",
    ),
    "annotated": ("x: int = r\nreturn x", "y: int = r\nreturn y"),
    "value of a keyword": ("x = 1\nreturn dict(x=x)", "y = 1\nreturn dict(x=y)"),
    "docstring": ("'''Doc.'''\nx = 1", "y = 1"),
    "async": ("async def f():\n    return [x async for x in r]", "async def g():\n    return [y async for y in r]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAME)
def test_local_names_do_not_make_another_program(kind: str) -> None:
    one, other = map(inside, SAME[kind])
    assert form(one) == form(other)


DIFFERENT = {
    "order": ("x, y = r\nreturn x - y", "x, y = r\nreturn y - x"),
    "global": ("return x", "return y"),
    "local or global": ("x = 1\ndef f():\n    return x\nreturn f()", "y = 1\ndef f():\n    return x\nreturn f()"),
    "declared global": ("global x\nx = 1", "global y\ny = 1"),
    "builtin": ("return max(r)", "return min(r)"),
    "attribute": ("x = r\nreturn x.x", "y = r\nreturn y.y"),
    "parameter": ("def f(x):\n    return x\nreturn f(x=r)", "def f(y):\n    return y\nreturn f(y=r)"),
    "parameter of a function that is passed on": (
        "def f(x):\n    return x\nreturn minimize(f)",
        "def f(y):\n    return y\nreturn minimize(f)",
    ),
    "parameter of a lambda": ("return minimize(lambda x: x)", "return minimize(lambda y: y)"),
    "parameter of a key that is named": (
        "def f(key):\n    return key(x=1)\nreturn f(key=lambda x: x)",
        "def f(key):\n    return key(x=1)\nreturn f(key=lambda y: y)",
    ),
    "parameter of a key that any name may reach": (
        "def f(key):\n    return key(**r)\nreturn f(key=lambda x: x)",
        "def f(key):\n    return key(**r)\nreturn f(key=lambda y: y)",
    ),
    "parameter of a decorated function": (
        "@r\ndef f(x):\n    return x\nreturn f(1)",
        "@r\ndef f(y):\n    return y\nreturn f(1)",
    ),
    "parameter of a method": (
        "class A:\n    def f(self, x):\n        return x\nreturn A().f(1)",
        "class A:\n    def f(self, y):\n        return y\nreturn A().f(1)",
    ),
    "parameter that hides an import": (
        "def f(math):\n    import math\n    return math\nreturn f(1)",
        "def f(x):\n    import math\n    return x\nreturn f(1)",
    ),
    "class": ("class A: pass\nreturn A()", "class B: pass\nreturn B()"),
    "name of a class": ("class A:\n    x = r", "class A:\n    y = r"),
    "name of a class that hides a local": (
        "x = r\nclass A:\n    x = x\nreturn A.x",
        "y = r\nclass A:\n    x = y\nreturn A.x",
    ),
    "mangled": ("class A:\n    def f(self):\n        __x = 1", "class A:\n    def f(self):\n        __y = 1"),
    "mangled closure": (
        "_A__x = 1\nclass A:\n    def f(self):\n        return __x",
        "y = 1\nclass A:\n    def f(self):\n        return __x",
    ),
    "import": ("import math\nreturn math.pi", "import cmath\nreturn cmath.pi"),
    "locals": ("x = 1\nreturn locals()", "y = 1\nreturn locals()"),
    "eval": ("x = 1\nreturn eval('x')", "y = 1\nreturn eval('x')"),
    "name of a function": ("def f(): pass\nreturn f.__name__", "def g(): pass\nreturn g.__name__"),
    "code": ("x = 1\nreturn area.__code__.co_varnames", "y = 1\nreturn area.__code__.co_varnames"),
    "by name": ("x = 1\nreturn getattr(r, '__code__')", "y = 1\nreturn getattr(r, '__code__')"),
    "numpy": ("x = 1\nreturn np.r_['x']", "y = 1\nreturn np.r_['x']"),
    "annotation in parentheses": ("(x): int\nreturn x", "(y): int\nreturn y"),
    "read docstring": ("'''One.'''\nreturn area.__doc__", "'''Two.'''\nreturn area.__doc__"),
    "debug text": ("x = 1\nreturn f'{x=}'", "y = 1\nreturn f'{y=}'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENT)
def test_a_name_on_which_something_may_depend_makes_another_program(kind: str) -> None:
    one, other = map(inside, DIFFERENT[kind])
    assert form(one) != form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def area(r): pass", "def areas(r): pass"),
        ("def area(r): pass", "def area(s): pass"),
        ("x = 1", "y = 1"),
        ("import math as m", "import math as n"),
        ("f = lambda x: 1", "f = lambda y: 1"),
        ("for i in (): pass", "for j in (): pass"),
    ],
)
def test_names_of_the_module_and_parameters_of_its_functions_count(one: str, other: str) -> None:
    assert form(one) != form(other)


def test_a_comprehension_of_the_module_has_local_names() -> None:
    assert form("x = [i for i in y]") == form("x = [k for k in y]")


# Programs with holes for names; each way to fill them with two names, both also global, is a program.
TEMPLATES = [
    "@ = r\ndef f():\n    @ = 5\n    return @\nreturn f(), @, @",
    "@ = r\ndef f(@):\n    return @ + @\nreturn f(@)",
    "@ = r\ndef f(@, @=@):\n    return @\nreturn f(7)",
    "@ = r\ndef f():\n    nonlocal @\n    @ = 6\nf()\nreturn @, @",
    "@ = r\ndef f():\n    global @\n    @ = 6\n    def g():\n        return @\n    return g()\nreturn f(), @",
    "@ = r\nclass A:\n    @ = @\n    def f(self):\n        return @\nreturn A.a, A().f(), @",
    "@ = r\nclass A:\n    global @\n    @ = 4\n    def f(self):\n        return @, @\nreturn A().f(), @",
    "@ = r\nreturn [@ for @ in (@, 8)], @",
    "@ = r\nreturn [(@, @) for @ in (1, 2) for @ in (@, 3)]",
    "@ = r\nclass A:\n    @ = 4\n    x = [@ for _ in (@, 2)]\nreturn A.x, @",
    "return [(@ := i) for i in (1, @)], @",
    "@ = r\nreturn (lambda @, b=@: (@, @))(9)",
    "@ = r\nreturn sorted((1, 3, 2), key=lambda @: -@ * @)",
    "@ = r\ntry:\n    1 / 0\nexcept ZeroDivisionError as @:\n    pass\nreturn @",
    "from math import pi as @, e as @\nreturn @, @",
    "@ = r\nmatch (4, 5):\n    case [@, @]:\n        return @\n    case @:\n        return @",
    "@ = r\ndel @\nreturn @",
    "for @ in (1, 2):\n    for @ in (3,):\n        pass\nreturn @",
    "def @():\n    return 1\n@ = @()\nreturn @",
    "def @(@):\n    return @\nreturn @(3)",
    "@: int\nreturn @",
    "if r > 5:\n    @ = 1\nreturn @",
]


def result(source: str) -> str:
    """Return what a program returns, or the kind of its error."""
    space: dict[str, object] = {}
    try:
        exec(compile(source, "program", "exec"), space)  # noqa: S102
        found = space["area"](3)  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return "a function" if callable(found) else repr(found)


def fill(template: str, names: tuple[str, ...]) -> str:
    first, *others = template.split("@")
    body = first + "".join(name + text for name, text in zip(names, others, strict=True))
    return f"a = 10\nb = 20\n{inside(body)}"


@pytest.mark.parametrize("template", TEMPLATES)
def test_all_programs_of_one_form_return_the_same(template: str) -> None:
    found = defaultdict(set)
    for names in product("ab", repeat=template.count("@")):
        source = fill(template, names)
        found[form(source)].add(result(source))
    assert [results for results in found.values() if len(results) > 1] == []
    assert len(found) < 2 ** template.count("@")


@given(st.lists(st.sampled_from(TEMPLATES), min_size=2, max_size=2), st.data())
def test_nested_programs_of_one_form_return_the_same(templates: list[str], data: st.DataObject) -> None:
    outer, inner = templates
    nested = "def f(r):\n" + "".join(f"    {line}\n" for line in inner.split("\n")) + f"r = 1, f(r)\n{outer}"
    names = st.tuples(*[st.sampled_from("ab")] * nested.count("@"))
    one = data.draw(names)
    swapped = data.draw(st.integers(0, len(one)))
    exchange = {"a": "b", "b": "a"}
    other = one[:swapped] + tuple(exchange[name] for name in one[swapped:])
    sources = fill(nested, one), fill(nested, other)
    if form(sources[0]) == form(sources[1]):
        assert result(sources[0]) == result(sources[1])
