import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_closed_pipe_is_not_an_error() -> None:
    script = "from evodiverse.runner.process import say\nfor _ in range(9): say('x')"
    reader, writer = os.pipe()
    os.close(reader)
    said = subprocess.run([sys.executable, "-c", script], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (said.returncode, said.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_standard_output_is_an_error() -> None:
    script = "from evodiverse.runner.process import say\nsay('x')"
    with Path("/dev/full").open("w") as full:
        said = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, check=False)
    assert said.stderr.splitlines()[-1].endswith(b"cannot write to standard output (No space left on device)")


def test_printed_lines_cannot_control_a_terminal() -> None:
    script = "from evodiverse.runner.process import complain, say\nsay('a\x1b[2J\\nb')\ncomplain('c\x9b2J\\nd')"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout == "a�[2J\nb\n"
    assert said.stderr == "evodiverse: c�2J\nevodiverse: d\n"
