from io import StringIO

import pytest
from rich.console import Console

from evodiverse.data.artifacts import ARTIFACTS
from evodiverse.data.cache import inspect_artifact
from evodiverse.data.listing import draw_table, format_table


@pytest.fixture
def entries(damaged_cache):
    (damaged_cache / "elm.txt").unlink()
    return [inspect_artifact(name) for name in ARTIFACTS]


def test_text_is_aligned_with_one_line_an_artifact(entries):
    assert format_table(entries) == (
        "name  state      size  license  source                              description\n"
        "oak   damaged  0.0 MB  MIT      toy-forest==1.0 toy_forest/oak.txt  a toy\n"
        "elm   absent   0.0 MB  MIT      toy-forest==1.0 toy_forest/elm.txt  a toy\n"
    )


def test_a_terminal_shows_the_same_words(entries):
    file = StringIO()
    Console(file=file, width=120).print(draw_table(entries))
    assert file.getvalue().split() == format_table(entries).split()


def test_a_narrow_terminal_breaks_long_cells_and_loses_nothing(entries):
    file = StringIO()
    Console(file=file, width=60).print(draw_table(entries))
    lines = file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 60
    assert len(lines) > 3
    assert "…" not in file.getvalue()


def test_a_terminal_shows_states_in_color(entries):
    file = StringIO()
    Console(file=file, width=120, force_terminal=True, color_system="standard").print(draw_table(entries))
    assert "\x1b[1;31mdamaged" in file.getvalue()
