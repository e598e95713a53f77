"""The paper's tables are all there, with every row, column and number."""

import hashlib
import json
import re

import pytest

from evodiverse.results.domains import find_domain, table_files
from evodiverse.results.tables.layout import Layout, found_layouts, paper_layouts
from evodiverse.results.tables.results import OFF, PAPERS_MODELS
from tests.runs import ROOT

# name: rows, columns that the paper has, digest of heads, titles and cells as transcribed from the LaTeX source
PINNED = {
    "mol_llm": (8, 2, "753bcba3a855"),
    "mol_graphga": (4, 2, "fc9b5cc40337"),
    "mh_ablation_mol": (6, 2, "f7bc5615fe30"),
    "prompt_ablation_mol": (6, 2, "169cf02aeb33"),
    "cost_jnk3": (6, 5, "426e9bd720bb"),
    "cost_gsk3b": (6, 5, "479d0840d3d8"),
    "non_diversity_mol": (8, 2, "661eb9e3f889"),
    "last_iter_top10_div04": (8, 6, "e3dfadbc8290"),
    "scaffold_mol": (8, 3, "5d506859d6dd"),
    "docking_top10": (8, 2, "da561b15db98"),
    "sig_mol": (6, 2, "c055ad39f25e"),
    "sr_results_main": (12, 3, "3a4055aa7d80"),
    "sr_div": (12, 4, "c7d6a0230ed7"),
    "sr_results_extra": (12, 8, "dab77d96e1e0"),
    "swap_energy_ablation": (2, 1, "ef8e2b6144b0"),
    "mh_ablation_eq": (6, 3, "1480fbd07b72"),
    "sens_beta_eq": (8, 3, "5e0a93aef95b"),
    "sens_swap_eq": (8, 3, "d033e074e0ce"),
    "3temp_eq": (3, 3, "22d6d346b919"),
    "sig_eq": (2, 2, "f39782b16981"),
    "circle_packing_results": (4, 3, "dda2bed5c516"),
    "diversity_detailed": (4, 5, "f2279020c4d9"),
    "mh_ablation_algo": (5, 3, "b528e39f1983"),
    "cost_algo": (5, 6, "746113baaaf1"),
    "budget_details": (11, 5, "c8ffd2314782"),
}
BY_NAME = {layout.name: layout for layout in paper_layouts()}


def digest(layout: Layout) -> str:
    """A digest of the paper's part of a table."""
    titles = [column.full_title for column in layout.columns if not column.extra]
    said = [layout.head, titles, [[row.of, row.paper] for row in layout.rows]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def test_every_table_of_the_paper_is_there() -> None:
    assert list(BY_NAME) == list(PINNED)


@pytest.mark.parametrize("name", PINNED)
def test_rows_columns_and_cells_are_those_of_the_paper(name: str) -> None:
    layout = BY_NAME[name]
    n_rows, n_columns, pinned = PINNED[name]
    assert (len(layout.rows), sum(not column.extra for column in layout.columns)) == (n_rows, n_columns)
    assert {len(row.paper) for row in layout.rows} == {n_columns}
    assert {len(row.of) for row in layout.rows} == {len(layout.head)}
    assert digest(layout) == pinned


@pytest.mark.parametrize(
    ("name", "of", "cells"),
    [
        ("mol_llm", ("GSK3β", "EvoDiverse"), ("0.76 ± 0.02", "0.82 ± 0.03")),
        ("mol_graphga", ("JNK3", "GraphGA"), ("0.35 ± 0.04", "0.59 ± 0.10")),
        ("cost_gsk3b", ("MOLLEO",), ("3220", "2.76", "2.24", "0.6", "0.70")),
        ("docking_top10", ("JNK3", "EvoDiverse"), ("-7.83 ± 0.08", "-7.75 ± 0.33")),
        ("sig_mol", ("GSK3β", "vs. Tempering"), ("5.40e-06", "0.012")),
        ("diversity_detailed", ("Ensemble",), ("0.76", "0.51 / 0.50", "1.27", "0.42 / 0.99", "0% / 100%")),
        ("cost_algo", ("Island EA",), ("1,000", "13.7", "22", "~6", "2.8", "2.4247")),
        ("budget_details", ("Algorithm Discovery", "Island"), ("2", "500", "3", "1", "1,000")),
    ],
)
def test_cells_stand_in_their_rows(name: str, of: tuple[str, ...], cells: tuple[str, ...]) -> None:
    assert {row.of: row.paper for row in BY_NAME[name].rows}[of] == cells


def test_the_mean_of_both_models_is_that_of_their_own_cells() -> None:
    main, extra, diversity = (BY_NAME[name] for name in ("sr_results_main", "sr_results_extra", "sr_div"))
    for whole, parts, pools in zip(main.rows, extra.rows, diversity.rows, strict=True):
        buffers = [float(re.split(r"[(\s]", pools.paper[at].rstrip(")"))[-1]) for at in (0, 2)]
        means = [sum(buffers) / 2, *((float(parts.paper[at]) + float(parts.paper[at + 4])) / 2 for at in (2, 3))]
        assert [float(cell) for cell in whole.paper] == pytest.approx(means, abs=1.01e-3)


def test_a_number_that_the_paper_repeats_is_transcribed_alike() -> None:
    """Top-10 AUC of EvoDiverse on JNK3 is in five tables, its best sum in four."""
    auc = {
        BY_NAME[name].rows[at].paper[0]
        for name, at in (("mol_llm", 3), ("mh_ablation_mol", 2), ("prompt_ablation_mol", 2))
    }
    assert auc == {"0.63 ± 0.05"}
    assert BY_NAME["cost_jnk3"].rows[3].paper[-1] == "0.63"
    sums = {
        next(row.paper[0 if name != "cost_algo" else -1] for row in BY_NAME[name].rows if row.method == "pt")
        for name in ("circle_packing_results", "mh_ablation_algo", "cost_algo")
    }
    assert sums == {"2.5461"}


def test_rows_are_about_options_that_there_are() -> None:
    methods = {file.stem for file in (ROOT / "conf/method").glob("*.yaml")}
    tasks = {file.stem for file in (ROOT / "conf/task").glob("*.yaml")}
    for layout in paper_layouts():
        assert set(layout.llm) <= {OFF, *PAPERS_MODELS}
        assert {column.llm for column in layout.columns} - {None} <= set(layout.llm)
        assert {row.task for row in layout.rows} <= tasks
        assert {row.method for row in layout.rows} | {row.against for row in layout.rows} - {None} <= methods


def test_only_graph_ga_and_what_runs_were_set_to_need_no_model() -> None:
    assert [layout.name for layout in paper_layouts() if not layout.is_about_models] == [
        "mol_graphga",
        "budget_details",
    ]


@pytest.mark.parametrize(
    ("domain", "settings"), [("molecules", {}), ("equations", {}), ("programs", {"task.evaluator": "circle_packing"})]
)
def test_times_to_a_score_are_those_that_are_measured(domain: str, settings: dict[str, str]) -> None:
    module = find_domain(f"evodiverse.tasks.{domain}")
    assert module is not None
    shown = {
        column.metric
        for layout in found_layouts(*table_files([module]))
        for column in layout.columns
        if column.metric.startswith("calls_to_")
    }
    assert shown == {f"calls_to_{target:g}" for target in module.build_metrics(settings).targets}
