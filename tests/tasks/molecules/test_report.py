import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from rdkit import Chem

from evodiverse.ports import Discovery
from evodiverse.tasks.molecules import report
from evodiverse.tasks.molecules.diversity import select_ranked
from evodiverse.tasks.molecules.properties import assess, find_scaffold
from evodiverse.tasks.molecules.report import COLUMNS, draw_top, lay_out, write_number
from evodiverse.vocabulary import Candidate
from tests.tasks.molecules.drugs import DRUGS

FOUND = [
    Discovery(Candidate(call, smiles, smiles, 1 - call / 1000, 0.0), call // 10, call % 2 if call > 3 else None)
    for call, smiles in enumerate(DRUGS, start=1)
]


def table(discoveries: list[Discovery], file: str = "top.csv", columns: Sequence[str] = ()) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lay_out(discoveries, columns)[file].decode())))


def test_the_list_says_of_each_molecule_how_good_it_is_and_its_origin() -> None:
    row, quality = table(FOUND)[4], assess(DRUGS[4])
    assert list(row) == list(COLUMNS)
    assert (row["rank"], row["score"], row["smiles"], row["call"]) == ("5", "0.995", DRUGS[4], "5")
    assert (row["iteration"], row["pool"], row["scaffold"]) == ("0", "1", find_scaffold(DRUGS[4]))
    assert float(row["qed"]) == pytest.approx(quality.qed, rel=5e-4)
    assert float(row["sa_score"]) == pytest.approx(quality.sa_score, rel=5e-4)
    assert float(row["sa"]) == pytest.approx((10 - quality.sa_score) / 9, rel=5e-4)


def test_numbers_in_tables_have_four_significant_digits() -> None:
    details = {"mass_raw": 1281.678, "fit_raw": 0.00012345678, "line": 123456}
    entry = replace(FOUND[0], candidate=replace(FOUND[0].candidate, score=0.87654321, details=details))
    (row,) = table([entry], columns=("mass_raw", "fit_raw", "line"))
    assert (row["score"], row["mass_raw"], row["fit_raw"], row["line"]) == ("0.8765", "1282", "0.0001235", "123456")
    assert table([entry], "clusters.csv")[0]["best_score"] == "0.8765"


def test_a_molecule_that_all_pools_share_names_none() -> None:
    assert [row["pool"] for row in table(FOUND)[:4]] == ["", "", "", "0"]


def test_the_list_ends_at_a_hundred() -> None:
    many = [Discovery(Candidate(call, "C" * call, "C" * call, 1.0, 0.0), 0, 0) for call in range(1, 131)]
    assert [row["call"] for row in table(many)] == [str(call) for call in range(1, 101)]


@pytest.mark.parametrize(("n", "size"), [(len(FOUND), (1600, 538)), (3, (960, 269)), (1, (320, 269))])
def test_the_drawing_has_a_cell_for_each_molecule_selected(n: int, size: tuple[int, int]) -> None:
    found = FOUND[:n]
    assert len(select_ranked([entry.candidate.genotype for entry in found], 10, summary=max)) == min(n, 10)
    image = Image.open(io.BytesIO(draw_top(found)))
    assert (image.format, image.size) == ("PNG", size)
    assert np.asarray(image.convert("L")).min() < 100  # something is drawn


def test_all_molecules_drawn_are_different(monkeypatch: pytest.MonkeyPatch) -> None:
    legends: list[str] = []
    monkeypatch.setattr(report, "_legend", lambda rank, entry, _: (legends.append(entry.candidate.key), str(rank))[1])
    pentanol, close = "CCCCCO", ["CCO", "c1ccccc1", "CCCO"]  # ethanol and propanol are 5/9 similar, on average 5/18
    found = [Discovery(Candidate(call, one, one, 1.0, 0.0), 0, 0) for call, one in enumerate([*close, pentanol], 1)]
    draw_top(found)
    assert legends == ["CCO", "c1ccccc1", pentanol]


def test_the_best_are_an_sdf_with_the_columns_of_the_table_as_properties() -> None:
    entries = FOUND[:12]
    supplier = Chem.ForwardSDMolSupplier(io.BytesIO(lay_out(entries)["top.sdf"]))
    for molecule, line in zip(supplier, table(entries), strict=True):
        assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(line["smiles"])
        assert molecule.GetProp("_Name") == f"call {line['call']}"
        assert {name: molecule.GetProp(name) for name in COLUMNS if line[name]} == {n: v for n, v in line.items() if v}
        assert molecule.GetConformer().Is3D() is False


