"""No text becomes markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from evodiverse.kit.markup import join, legible, picture, tag, void


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
def test_an_element_reads_as_the_text_and_attribute_it_was_made_of(text: str, value: str) -> None:
    reader = Reader()
    reader.feed(tag("p", text, title=value))
    reader.close()
    assert reader.found == [("p", [("title", legible(value))])]
    assert reader.text == legible(text)


def test_markup_stays_as_it_is_and_nothing_is_left_out_but_none() -> None:
    assert tag("p", tag("b", "<"), None, "&", class_="x", data_value=None) == '<p class="x"><b>&lt;</b>&amp;</p>'
    assert join(["<", void("br")]) == "&lt;<br>"


def test_what_hides_or_controls_becomes_visible_and_lines_stay() -> None:
    assert legible("a\x1b\u202eb\n\tc\ud800") == "a��b\n\tc�"


def test_a_picture_is_an_image_in_which_no_script_runs() -> None:
    assert picture("<svg><script>x</script></svg>", '"<').startswith('<img src="data:image/svg+xml;base64,')
    assert "script" not in picture("<svg><script>x</script></svg>", "")
