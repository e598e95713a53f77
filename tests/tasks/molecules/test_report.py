import csv
import io

import numpy as np
import pytest
from PIL import Image
from rdkit import Chem

from evodiverse.ports import Found
from evodiverse.tasks.molecules.diversity import select_diverse
from evodiverse.tasks.molecules.quality import assess, find_scaffold
from evodiverse.tasks.molecules.report import COLUMNS, draw_top, list_top, write_top
from evodiverse.vocabulary import Candidate
from tests.tasks.molecules.drugs import DRUGS

FOUND = [
    Found(Candidate(call, smiles, smiles, 1 - call / 1000, 0.0), call // 10, call % 2 if call > 3 else None)
    for call, smiles in enumerate(DRUGS, start=1)
]


def table(found: list[Found]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(list_top(found).decode())))


def test_the_list_says_of_each_molecule_how_good_it_is_and_whence() -> None:
    row, quality = table(FOUND)[4], assess(DRUGS[4])
    assert list(row) == list(COLUMNS)
    assert (row["rank"], row["score"], row["smiles"], row["call"]) == ("5", "0.995", DRUGS[4], "5")
    assert (row["iteration"], row["pool"], row["scaffold"]) == ("0", "1", find_scaffold(DRUGS[4]))
    assert float(row["qed"]) == pytest.approx(quality.qed, abs=1e-4)
    assert float(row["sa_score"]) == pytest.approx(quality.sa_score, abs=1e-4)
    assert float(row["sa"]) == pytest.approx((10 - quality.sa_score) / 9, abs=1e-4)


def test_a_molecule_that_all_pools_share_names_none() -> None:
    assert [row["pool"] for row in table(FOUND)[:4]] == ["", "", "", "0"]


def test_the_list_ends_at_a_hundred() -> None:
    many = [Found(Candidate(call, "C" * call, "C" * call, 1.0, 0.0), 0, 0) for call in range(1, 131)]
    assert [row["call"] for row in table(many)] == [str(call) for call in range(1, 101)]


@pytest.mark.parametrize(("n", "size"), [(len(FOUND), (1600, 560)), (3, (960, 280)), (1, (320, 280))])
def test_the_drawing_has_a_cell_for_each_molecule_selected(n: int, size: tuple[int, int]) -> None:
    found = FOUND[:n]
    chosen = select_diverse([entry.candidate.genotype for entry in found], np.linspace(1, 0, n), 10)
    assert len(chosen) == min(n, 10)
    image = Image.open(io.BytesIO(draw_top(found)))
    assert (image.format, image.size) == ("PNG", size)
    assert np.asarray(image.convert("L")).min() < 100  # something is drawn


def test_the_best_are_an_sdf_with_the_columns_of_the_table_as_properties() -> None:
    entries = FOUND[:12]
    supplier = Chem.ForwardSDMolSupplier(io.BytesIO(write_top(entries)))
    for molecule, line in zip(supplier, csv.DictReader(io.StringIO(list_top(entries).decode())), strict=True):
        assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(line["smiles"])
        assert molecule.GetProp("_Name") == f"call {line['call']}"
        assert {name: molecule.GetProp(name) for name in COLUMNS if line[name]} == {n: v for n, v in line.items() if v}
        assert molecule.GetConformer().Is3D() is False
