"""Docks molecules into MAPK14: candidates as JSON lines on standard input, scores as JSON lines on standard output.

A score of 0 stands for -4 kcal/mol and weaker, 1 for -12 kcal/mol and stronger.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from evodiverse.data.cache import artifact_folder
from evodiverse.docking.docked import Job, Settings
from evodiverse.docking.target import read_target, read_vina_box
from evodiverse.docking.vina import dock, find_versions

WEAKEST, STRONGEST = -4.0, -12.0  # kcal/mol
EXHAUSTIVENESS = int(os.environ.get("EXHAUSTIVENESS", "8"))


def score(line: str) -> str:
    candidate = json.loads(line)
    folder = artifact_folder("mapk14")
    target = read_target("mapk14", folder / "receptor.pdbqt", read_vina_box(folder / "box.txt"))
    try:
        docked = dock(Job(candidate["genotype"], target, Settings(EXHAUSTIVENESS, find_versions())))
    except Exception as error:  # noqa: BLE001 (a molecule that cannot be docked is no reason to stop)
        return json.dumps({"key": candidate["key"], "error": str(error)})
    share = (WEAKEST - docked.score) / (WEAKEST - STRONGEST)
    return json.dumps({"key": candidate["key"], "score": min(max(share, 0.0), 1.0)})


if __name__ == "__main__":
    nowhere = os.open(os.devnull, os.O_WRONLY)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(nowhere, 1)  # Vina prints there from C++
    with ProcessPoolExecutor(1) as pool:
        for answer in pool.map(score, sys.stdin):
            answers.write(f"{answer}\n")
