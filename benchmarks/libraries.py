"""Time and memory of starting from a large library: ``python benchmarks/libraries.py [RECORDS] [.smi] [.csv] [.sdf]``.

Writes a synthetic library of RECORDS molecules (by default 1,000,000) in each format, plain and gzip-compressed, to
``/tmp/evodiverse-libraries``, and leaves it there for the next time. For each file and each value of
``task.initial.choose``, a process of its own does what a run does for one pool: it checks the settings, computes the
file's checksum, and chooses the pool's molecules. Prints the seconds and the memory of each such process.
"""

import gzip
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rdkit import Chem

from evodiverse.data.cache import artifact_path
from evodiverse.settings.plan import read_source
from evodiverse.tasks.molecules import domain
from evodiverse.tasks.molecules.initial import read_published
from evodiverse.tasks.molecules.settings import Initial, MoleculeSettings, Oracle
from evodiverse.vocabulary import Stream

CHOICES = {"random": None, "diverse": None, "score": "qed"}
FOLDER = Path("/tmp/evodiverse-libraries")  # noqa: S108


def molecules() -> Iterator[str]:
    """Yield different molecules without end: those of ZINC-250K, then the same with ever longer chains of carbon."""
    cores = read_published(artifact_path("zinc250k")).smiles
    return (f"{'C' * length}{core}" for length in itertools.count() for core in cores)


def write_line(smiles: str, number: int) -> str:
    """Return a line of a .smi file: a molecule and its name, which contains its number."""
    return f"{smiles} Z{number}\n"


def write_row(smiles: str, number: int) -> str:
    """Return a row of a .csv file, in the columns that `FORMATS` gives."""
    return f'Z{number},"vendor, catalog",{smiles},{number % 97}\n'


def write_entry(smiles: str, number: int) -> str:
    """Return an entry of an .sdf file, without coordinates and with the number in the field ID."""
    molecule = Chem.MolFromSmiles(smiles, sanitize=False)
    return f"{Chem.MolToMolBlock(molecule, kekulize=False)}> <ID>\nZ{number}\n\n$$$$\n"


# By suffix: the header of the file, and the function that writes a record from its SMILES and its number.
FORMATS: dict[str, tuple[str, Callable[[str, int], str]]] = {
    ".smi": ("", write_line),
    ".csv": ("id,source,smiles,count\n", write_row),
    ".sdf": ("", write_entry),
}


def write_libraries(size: int, suffixes: Iterable[str]) -> list[Path]:
    """Write the files that do not exist yet, plain and compressed for each suffix, and return the paths of all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix in suffixes:
        header, write = FORMATS[suffix]
        plain = FOLDER / f"library-{size}{suffix}"
        packed = plain.with_name(f"{plain.name}.gz")
        if not packed.exists():
            with plain.open("w") as file, gzip.open(packed, "wt", compresslevel=3) as small:
                for number, smiles in enumerate(itertools.islice(molecules(), size)):
                    text = header * (number == 0) + write(smiles, number)
                    file.write(text)
                    small.write(text)
        paths += [plain, packed]
    return paths


def start(path: Path, choose: str) -> None:
    """Choose the molecules of one pool from a file, and print the seconds and megabytes that this takes, as JSON."""
    settings = MoleculeSettings(
        Oracle("jnk3"), Initial(path=str(path), choose=choose, score=CHOICES[choose]), max_heavy_atoms=80
    )
    began = time.perf_counter()
    violations, n_initial = domain.find_violations(settings), domain.count_initial(settings)
    read_source("initial", path)
    task = domain.build_task(settings, artifact_path, lambda: None)  # type: ignore[arg-type, return-value]
    chosen = task.initial(Stream(0, 1))
    seconds = time.perf_counter() - began
    if violations or len(chosen) != n_initial:
        raise ValueError(f"{len(chosen)} of {n_initial} molecules, {violations}")
    print(json.dumps({"seconds": seconds, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main() -> None:
    """Print a line for each file and choice, which this script measures by calling itself with ``--start``."""
    if sys.argv[1:2] == ["--start"]:
        start(Path(sys.argv[2]), sys.argv[3])
        return
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for path in write_libraries(size, sys.argv[2:] or FORMATS):
        for choose in CHOICES:
            command = [sys.executable, __file__, "--start", str(path), choose]
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            size_mb = path.stat().st_size / 1e6
            print(
                f"{path.name}, {size_mb:,.0f} MB, {choose}: {answer['seconds']:.1f} s, {answer['mb']:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
