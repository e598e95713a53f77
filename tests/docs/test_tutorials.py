"""Each tutorial, followed in an empty folder: its files are saved, its commands run, and print what it says."""

from pathlib import Path

import pytest

from tests.docs.pages import follow, read_page

CLAIMED_FILES = {
    "molecules.md": ["best/top10.png", "best/top.csv", "report.html", "index.html"],
    "equations.md": [f"best/{name}" for name in ("hall_of_fame.csv", "chosen.txt", "equation.py", "fit.png")],
    "programs.md": ["best/best_program.py", "best/picture.svg", "best/history"],
}


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(400)  # on a busy machine
@pytest.mark.parametrize("name", list(CLAIMED_FILES))
def test_a_tutorial_can_be_followed(name: str, tmp_path: Path) -> None:
    follow(read_page(f"tutorials/{name}"), tmp_path, tmp_path)
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert [claim for claim in CLAIMED_FILES[name] if not any(path.endswith(f"/{claim}") for path in made)] == []
