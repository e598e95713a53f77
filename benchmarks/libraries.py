"""Time and memory of starting from a large library: ``python benchmarks/libraries.py [RECORDS] [.smi] [.csv] [.sdf]``.

A synthetic library of 1,000,000 records, whose cores are the published molecules, is written in each format, plain and
packed, to ``/tmp/evodiverse-libraries``, where it stays. The start of one pool is made in a process of its own, as in a
run: the settings are checked, the file's checksum is taken, and the pool's molecules are chosen.
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
    """Yield molecules, no two alike: the published ones, then the same with a longer and longer chain at their end."""
    cores = read_published(artifact_path("zinc250k")).smiles
    return (f"{'C' * length}{core}" for length in itertools.count() for core in cores)


def write_line(smiles: str, number: int) -> str:
    """Return a line of a .smi file."""
    return f"{smiles} Z{number}\n"


def write_row(smiles: str, number: int) -> str:
    """Return a row of a table."""
    return f'Z{number},"vendor, catalog",{smiles},{number % 97}\n'


def write_entry(smiles: str, number: int) -> str:
    """Return an entry of an SDF, without coordinates."""
    molecule = Chem.MolFromSmiles(smiles, sanitize=False)
    return f"{Chem.MolToMolBlock(molecule, kekulize=False)}> <ID>\nZ{number}\n\n$$$$\n"


FORMATS: dict[str, tuple[str, Callable[[str, int], str]]] = {
    ".smi": ("", write_line),
    ".csv": ("id,source,smiles,count\n", write_row),
    ".sdf": ("", write_entry),
}


def write_libraries(size: int, suffixes: Iterable[str]) -> list[Path]:
    """Write the libraries that are not there, and return all."""
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
    """Print what one start takes, as JSON."""
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
    """Print a line for each library and choice."""
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
