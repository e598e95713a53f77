"""Pages of the manual as a reader follows them: files to save, commands to run, output to compare."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.runs import ROOT

BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NOT_HERE = {"install", "checkout", "your files", "a cluster", "many runs", "after the runs", "after the measurements"}
"""The titles of commands that a test does not run: they need the network, a checkout, files, time or a person."""


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: ``sh`` for commands, ``text`` for what they print, and those of files.
        title: The file to save it in, or one of `NOT_HERE`; empty for none.
        text: The content.
    """

    language: str
    title: str
    text: str

    @property
    def is_file(self) -> bool:
        """Whether the reader saves it."""
        return "." in self.title

    @property
    def is_command(self) -> bool:
        """Whether the reader runs it, here and now."""
        return self.language == "sh" and self.title not in NOT_HERE


def read_page(name: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page below ``docs/``, in its order."""
    for found in BLOCK.finditer((ROOT / "docs" / name).read_text("utf-8")):
        yield Block(found["language"], found["title"] or "", found["text"])


def save(block: Block, folder: Path) -> None:
    """Save a file as the page says."""
    path = folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")


def run_shell(commands: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run commands in a shell in which those of this environment come first.

    Returns:
        What they came to, with both streams in one, and the folder that they have changed to.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "EVODIVERSE_OFFLINE": "1", "COLUMNS": "200"}
    with tempfile.NamedTemporaryFile("r") as folder_then:
        bash = ["bash", "-euo", "pipefail", "-c", f"{commands}\npwd > {folder_then.name}"]
        done = subprocess.run(
            bash, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        return done, Path(folder_then.read().strip() or folder)


def find_unsaid(claimed: str, printed: str) -> list[str]:
    """Return the lines that a page claims and no line that was printed matches; ``…`` stands for anything."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    patterns = {
        line: re.compile(".*".join(map(re.escape, " ".join(line.split()).split("…")))) for line in claimed.splitlines()
    }
    return [line for line, pattern in patterns.items() if line and not any(map(pattern.fullmatch, lines))]
