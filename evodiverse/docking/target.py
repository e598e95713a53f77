"""The targets of docking: a prepared receptor, and the box around its pocket."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import yaml

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import expanded, read_input, read_text_input

LARGEST_SIDE: Final = 100.0
"""The longest side that a box may have, in Å. The memory that a docking needs grows with the volume of the box."""

# The atom types that Vina 1.2 reads in a rigid receptor.
_TYPES: Final = {
    *("C", "A", "N", "NA", "O", "OA", "P", "S", "SA", "F", "Cl", "Br", "I", "H", "HD", "Si", "Se", "At"),
    *("Mg", "Mn", "Zn", "Ca", "Fe", "Na", "K", "Cu", "Hg", "Co", "U", "Cd", "Ni"),
}


class Box(NamedTuple):
    """The part of space in which poses are searched, in Å and in the receptor's coordinates.

    Attributes:
        center: The coordinates x, y and z of the center, finite.
        size: The lengths of the sides along x, y and z, above 0 and at most `LARGEST_SIDE`.
    """

    center: tuple[float, float, float]
    size: tuple[float, float, float]

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Self:
        """Return the box that six numbers describe.

        Args:
            numbers: The coordinates x, y and z of the center, then the lengths of the three sides, in Å.

        Raises:
            ValueError: The numbers do not describe a box; the message says why.
        """
        if len(numbers) != 6 or not all(map(math.isfinite, numbers)):
            raise ValueError("expected six finite numbers: x,y,z of the center and the three sides, in Å")
        x, y, z, *sides = map(float, numbers)
        if not all(0 < side <= LARGEST_SIDE for side in sides):
            raise ValueError(f"expected sides above 0 and of at most {LARGEST_SIDE:g} Å, got {sides}")
        return cls((x, y, z), (sides[0], sides[1], sides[2]))

    def holds(self, point: Sequence[float]) -> bool:
        """Return whether a point lies within the box or on its surface."""
        return all(abs(at - middle) <= side / 2 for at, middle, side in zip(point, self.center, self.size, strict=True))


@dataclass(frozen=True, slots=True)
class Target:
    """A receptor to dock into.

    Attributes:
        name: The name of the task that the target belongs to or, for a published receptor, the name of the receptor.
        receptor: The path of the PDBQT file.
        sha256: The SHA-256 of the file, 64 hex digits.
        box: The box in which poses are searched.
    """

    name: str
    receptor: Path
    sha256: str
    box: Box


@contextmanager
def _reading(what: str, path: Path, fault: str, remedy: str) -> Iterator[None]:
    """Turn an error in a file that the user names into an `InputError` whose message is a single line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {what}{path} ({reason(error)}); check the path") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        why = re.sub(r"\s*\n\s*", " ", str(error))  # other spaces may be those of a line that the message quotes
        raise InputError(f"{path} {fault} ({why}); {remedy}") from error


def read_target(name: str, receptor: Path, box: Box) -> Target:
    """Return a target after checking its receptor.

    Args:
        name: The name of the target.
        receptor: The path of its PDBQT file.
        box: The box around the pocket.

    Raises:
        InputError: The file cannot be read or is not a rigid receptor, or no atom lies within the box.
    """
    remedy = "prepare it as docs/docking.md says"
    with _reading("the receptor ", receptor, "is not a rigid receptor in PDBQT format", remedy):
        if receptor.suffix != ".pdbqt":
            raise ValueError("its name does not end with .pdbqt")
        content = read_input(receptor)
        if not (atoms := list(_read_atoms(content.decode("ascii", "replace")))):
            raise ValueError("it has no atoms")
    if not any(map(box.holds, atoms)):
        raise InputError(
            f"no atom of {receptor} lies within the box with center {box.center} and sides {box.size}; "
            "give the pocket's center in the receptor's own coordinates"
        )
    return Target(name, receptor, hashlib.sha256(content).hexdigest(), box)


def _read_atoms(text: str) -> Iterator[tuple[float, float, float]]:
    """Yield the coordinates of the atoms of a rigid receptor, which has the lines that Vina 1.2 reads.

    Raises:
        ValueError: A line is invalid; the message names it.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith(("REMARK", "TER", "END", "WARNING")):
            continue
        if not line.startswith(("ATOM", "HETATM")):
            raise ValueError(f"line {number} begins with {line[:10]!r}, expected ATOM")
        if (kind := line[77:79].strip()) not in _TYPES:
            raise ValueError(f"line {number} has {kind!r} in columns 78 and 79, expected an AutoDock atom type")
        try:
            x, y, z = (float(line[at : at + 8]) for at in (30, 38, 46))
        except ValueError:
            raise ValueError(f"line {number} has no readable coordinates") from None
        if not all(map(math.isfinite, (x, y, z))):
            raise ValueError(f"line {number} has coordinates that are not finite")
        yield x, y, z


def read_vina_box(path: Path) -> Box:
    """Return the box in a configuration file of Vina: lines such as ``center_x = 1.5`` and ``size_x = 20``.

    Raises:
        InputError: The file cannot be read or does not describe a box.
    """
    with _reading("the box in ", path, "does not describe a box", "see docs/docking.md"):
        lines = [line.partition("#")[0] for line in read_text_input(path, "utf-8").splitlines()]
        values = {name.strip(): value for name, _, value in (line.partition("=") for line in lines if "=" in line)}
        return Box.of([float(values.get(f"{what}_{axis}", "nan")) for what in ("center", "size") for axis in "xyz"])


def read_targets(path: Path) -> dict[str, Target]:
    """Return the targets in a user's YAML file (``--targets``), by task.

    Paths of receptors and of box files are relative to the folder of the file.

    Raises:
        InputError: The file or one of the targets cannot be used; the message names everything that is wrong.
    """
    with _reading("", path, "cannot be read as YAML", "see evodiverse-dock --help"):
        content = yaml.safe_load(read_text_input(path, "utf-8"))
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path} names no task; expected lines like jnk3: {{receptor: FILE.pdbqt, box: [x, …]}}")
    targets, violations = {}, list[str]()
    for task, entry in content.items():
        try:
            targets[str(task)] = _read_entry(str(task), entry, path.parent)
        except InputError as error:
            violations += [f"{path}: {task}: {line}" for line in error.violations]
    if violations:
        raise InputError(*violations)
    return targets


def _read_entry(task: str, entry: Any, folder: Path) -> Target:
    if not isinstance(entry, Mapping) or set(entry) != {"receptor", "box"}:
        raise InputError("expected the keys receptor and box, no others")
    receptor, numbers = folder / expanded(str(entry["receptor"])), entry["box"]
    if isinstance(numbers, str):
        return read_target(task, receptor, read_vina_box(folder / expanded(numbers)))
    try:
        box = Box.of(numbers if isinstance(numbers, list) else [])
    except (TypeError, ValueError) as error:
        raise InputError(f"box: {error}") from error
    return read_target(task, receptor, box)
