"""The dataset ``docking/`` of a run: scores, poses, and the record of how they were computed."""

import os
import shutil
from collections.abc import Mapping
from io import StringIO
from typing import Any

from rdkit import Chem

from evodiverse.docking.docked import Docked, Settings, identify
from evodiverse.docking.target import Target
from evodiverse.errors import InputError
from evodiverse.kit.files import read_json, refuse_link, sync_folder, write_file, writing_to
from evodiverse.runlog.datasets import DOCKED, make_schema
from evodiverse.runlog.runs import DOCKING, DOCKING_RECORD, Run
from evodiverse.store.files import locked, write_json
from evodiverse.store.run_directory import encode_part


def describe_docking(target: Target, settings: Settings) -> dict[str, Any]:
    """Return the record of a docking for ``docking.json``: the target, receptor, box, settings and versions."""
    return {"target": target.name, "receptor": target.receptor.name, **identify(target, settings)}


def find_done(run: Run, record: Mapping[str, Any], *, overwrite: bool) -> dict[str, float]:
    """Return the scores that a run already has from a docking with the same record, by the key of the molecule.

    Molecules whose docking failed are left out, so that they are docked again.

    Args:
        run: The run whose molecules are docked.
        record: The record of this docking, as `describe_docking` returns it.
        overwrite: Whether an existing docking of the run will be replaced. If so, the result is empty.

    Raises:
        InputError: ``docking/`` is a link; or ``overwrite`` is not set, and the run has a docking with another record,
            or a damaged one.
    """
    folder = run.path / DOCKING
    refuse_link(folder)
    if overwrite or not folder.exists():
        return {}
    remedy = "use --overwrite to dock again"
    try:
        known = read_json(folder / DOCKING_RECORD, most_bytes=1 << 20)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} has no readable record of how it was made ({error}); {remedy}") from error
    if differing := [name for name in record if known.get(name) != record[name]]:
        raise InputError(f"{folder} was made with a different {', '.join(differing)}; {remedy}")
    rows = run.columns(DOCKING, ["key", "score"])
    return {key: score for key, score in zip(rows["key"], rows["score"], strict=True) if score is not None}


def write_docking(run: Run, record: Mapping[str, Any], results: Mapping[str, Docked]) -> None:
    """Write the ``docking/`` folder of a run; the new folder replaces an old one when it is complete.

    Nothing else in the run changes.

    Args:
        run: A complete run.
        record: The record of the docking, as `describe_docking` returns it.
        results: The result of each molecule by its key. The rows of the dataset are written in this order.

    Raises:
        InputError: Another process is writing to the run, the run's folder is not writable, or ``docking/`` is a link.
        ServiceError: The disk is full or no longer available.
    """
    folder = run.path / DOCKING
    unfinished = run.path / f".{DOCKING}.{os.getpid()}.tmp"
    rows = [{"key": key, "score": docked.score, "error": docked.error or None} for key, docked in results.items()]
    with locked(run.path), writing_to(folder):
        refuse_link(folder)
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        write_json(unfinished / DOCKING_RECORD, record)
        write_file(unfinished / "poses.sdf", write_poses(results).encode())
        write_file(unfinished / "part-000000.parquet", encode_part(rows, make_schema(DOCKED.columns)))
        sync_folder(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        sync_folder(run.path)


def write_poses(results: Mapping[str, Docked]) -> str:
    """Return the poses as the text of an SDF file, lowest score first; key and score are properties of each pose."""
    text = StringIO()
    docked = sorted((one.score, key, one.pose) for key, one in results.items() if one.score is not None)
    with Chem.SDWriter(text) as writer:
        for score, key, pose in docked:
            molecule = Chem.MolFromMolBlock(pose, removeHs=False)
            molecule.SetProp("_Name", key)
            molecule.SetProp("key", key)
            molecule.SetProp("score", f"{score:.3f}")
            writer.write(molecule)
    return text.getvalue()
