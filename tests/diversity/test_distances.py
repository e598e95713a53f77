"""Bags of tokens against scikit-learn and sets by hand."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from evodiverse.diversity.distances import cosine, hashed_counts, jaccard

bags = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), max_size=6)


@given(bags, st.lists(bags, min_size=1, max_size=4))
def test_the_cosine_similarity_equals_that_of_scikit_learn(one: dict[str, int], others: list[dict[str, int]]) -> None:
    rows = DictVectorizer(sparse=False).fit_transform([dict.fromkeys("abcdef", 0), one, *others])
    expected = cosine_similarity(rows[1:2], rows[2:])[0]
    if not one:
        expected = [float(not other) for other in others]
    assert cosine(one, others) == pytest.approx(expected)
    assert (cosine(one, others) <= 1).all()


def test_the_jaccard_similarity_is_the_shared_part_of_all_tokens() -> None:
    assert jaccard({"a", "b"}, [{"a", "b"}, {"b", "c"}, {"c"}, set()]).tolist() == [1, 1 / 3, 0, 0]
    assert jaccard(set(), [set(), {"a"}]).tolist() == [1, 0]


def test_counts_are_summed_in_columns() -> None:
    rows = hashed_counts([{"x": 2, "y": 1}, {"x": 1}, {}], 64)
    assert rows.sum(axis=1).tolist() == [3, 1, 0]
    (column,) = np.flatnonzero(rows[1])
    assert rows[0, column] == 2


def test_columns_are_the_same_in_every_process() -> None:
    code = "from evodiverse.diversity.distances import hashed_counts; print(hashed_counts([{'x': 1}], 997).argmax())"
    columns = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert columns == {f"{hashed_counts([{'x': 1}], 997).argmax()}\n"}
