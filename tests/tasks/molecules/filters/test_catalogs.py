"""Alerts are those that RDKit finds itself, whatever was ruled out by fingerprints before."""

import pytest
from rdkit import Chem
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.filters import filters
from evodiverse.tasks.molecules.filters.filters import find_alerts
from evodiverse.tasks.molecules.filters.settings import CATALOGS
from tests.tasks.molecules.drugs import DRUGS


@pytest.fixture(scope="module")
def molecules() -> list[Chem.Mol]:
    zinc = artifact_path("zinc250k").read_text().splitlines()[::1250]
    hostile = ["COOC", "CC(=O)Cl", "O=C1CSC(=S)N1CC=Cc1ccccc1", "N=[N+]=[N-]", "C1CN1", "[Na+]", "C", "CC(=O)OC(C)=O"]
    return [Chem.MolFromSmiles(smiles) for smiles in (*zinc, *DRUGS, *hostile)]


@pytest.mark.slow
@pytest.mark.parametrize("catalog", CATALOGS)
def test_alerts_are_those_of_rdkit(catalog: str, molecules: list[Chem.Mol]) -> None:
    known = FilterCatalog(FilterCatalogParams(getattr(FilterCatalogParams.FilterCatalogs, catalog)))
    entries, bits = filters._load_catalog(catalog)
    n_alerts = 0
    for molecule in molecules:
        matching = [place for place, entry in enumerate(entries) if entry.HasFilterMatch(molecule)]
        assert len(matching) == len(known.GetMatches(molecule))
        assert not (bits[matching] & ~filters._bits(molecule)).any()  # none was ruled out
        found = list(find_alerts(molecule, [catalog]))
        assert len(found) == min(1, len(matching))
        for name in found:
            assert name.removeprefix(f"{catalog} ") in known.GetFirstMatch(molecule).GetDescription()
        n_alerts += len(matching)
    assert n_alerts > 5


@pytest.mark.parametrize("catalog", CATALOGS)
def test_nearly_all_patterns_can_be_ruled_out(catalog: str) -> None:
    _, bits = filters._load_catalog(catalog)
    assert (bits.any(axis=1)).mean() > 0.95
