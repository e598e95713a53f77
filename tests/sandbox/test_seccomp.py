"""The filter of system calls, run by an interpreter of its instructions."""

import re
import struct
from pathlib import Path

import pytest

from evodiverse.sandbox.seccomp import build_filter, read_numbers

ALLOW, KILL, REFUSE, ABSENT = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
MACHINES = sorted(AUDIT)
NUMBERS = read_numbers()
CHECKED = ("clone", "prlimit64", "prctl", "fcntl", "ioctl")


def judge(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Return the decision of the filter about a call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, architecture or AUDIT[machine], 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", build_filter(machine)))
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += if_true if holds else if_false
        at += 1


@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_listed_calls_are_allowed(machine: str) -> None:
    checked = {NUMBERS[machine][name] for name in CHECKED}
    allowed = {*NUMBERS[machine].values()} - checked
    for number in set(range(464)) - checked - {435}:
        assert judge(machine, number) == (ALLOW if number in allowed else REFUSE)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", [435, 464, 500, 2**30 - 1])
def test_newer_calls_seem_absent_so_that_libraries_fall_back(machine: str, number: int) -> None:
    assert judge(machine, number) == ABSENT


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_or_of_x32_kill_the_process(machine: str) -> None:
    assert judge(machine, 0, architecture=0x40000003) == KILL
    assert judge(machine, 0x40000000 | 39) == KILL


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("clone", (0x3D0F00,), ALLOW),  # the flags that create a thread
        ("clone", (0x7D0F00,), ALLOW),
        ("clone", (0x10F00,), REFUSE),  # a thread that does not share its files
        ("clone", (0x11,), REFUSE),
        ("clone", (0x10000 << 32 | 0x11,), REFUSE),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (1, 7), REFUSE),
        ("prctl", (15,), ALLOW),
        ("prctl", (1,), REFUSE),
        ("prctl", (22,), REFUSE),
        ("fcntl", (3, 1030), ALLOW),
        ("fcntl", (3, 5), REFUSE),  # locks, which other programs see
        ("fcntl", (3, 6), REFUSE),
        ("fcntl", (3, 7), REFUSE),
        ("fcntl", (3, 37), REFUSE),
        ("fcntl", (3, 8), REFUSE),
        ("fcntl", (3, 10), REFUSE),
        ("fcntl", (3, 15), REFUSE),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), REFUSE),
    ],
)
def test_some_calls_are_allowed_only_with_some_arguments(
    machine: str, name: str, arguments: tuple[int, ...], answer: int
) -> None:
    assert judge(machine, NUMBERS[machine][name], *arguments) == answer


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("this machine has no kernel headers")
    text = HEADERS[machine].read_text()
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    numbers.setdefault("newfstatat", numbers.get("fstatat", -1))
    for name, number in NUMBERS[machine].items():
        assert numbers[name] == number, name
