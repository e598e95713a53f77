"""Print the tables of molecule, equation and circle-packing runs: python scripts/tables.py [OUTPUTS]."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from evodiverse.analysis.equations import Encode
from evodiverse.analysis.runs import Run, find_runs
from evodiverse.analysis.tables import equation_table, molecule_table, packing_table
from evodiverse.data.artefacts import artefact_names
from evodiverse.data.cache import present_path
from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.tasks.programs.diversity import tfidf
from evodiverse.tasks.programs.embeddings import load_codebert, load_minilm

MOLECULES, EQUATIONS = "evodiverse.tasks.molecules", "evodiverse.tasks.equations"
# The problem is no variant of the task of equations: it is part of what a row of their table is about.
PROBLEM = re.compile(r"task\.problem=[^,]*?(-[0-9a-f]{8})?(,|$)")
PARTS: dict[Callable[[Sequence[Run]], str], Callable[[Run], bool]] = {
    molecule_table: lambda run: run.domain == MOLECULES,
    lambda runs: equation_table(runs, find_encoders()): lambda run: run.domain == EQUATIONS,
    packing_table: lambda run: run.settings.get("task.evaluator") == "circle_packing",
}


def main() -> int:
    """Print the tables and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", nargs="?", type=Path, default=Path("outputs"), help="folder of all runs (outputs)")
    parser.add_argument(
        "--label", default="default", help="runs with these overrides only, beside task.problem (default)"
    )
    arguments = parser.parse_args()
    try:
        runs = [run for run in find_runs(arguments.outputs) if find_label(run) == arguments.label]
        chosen = [(table, [run for run in runs if belongs(run)]) for table, belongs in PARTS.items()]
        tables = [table(some) for table, some in chosen if some]
        if not tables:
            raise InputError(
                "no complete run of molecules, equations or circle packing "
                f"labeled {arguments.label!r} below {arguments.outputs}"
            )
        print("\n\n".join(tables))
    except EvoDiverseError as error:
        sys.stderr.write(f"tables: {error}\n")
        return error.exit_code
    return 0


def find_label(run: Run) -> str:
    """Return the overrides in the name of a run's folder, without the problem of equations; own data go together."""
    label = run.path.parent.name
    if run.domain != EQUATIONS:
        return label
    is_own = str(run.settings.get("task.problem")).startswith("csv/")
    return "default" if is_own else PROBLEM.sub("", label).rstrip(",") or "default"


def find_encoders() -> dict[str, Encode]:
    """Return what the diversity of equations is measured with: CodeBERT where it is, else TF-IDF and MiniLM."""
    absent = []
    try:
        return {"CodeBERT": load_codebert(offline=True).embed}
    except InputError as error:
        absent.append(f"no CodeBERT ({error})")
    encoders: dict[str, Encode] = {"TF-IDF": tfidf}
    try:
        paths = [present_path(name) for name in artefact_names("minilm")]
        encoders["MiniLM"] = load_minilm(paths[0].parent).embed
    except InputError as error:
        absent.append(f"no MiniLM ({error})")
    sys.stderr.write("".join(f"tables: diversity of equations: {reason}\n" for reason in absent))
    return encoders


if __name__ == "__main__":
    sys.exit(main())
