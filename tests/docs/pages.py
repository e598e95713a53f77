"""Pages of the manual as a reader follows them: files to save, commands to run, output to compare."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
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


def read_page(name: str, heading: str = "") -> Iterator[Block]:
    """Yield the fenced blocks of a page below ``docs/``, in its order; with a heading, only those of this section."""
    text = (ROOT / "docs" / name).read_text("utf-8")
    if heading:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    for found in BLOCK.finditer(text):
        yield Block(found["language"], found["title"] or "", found["text"])


def save(block: Block, folder: Path) -> None:
    """Save a file as the page says."""
    path = folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")


def run_shell(
    commands: str, folder: Path, environment: Path = Path(sys.prefix)
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run commands in a shell in which those of an environment, by default this one, come first.

    Returns:
        What they came to, with both streams in one, and the folder that they have changed to.
    """
    path = os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "EVODIVERSE_OFFLINE": "1", "COLUMNS": "200"}
    with tempfile.NamedTemporaryFile("r") as folder_then:
        bash = ["bash", "-euo", "pipefail", "-c", f"{commands}\npwd > {folder_then.name}"]
        done = subprocess.run(
            bash, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        return done, Path(folder_then.read().strip() or folder)


def follow(blocks: Iterable[Block], home: Path, folder: Path, environment: Path = Path(sys.prefix)) -> None:
    """Save files and run commands; each command must succeed and print what the page says.

    Args:
        blocks: The blocks of a page.
        home: The folder that the files are saved below.
        folder: The folder that the first command runs in.
        environment: See `run_shell`.
    """
    printed = ""
    for block in blocks:
        if block.is_file:
            save(block, home)
        elif block.is_command:
            done, folder = run_shell(block.text, folder, environment)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}"
            printed = done.stdout
        elif block.language == "text":
            unsaid = find_unsaid(block.text, printed)
            assert unsaid == [], f"{unsaid}\n{printed}"


def find_unsaid(claimed: str, printed: str) -> list[str]:
    """Return the lines that a page claims and no line that was printed matches; ``…`` stands for anything."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    patterns = {
        line: re.compile(".*".join(map(re.escape, " ".join(line.split()).split("…")))) for line in claimed.splitlines()
    }
    return [line for line, pattern in patterns.items() if line and not any(map(pattern.fullmatch, lines))]
