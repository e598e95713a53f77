"""Weighted choice."""

import numpy as np
from scipy.stats import chisquare

from evodiverse.kit.choice import pick


def test_pick_follows_the_weights() -> None:
    rng = np.random.default_rng(11)
    drawn = [pick([("a", 6.0), ("b", 3.0), ("c", 1.0)], rng) for _ in range(5000)]
    assert chisquare([drawn.count(x) for x in "abc"], [3000, 1500, 500]).pvalue > 0.01


def test_pick_returns_the_only_choice() -> None:
    assert pick([("a", 0.2)], np.random.default_rng(0)) == "a"


def test_pick_consumes_one_number() -> None:
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    pick([("a", 1.0), ("b", 2.0), ("c", 5.0)], one)
    other.random()
    assert one.random() == other.random()
