"""What is plotted, read back from the drawings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evodiverse.results.figures import sweep
from evodiverse.results.figures.catalog import FIGURES
from evodiverse.results.figures.curves import draw_bands, iteration_bands, record_bands
from evodiverse.results.figures.reading import Context, Picture
from evodiverse.results.figures.style import METHODS, look_of, new_figure, show_power, styled, write_image
from evodiverse.results.measuring import TFIDF, Measurer
from evodiverse.results.tables.results import Result, read_result
from evodiverse.runlog.runs import Run
from tests.results.builders import make_record, write_run
from tests.results.tables.results import equation, result

PACKINGS = "evodiverse.tasks.programs"
CONTEXT = Context(Measurer(Path("cache"), {TFIDF: None}), lambda: Path("absent"), "molecules")


@pytest.fixture(autouse=True)
def _styled() -> Iterator[None]:
    with styled():
        yield


def molecules(scores: Sequence[float], method: str = "pt", seed: int = 0, task: str = "jnk3", **more: Any) -> Result:
    curves = {
        "curve.calls": [4.0 * (place + 1) for place in range(len(scores))],
        "curve.diverse_top10": list(scores),
        "curve.drug_like": [None, *(score / 2 for score in scores[1:])],
        "curve.n_diverse": [7.0] * len(scores),
        "diverse_auc": sum(scores[1:]) / (len(scores) - 1),
    }
    return result(curves, task, method, seed=seed, **more)


def find(name: str, runs: Sequence[Result]) -> list[Picture]:
    """Return the pictures of the figure of this name."""
    (kind,) = [kind for kind in FIGURES if kind.name == name]
    return [*kind.find(runs, CONTEXT)]


def lines_of(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines}


def test_the_mean_of_a_plotted_curve_is_the_auc_of_the_table() -> None:
    runs = [molecules([0.1, 0.2, 0.6], seed=0), molecules([0.1, 0.4, 0.8], seed=1)]
    (picture,) = find("mol", runs)
    line = lines_of(picture.draw().axes[0])["EvoDiverse (pt)"]
    assert line.get_xdata().tolist() == [4, 8, 12]
    auc = np.mean([run.metrics["diverse_auc"] for run in runs])
    assert np.mean(line.get_ydata()[1:]) == pytest.approx(auc)


def test_bars_show_how_many_pass_without_the_cap() -> None:
    (picture,) = find("mol", [molecules([0.1, 0.2, 0.6], budget__oracle_calls=12)])
    right = picture.draw().axes[2]
    assert {bar.get_height() for bar in right.patches if np.isfinite(bar.get_height())} == {7.0}


def test_a_target_without_runs_has_no_panel() -> None:
    scores = [0.1, 0.2, 0.6]
    titles = {}
    for name in ("mol", "si_mol_graphga"):
        (picture,) = find(name, [molecules(scores, budget__oracle_calls=12)])
        titles[name] = [title for axes in picture.draw().axes if (title := axes.get_title())]
    assert titles == {"mol": ["(a) JNK3", "(b) JNK3"], "si_mol_graphga": ["(a) JNK3", "(b) JNK3"]}
    (other,) = find("mol", [molecules(scores, task="gsk3b")])
    assert [axes.get_title() for axes in other.draw().axes] == ["(b) GSK3β"]


def test_the_band_is_the_interval_over_seeds_and_one_seed_has_none() -> None:
    bands = iteration_bands([molecules([0.1, 0.2], seed=0), molecules([0.3, 0.4], seed=1)], "diverse_top10")
    assert (bands["pt"].high - bands["pt"].mean).tolist() == pytest.approx([12.706 * 0.1] * 2, rel=1e-3)
    assert np.isnan(iteration_bands([molecules([0.1, 0.2])], "diverse_top10")["pt"].high).all()


def test_the_last_plotted_sum_is_the_best_of_the_table() -> None:
    runs = [
        result({"curve.sum_calls": [1, 7], "curve.sum": [1.0, 2.5 + seed / 10], "best_sum": 2.5 + seed / 10}, seed=seed)
        for seed in (0, 1)
    ]
    (band,) = record_bands(runs, "sum_calls", "sum").values()
    axes = new_figure(3, 2).subplots()
    draw_bands(axes, {"pt": band}, steps=True)
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(np.mean([run.metrics["best_sum"] for run in runs]))
    assert axes.lines[0].get_drawstyle() == "steps-post"


def test_the_last_plotted_error_is_the_geometric_mean_of_the_best_scores() -> None:
    runs = [
        equation({"curve.best_calls": [1, 3], "curve.best": [-1.0, -error]}, seed=at)
        for at, error in [(0, 1e-2), (1, 1e-4)]
    ]
    (picture,) = find("sr-score-trajectory", runs)
    line = lines_of(picture.draw().axes[0])["EvoDiverse (pt)"]
    assert line.get_ydata()[-1] == pytest.approx(1e-3)


def test_diagnostics_plot_xi_and_the_share_accepted_at_each_exchange() -> None:
    metrics = {"curve.exchanges": [5.0, 10.0], "curve.xi.0": [2.5, 2.75], "curve.swap_acceptance.0": [0.2, None]}
    (picture,) = find("diagnostic_mol", [result(metrics)])
    xi, share = (axes.lines[0] for axes in picture.draw().axes)
    assert (xi.get_xdata().tolist(), xi.get_ydata().tolist()) == ([5, 10], [2.5, 2.75])
    assert share.get_ydata().tolist() == pytest.approx([0.2, np.nan], nan_ok=True)
    always = {"curve.exchanges": [5.0], "curve.xi.0": [0.0], "curve.swap_acceptance.0": [1.0]}
    assert find("diagnostic_mol", [result(always, method="random_swap")]) == []  # without a powering factor


def test_bars_against_engines_are_means_of_the_tables_metrics_on_common_problems() -> None:
    ours = [
        equation({"best_nmse": 1e-2, "best_acc": 1.0}, "builtin/reaction1"),
        equation({"best_nmse": 1.0, "best_acc": 0.0}, "builtin/reaction2"),
    ]
    theirs = equation({"best_nmse": 1e-4, "best_acc": 0.0}, "builtin/reaction1", "operon", task__fit="own")
    (picture,) = find("sr-pysr", [*ours, theirs])
    errors, accuracies = picture.draw().axes
    assert {round(bar.get_height(), 9) for bar in errors.patches} == {1e-2, 1e-4}
    assert {bar.get_height() for bar in accuracies.patches} == {1.0, 0.0}


def test_an_infinite_error_is_written_not_drawn() -> None:
    (picture,) = find("sr-pysr", [equation({"best_nmse": float("inf"), "best_acc": 0.0})])
    errors = picture.draw().axes[0]
    assert [text.get_text() for text in errors.texts] == ["∞"]
    assert not errors.patches


def test_without_held_out_data_there_is_neither_a_bar_nor_an_error() -> None:
    (picture,) = find("sr-pysr", [equation({"best_nmse": None, "best_acc": None})])
    assert [(len(axes.texts), len(axes.patches)) for axes in picture.draw().axes] == [(0, 0), (0, 0)]


def test_hits_are_those_of_the_table_after_each_tenth_of_the_budget() -> None:
    counts = {
        f"{name}_{percent}": percent // step
        for name, step in (("hits_at", 5), ("different_hits_at", 10))
        for percent in range(10, 101, 10)
    }
    (picture,) = find("hits_by_calls", [result(counts, budget__oracle_calls=200)])
    hits, different = (axes.lines[0] for axes in picture.draw().axes)
    assert hits.get_xdata().tolist() == [20.0 * step for step in range(11)]
    assert hits.get_ydata().tolist() == [2 * step for step in range(11)]
    assert different.get_ydata().tolist() == [*range(11)]


def test_hits_are_counted_anew_for_a_threshold_of_ones_own(tmp_path: Path) -> None:
    run = write_run(tmp_path, {"c1ccccc1": 0.3, "CCO": 0.4, "CCCO": 0.1}, [[[1, 2, 3]]], budget__oracle_calls=10)
    context = replace(CONTEXT, measurer=Measurer(tmp_path / "cache", {TFIDF: None}), threshold=0.3)
    (kind,) = [kind for kind in FIGURES if kind.name == "hits_by_calls"]
    (picture,) = kind.find([read_result(run, {"hits_at_100": 0})], context)
    assert "score at least 0.3" in picture.caption
    assert picture.draw().axes[0].lines[0].get_ydata().tolist() == [0, 1, *[2] * 9]


def test_a_domain_of_ones_own_has_curves_and_heat_maps_of_its_own_metric() -> None:
    runs = [
        read_own({"most_ones": ones, "curve.best_calls": [1], "curve.best": [ones / 8]}, {"method.elites": ones})
        for ones in (3, 5)
    ]
    (sweep_picture,) = find("sweep", runs)
    assert {text.get_text() for text in sweep_picture.draw().axes[0].texts} == {"3.000\n(1)", "5.000\n(1)"}
    assert "most ones by method.elites" in sweep_picture.caption
    first, _ = find("best_by_calls", runs)
    assert lines_of(first.draw().axes[0])["EvoDiverse (pt)"].get_ydata()[-1] == 3 / 8


def test_the_hypervolume_is_drawn_by_calls_for_runs_with_the_same_objectives() -> None:
    curves = {"curve.hypervolume_calls": [1.0, 9.0], "curve.hypervolume": [0.1, 0.7]}
    runs = [result(curves, method=method, overrides={"task.pareto": ["qed", "sa"]}) for method in ("nsga2", "graph_ga")]
    (picture,) = find("hypervolume_by_calls", [*runs, result({"curve.best": [0.1]})])
    lines = lines_of(picture.draw().axes[0])
    assert {name: line.get_ydata()[-1] for name, line in lines.items()} == {"NSGA-II": 0.7, "Graph GA": 0.7}
    assert "front of qed, sa" in picture.caption


def read_own(metrics: dict[str, Any], overrides: dict[str, Any]) -> Result:
    settings = {f"{key.replace('.', '__')}": value for key, value in overrides.items()}
    record = make_record(overrides=overrides, task__name="bits", task__domain="tests.toys.bits", **settings)
    return read_result(Run(Path("bits"), record), metrics, ["tests.toys.bits"])


def test_round_trips_are_drawn_run_by_run_with_their_mean() -> None:
    runs = [result({"round_trips": trips, "hot_descendants": 3}, seed=seed) for seed, trips in enumerate((1, 5))]
    (picture,) = find("round_trips", runs)
    left = picture.draw().axes[0]
    assert [bar.get_width() for bar in left.patches] == [3.0]
    assert left.collections[-1].get_offsets()[:, 0].tolist() == [1, 5]


def test_each_method_has_its_own_lineage_and_its_own_molecules() -> None:
    metrics = {"curve.best": [0.1, 0.5], "diverse_top10_full": 0.4}
    runs = [result(metrics, method=method, seed=seed) for method in ("pt", "molleo") for seed in (0, 1)]
    for name in ("lineage", "diverse_molecules"):
        assert [picture.name for picture in find(name, runs)] == [f"{name}_jnk3_off_molleo", f"{name}_jnk3_off"]


def sweep_run(auc: float, seed: int = 0, **overrides: int) -> Result:
    changed = {f"method.swap.{key}": value for key, value in overrides.items()}
    defaults = {"method__swap__period": 5, "method__swap__size": 1}
    return result({"diverse_auc": auc}, seed=seed, overrides=changed, **defaults)


def test_a_sweep_has_a_cell_for_each_two_values_and_the_default_among_them() -> None:
    runs = [sweep_run(0.5), sweep_run(0.7, seed=1), sweep_run(0.2, period=2, size=3), sweep_run(0.3, period=10)]
    grid = sweep.make_grid(runs, ("method.swap.period", "method.swap.size"), runs[0].headlines[0])
    assert [[*grid[axis].cat.categories] for axis in ("column", "row")] == [["2", "5", "10"], ["1", "3"]]
    assert grid.to_numpy().tolist() == [["5", "1", 0.5], ["5", "1", 0.7], ["2", "3", 0.2], ["10", "1", 0.3]]


def test_a_sweep_writes_its_numbers_into_the_cells() -> None:
    runs = [sweep_run(0.5), sweep_run(0.2, period=2, size=3), sweep_run(0.3, period=10)]
    (picture,) = find("sweep", runs)
    written = {text.get_text() for text in picture.draw().axes[0].texts}
    assert written == {"0.500\n(1)", "0.200\n(1)", "0.300\n(1)"}


def test_noise_does_not_fill_the_colors_of_a_sweep() -> None:
    def show(noise: float) -> tuple[float, set[str]]:
        runs = [
            sweep_run(mean + sign * noise, seed=sign, **some)
            for mean, some in ((0.5, {}), (0.51, {"period": 2}))
            for sign in (-1, 1)
        ]
        (picture,) = find("sweep", runs)
        axes = picture.draw().axes[0]
        low, high = axes.images[0].get_clim()
        return high - low, {text.get_text() for text in axes.texts}

    span, texts = show(0.1)
    assert span == pytest.approx(4 * np.sqrt(2) * 0.1)
    assert texts == {"0.500 ± 0.141\n(2)", "0.510 ± 0.141\n(2)"}
    assert show(0.0001)[0] == pytest.approx(0.01)


def test_runs_that_differ_in_nothing_are_not_a_sweep() -> None:
    assert (find("sweep", [sweep_run(0.5), sweep_run(0.6, seed=1)])) == []


def test_each_method_of_the_paper_has_a_look_that_no_other_of_its_figures_has() -> None:
    for methods in (
        ("molleo", "ensemble", "tempering", "pt", "graph_ga", "random_swap"),
        ("ea", "island", "ensemble", "pt", "random_swap"),
        ("tempering", "ensemble", "pt", "pysr", "operon"),
    ):
        looks = [look_of(method) for method in methods]
        for part in ("color", "dash", "marker", "hatch", "label"):
            assert len({str(getattr(look, part)) for look in looks}) == len(looks), part


def test_a_users_method_looks_the_same_whenever_it_is_drawn() -> None:
    assert look_of("mine") == look_of("mine")
    assert "mine" not in METHODS


def test_the_same_figure_is_the_same_file() -> None:
    def draw() -> bytes:
        (picture,) = find("mol", [molecules([0.1, 0.2, 0.6]), molecules([0.1, 0.1, 0.2], "molleo")])
        return write_image(picture.draw(), "svg")

    content = draw()
    assert content == draw()
    assert b"<dc:date>" not in content


@pytest.mark.parametrize("name", ["$\\frac{", "a\n\x1b[31mb", "ε" * 300])
def test_names_from_elsewhere_are_drawn_literally(name: str) -> None:
    metrics = {"curve.exchanges": [5.0], "curve.xi.0": [2.5], "curve.swap_acceptance.0": [0.2]}
    (picture,) = find(
        "diagnostic_eq",
        [equation(metrics, "data", overrides={"task.data.science": name})],
    )
    assert write_image(picture.draw(), "svg")


def test_powers_of_ten_are_written_without_markup() -> None:
    assert [show_power(value) for value in (1.0, 1e-3, 1e12, 0.0)] == ["10⁰", "10⁻³", "10¹²", ""]
