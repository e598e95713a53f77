"""Finished runs of all kinds, frozen in ``golden/outputs.tar.xz``, and the digests of what is computed from them.

After a change that is meant to change numbers, ``python -m tests.frozen`` writes ``golden/results.txt`` anew.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from evodiverse.results.measuring import TFIDF, Measurer, measure_runs
from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.marginals import marginal_tables
from evodiverse.results.tables.results import read_result
from evodiverse.results.tables.write import to_csv
from evodiverse.runlog.runs import survey_runs

GOLDEN: Final = Path(__file__).parent / "golden"
DIGESTS: Final = GOLDEN / "results.txt"
OWN: Final = ("tests.toys.bits",)
_NUMBER: Final = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?|-?\d+e[+-]\d+")
_NOTHING: Final = 1e-12


def compute_results(folder: Path) -> dict[str, str]:
    """Return the tables of the frozen runs as CSV, and the metrics of each run with all its curves as JSON, by name.

    Args:
        folder: An empty folder, to which the runs are unpacked.
    """
    with tarfile.open(GOLDEN / "outputs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    survey = survey_runs(folder / "outputs")
    measured = measure_runs(survey.complete, Measurer(folder / "cache", {TFIDF: None}, OWN), 1, lambda _: None)
    left_out = [(read_result(run, {}, OWN), str(run.record["status"])) for run in survey.unfinished]
    results = [read_result(run, metrics, OWN) for run, metrics in measured.runs]
    tables = build_tables(results, left_out, own=OWN)
    for keys in (["method"], ["method", "seed"]):
        tables += marginal_tables(results, keys)
    texts = {f"{table.name}.csv": to_csv(table) for table in tables}
    for run, metrics in measured.runs:
        texts[str(run.path.relative_to(folder / "outputs"))] = json.dumps(metrics, sort_keys=True)
    return texts


def digest(texts: Mapping[str, str]) -> str:
    """Return a line for each text: a digest and the name.

    Numbers count to nine digits, and those next to 0 as 0, since the last digits depend on the machine.
    """
    return "".join(
        f"{hashlib.sha256(_NUMBER.sub(_round, text).encode()).hexdigest()[:16]}  {name}\n"
        for name, text in sorted(texts.items())
    )


def _round(number: re.Match[str]) -> str:
    value = float(number[0])
    return "0" if abs(value) < _NOTHING else f"{value:.9g}"


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        DIGESTS.write_text(digest(compute_results(Path(folder))))
