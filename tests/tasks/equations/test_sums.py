"""Sums and products: taken apart and put together, an equation has the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.trees import Kind, Node, build_product, build_total, read_tree
from evodiverse.tasks.equations.skeleton import read_skeleton

GRAMMAR = Grammar(("x", "v"), frozenset())
COLUMNS = {"x": np.linspace(0.3, 2, 20), "v": np.linspace(1.5, 0.4, 20)}
trees = st.builds(lambda seed: GRAMMAR.draw(Kind.REAL, 5, 0, np.random.default_rng(seed)), st.integers(0, 2**32))


def values(tree: Node) -> np.ndarray:
    return np.broadcast_to(tree.evaluate(COLUMNS, np.linspace(0.5, 1.5, tree.n_parameters())), 20)


@given(trees)
def test_terms_and_factors_put_together_again_have_the_same_values(tree: Node) -> None:
    expected = values(tree)
    scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    parts = [build_product(term.factors()) for term in tree.terms()]
    assert values(build_total(parts)) == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale, nan_ok=True)


def test_what_is_subtracted_or_divided_by_is_a_term_or_factor_too() -> None:
    source = read_skeleton(
        "def equation(x, v, params):\n    return x * v / (params[0] * x) - (v - x)\n", ("x", "v")
    ).source
    first, *others = read_tree(source).terms()
    assert [(sign, factor.text) for sign, factor in first.factors()] == [
        (1, "variable x"),
        (1, "variable v"),
        (-1, "parameter 0"),
        (-1, "variable x"),
    ]
    assert [term.text for term in others] == ["negative(variable v)", "negative(negative(variable x))"]