@pytest.mark.parametrize("smiles", ["CC=CC", "C/C=C/C", "CC1CC(=N/N=C/c2cccc([N+](=O)[O-])c2)NC1=O"])
def test_an_sdf_does_not_say_e_or_z_of_a_double_bond_that_is_unspecified(smiles: str) -> None:
    entry = Discovery(Candidate(1, smiles, smiles, 1.0, 0.0), 0, 0)
    (molecule,) = Chem.ForwardSDMolSupplier(io.BytesIO(lay_out([entry])["top.sdf"]))
    assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(smiles)


COMPONENTS = ("jnk3_raw", "jnk3_value", "logp_raw", "logp_value", "fit_raw")
MEASURED = {"jnk3_raw": 0.1, "jnk3_value": 0.2, "logp_raw": None, "logp_value": 0.4, "fit_raw": 2.0}
COMPOSED = [replace(entry, candidate=replace(entry.candidate, details=MEASURED)) for entry in FOUND]


def test_the_components_of_an_objective_stand_in_the_table_and_in_the_sdf() -> None:
    row = table(COMPOSED, columns=COMPONENTS)[0]
    assert list(row) == [*COLUMNS, *COMPONENTS]
    assert [row[name] for name in COMPONENTS] == ["0.1", "0.2", "", "0.4", "2"]
    (first, *_) = Chem.ForwardSDMolSupplier(io.BytesIO(lay_out(COMPOSED, COMPONENTS)["top.sdf"]))
    assert (first.GetProp("jnk3_value"), first.GetProp("logp_raw")) == ("0.2", "")


def test_clusters_have_their_size_and_their_best_member() -> None:
    rows, listed = table(FOUND, "clusters.csv"), table(FOUND)
    assert [int(row["cluster"]) for row in rows] == list(range(1, len(rows) + 1))
    assert sum(int(row["size"]) for row in rows) == len(FOUND)
    scores = [float(row["best_score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    for row in rows:
        first = next(line for line in listed if line["cluster"] == row["cluster"])
        assert (row["best_smiles"], row["best_call"]) == (first["smiles"], first["call"])


def test_scaffolds_are_counted_and_molecules_without_rings_told_as_such() -> None:
    smiles = ["CCO", "c1ccccc1C", "CCCN", "c1ccccc1CC", "c1ccccc1CCC", "C1CCCC1", "C1CCCC1C"]
    found = [Discovery(Candidate(call, text, text, 1.0, 0.0), 0, 0) for call, text in enumerate(smiles, start=1)]
    rows = [(row["scaffold"], row["count"], row["best_call"]) for row in table(found, "scaffolds.csv")]
    assert rows == [("c1ccccc1", "3", "2"), ("(no rings)", "2", "1"), ("C1CCCC1", "2", "6")]


def test_the_drawing_has_room_for_what_components_measured() -> None:
    plain, composed = (Image.open(io.BytesIO(draw_top(COMPOSED[:5], columns))) for columns in ((), COMPONENTS))
    assert composed.size == (plain.size[0], plain.size[1] + 3 * 24)


def test_the_drawing_tells_how_uncertain_a_forest_is() -> None:
    details = {"pic50_raw": 7.4212, "pic50_value": 0.7, "pic50_spread": 0.3456, "logp_raw": 2.5}
    entry = replace(FOUND[0], candidate=replace(FOUND[0].candidate, details=details))
    legend = report._legend(1, entry, ["pic50_raw", "logp_raw"])
    assert legend.split("\n")[1:] == ["pic50 7.42 +/- 0.35", "logp 2.5"]


def test_the_drawing_lists_as_many_components_as_fit_and_counts_the_others() -> None:
    columns = [f"component{number}_raw" for number in range(30)]
    plain, composed = (Image.open(io.BytesIO(draw_top(COMPOSED[:5], some))) for some in ((), columns))
    assert composed.size == (plain.size[0], plain.size[1] + 13 * 24)  # twelve and the number of the others


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1281.7, "1280"),
        (0.123456, "0.123"),
        (-3.456, "-3.46"),
        (512_345.6, "512000"),
        (1e6, "1000000"),
        (3.0, "3"),
        (0.0001234, "0.000123"),
        (1e300, "1e+300"),
    ],
)
def test_numbers_of_ordinary_size_have_three_digits_and_no_exponent(value: float, written: str) -> None:
    assert write_number(value) == written


def test_what_matches_a_smarts_is_marked() -> None:
    def n_green(highlight: Sequence[str]) -> int:
        image = np.asarray(Image.open(io.BytesIO(draw_top(FOUND[:5], highlight=highlight))).convert("RGB")).astype(int)
        return int(((image[..., 1] - image[..., 0] > 80) & (image[..., 1] - image[..., 2] > 60)).sum())

    assert n_green(()) < 100 < 5000 < n_green(["a1aaaaa1"])
    assert n_green(["[Xe]"]) == n_green(())
