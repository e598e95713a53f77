"""What a search of equations starts from."""

from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.equations.initial import read_equations

XV = ("x", "v")


def write(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "start.txt"
    path.write_text("\n".join(lines))
    return str(path)


def test_a_line_is_the_right_hand_side_of_an_equation(tmp_path: Path) -> None:
    path = write(tmp_path, "# what we know", "params[0] * x  # Hooke", "", "np.sin(v) + params[0] / x")
    first, second = read_equations(path, XV)
    assert first == "def equation(x, v, params):\n    return params[0] * x\n"
    assert "np.sin(v)" in second


def test_lines_that_are_no_equations_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "x", "x +", "params[0] * y", "__import__('os')", "'x")
    with pytest.raises(InputError) as caught:
        read_equations(path, XV)
    assert [violation.partition(f"{path} ")[2] for violation in caught.value.violations] == [
        "line 2 is not an equation (invalid syntax)",
        "line 3 is not an equation (y, which is not a variable)",
        "line 4 is not an equation (a call of __import__)",
        "line 5 is not an equation (unterminated string literal)",
    ]


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n"])
def test_a_file_without_equations_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "start.txt").write_bytes(content)
    with pytest.raises(InputError, match="holds no equation"):
        read_equations(str(tmp_path / "start.txt"), XV)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "start.txt").write_bytes(b"x\xe9")
    for path in (tmp_path / "start.txt", tmp_path, tmp_path / "none.txt"):
        with pytest.raises(InputError, match=r"task\.initial\.path: cannot read"):
            read_equations(str(path), XV)
