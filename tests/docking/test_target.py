"""Receptors and boxes from the files of users."""

import hashlib
from pathlib import Path

import pytest

from evodiverse.docking.target import Box, read_target, read_targets, read_vina_box
from evodiverse.errors import InputError
from tests.docking.receptors import BOX, atom, write_receptor


def test_a_target_identifies_its_receptor_by_its_content(tmp_path: Path) -> None:
    path = write_receptor(tmp_path, atom(1, 2, 3), atom(4, 4, 4, "Zn"))
    target = read_target("jnk3", path, BOX)
    assert target.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (target.name, target.receptor, target.box) == ("jnk3", path, BOX)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("ROOT", "line 2 begins with 'ROOT', expected ATOM"),
        ("BRANCH   1   2", "line 2 begins with 'BRANCH   1', expected ATOM"),
        (atom(0, 0, 0, "Xx"), "line 2 has 'Xx' in columns 78 and 79, expected an AutoDock atom type"),
        (atom(0, 0, 0)[:66], "line 2 has '' in columns 78 and 79, expected an AutoDock atom type"),
        (atom(0, 0, 0).replace("0.000", "zero.", 1), "line 2 has no readable coordinates"),
        (atom(0, float("nan"), 0), "line 2 has coordinates that are not finite"),
        ("REMARK nothing", "it has no atoms"),
    ],
)
def test_a_file_that_is_not_a_rigid_receptor_is_refused(tmp_path: Path, line: str, wrong: str) -> None:
    path = write_receptor(tmp_path, line)
    with pytest.raises(InputError) as caught:
        read_target("jnk3", path, BOX)
    fault = f"is not a rigid receptor in PDBQT format ({wrong})"
    assert str(caught.value) == f"{path} {fault}; prepare it as docs/docking.md says"


def test_a_receptor_in_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"its name does not end with \.pdbqt"):
        read_target("jnk3", tmp_path / "receptor.pdb", BOX)


def test_a_missing_receptor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read the receptor .*absent\.pdbqt \(No such file or directory\)"):
        read_target("jnk3", tmp_path / "absent.pdbqt", BOX)


@pytest.mark.parametrize("point", [(5, 0, 0), (0, -5, 0), (0, 0, 5)])
def test_an_atom_on_the_surface_of_the_box_is_inside(tmp_path: Path, point: tuple[float, float, float]) -> None:
    assert read_target("jnk3", write_receptor(tmp_path, atom(*point)), BOX)


@pytest.mark.parametrize("point", [(5.1, 0, 0), (0, -5.1, 0), (0, 0, 5.1)])
def test_a_box_without_an_atom_is_refused(tmp_path: Path, point: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match=r"no atom of .* lies within the box with center \(0\.0, 0\.0, 0\.0\)"):
        read_target("jnk3", write_receptor(tmp_path, atom(*point)), BOX)


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ([1, 2, 3, 4, 5], "expected six finite numbers"),
        ([1, 2, 3, 4, 5, float("inf")], "expected six finite numbers"),
        ([1, 2, 3, 4, 0, 6], r"expected sides above 0 and of at most 100 Å, got \[4\.0, 0\.0, 6\.0\]"),
        ([1, 2, 3, 4, 5, 100.5], "expected sides above 0"),
    ],
)
def test_numbers_that_do_not_describe_a_box_are_refused(numbers: list[float], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Box.of(numbers)


def test_a_box_is_read_from_a_configuration_of_vina(tmp_path: Path) -> None:
    file = tmp_path / "conf.txt"
    file.write_text("center_x = 1\ncenter_y=2.5\ncenter_z = -3\n\nsize_x = 20\nsize_y = 21\nsize_z = 22\n")
    assert read_vina_box(file) == Box((1.0, 2.5, -3.0), (20.0, 21.0, 22.0))
    file.write_text("center_x = 1\n")
    with pytest.raises(InputError, match=r"conf\.txt does not describe a box \(expected six"):
        read_vina_box(file)
    with pytest.raises(InputError, match=r"cannot read the box in .*absent\.txt \(No such file"):
        read_vina_box(tmp_path / "absent.txt")


def test_a_file_of_targets_names_receptors_relative_to_itself(tmp_path: Path) -> None:
    write_receptor(tmp_path)
    file = tmp_path / "targets.yaml"
    file.write_text("jnk3: {receptor: receptor.pdbqt, box: [0, 0, 0, 10, 10, 10.0]}\n")
    (target,) = read_targets(file).values()
    (tmp_path / "box.txt").write_text("".join(f"center_{axis} = 0\nsize_{axis} = 10\n" for axis in "xyz"))
    file.write_text("jnk3: {receptor: receptor.pdbqt, box: box.txt}\n")
    assert read_targets(file) == {"jnk3": target}
    assert (target.name, target.receptor, target.box) == ("jnk3", tmp_path / "receptor.pdbqt", BOX)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[]", "names no task"),
        ("jnk3: receptor.pdbqt", "jnk3: expected the keys receptor and box, no others"),
        ("jnk3: {receptor: receptor.pdbqt, box: [1, 2], size: 3}", "jnk3: expected the keys receptor and box"),
        ("jnk3: {receptor: 3, box: [0, 0, 0, 9, 9, 9]}", "jnk3: .*/3 is not a rigid receptor in PDBQT format"),
        ("jnk3: {receptor: receptor.pdbqt, box: [a, 0, 0, 9, 9, 9]}", "jnk3: box: must be real number"),
        ("jnk3: {receptor: receptor.pdbqt, box: absent.txt}", "jnk3: cannot read the box in"),
        ("jnk3: {receptor: receptor.pdbqt, box: 9}", "jnk3: box: expected six finite numbers"),
        ("jnk3: {", r"^.* cannot be read as YAML \(.*\); see evodiverse-dock --help$"),
    ],
)
def test_an_invalid_file_of_targets_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    write_receptor(tmp_path)
    file = tmp_path / "targets.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=wrong):
        read_targets(file)


def test_all_errors_in_targets_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "targets.yaml"
    file.write_text("jnk3: 1\ngsk3b: 2\n")
    with pytest.raises(InputError) as caught:
        read_targets(file)
    assert [line.split(": ")[1] for line in caught.value.violations] == ["jnk3", "gsk3b"]
