"""Messages between the sandbox's processes."""

import pickle
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.sandbox.wire import UnusableError, clean, pack_job, read_result
from evodiverse.vocabulary import Array, Job, Limits

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.lists(st.floats(), max_size=6))
def test_a_job_arrives_as_it_was_sent(value: object, numbers: list[float]) -> None:
    array = np.array(numbers).reshape(-1, 1)
    job = Job("s\0ource", "main", (value, array), (Array((2, 3)), Array(())), Limits(1.5), "driver")
    arrived = pickle.loads(pack_job(job))
    assert arrived.arguments[0] == value
    assert np.array_equal(arrived.arguments[1], array, equal_nan=True)
    assert (arrived.source, arrived.returns, arrived.limits) == (job.source, job.returns, job.limits)


@given(st.binary(max_size=200), st.sampled_from([None, (Array((2,)), Array(()))]))
def test_any_bytes_give_a_value_or_a_rejection(sent: bytes, returns: tuple[Array, ...] | None) -> None:
    with suppress(UnusableError):
        read_result(sent, returns)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
def test_finite_numbers_of_the_declared_shapes_arrive(numbers: list[float]) -> None:
    array, number = read_result(b"{}\n" + struct.pack("=3d", *numbers), (Array((2,)), Array(())))
    assert [*array.tolist(), float(number)] == numbers


@pytest.mark.parametrize("text", ['{"value": NaN}\n', '{"value": [1e999]}\n', '{"value": {"a": -Infinity}}\n'])
def test_json_that_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(UnusableError, match="the result holds"):
        read_result(text.encode(), None)


@given(st.text())
def test_clean_returns_one_short_printable_line(text: str) -> None:
    assert clean(text).isprintable()
    assert len(clean(text * 100)) <= 400
