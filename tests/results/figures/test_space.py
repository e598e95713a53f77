"""The path through chemical space, drawn with UMAP."""

from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.results.figures.catalog import FIGURES
from evodiverse.results.figures.reading import Context
from evodiverse.results.figures.space import centroids, project_once, project_umap
from evodiverse.results.figures.style import styled
from evodiverse.results.measuring import TFIDF, Measurer
from evodiverse.results.tables.results import read_result
from evodiverse.runlog.log import read_log
from evodiverse.tasks.molecules.diversity import fingerprint, unpack
from evodiverse.tasks.molecules.metrics import MoleculeMetrics
from tests.results.builders import write_run

SMILES = ["c1ccccc1", "CCO", "CCCO", "ClCCl", "CC(=O)O", "c1ccncc1", "CCN", "CCCN", "OCCO", "c1ccsc1"]


def test_the_path_follows_the_mean_position_of_each_iterations_molecules(tmp_path: Path) -> None:
    log = read_log(write_run(tmp_path, {"c1ccccc1": 0.9, "CCO": 0.3, "CCCO": 0.2}, [[[1, 2], [2]], [[3], [3]]]))
    places = {"c1ccccc1": np.array([0.0, 2.0]), "CCO": np.array([4.0, 0.0]), "CCCO": np.array([1.0, 1.0])}
    assert centroids(log, places).tolist() == [[2.0, 1.0], [1.0, 1.0]]


def test_a_reference_is_a_sample_of_the_valid_molecules(tmp_path: Path) -> None:
    file = tmp_path / "mine.smi"
    file.write_text("# mine\n" + "\n".join(f"{smiles} name" for smiles in SMILES) + "\nno molecule\n")
    found = MoleculeMetrics().embed_reference(file, 100)
    assert {row.tobytes() for row in found} == {
        row.tobytes() for row in unpack([*map(fingerprint, SMILES)]).astype(np.float32)
    }
    assert np.array_equal(MoleculeMetrics().embed_reference(file, 3), found[:3])


def test_a_reference_without_molecules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.smi").write_text("# nothing\n")
    with pytest.raises(InputError, match="holds no molecule"):
        MoleculeMetrics().embed_reference(tmp_path / "mine.smi", 10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_umap_draws_the_same_path_of_a_run_each_time(tmp_path: Path) -> None:
    pytest.importorskip("umap", reason="needs umap-learn; run pip install 'evodiverse[projections]'")
    scores = {smiles: 0.1 * place for place, smiles in enumerate(SMILES)}
    run = write_run(tmp_path / "run", scores, [[[1, 2], [3]], [[4, 5], [6]], [[7, 8], [9, 10]]])
    (tmp_path / "mine.smi").write_text("\n".join(["C" * length for length in range(1, 40)]))
    context = Context(Measurer(tmp_path / "cache", {TFIDF: None}), lambda: tmp_path / "mine.smi", "mine.smi")
    (kind,) = [kind for kind in FIGURES if kind.name == "si_mol_chembl"]
    (picture,) = kind.find([read_result(run, {})], context)
    with styled():
        axes = picture.draw().axes[0]
    assert len(axes.lines[0].get_xdata()) == 3
    bits = unpack([fingerprint(smiles) for smiles in SMILES]).astype(bool)
    plane = project_umap(bits)
    assert np.array_equal(project_umap(bits), plane)
    assert np.array_equal(project_once(bits, tmp_path / "cache"), plane)
    (kept,) = [file for file in (tmp_path / "cache" / "planes").iterdir() if len(np.load(file)) == len(bits)]
    kept.write_bytes(b"damaged")
    assert np.array_equal(project_once(bits, tmp_path / "cache"), plane)
