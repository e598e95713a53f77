"""Evaluators and programs that the tests share."""

from pathlib import Path
from textwrap import dedent

from tests.runs import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "bin_packing"
EVALUATOR = """
    ENTRY_POINT = "main"

    def score(result):
        return result
"""


def write(folder: Path, name: str, content: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(dedent(content))
    return path
