"""Values that are linear in parameters, against the arithmetic of numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.in_sandbox.fitting import LinearValue
from evodiverse.tasks.equations.skeleton import read_skeleton

X = np.linspace(-2, 2, 7)
N_PARAMS = 3

WHOLE = st.sampled_from(["x", "2.5", "np.exp(x)", "(x + 3.0)"])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-"), inner | WHOLE).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(WHOLE, st.sampled_from("+-*"), inner).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(inner, st.sampled_from("*/"), WHOLE).map("({0[0]} {0[1]} {0[2]})".format),
        inner.map("(-{})".format),
        inner.map("(+{})".format),
        st.tuples(inner, inner | WHOLE).map("np.where(x > 0.5, {0[0]}, {0[1]})".format),
        st.tuples(WHOLE, inner).map("np.where(x > 0.5, {0[0]}, {0[1]})".format),
    )


EXPRESSIONS = st.recursive(st.sampled_from([f"params[{at}]" for at in range(N_PARAMS)]), _grow, max_leaves=8)


def value_of(expression: str, params: list[Any]) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return eval(expression, {"np": np, "x": X, "params": params})  # noqa: S307


@given(EXPRESSIONS, st.tuples(*[st.floats(-3, 3)] * N_PARAMS))
def test_a_linear_expression_is_its_offset_and_what_each_parameter_multiplies(
    expression: str, params: tuple[float, ...]
) -> None:
    found = value_of(expression, [LinearValue(0.0, {at: 1.0}) for at in range(N_PARAMS)])
    with np.errstate(invalid="ignore"):
        whole = found.offset + sum(factor * params[at] for at, factor in found.factors.items())
    expected = value_of(expression, list(params))
    finite = np.isfinite(expected + whole)
    np.testing.assert_allclose((whole + 0 * X)[finite], (expected + 0 * X)[finite], rtol=1e-9, atol=1e-9)


@given(EXPRESSIONS)
def test_every_such_expression_is_found_to_be_linear(expression: str) -> None:
    skeleton = read_skeleton(f"def equation(x, params):\n    return {expression}\n", ["x"])
    assert skeleton.linear == tuple(range(skeleton.n_params))


def test_what_is_no_arithmetic_is_refused() -> None:
    with pytest.raises(TypeError):
        np.exp(LinearValue(0.0, {0: 1.0}))  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        np.concatenate([LinearValue(0.0, {0: 1.0})])  # type: ignore[call-overload]
