"""Invented receptors for tests."""

from pathlib import Path

from evodiverse.docking.docked import Job, Settings
from evodiverse.docking.target import Box, read_target

BOX = Box((0.0, 0.0, 0.0), (10.0, 10.0, 10.0))
SETTINGS = Settings(8, {"toy": "1"})


def atom(x: float, y: float, z: float, kind: str = "C") -> str:
    """Return the line of an atom in PDBQT format."""
    return f"ATOM      1  CA  ALA A   1    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00     0.100 {kind}"


def write_receptor(folder: Path, *lines: str) -> Path:
    """Write a receptor with these lines, or with one carbon atom at the origin if there are none."""
    path = folder / "receptor.pdbqt"
    path.write_text("\n".join(["REMARK a test", *(lines or [atom(0, 0, 0)]), "TER"]) + "\n")
    return path


def make_job(folder: Path, key: str = "CCO", name: str = "jnk3") -> Job:
    """Return a job on a receptor that is written into a folder."""
    return Job(key, read_target(name, write_receptor(folder), BOX), SETTINGS)
