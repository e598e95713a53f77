"""A row of bars shows how numbers changed."""

import pytest

from evodiverse.kit.sparkline import sparkline


@pytest.mark.parametrize(
    ("values", "bars"), [([0, 0.5, 1], "▁▅█"), ([3, 3], "▁▁"), ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█")]
)
def test_a_sparkline_rises_with_its_values(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_the_largest_numbers_have_bars() -> None:
    assert sparkline([-1.7e308, 0.0, 1.7e308]) == "▁▅█"
