"""The paper's metrics of molecule runs, by hand."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import DataStructs

from evodiverse.errors import InputError
from evodiverse.ports import Tools
from evodiverse.runlog.log import Log, read_log
from evodiverse.runlog.runs import Run
from evodiverse.tasks.molecules.diversity import fingerprint
from evodiverse.tasks.molecules.metrics import (
    MoleculeMetrics,
    calls_auc,
    calls_by_iteration,
    count_full_iterations,
    curve_auc,
    diverse_archive_curve,
    diverse_top10_curve,
    measure_molecules,
    pmo_auc,
)
from evodiverse.tasks.molecules.properties import assess
from tests.results.builders import (
    evaluated_row,
    initial_row,
    make_log,
    make_record,
    swap_row,
    write_parts,
    write_run,
)

# Calls 1 to 4. The first three have no fingerprint bit in common; the last is too like the third.
SCORES = {"c1ccccc1": 0.9, "ClCCl": 0.8, "CCO": 0.3, "CCCO": 0.2}


def curve(path: Path, populations: Sequence[Sequence[Sequence[int]]]) -> list[float]:
    log = read_log(write_run(path, SCORES, populations))
    return diverse_top10_curve(log)


def log_with_budget(budget: int, **settings: object) -> Log:
    """A log of four initial calls."""
    rows = [initial_row(call, key, score) for call, (key, score) in enumerate(SCORES.items(), start=1)]
    return make_log(rows, [[[1, 2], [3, 4]]], budget__oracle_calls=budget, **settings)


# The curve


def test_the_curve_has_the_mean_of_each_iteration_the_initial_one_first(tmp_path: Path) -> None:
    assert curve(tmp_path, [[[3], []], [[2, 3], []], [[1, 2], []]]) == pytest.approx([0.3, 0.55, 0.85])


def test_the_curve_is_of_all_pools_together(tmp_path: Path) -> None:
    assert curve(tmp_path, [[[1], [3]], [[2], [1, 3]]]) == pytest.approx([(0.9 + 0.3) / 2, (0.9 + 0.8 + 0.3) / 3])


def test_a_molecule_in_both_pools_is_counted_once(tmp_path: Path) -> None:
    # A second ethanol would pass the selection: its average similarity to the three taken is 1/3.
    assert curve(tmp_path, [[[1, 2, 3], [3]]]) == pytest.approx([(0.9 + 0.8 + 0.3) / 3])


def test_the_curve_is_of_different_molecules(tmp_path: Path) -> None:
    assert curve(tmp_path, [[[3], [4]], [[1, 3, 4], []]]) == pytest.approx([0.3, (0.9 + 0.3 + 0.2) / 3])


def test_molecules_that_left_the_pools_do_not_count(tmp_path: Path) -> None:
    assert curve(tmp_path, [[[1, 2], []], [[2, 3], []]])[1] == pytest.approx((0.8 + 0.3) / 2)


def test_the_curve_follows_the_numbers_of_the_iterations(tmp_path: Path) -> None:
    assert curve(tmp_path, [[[1 + iteration % 3], []] for iteration in range(12)]) == pytest.approx([0.9, 0.8, 0.3] * 4)


# Iterations of a budget


@pytest.mark.parametrize(("budget", "n_iterations"), [(8, 1), (9, 2), (12, 2), (13, 3), (10_000, 2499)])
def test_a_full_iteration_charges_every_slot_and_the_last_may_be_cut(budget: int, n_iterations: int) -> None:
    assert count_full_iterations(log_with_budget(budget)) == n_iterations


def test_a_budget_that_the_initial_molecules_use_up_counts_as_one_iteration() -> None:
    assert count_full_iterations(log_with_budget(4)) == 1


@pytest.mark.parametrize(("ladder", "offspring", "n_iterations"), [([0.8], 2, 30), ([3, 2, 1], 5, 4)])
def test_slots_are_the_offspring_of_all_pools(ladder: list[float], offspring: int, n_iterations: int) -> None:
    log = log_with_budget(64, method__ladder=ladder, method__offspring=offspring)
    assert count_full_iterations(log) == n_iterations


def test_initial_molecules_that_were_drawn_twice_cost_nothing() -> None:
    reused = {"iteration": 0, "outcome": "reused", "reused_call": 1, "key": "C"}
    rows = [initial_row(1, "C", 0.1), reused, evaluated_row(1, 2, "CC", 0.2)]
    log = make_log(rows, [[[1]], [[2]]], budget__oracle_calls=10)
    assert count_full_iterations(log) == 3  # (10 - 1) / 4, rounded up
    assert calls_by_iteration(log) == [1, 1]


# Area under the curve


def test_the_area_is_the_mean_over_the_iterations_without_the_initial_one() -> None:
    assert curve_auc([0.7, 0.1, 0.3, 0.8], 3) == pytest.approx(0.4)


def test_a_curve_that_stopped_early_goes_on_at_its_last_value() -> None:
    assert curve_auc([0.0, 0.2, 0.4], 5) == pytest.approx((0.2 + 4 * 0.4) / 5)


def test_a_curve_that_goes_on_for_longer_counts_over_its_own_length() -> None:
    assert curve_auc([0.0, 0.2, 0.4, 0.9, 1.0], 2) == pytest.approx(0.625)


def test_a_curve_that_never_left_its_start_has_its_value() -> None:
    assert curve_auc([0.25], 3) == pytest.approx(0.25)


def test_the_area_leaves_the_curve_alone() -> None:
    values = [0.1, 0.2]
    curve_auc(values, 4)
    assert values == [0.1, 0.2]


# The same over oracle calls


def test_by_calls_every_call_counts_with_the_value_after_its_iteration() -> None:
    # 2 initial calls; then 4 at 0.2, 1 at 0.4 and, of a budget of 10, 3 that were not spent at 0.4
    assert calls_auc([0.9, 0.2, 0.4], [2, 4, 1], 10) == pytest.approx((4 * 0.2 + 1 * 0.4 + 3 * 0.4) / 8)


def test_an_iteration_that_charged_nothing_does_not_count_by_calls() -> None:
    assert calls_auc([0.0, 0.5, 0.7, 0.9], [1, 2, 0, 2], 5) == pytest.approx(0.7)


def test_a_budget_that_the_initial_molecules_use_up_has_their_value_by_calls() -> None:
    assert calls_auc([0.3], [4], 4) == 0.3


# The area of PMO


def test_the_area_of_pmo_is_taken_every_100_calls_and_at_the_end() -> None:
    # means of the ten best: 0 at 0, 0.2 at 100, 0.4 at 200, 0.4 at 250 and until 500
    scores = [0.2] * 100 + [0.4] * 100 + [0.1] * 50
    area = 100 * (0 + 0.2) / 2 + 100 * (0.2 + 0.4) / 2 + 50 * 0.4 + 250 * 0.4
    assert pmo_auc(scores, 500) == pytest.approx(area / 500)


def test_the_area_of_pmo_is_of_the_ten_best_alone() -> None:
    assert pmo_auc([0.1] * 5 + [1.0] * 10 + [0.5] * 5, 20) == pytest.approx(0.5)  # from 0 to 1 in one step


def test_fewer_than_ten_are_averaged_as_they_are() -> None:
    assert pmo_auc([0.2, 0.6], 2) == pytest.approx(0.2)


def test_calls_that_failed_take_their_place_in_the_area_of_pmo() -> None:
    rows = [initial_row(1, "CCO", 0.5), evaluated_row(1, 2, "C", None), evaluated_row(1, 3, "CC", 0.7)]
    log = make_log([{**row, "valid": True} for row in rows], [[[1]], [[1, 3]]], budget__oracle_calls=3)
    assert measure_molecules(log)["pmo_auc"] == pytest.approx(((0.5 + 0.0 + 0.7) / 3) / 2)


# The last iteration


XYLENE, TOLUENE, PYRIDINE = "Cc1ccccc1C", "Cc1ccccc1", "c1ccncc1"


def test_the_last_iteration_is_measured_plainly_by_scaffold_and_for_its_chemistry(tmp_path: Path) -> None:
    scores = {TOLUENE: 0.9, XYLENE: 0.8, PYRIDINE: 0.4, "CCO": 0.1}
    log = read_log(write_run(tmp_path / "run", scores, [[[4], [1]], [[1, 2], [2, 3]]]))
    found = measure_molecules(log)
    similarity = DataStructs.TanimotoSimilarity(fingerprint(TOLUENE), fingerprint(XYLENE))
    assert similarity > 0.4  # so that the second is not taken
    distance = 1 - DataStructs.TanimotoSimilarity(fingerprint(TOLUENE), fingerprint(PYRIDINE))
    rings = 1 - DataStructs.TanimotoSimilarity(fingerprint("c1ccccc1"), fingerprint(PYRIDINE))
    expected = {
        "top10": (0.9 + 0.8 + 0.4) / 3,
        "top100": (0.9 + 0.8 + 0.4) / 3,
        "diverse_top10": (0.9 + 0.4) / 2,
        "n_diverse_top10": 2,
        "diverse_top10_full": (0.9 + 0.4) / 10,
        "molecular_diversity": distance,
        "n_scaffolds": 2,
        "scaffold_diversity": rings,
        "qed": (assess(TOLUENE).qed + assess(PYRIDINE).qed) / 2,
        "sa": (assess(TOLUENE).sa + assess(PYRIDINE).sa) / 2,
        "sa_score": (assess(TOLUENE).sa_score + assess(PYRIDINE).sa_score) / 2,
        "unique_scaffold_top10": (0.9 + 0.4) / 2,
        "scaffold_diverse_top10": (0.9 + 0.4) / 2,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_a_log_with_what_is_no_molecule_is_damaged_by_name(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"\x1b[31m": 0.9}, [[[1]]])
    with pytest.raises(InputError, match=r"run is damaged \(.*\[31m cannot be measured") as refused:
        MoleculeMetrics().measure(read_log(run), Tools(tmp_path, {}))
    assert str(refused.value).isprintable()


def test_the_archive_keeps_what_left_the_pools(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES, [[[4], []], [[3], []]])
    found = measure_molecules(read_log(run))
    names = ("diverse_auc_archive", "diverse_average_archive", "diverse_top10_archive")
    assert [found[name] for name in names] == pytest.approx([(0.9 + 0.8 + 0.3 + 0.2) / 4] * 3)
    assert (found["n_diverse_top10_archive"], found["n_diverse_top10"]) == (4, 1)
    full = [found[f"diverse_top10{of}_full"] for of in ("_archive", "")]
    assert full == pytest.approx([(0.9 + 0.8 + 0.3 + 0.2) / 10, 0.3 / 10])
    assert (found["diverse_average"], found["diverse_top10"]) == pytest.approx((0.25, 0.3))


def test_the_archive_grows_with_the_iterations_and_has_no_failed_evaluation() -> None:
    rows = [(0, 1, "CCO", 0.2), (0, 2, "CS", None), (1, 3, "ClCCl", 0.4), (2, 4, "CN", None), (3, 5, "c1ccccc1", 0.9)]
    log = make_log([evaluated_row(*row) for row in rows], [[[1]]] * 4)
    expected = [0.2, (0.2 + 0.4) / 2, (0.2 + 0.4) / 2, (0.2 + 0.4 + 0.9) / 3]
    assert diverse_archive_curve(log) == pytest.approx(expected)


def test_the_average_is_of_the_last_five_iterations(tmp_path: Path) -> None:
    calls = [1, 1, 4, 3, 3, 3, 2]
    log = read_log(write_run(tmp_path / "run", SCORES, [[[call], []] for call in calls]))
    assert measure_molecules(log)["diverse_average"] == pytest.approx((0.2 + 3 * 0.3 + 0.8) / 5)


def test_the_average_of_a_shorter_run_is_of_all_of_it(tmp_path: Path) -> None:
    log = read_log(write_run(tmp_path / "run", SCORES, [[[4], []], [[2], []]]))
    assert measure_molecules(log)["diverse_average"] == pytest.approx(0.5)


def test_a_run_is_measured_over_its_whole_budget(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"c1ccccc1": 0.7, "CCO": 0.5}, [[[2], []], [[1], []]])
    found = measure_molecules(read_log(run))  # (12 - 2) / 4: three iterations, of which it ran one
    assert (found["diverse_auc"], found["diverse_auc_calls"]) == pytest.approx((0.7, 0.7))


def test_a_lone_molecule_has_no_diversity(tmp_path: Path) -> None:
    found = measure_molecules(read_log(write_run(tmp_path / "run", {"CCO": 0.5}, [[[1]]])))
    assert (found["molecular_diversity"], found["scaffold_diversity"], found["n_scaffolds"]) == (None, None, 1)


def test_distances_are_averaged_over_all_pairs(tmp_path: Path) -> None:
    scores = {"Cc1ccccc1": 0.9, "CCO": 0.8, "CCCCN": 0.7}
    found = measure_molecules(read_log(write_run(tmp_path / "run", scores, [[[1, 2, 3]]])))
    pairs = combinations(map(fingerprint, scores), 2)
    expected = fmean(1 - DataStructs.TanimotoSimilarity(*pair) for pair in pairs)
    assert found["molecular_diversity"] == pytest.approx(expected)


# Docking


def test_without_docking_there_is_no_docking_score(tmp_path: Path) -> None:
    assert "docking_last" not in measure_molecules(read_log(write_run(tmp_path / "run", SCORES, [[[1]]])))


def dock(run: Run, docked: Mapping[str, float]) -> None:
    (run.path / "docking").mkdir()
    table = pa.table({"key": list(docked), "score": list(docked.values())})
    pq.write_table(table, run.path / "docking" / "part-000000.parquet")


def test_docking_scores_are_those_of_the_diverse_top_ten(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES, [[[2], []], [[2], []], [[1], [3, 4]]])
    dock(run, {"c1ccccc1": -9.0, "ClCCl": -4.0, "CCO": -6.0, "CCCO": -1.0})
    found = measure_molecules(read_log(run))
    assert found["docking_last"] == pytest.approx((-9 - 6 - 1) / 3)
    assert found["docking_last5"] == pytest.approx((-4 - 4 - 16 / 3) / 3)


def test_a_molecule_that_was_not_docked_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES, [[[1], [3]]])
    dock(run, {"c1ccccc1": -9.0})
    with pytest.raises(InputError, match=r"docking lacks 1 molecule, such as CCO; run evodiverse-dock$"):
        measure_molecules(read_log(run))


def test_several_molecules_that_were_not_docked_are_counted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES, [[[1], [3]]])
    dock(run, {"C": -1.0})
    with pytest.raises(InputError, match=r"docking lacks 2 molecules, such as \S+; run evodiverse-dock$"):
        measure_molecules(read_log(run))


# The log


def test_a_log_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[1]]])
    whole = Run(run.path, make_record() | {"totals": {"oracle_calls": 4, "iterations": 0}})
    assert read_log(whole).n_calls == 4
    lacking = Run(run.path, make_record() | {"totals": {"oracle_calls": 9, "iterations": 0}})
    with pytest.raises(InputError, match=r"has logged 4 of 9 oracle calls, so a part is missing"):
        read_log(lacking)
    lacking = Run(run.path, make_record() | {"totals": {"oracle_calls": 4, "iterations": 2}})
    with pytest.raises(InputError, match=r"has logged 0 of 2 iterations"):
        read_log(lacking)
    lacking = Run(run.path, make_record() | {"llm": {"calls": 7}})
    with pytest.raises(InputError, match=r"has logged 0 of 7 requests to a model"):
        read_log(lacking)


@pytest.mark.parametrize("dataset", ["swaps", "llm_calls", "adaptation"])
def test_a_dataset_without_a_part_is_named(tmp_path: Path, dataset: str) -> None:
    run = write_run(tmp_path, SCORES, [[[1]]])
    (tmp_path / dataset / "part-000000.parquet").unlink()
    with pytest.raises(InputError, match=rf"{dataset} has no parts"):
        read_log(run)


def test_swaps_that_the_adaptation_knows_of_are_missed(tmp_path: Path) -> None:
    run = write_run(tmp_path, SCORES, [[[1]]], [swap_row(accepted=True), swap_row(accepted=False, blocked=True)])
    write_parts(tmp_path, "adaptation", [[{"iteration": 5, "xi": 2.5, "tried": 1}]])
    assert len(read_log(run).swaps["blocked"]) == 2
    write_parts(
        tmp_path, "adaptation", [[{"iteration": 5, "xi": 2.5, "tried": 1}, {"iteration": 10, "xi": 2.5, "tried": 4}]]
    )
    with pytest.raises(InputError, match=r"has logged 1 of 5 swaps"):
        read_log(run)


def test_the_curves_of_a_run_are_those_that_its_metrics_are_the_means_of(tmp_path: Path) -> None:
    found = measure_molecules(read_log(write_run(tmp_path / "run", SCORES, [[[1, 2, 3]], [[2, 3, 4]]])))
    top, archive = found["curve.diverse_top10"], found["curve.diverse_top10_archive"]
    assert isinstance(top, list)
    assert isinstance(archive, list)
    assert fmean(top) == pytest.approx(found["diverse_average"])  # type: ignore[type-var]
    assert archive[-1] == pytest.approx(found["diverse_top10_archive"])


def test_molecules_that_pass_are_counted_without_the_cap_of_ten(tmp_path: Path) -> None:
    small = ("c1ccccc1", "ClCCl", "N", "BrCBr", "S", "FCF", "ICI", "C#C", "C=O", "P", "c1ccncc1", "CC#N")
    scores = dict.fromkeys(small, 0.9) | {"C" * length + "O": 0.5 for length in range(3, 12)}
    run = write_run(tmp_path / "run", scores, [[[*range(1, len(scores) + 1)]]])
    taken: list[str] = []
    for smiles in scores:  # which are in the order of their rank
        alike = [DataStructs.TanimotoSimilarity(fingerprint(smiles), fingerprint(other)) for other in taken]
        taken += [smiles] if not alike or fmean(alike) < 0.4 else []
    assert len(taken) > 10
    assert measure_molecules(read_log(run))["curve.n_diverse"] == [len(taken)]


def test_the_mean_score_of_drug_like_molecules_is_over_those_in_the_pools_alone(tmp_path: Path) -> None:
    aspirin, paracetamol = "CC(=O)Oc1ccccc1C(=O)O", "CC(=O)Nc1ccc(O)cc1"
    scores = {aspirin: 0.2, paracetamol: 0.6, "CCO": 0.9}
    assert [assess(smiles).qed > 0.5 for smiles in scores] == [True, True, False]
    run = write_run(tmp_path / "run", scores, [[[1, 2, 3], [1]], [[1, 3], [3]], [[3], [3]]])
    found = measure_molecules(read_log(run))
    assert found["curve.drug_like"] == pytest.approx([0.4, 0.2, None])
    assert found["curve.n_drug_like"] == [2, 1, 0]
