"""A program learns nothing about earlier programs from the memory that its process inherits."""

from collections.abc import Iterator

import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Job
from tests.sandbox.jobs import body, module

pytestmark = pytest.mark.slow

MARKERS = {name: f"{name}-7f3a9c51e8d24b60" for name in ("source", "argument", "result", "stdout", "stderr", "error")}
# What the scanning program looks for: each character of a marker plus one, so that the program does not find its own
# copy in memory.
SHIFTED = {name: "".join(chr(ord(letter) + 1) for letter in marker) for name, marker in MARKERS.items()}

FREED = """
import numpy as np

def main(wanted):
    found = set()
    for size in [*range(8, 2048, 8), *(2 ** k for k in range(11, 26))]:
        blocks = [np.empty(size, np.uint8) for _ in range(200 if size < 2048 else 3)]
        for block in blocks:
            shifted = (block + np.uint8(1)).tobytes()
            found |= {name for name, text in wanted.items() if text.encode() in shifted}
    return sorted(found)
"""
# Writing an unmapped address to a pipe fails, whereas reading it would end the process.
WHOLE_MEMORY = """
import ctypes, os, sys
import numpy as np

PAGE, CHUNK, HOLE = 4096, 61440, 32 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
libc.sbrk.restype = ctypes.c_void_p
reader, writer = os.pipe()

def read(address, size):
    written = libc.write(writer, address, size)
    return os.read(reader, written) if written > 0 else b""

def find_lowest(address):
    "The lowest page that is mapped, below which there is a large hole."
    lowest = at = address
    while lowest - at < HOLE:
        at -= PAGE
        if read(at, 1):
            lowest = at
    return lowest

def walk(address):
    "All that is mapped from an address on, up to a large hole."
    at = end = address
    while at - end < HOLE:
        part = read(at, CHUNK)
        at += len(part) or PAGE
        if part:
            end = at
            yield part

def main(wanted):
    found, n_bytes = set(), 0
    texts = {name: text.encode() for name, text in wanted.items()}
    arrays = [np.empty(size, np.uint8) for size in (100, 1 << 22, 1 << 26)]
    pointers = [id(wanted), libc.sbrk(0) - PAGE, *(array.ctypes.data for array in arrays)]
    for lowest in {find_lowest(pointer // PAGE * PAGE) for pointer in pointers}:
        tail = b""
        for part in walk(lowest):
            n_bytes += len(part)
            shifted = (np.frombuffer(tail + part, np.uint8) + np.uint8(1)).tobytes()
            tail = part[-64:]
            found |= {name for name, text in texts.items() if text in shifted}
    return [sorted(found), n_bytes]
"""


@pytest.fixture(scope="module", params=[True, False], ids=["own disk", "counted"])
def used(request: pytest.FixtureRequest) -> Iterator[ProcessSandbox]:
    """A sandbox in which programs full of markers have run."""
    sandbox = ProcessSandbox(mounts=request.param)
    code = f"""
    import sys
    own = {MARKERS["source"]!r}
    print({MARKERS["stdout"]!r} * 50)
    print({MARKERS["stderr"]!r} * 50, file=sys.stderr)
    open({MARKERS["result"]!r}, "w").close()
    return [{MARKERS["result"]!r}] * 5_000 + argument_0
    """
    sandbox.run([body(code, [MARKERS["argument"]] * 5_000) for _ in range(5)])
    sandbox.run([body(f"raise ValueError({MARKERS['error']!r} * 50)") for _ in range(5)])
    yield sandbox
    sandbox.close()


def find(sandbox: ProcessSandbox, job: Job) -> object:
    (execution,) = sandbox.run([job])
    assert execution.failure is None
    return execution.value


def test_freed_memory_holds_nothing_of_earlier_programs(used: ProcessSandbox) -> None:
    assert find(used, module(FREED, SHIFTED)) == []


def test_memory_holds_nothing_of_earlier_programs(used: ProcessSandbox) -> None:
    found, n_bytes = find(used, module(WHOLE_MEMORY, SHIFTED))
    assert found == []
    assert n_bytes > 20_000_000


def test_the_scan_finds_markers_that_are_in_memory(used: ProcessSandbox) -> None:
    kept = WHOLE_MEMORY + "".join(f"\n{name} = {marker!r} * 2" for name, marker in MARKERS.items())
    found, _ = find(used, module(kept, SHIFTED))
    assert found == sorted(MARKERS)
