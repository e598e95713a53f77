"""No text becomes markup, and a page allows no script but its own."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.results.pages.rendering import legible, number, render
from evodiverse.runlog.runs import Run


class Reader(HTMLParser):
    """Collects the start tags of a page, and the text within each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = [""]
        self.links: list[str | None] = []
        self.texts: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.texts[self.tags[-1]] = self.texts.get(self.tags[-1], "") + data


def page_of(text: str) -> str:
    run = Run(Path("run"), {"status": text, "started": text})
    listed = SimpleNamespace(run=run, name=text, best=0.5, calls=None, differing={})
    return render("index.html", title=text, runs=[listed], link=lambda _: text, errors=[text])


@given(st.text(min_size=1))
def test_every_text_on_a_page_is_read_as_it_is_and_adds_no_element(text: str) -> None:
    reader, plain = Reader(page_of(text)), Reader(page_of("plain"))
    shown = legible(text)
    assert reader.tags == plain.tags
    assert reader.links == [shown if link == "plain" else link for link in plain.links]
    for name in ("title", "h1", "a", "span", "td", "li"):
        assert reader.texts[name] == plain.texts[name].replace("plain", shown)


def test_what_hides_or_controls_becomes_visible_and_lines_stay() -> None:
    assert legible("a\x1b\u202eb\n\tc\ud800") == "a��b\n\tc�"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.00037, "1"),
        (-0.000640638447, "-0.0006406"),
        (1234.5678, "1235"),
        (123456.789, "123,457"),
        (1.23456e12, "1.235e+12"),
        (123456, "123,456"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_a_number_has_four_significant_digits_or_all_those_before_the_point(value: float, shown: str) -> None:
    assert number(value) == shown


def test_the_hashes_of_the_policy_are_those_of_the_only_style_and_script() -> None:
    page = page_of("text")
    for name in ("style", "script"):
        (content,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in html.unescape(page)
