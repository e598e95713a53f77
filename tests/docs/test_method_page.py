"""docs/method.md: its numbers are those of the functions that a run uses, its places exist, its picture is sound."""

import re
from math import exp, log
from xml.etree import ElementTree as ET

import pytest
import yaml

from evodiverse.search.adaptation import XI_BOUNDS, Thermostat, adapt_xi
from evodiverse.search.exchange import log_acceptance
from evodiverse.search.settings import Swap
from evodiverse.tasks.molecules.task import energy
from tests.runs import CONF, ROOT

TEXT = (ROOT / "docs" / "method.md").read_text()
EXAMPLE = TEXT.partition("## An exchange by hand")[2].partition("\n## ")[0]
PICTURE = ROOT / "docs" / "images" / "exchange.svg"
SVG = "{http://www.w3.org/2000/svg}"


def test_the_exchange_by_hand_is_the_one_that_a_run_makes() -> None:
    cold, hot = energy(0.50), energy(0.35)
    log_accept = log_acceptance(cold, hot, 0.8 - 0.2, 2.5)
    numbers = [cold, hot, -cold, log_accept, exp(log_accept), log(0.60), log(0.70)]
    assert [f"{number:.4f}" for number in numbers if f"{number:.4f}" not in EXAMPLE] == []
    assert f"{log_acceptance(hot, cold, 0.8 - 0.2, 2.5):.4f}" in EXAMPLE
    assert log(0.60) <= min(0.0, log_accept) < log(0.70)


def test_the_powering_factor_adapts_as_in_the_example() -> None:
    swap = Swap("metropolis", "all", period=5, size=5, xi=2.5, target=0.4, tolerance=0.2, window=1)
    after_three, _ = adapt_xi(Thermostat(2.5), 3 / 5, swap)
    after_one, _ = adapt_xi(after_three, 1 / 5, swap)
    assert f"= {after_three.xi:.2f}$" in EXAMPLE
    assert f"= {after_one.xi:.3f}$" in EXAMPLE
    assert adapt_xi(after_one, 2 / 5, swap)[0] == after_one
    assert XI_BOUNDS == (0.001, 1000)


def test_constants_of_the_page_are_those_of_the_molecule_domain() -> None:
    defaults = yaml.safe_load((CONF / "task" / "defaults" / "molecules.yaml").read_text())
    swap, stop = defaults["swap"], defaults["early_stop"]
    assert (defaults["cold"], defaults["middle"], defaults["hot"], defaults["elites"]) == (0.8, 0.4, 0.2, 3)
    assert (swap["period"], swap["xi"], swap["target"], swap["tolerance"]) == (5, 2.5, 0.4, 0.2)
    assert (stop["top"], stop["gain"], stop["patience"]) == (100, 0.001, 5)
    assert (defaults["niche"]["share"], defaults["niche"]["radius"]) == ([10, 2], 0.4)


def test_files_and_methods_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`((?:evodiverse|conf|benchmarks)/[\w./-]*\w)/?`", TEXT))
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    methods = re.findall(r"^\| `(\w+)`", TEXT.partition("special cases")[2].partition("\n## ")[0], re.MULTILINE)
    assert [name for name in methods if not (CONF / "method" / f"{name}.yaml").exists()] == []
    assert "pt" in methods


@pytest.fixture(scope="module")
def picture() -> ET.Element:
    return ET.fromstring(PICTURE.read_text())  # noqa: S314 (our own file)


def test_the_picture_has_a_title_and_a_description_and_needs_nothing_else(picture: ET.Element) -> None:
    assert picture.findtext(f"{SVG}title")
    assert picture.findtext(f"{SVG}desc")
    text = PICTURE.read_text()
    assert len(text) < 400_000
    assert re.findall(r"url\(|@import|href=|<script|<image", text) == []


def test_the_picture_stands_still_where_motion_is_not_wanted() -> None:
    style = PICTURE.read_text().partition("<style>")[2].partition("</style>")[0]
    before, _, moving = style.partition("@media(prefers-reduced-motion:no-preference)")
    assert "animation" not in before
    assert "animation" in moving
    assert "prefers-color-scheme:dark" in before
