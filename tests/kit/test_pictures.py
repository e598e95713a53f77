"""Pictures look the same everywhere, hold any text, and cost nothing until one is drawn."""

import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from evodiverse.kit.pictures import embed_svg, new_figure, styled, to_png


def draw(lines: list[str]) -> tuple[Figure, bytes]:
    with styled():
        figure, _ = new_figure(50)
        return figure, to_png(figure, lines)


@pytest.mark.slow
def test_a_search_that_draws_nothing_does_not_load_matplotlib() -> None:
    modules = ["sys", "evodiverse.settings.assembly"]
    modules += [f"evodiverse.tasks.{name}.domain" for name in ("molecules", "equations", "programs")]
    code = f"import {', '.join(modules)}\nprint('matplotlib' in sys.modules, 'PIL' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False False\n"


def test_fields_of_lines_are_aligned_and_lines_without_fields_widen_none() -> None:
    figure, _ = draw(["title", "a\t1\tbins", "longer\t23", "a line without any fields"])
    assert [text.get_text() for text in figure.texts] == [
        "title",
        "a        1    bins\nlonger   23\na line without any fields",
    ]


def test_the_users_own_style_changes_nothing_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = draw(["title", "line"])
    monkeypatch.setitem(mpl.rcParams, "font.size", 31)
    monkeypatch.setitem(mpl.rcParams, "axes.linewidth", 9)
    assert draw(["title", "line"])[1] == expected
    assert mpl.rcParams["font.size"] == 31


@pytest.mark.parametrize("text", ["$x_{", "\x00\x1b[31m \ud800", "变量", "<svg>&amp;"])
def test_characters_that_cannot_be_drawn_are_replaced(text: str) -> None:
    figure, _ = draw([text, text])
    assert all(character.isprintable() for character in figure.texts[0].get_text())
    assert "变" not in figure.texts[0].get_text()


def test_a_drawing_is_an_image_in_which_no_script_runs() -> None:
    image = embed_svg("<svg><script>x</script></svg>", '"<script>')
    assert image.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="&#34;&lt;script&gt;"' in image
    assert "<script" not in image
