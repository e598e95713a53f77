"""Real runs with filters: what they evaluate, and what their logs say."""

from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors, rdMolDescriptors
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

from evodiverse.errors import Interrupted
from tests.runs import log, rows, run_here, stop_after
from tests.tasks.molecules.drugs import DRUGS

pytestmark = pytest.mark.slow

SHORT = ["task=jnk3", "method=graph_ga", "method.offspring=30", "budget.oracle_calls=220"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_here(*SHORT, "task.filters=medchem", f"outputs={tmp_path_factory.mktemp('filtered')}")


def evaluated(run: Path) -> list[dict[str, Any]]:
    return [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]


@pytest.fixture(scope="module")
def alerts() -> FilterCatalog:
    """RDKit's three catalogs in one."""
    params = FilterCatalogParams()
    for catalog in ("PAINS", "BRENK", "NIH"):
        params.AddCatalog(getattr(FilterCatalogParams.FilterCatalogs, catalog))
    return FilterCatalog(params)


def test_no_evaluated_molecule_violates_a_filter(run: Path, alerts: FilterCatalog) -> None:
    molecules = [Chem.MolFromSmiles(row["key"]) for row in evaluated(run)]
    assert len(molecules) == 220
    for molecule in molecules:
        assert not alerts.HasMatch(molecule)
        assert {atom.GetSymbol() for atom in molecule.GetAtoms()} <= {"C", "N", "O", "S", "F", "Cl", "Br"}
        assert max((len(ring) for ring in Chem.GetSSSR(molecule)), default=0) <= 8
        assert Descriptors.MolWt(molecule) <= 500
        assert Crippen.MolLogP(molecule) <= 5
        assert rdMolDescriptors.CalcNumHBD(molecule) <= 5
        assert rdMolDescriptors.CalcNumHBA(molecule) <= 10
        assert rdMolDescriptors.CalcNumRotatableBonds(molecule) <= 10
        assert rdMolDescriptors.CalcTPSA(molecule) <= 140


def test_a_rejected_molecule_says_which_filter_and_is_not_charged(run: Path) -> None:
    filtered = [row for row in rows(run, "evaluations") if (row["error"] or "").startswith("filtered: ")]
    assert {row["error"].split()[1] for row in filtered} >= {"BRENK", "NIH"}
    assert {(row["outcome"], row["call"], row["key"]) for row in filtered} == {("rejected", None, None)}


def test_a_pool_starts_from_as_many_molecules_as_without_filters(run: Path) -> None:
    start = [row["outcome"] for row in rows(run, "evaluations") if row["iteration"] == 0]
    assert start == ["evaluated"] * 120


def test_a_rejected_child_is_tried_again(run: Path) -> None:
    made = [row for row in rows(run, "evaluations") if row["iteration"] > 0]
    first = {(row["iteration"], row["slot"]) for row in made if (row["error"] or "").startswith("filtered: ")}
    again = {(row["iteration"], row["slot"]) for row in made if row["attempt"] > 1}
    assert len(first & again) > 10


def test_a_run_finds_no_molecule_that_is_known(run: Path, tmp_path: Path) -> None:
    children = {row["key"] for row in evaluated(run) if row["iteration"] > 0}
    (tmp_path / "known.smi").write_text("\n".join(children))
    other = run_here(*SHORT, f"task.filters={{set:medchem,novel:{tmp_path}/known.smi}}", f"outputs={tmp_path}")
    assert children.isdisjoint(row["key"] for row in evaluated(other))
    # It starts from the same molecules, so its first children are those that are known.
    known = [row for row in rows(other, "evaluations") if row["error"] == "filtered: in known.smi"]
    assert sum(row["iteration"] == 1 for row in known) > 10


def test_a_run_may_start_from_known_molecules_and_resumes(tmp_path: Path) -> None:
    (tmp_path / "known.smi").write_text("\n".join(DRUGS))
    known = f"{tmp_path}/known.smi"
    own = (*SHORT, f"task.filters={{novel:{known}}}", f"task.initial.path={known}", f"outputs={tmp_path}")
    with pytest.raises(Interrupted):
        run_here(*own, "budget.oracle_calls=120", display=stop_after(1))
    found = run_here(*own, "budget.oracle_calls=120")
    start = [row for row in rows(found, "evaluations") if row["iteration"] == 0]
    assert {row["outcome"] for row in start} == {"evaluated"}
    assert {row["key"] for row in start}.isdisjoint(row["key"] for row in evaluated(found) if row["iteration"] > 0)


def test_the_number_of_workers_does_not_change_a_filtered_run(run: Path, tmp_path: Path) -> None:
    alone = run_here(*SHORT, "task.filters=medchem", f"outputs={tmp_path}", "evaluator.workers=1")
    assert log(alone) == log(run)
