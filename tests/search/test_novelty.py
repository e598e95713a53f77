"""Proposals that are too similar to a member of their pool."""

import numpy as np
import pytest

from evodiverse.search.novelty import reject_similar
from evodiverse.vocabulary import Hypothesis, Reason, Rejection
from tests.search.builders import make_archive

ARCHIVE = make_archive([0.1] * 5)
NEARNESS = {"g1": 0.2, "g2": 0.7, "g3": 0.9, "g4": 1 - 2**-52}


def reject(limit: float, *members: int) -> Rejection | None:
    judge = reject_similar(limit, ARCHIVE, lambda _, others: np.array([NEARNESS[other.genotype] for other in others]))
    return judge(np.array(members, dtype=np.int64), Hypothesis("g", "k"))


def test_the_nearest_member_decides_and_is_named() -> None:
    expected = Rejection(Reason.TOO_SIMILAR, "its similarity to call 3 is 0.900")
    assert reject(0.8, 1, 3, 2) == expected
    assert reject(0.8, 1, 2) is None


@pytest.mark.parametrize(("limit", "is_rejected"), [(0.69, True), (0.7, True), (0.71, False)])
def test_a_similarity_of_the_limit_is_too_similar(limit: float, is_rejected: bool) -> None:
    assert (reject(limit, 2) is not None) is is_rejected


def test_rounding_does_not_make_a_copy_new() -> None:
    assert reject(1.0, 4) is not None
    assert reject(1.0, 3) is None


def test_in_an_empty_pool_everything_is_new() -> None:
    assert reject(0.1) is None
