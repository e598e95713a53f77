"""The tasks of PMO against PyTDC 1.1.15, whose code gave the scores of ``pmo_scores.json``, and as one knows them.

Each task's scores come from a process of its own: there, ``scaffold_hop`` changes what ``deco_hop`` looks for.
"""

import json
from math import exp
from pathlib import Path

import pytest
import yaml
from rdkit import Chem
from rdkit.Chem import Descriptors

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.objective.objective import Objective
from tests.runs import CONF, plan

pytestmark = pytest.mark.slow

TASKS = sorted(path.stem for path in (CONF / "task" / "pmo").glob("*.yaml"))
PUBLISHED = json.loads(Path(__file__).with_name("pmo_scores.json").read_text())


def objective(task: str) -> Objective:
    settings = yaml.safe_load((CONF / "task" / "pmo" / f"{task}.yaml").read_text())["objective"]
    return Objective.build(settings, artifact_path)


def score(task: str, smiles: str) -> float:
    return float(objective(task).measure([smiles]).scores[0])


def test_there_are_23_tasks() -> None:
    assert len(TASKS) == 23


@pytest.mark.parametrize("task", PUBLISHED)
def test_a_task_scores_molecules_as_pytdc_does(task: str) -> None:
    smiles = list(PUBLISHED[task])
    assert objective(task).measure(smiles).scores.tolist() == pytest.approx(list(PUBLISHED[task].values()), abs=1e-9)


@pytest.mark.parametrize(
    ("task", "smiles"),
    [
        ("celecoxib_rediscovery", "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F"),
        ("troglitazone_rediscovery", "Cc1c(C)c2OC(C)(COc3ccc(CC4SC(=O)NC4=O)cc3)CCc2c(C)c1O"),
        ("thiothixene_rediscovery", "CN(C)S(=O)(=O)c1ccc2Sc3ccccc3C(=CCCN4CCN(C)CC4)c2c1"),
        ("albuterol_similarity", "CC(C)(C)NCC(O)c1ccc(O)c(CO)c1"),
        ("mestranol_similarity", "COc1ccc2[C@H]3CC[C@@]4(C)[C@@H](CC[C@@]4(O)C#C)[C@@H]3CCc2c1"),
        ("isomers_c7h8n2o2", "NNC(=O)c1ccccc1O"),
        ("isomers_c9h10n2o2pf2cl", "FC(F)(Cl)P(=O)(Nc1ccccc1)NC(C)=O"),
    ],
)
def test_what_a_task_looks_for_scores_1(task: str, smiles: str) -> None:
    assert score(task, smiles) == pytest.approx(1.0, abs=1e-12)


def test_another_stereoisomer_is_found_as_well() -> None:
    assert score("mestranol_similarity", "COc1ccc2C3CCC4(C)C(CCC4(O)C#C)C3CCc2c1") == pytest.approx(1.0)


def test_perindopril_lacks_two_aromatic_rings() -> None:
    perindopril = "O=C(OCC)C(NC(C(=O)N1C(C(=O)O)CC2CCCCC12)C)CCC"
    assert score("perindopril_mpo", perindopril) == pytest.approx(exp(-0.5 * (2 / 0.5) ** 2) ** 0.5)


def test_amlodipine_lacks_one_ring() -> None:
    amlodipine = r"Clc1ccccc1C2C(=C(/N/C(=C2/C(=O)OCC)COCCN)C)\C(=O)OC"
    assert score("amlodipine_mpo", amlodipine) == pytest.approx(exp(-0.5 * (1 / 0.5) ** 2) ** 0.5)


@pytest.mark.parametrize("task", ["sitagliptin_mpo", "valsartan_smarts"])
def test_logp_tpsa_and_complexity_are_sitagliptins(task: str) -> None:
    sitagliptin = Chem.MolFromSmiles("NC(CC(=O)N1CCn2c(nnc2C(F)(F)F)C1)Cc1cc(F)c(F)cc1F")
    known = {"logp": Descriptors.MolLogP, "tpsa": Descriptors.TPSA, "bertz": Descriptors.BertzCT}
    components = yaml.safe_load((CONF / "task" / "pmo" / f"{task}.yaml").read_text())["objective"]["components"]
    for name in components.keys() & known.keys():
        assert components[name]["transform"]["mu"] == pytest.approx(known[name](sitagliptin), abs=1e-9)


def test_a_hop_keeps_the_pharmacophore_and_loses_what_it_must() -> None:
    start = "CCCOc1cc2ncnc(Nc3ccc4ncsc4c3)c2cc1S(=O)(=O)C(C)(C)C"
    # Of the four parts the pharmacophore and the scaffold are there, of the three the pharmacophore and the decoration.
    assert score("deco_hop", start) == pytest.approx(2 / 4)
    assert score("scaffold_hop", start) == pytest.approx(2 / 3)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_run_by_its_name(task: str) -> None:
    planned = plan(f"task=pmo/{task}", "method=graph_ga")
    assert planned.path.as_posix().endswith(f"pmo/{task}/graph_ga/off/default/seed0")
    assert planned.config.budget.oracle_calls == 10_000
