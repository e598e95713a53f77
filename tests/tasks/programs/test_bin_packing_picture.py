"""The picture of a rule shows what it does with which items, and how full its bins end."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evodiverse.tasks.programs.bin_packing import evaluator
from evodiverse.tasks.programs.bin_packing.evaluator import count_fillings, count_shares, draw_rule
from evodiverse.tasks.programs.bin_packing.packing import Instance, draw_instances, pack_best_fit

SMALL = Instance("small", 10, (6, 5, 3, 5, 3))
CHOICES = [0, 0, 1, 1, 0]  # 6 and 3, 5 and 5, 3
NEVER, ALWAYS = 0.0, 1.0


def test_the_share_is_how_often_a_space_was_taken_when_it_could_be() -> None:
    shares = count_shares([SMALL], [CHOICES])
    row = {space: shares[space - 1] for space in range(1, 10)} | {10: shares[10]}
    assert row[4][3 - 1] == ALWAYS
    assert row[5][3 - 1] == NEVER
    assert row[5][5 - 1] == ALWAYS
    assert row[10][5 - 1] == 0.5
    assert row[10][3 - 1] == 0.5
    assert np.isnan(row[4][5 - 1])
    assert np.isnan(shares[9]).all()  # no open bin has all of its space


def test_capacities_share_the_cells_of_the_smallest() -> None:
    large = Instance("large", 20, (12, 10, 6))
    assert count_shares([large, SMALL], [[0, 0, 1], CHOICES]).shape == (11, 10)
    assert count_shares([Instance("huge", 10_000, (1, 10_000))], [[0, 0]]).shape == (151, 150)


def test_the_fillings_are_shares_of_the_bins() -> None:
    assert count_fillings([SMALL], [CHOICES]) == {90: 1 / 3, 100: 1 / 3, 30: 1 / 3}


def test_any_instances_can_be_drawn() -> None:
    for instances in (draw_instances("or3"), [Instance("one", 1, (1, 1))], [SMALL, Instance("huge", 9_999, (7_000,))]):
        choices = [pack_best_fit(instance) for instance in instances]
        image = Image.open(io.BytesIO(draw_rule(instances, choices, choices, ["title", "rule\t1%\t2 bins"])))
        assert image.format == "PNG"


def test_each_bar_is_as_high_as_its_share_of_the_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "to_png", lambda figure, _: figure)
    figure: Any = draw_rule([SMALL], [CHOICES], [[0] * 5], ["title"])
    bars = [{bar.get_x() + 0.19: bar.get_height() for bar in drawn} for drawn in figure.axes[1].containers]
    rule, other = ({round(place): height for place, height in drawn.items() if height} for drawn in bars)
    assert rule == pytest.approx({80: 100 / 3, 90: 100 / 3, 100: 100 / 3})  # the one of 30% counts as at most 80%
    assert other == pytest.approx({80: 100.0})


def test_another_rule_is_another_picture() -> None:
    best = [pack_best_fit(SMALL)]
    each_its_own = [[0] * 5]
    pictures = {draw_rule([SMALL], made, best, ["title"]) for made in (best, each_its_own)}
    assert len(pictures) == 2
