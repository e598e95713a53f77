"""A report works in a browser: it shows its sections, sorts, filters, and logs no errors."""

import asyncio
from pathlib import Path

import pytest

from evodiverse.results.pages.writing import write_reports
from tests.results.pages.browser import CHROMIUM, opened
from tests.results.pages.runs import PLANTED, write_planted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.weekly,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed"),
]

COLUMN = (
    "[...document.querySelectorAll('#best tbody tr')].filter(row => !row.hidden).map(row => row.cells[{}].textContent)"
)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (page,), errors = write_reports([write_planted(tmp_path / "run")])
    assert errors == []
    return page


def look(page: Path, folder: Path, *scripts: str) -> list[object]:
    """Return the results of scripts that run one after the other, and then the console's errors and warnings."""

    async def run() -> list[object]:
        async with opened(page, folder / "profile") as shown:
            answers = [await shown.run(script) for script in scripts]
            return [*answers, shown.complaints]

    return asyncio.run(run())


def test_the_sections_are_there_and_the_console_is_silent(report: Path, tmp_path: Path) -> None:
    sections, links, complaints = look(
        report,
        tmp_path,
        "[...document.querySelectorAll('section')].map(section => section.id)",
        "[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))",
    )
    assert sections == [
        "first",
        "settings",
        "ending",
        "progress",
        "pools",
        "exchange",
        "best",
        "lineage",
        "llm",
        "errors",
    ]
    assert links == sections
    assert complaints == []


def test_a_click_on_a_heading_sorts_and_another_one_reverses_the_order(report: Path, tmp_path: Path) -> None:
    click = "document.querySelectorAll('#best thead button')[2].click();"
    first, up, down, order, complaints = look(
        report,
        tmp_path,
        COLUMN.format(2),
        click + COLUMN.format(2),
        click + COLUMN.format(2),
        "document.querySelectorAll('#best thead th')[2].getAttribute('aria-sort')",
    )
    assert first == ["3", "2", "1"]  # by score
    assert (up, down, order) == (["1", "2", "3"], ["3", "2", "1"], "descending")
    assert complaints == []


def test_the_filter_keeps_the_rows_that_contain_a_text(report: Path, tmp_path: Path) -> None:
    find = "const field = document.querySelector('#best .filter');"
    type_ = f"{find} field.value = 'ccn'; field.dispatchEvent(new Event('input'));"
    rows, count, _ = look(
        report,
        tmp_path,
        f"{{ {type_} }} {COLUMN.format(2)}",
        "document.querySelector('#best .count').textContent",
    )
    assert rows == ["2"]
    assert count == "1 of 3 rows"


def test_what_is_planted_is_text_and_never_runs(report: Path, tmp_path: Path) -> None:
    ran, scripts, shown, handlers, complaints = look(
        report,
        tmp_path,
        "window.planted === undefined",
        "document.querySelectorAll('script').length",
        f"document.body.textContent.includes({PLANTED!r})",
        "document.querySelectorAll('[onerror], iframe, object, embed').length",
    )
    assert (ran, scripts, shown, handlers, complaints) == (True, 1, True, 0, [])


def test_nothing_is_wider_than_a_phone(report: Path, tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        async with opened(report, tmp_path / "profile") as shown:
            await shown.ask(
                "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True
            )
            return await shown.run("document.documentElement.scrollWidth"), await shown.run("innerWidth")

    width, screen = asyncio.run(run())
    assert width <= screen == 390
