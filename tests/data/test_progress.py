from io import StringIO

import pytest
from rich.console import Console

from evodiverse.data.progress import show_bar, show_nothing


class GoneTerminal(StringIO):
    def write(self, text: str) -> int:
        raise OSError("gone")


def terminal(file: StringIO) -> Console:
    return Console(file=file, force_terminal=True, width=100, color_system=None)


def test_a_terminal_shows_how_far_the_download_is():
    file = StringIO()
    with show_bar(terminal(file))() as report:
        report(3_000_000, 12_000_000)
        assert "3.0/12.0 MB" in file.getvalue()


def test_an_unknown_size_is_shown_as_such():
    file = StringIO()
    with show_bar(terminal(file))() as report:
        report(3_000_000, None)
        assert "3.0/? MB" in file.getvalue()


def test_a_download_that_reports_nothing_shows_nothing():
    file = StringIO()
    with show_bar(terminal(file))():
        pass
    assert file.getvalue() == ""


def test_no_bar_is_drawn_where_there_is_no_terminal():
    assert show_bar(Console(file=StringIO())) is show_nothing


def test_a_terminal_that_is_gone_does_not_end_the_download():
    with show_bar(terminal(GoneTerminal()))() as report:
        report(1, 2)


def broken_download() -> None:
    with show_bar(terminal(StringIO()))() as report:
        report(1, 2)
        raise ValueError("broken")


def test_an_error_of_the_download_comes_through_the_bar():
    with pytest.raises(ValueError, match="broken"):
        broken_download()
