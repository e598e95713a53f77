"""Tables are filled by the runs that belong to them, and note what they leave out."""

from dataclasses import replace

import pytest

from evodiverse.results.tables.build import build_tables
from evodiverse.results.tables.cells import Table
from evodiverse.results.tables.layout import Column, Layout, Row
from evodiverse.results.tables.results import Result
from tests.results.tables.results import equation, layout, result

JNK3 = [
    Row(("JNK3", "MOLLEO"), "jnk3", "molleo", paper=("0.5",)),
    Row(("JNK3", "EvoDiverse"), "jnk3", "pt", paper=("0.6",)),
]

CHEMISTRY = [Row(("Chemistry", name), "equation", name, "chemistry") for name in ("pt", "ensemble")]


def tables_of(
    layout: Layout,
    *results: Result,
    left_out: list[tuple[Result, str]] | None = None,
    **only: str,
) -> dict[str, Table]:
    """All tables by name, where the paper has one."""
    return {table.name: table for table in build_tables(results, left_out or [], papers=[layout], **only)}


def fill(layout: Layout, *results: Result, **more) -> Table:
    """Return the paper's table, filled."""
    return tables_of(layout, *results, **more)["table"]


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in line.cells] for line in table.lines]


# Which runs are in a table


def test_the_table_of_feature_spaces_lists_the_runs_that_have_one() -> None:
    with_features = result({"score": 0.4, "coverage": 0.25, "qd_score": 31.0}, method="ea")
    tables = tables_of(layout(JNK3), result({"score": 0.4}), with_features)
    assert [(line.of[1], line.cells[1].text) for line in tables["features"].lines] == [("ea", "0.250")]
    assert "features" not in tables_of(layout(JNK3), result({"score": 0.4}))


def test_the_table_of_several_objectives_lists_the_runs_that_have_them() -> None:
    with_front = result({"score": 0.4, "hypervolume": 0.25, "best_score": 0.4, "front_size": 12}, method="nsga2")
    tables = tables_of(layout(JNK3), result({"score": 0.4}), with_front)
    assert [(line.of[1], *(cell.text for cell in line.cells)) for line in tables["pareto"].lines] == [
        ("nsga2", "0.25", "0.4", "12")
    ]
    assert "pareto" not in tables_of(layout(JNK3), result({"score": 0.4}))


# Which runs are in a row


def test_a_row_is_filled_by_the_runs_of_its_task_and_method() -> None:
    runs = [
        result({"score": 0.4}),
        result({"score": 0.6}, seed=1),
        result({"score": 0.1}, "gsk3b"),
        result({"score": 0.2}, method="ea"),
    ]
    table = fill(layout(JNK3), *runs)
    assert texts(table) == [["—"], ["0.50 ± 0.14"]]
    assert [line.paper for line in table.lines] == [("0.5",), ("0.6",)]
    assert (table.n_filled, table.n_cells) == (1, 2)


def test_runs_with_other_settings_are_left_out_and_counted() -> None:
    table = fill(
        layout(JNK3), result({"score": 0.4}), result({"score": 0.9}, seed=1, overrides={"method.swap.period": 2})
    )
    assert texts(table)[1] == ["0.40"]
    assert "Left out: 1 run with other settings (see the tables of all runs)." in table.notes


def test_a_row_of_other_settings_is_filled_by_them_alone() -> None:
    rows = [replace(JNK3[1], overrides={"method.ladder": [0.5, 0.01]}), JNK3[1]]
    table = fill(layout(rows), result({"score": 0.4}), result({"score": 0.9}, overrides={"method.ladder": [0.5, 0.01]}))
    assert texts(table) == [["0.90"], ["0.40"]]
    assert not any("Left out" in note for note in table.notes)


@pytest.mark.parametrize(("stopped_by", "text"), [("budget", "0.40"), ("early_stop", "0.40"), ("usd", "—")])
def test_a_cap_counts_only_where_it_ended_a_run(stopped_by: str, text: str) -> None:
    run = result({"score": 0.4}, overrides={"budget.usd": 5}, more={"stopped_by": stopped_by})
    assert texts(fill(layout(JNK3), run))[1] == [text]


def test_of_programs_proposals_may_be_counted_in_place_of_charged_calls_and_of_others_not() -> None:
    about = {"task__domain": "evodiverse.tasks.programs", "task__evaluator": "circle_packing"}
    packing = layout([Row(("a", "b"), "circle_packing", "pt")])
    for cap, text in ((12, "0.40"), (11, "—")):
        capped = {"overrides": {"budget.llm_calls": cap}, "more": {"stopped_by": "llm_calls"}}
        assert texts(fill(packing, result({"score": 0.4}, "circle_packing", **about, **capped))) == [[text]], cap
    capped = {"overrides": {"budget.llm_calls": 12}, "more": {"stopped_by": "llm_calls"}}
    assert texts(fill(layout(JNK3), result({"score": 0.4}, **capped)))[1] == ["—"]
    assert texts(fill(layout(CHEMISTRY[:1]), equation({"score": 0.4}, **capped))) == [["—"]]


@pytest.mark.parametrize("oracle", [{"task.oracle.published": "gsk3b"}, {"task.oracle._target_": "mine.score"}])
def test_a_task_with_another_oracle_is_another_task(oracle: dict[str, str]) -> None:
    metrics = {"score": 0.9, "top10": 1.0}
    tables = tables_of(layout(JNK3), result(metrics, overrides=oracle))
    assert texts(tables["table"]) == [["—"], ["—"]]
    ((key, value),) = oracle.items()
    assert [line.of[:4] for line in tables["molecules"].lines] == [(f"jnk3 ({key}={value})", "pt", "off", "default")]


def test_runs_that_ended_early_are_counted() -> None:
    ends = ["budget", "early_stop", "target", "target"]
    runs = [result({"score": 0.4}, seed=seed, more={"stopped_by": why}) for seed, why in enumerate(ends)]
    assert fill(layout(JNK3), *runs).notes == (
        "Ended before their budget was spent: 1 by early_stop, 2 by target (of 4 runs).",
    )


def test_a_variant_of_a_metric_is_shown_only_where_it_differs() -> None:
    columns = [Column("score", "score"), Column("archive", "archive", extra=True, unlike="score", note="Of all.")]
    alike = fill(layout(JNK3, columns), result({"score": 0.4, "archive": 0.405}))
    assert ([column.title for column in alike.columns], alike.notes) == (["score"], ())
    unlike = fill(layout(JNK3, columns), result({"score": 0.4, "archive": 0.42}))
    assert ([column.title for column in unlike.columns], unlike.notes) == (["score", "archive"], ("Of all.",))
    assert texts(unlike)[1] == ["0.40", "0.42"]
    assert [len(line.paper) for line in unlike.lines] == [2, 2]


def test_what_is_unfinished_or_damaged_is_counted() -> None:
    others = [(result({}, seed=1), "failed"), (result({}, seed=2), "failed"), (result({}, "gsk3b"), "damaged")]
    table = fill(layout(JNK3), result({"score": 0.4}), left_out=others)
    assert "Left out: 2 runs failed." in table.notes


def test_an_extra_column_that_no_run_has_is_not_shown() -> None:
    columns = [Column("score", "score"), Column("mine", "mine", extra=True), Column("no", "no", extra=True)]
    table = fill(layout(JNK3, columns), result({"score": 0.4, "mine": 1.0}))
    assert [column.title for column in table.columns] == ["score", "mine"]
    assert [line.paper for line in table.lines] == [("0.5", None), ("0.6", None)]


def test_a_star_at_the_end_of_a_metric_stands_for_any_text_and_other_characters_for_themselves() -> None:
    metrics = {"*": "own.*", "hits": "hits[0.5]", "no": "b?"}
    columns = [Column(title, metric, extra=True) for title, metric in metrics.items()]
    table = fill(layout(JNK3, columns), result({"own.": 1.0, "own.a[1]": 2.0, "hits[0.5]": 3.0, "bc": 4.0}))
    found = [(column.title, column.metric) for column in table.columns]
    assert found == [("", "own."), ("a[1]", "own.a[1]"), ("hits", "hits[0.5]")]


def test_what_runs_must_have_for_a_column_is_noted() -> None:
    columns = [Column("score", "score", needs="a lucky day")]
    assert "score: needs a lucky day." in fill(layout(JNK3, columns), result({})).notes
    assert not fill(layout(JNK3, columns), result({"score": 1.0})).notes


# Models


def test_runs_without_a_model_fill_no_row_about_models_but_a_separate_table() -> None:
    about = layout(JNK3, llm=("deepseek",))
    tables = tables_of(about, result({"score": 0.4}), result({"score": 0.8}, llm="deepseek"))
    assert texts(tables["table"])[1] == ["0.80"]
    beside = tables["table_off"]
    assert beside.title == "A table: the same rows without a model (llm=off)"
    assert [line.of for line in beside.lines] == [row.of for row in JNK3]
    assert texts(beside)[1] == ["0.40"]
    assert [line.paper for line in beside.lines] == [(None,), (None,)]


def test_a_row_names_its_model_whatever_the_host() -> None:
    about = layout(JNK3, llm=("DeepSeek-V3.2",))
    hosts = {
        "litellm": {"llm.model": "openrouter/deepseek/deepseek-v3.2"},
        "openai_compatible": {"llm.model": "deepseek-ai/DeepSeek-V3.2"},
        "replay": {"llm.model": "fireworks_ai/accounts/fireworks/models/deepseek-v3p2"},
    }
    runs = [result({"score": 0.4}, llm=llm, seed=at, overrides=named) for at, (llm, named) in enumerate(hosts.items())]
    table = fill(about, *runs)
    assert texts(table)[1] == ["0.40 ± 0.00"]
    assert not any("other settings" in note for note in table.notes)


def test_another_model_of_the_same_option_has_a_table_of_its_own() -> None:
    run = result({"score": 0.4}, llm="deepseek", llm__model="deepseek/deepseek-flash")
    tables = tables_of(layout(JNK3, llm=("DeepSeek-V3.2",)), run)
    assert texts(tables["table"])[1] == ["—"]
    assert texts(tables["table_deepseek-flash"])[1] == ["0.40"]


def test_a_model_that_is_asked_in_another_way_has_a_table_of_its_own() -> None:
    run = result({"score": 0.4}, llm="litellm", overrides={"llm.model": "a/b", "llm.pools.hot.temperature": 2.0})
    tables = tables_of(layout(JNK3, llm=("b",)), run)
    assert texts(tables["table"])[1] == ["—"]
    assert texts(tables["table_b_llm.pools.hot.temperature=2.0"])[1] == ["0.40"]


def test_columns_of_several_models_are_one_in_a_separate_table() -> None:
    columns = [Column("score", "score", llm=llm, group=group) for llm, group in (("deepseek", "V3"), ("gpt5", "GPT"))]
    about = layout([replace(row, paper=("0.1", "0.2")) for row in JNK3], columns, llm=("deepseek", "gpt5"))
    runs = [result({"score": value}, llm=llm) for llm, value in (("off", 0.4), ("deepseek", 0.5), ("gpt5", 0.6))]
    tables = tables_of(about, *runs)
    assert texts(tables["table"])[1] == ["0.50", "0.60"]
    assert [column.full_title for column in tables["table"].columns] == ["V3: score", "GPT: score"]
    assert texts(tables["table_off"])[1] == ["0.40"]
    assert [column.full_title for column in tables["table_off"].columns] == ["score"]


def test_an_average_over_models_says_which_it_is_over() -> None:
    both = layout(JNK3, llm=("deepseek", "gpt5"))
    table = fill(both, result({"score": 0.4}, llm="litellm", llm__model="a/deepseek"))
    assert "Ours: deepseek (as a/deepseek)." in table.notes
    assert "Of deepseek and gpt5, only deepseek has runs." in table.notes
    table = fill(both, result({"score": 0.4}, llm="deepseek"), result({"score": 0.8}, llm="gpt5"))
    assert texts(table)[1] == ["0.60"]
    assert "Averaged over deepseek and gpt5." in table.notes


def test_a_table_of_settings_takes_runs_of_any_model() -> None:
    runs = [result({"score": 0.4}), result({"score": 0.8}, llm="gpt5", seed=1)]
    table = fill(layout(JNK3, llm=()), *runs)
    assert texts(table)[1] == ["0.60 ± 0.28"]
    assert table.commands == ("evodiverse -m +experiment=these",)


def test_an_average_is_over_the_models_that_all_methods_have() -> None:
    runs = [("pt", "deepseek", 0.2), ("pt", "gpt5", 0.4), ("ensemble", "gpt5", 0.9)]
    results = [equation({"score": score}, method=method, llm=llm) for method, llm, score in runs]
    table = fill(layout(CHEMISTRY, llm=("deepseek", "gpt5")), *results)
    assert texts(table) == [["0.40"], ["0.90"]]
    assert "Left out: 1 run of builtin/reaction1 with deepseek" in " ".join(table.notes)


def test_a_restricted_table_is_about_one_of_its_models() -> None:
    columns = [Column("score", "score", llm=llm, group=llm) for llm in ("deepseek", "gpt5")]
    about = layout([replace(row, paper=("0.1", "0.2")) for row in JNK3], columns, llm=("deepseek", "gpt5"))
    runs = [result({"score": value}, llm=llm) for llm, value in (("deepseek", 0.5), ("gpt5", 0.6))]
    table = tables_of(about, *runs, llm="gpt5")["table"]
    assert texts(table) == [["—"], ["0.60"]]
    assert [line.paper for line in table.lines] == [("0.2",), ("0.2",)]
    assert table.commands == ("evodiverse -m +experiment=these llm=gpt5",)
    average = tables_of(layout(JNK3, llm=("deepseek", "gpt5")), *runs, llm="gpt5")["table"]
    assert "The paper's values are means over deepseek and gpt5." in average.notes


def test_commands_choose_a_model_as_its_runs_did() -> None:
    changed = {"llm.extra.top_k": 5, "llm.model": "a (b)/c"}
    run = result({"score": 1.0}, llm="litellm", overrides=changed)
    tables = tables_of(layout(JNK3, llm=("deepseek",)), run)
    (beside,) = (table for name, table in tables.items() if name.startswith("table_c"))
    assert beside.commands == ("evodiverse -m +experiment=these llm=litellm ++llm.extra.top_k=5 'llm.model=a (b)/c'",)


@pytest.mark.parametrize("llm", ["openai_compatible", "replay"])
def test_commands_ask_for_an_address_that_is_not_recorded(llm: str) -> None:
    run = result({"score": 1.0}, llm=llm, llm__model="mine", overrides={"llm.model": "mine"})
    beside = tables_of(layout(JNK3, llm=("m",)), run)["table_mine"]
    asked = "llm=openai_compatible llm.model=mine llm.api_base=ADDRESS"
    assert beside.commands == (f"evodiverse -m +experiment=these {asked}",)


def test_commands_choose_the_papers_models_as_is_usual() -> None:
    run = result({"score": 1.0}, llm="openai_compatible", overrides={"llm.model": "deepseek-v3.2"})
    table = fill(layout(JNK3, llm=("DeepSeek-V3.2", "GPT-5")), run, llm="DeepSeek-V3.2")
    assert table.commands == ("evodiverse -m +experiment=these llm=deepseek_v32",)


def test_no_command_interpolates_text_from_a_record() -> None:
    run = result({"score": 1.0}, llm="litellm", overrides={"llm.model": "a/b", "llm.extra.user": "${oc.env:HOME}"})
    tables = tables_of(layout(JNK3, llm=("m",)), run)
    (beside,) = (table for name, table in tables.items() if name.startswith("table_b"))
    assert beside.commands == ("evodiverse -m +experiment=these llm=litellm llm.model=a/b",)


def test_models_of_several_hosts_in_one_row_are_noted() -> None:
    runs = [result({"score": 1.0}, llm="deepseek", llm__model=f"host{seed}/m", seed=seed) for seed in (0, 1)]
    assert "Careful: these runs differ in llm.model." in fill(layout(JNK3, llm=("m",)), *runs).notes


def test_a_dash_in_a_row_with_runs_is_explained() -> None:
    columns = [Column("score", "score"), Column("swaps", "swaps")]
    (note,) = fill(layout(JNK3, columns), result({"score": 1.0, "swaps": None})).notes
    assert note.startswith("A dash in a row that has runs means that there is nothing to measure")


# What is mixed


def test_runs_of_one_row_that_differ_in_settings_are_noted() -> None:
    for key, value in {"budget.oracle_calls": 500, "task.oracle": "mine", "method.swap.size": 9}.items():
        other = result({"score": 0.6}, seed=1, **{key.replace(".", "__"): value})
        assert f"Careful: these runs differ in {key}." in fill(layout(JNK3), result({"score": 0.4}), other).notes


def test_rows_of_one_table_that_differ_in_their_budget_are_noted() -> None:
    runs = [result({"score": 0.4}), result({"score": 0.6}, method="molleo", budget__oracle_calls=500)]
    assert "Careful: these runs differ in budget.oracle_calls." in fill(layout(JNK3), *runs).notes


def test_methods_may_have_another_value_of_a_key_of_the_task() -> None:
    runs = [
        result({"score": 0.4}, task__mutation_rate=0.1),
        result({"score": 0.6}, method="molleo", task__mutation_rate=0.3),
    ]
    assert not any("Careful" in note for note in fill(layout(JNK3), *runs).notes)


def test_rows_may_differ_in_what_they_are_about() -> None:
    rows = [replace(JNK3[1], overrides={"task.energy": "raw_mse"}), JNK3[1]]
    runs = [result({"score": 0.4}), result({"score": 0.6}, overrides={"task.energy": "raw_mse"})]
    assert fill(layout(rows), *runs).notes == ()
    assert fill(layout(JNK3), result({"score": 0.4}), result({"score": 0.6}, method="molleo", seed=1)).notes == ()


@pytest.mark.parametrize(
    ("records", "note"),
    [
        ([{"sources": {"oracle": of, "prompts": of}} for of in "01"], "read different data (oracle)"),
        (
            [{"versions": [{"evodiverse": of} for of in some]} for some in ("1", "21")],
            "used different versions of EvoDiverse (1, 2)",
        ),
        (
            [{"versions": [{"evodiverse": "1", "code": of}]} for of in "ab"],
            "used EvoDiverse 1 with different code (code in their run.json)",
        ),
    ],
)
def test_runs_of_different_data_versions_or_code_are_noted(records: list[dict[str, object]], note: str) -> None:
    runs = [result({}, seed=seed, more=more) for seed, more in enumerate(records)]
    assert fill(layout(JNK3), *runs).notes == (f"Careful: these runs {note}.",)


# Equations


def test_a_science_is_filled_by_all_its_problems() -> None:
    scores = {"builtin/reaction1": 0.2, "builtin/reaction2": 0.4, "builtin/aluminium": 0.9, "csv/mine": 0.8}
    table = fill(layout(CHEMISTRY[:1]), *[equation({"score": score}, problem) for problem, score in scores.items()])
    assert texts(table) == [["0.30"]]


def test_methods_of_a_science_stand_on_the_same_problems() -> None:
    runs = [equation({"score": score}, f"builtin/reaction{number}") for number, score in ((1, 0.2), (2, 0.4))]
    table = fill(layout(CHEMISTRY), *runs, equation({"score": 0.9}, "builtin/reaction2", "ensemble"))
    assert texts(table) == [["0.40"], ["0.90"]]
    compared = "so that all methods are compared on the same problems and models"
    assert f"Left out: 1 run of builtin/reaction1 with off, {compared}." in table.notes


def test_an_average_over_models_is_over_the_problems_that_both_have() -> None:
    runs = [("deepseek", 1, 0.2), ("deepseek", 2, 0.4), ("gpt5", 2, 0.8)]
    results = [equation({"score": score}, f"builtin/reaction{number}", llm=llm) for llm, number, score in runs]
    assert texts(fill(layout(CHEMISTRY[:1], llm=("deepseek", "gpt5")), *results)) == [["0.60"]]


def test_columns_of_models_may_stand_on_different_problems() -> None:
    columns = [Column("score", "score", llm=llm) for llm in ("deepseek", "gpt5")]
    runs = [
        ("deepseek", "pt", 1, 0.2),
        ("deepseek", "pt", 2, 0.4),
        ("gpt5", "pt", 2, 0.8),
        ("gpt5", "ensemble", 2, 0.9),
    ]
    results = [
        equation({"score": score}, f"builtin/reaction{number}", method, llm=llm) for llm, method, number, score in runs
    ]
    table = fill(layout(CHEMISTRY, columns, llm=("deepseek", "gpt5")), *results)
    assert texts(table) == [["0.30", "0.80"], ["—", "0.90"]]


def test_a_method_without_runs_does_not_empty_the_others() -> None:
    assert texts(fill(layout(CHEMISTRY), equation({"score": 0.2}))) == [["0.20"], ["—"]]


@pytest.mark.parametrize(("science", "text"), [("chemistry", "0.50"), ("biology", "0.20"), (None, "0.20")])
def test_data_of_a_user_belong_to_the_row_of_their_label(science: str | None, text: str) -> None:
    of_problem = {"task.data.train": "mine.csv", "task.data.target": "y", "task.data.descriptions.y": "rate"}
    mine = equation({"score": 0.8}, "csv/mine", overrides={**of_problem, "task.data.science": science})
    table = fill(layout(CHEMISTRY[:1]), equation({"score": 0.2}), mine)
    assert texts(table) == [[text]]


def test_a_changed_unit_of_errors_is_no_part_of_the_problem() -> None:
    mine = equation({"score": 0.8}, overrides={"task.data.normalize": "none"})
    assert texts(fill(layout(CHEMISTRY[:1]), mine)) == [["—"]]


def test_problems_are_named() -> None:
    runs = [equation({"score": 0.2}, f"builtin/reaction{number}") for number in (1, 2)]
    assert "Ours: 2 problems (builtin/reaction1, builtin/reaction2)." in fill(layout(CHEMISTRY[:1]), *runs).notes


def test_each_way_of_fitting_has_its_rows_and_the_papers_has_its_numbers() -> None:
    rows = [replace(row, paper=("0.7",)) for row in CHEMISTRY]
    runs = [("pt", "lm", 0.2), ("pt", "bfgs", 0.4), ("ensemble", "lm", 0.3)]
    results = [equation({"score": score}, method=method, task__fit=fit) for method, fit, score in runs]
    table = fill(layout(rows, fit="bfgs"), *results)
    assert table.head == ("target", "method", "Fit")
    assert [(line.of[1:], line.cells[0].text, line.paper) for line in table.lines] == [
        (("pt", "bfgs"), "0.40", ("0.7",)),
        (("pt", "lm"), "0.20", ("—",)),
        (("ensemble", "bfgs"), "—", ("0.7",)),
        (("ensemble", "lm"), "0.30", ("—",)),
    ]
    assert table.commands == ("evodiverse -m +experiment=these",)


def test_ways_of_fitting_need_no_problems_in_common() -> None:
    rows = [equation({"score": 0.2}, "builtin/reaction1", method, task__fit="lm") for method in ("pt", "ensemble")]
    table = fill(layout(CHEMISTRY, fit="bfgs"), *rows, equation({"score": 0.4}, "builtin/reaction2"))
    assert texts(table) == [["0.40"], ["0.20"], ["—"], ["0.20"]]


def test_only_what_was_fitted_so_has_rows_in_a_table_of_another_model() -> None:
    run = equation({"score": 0.2}, task__fit="lm", overrides={"task.fit": "lm"})
    table = tables_of(layout(CHEMISTRY, llm=("m",), fit="bfgs"), run)["table_off"]
    assert [line.of[-1] for line in table.lines] == ["lm", "lm"]
    assert texts(table) == [["0.20"], ["—"]]


# Tests of differences


def test_a_comparison_consists_of_pairs() -> None:
    columns = [Column("p", "score", test="permutation"), Column("difference", "score", test="bootstrap")]
    row = Row(("JNK3", "vs. MOLLEO"), "jnk3", "pt", against="molleo")
    runs = [
        result({"score": score + seed / 10}, method=method, seed=seed)
        for method, score in (("pt", 0.6), ("molleo", 0.5))
        for seed in range(3)
    ]
    table = fill(layout([row], columns), *runs, result({"score": 0.0}, seed=9))
    assert texts(table) == [["0.125", "+0.10 [+0.10, +0.10]"]]
    assert table.lines[0].cells[0].n_runs == 3


def test_a_comparison_needs_the_runs_of_both_sides() -> None:
    row = Row(("JNK3", "vs. MOLLEO"), "jnk3", "pt", against="molleo")
    table = fill(layout([row], [Column("p", "score", test="t")]), result({"score": 1.0}))
    assert texts(table) == [["—"]]
    assert table.commands == ("evodiverse -m +experiment=these",)


# Missing runs


def test_commands_fill_missing_runs() -> None:
    assert fill(layout(JNK3, llm=("deepseek",))).commands == ("evodiverse -m +experiment=these",)
    assert fill(layout(JNK3, experiment=None)).commands == ()


def test_no_command_runs_without_a_model_what_needs_one() -> None:
    rows = [*JNK3, Row(("JNK3", "same prompt"), "jnk3", "pt_same_prompt")]
    runs = [result({"score": 0.5}, method=method) for method in ("pt", "molleo")]
    tables = tables_of(layout(rows, llm=("deepseek",)), *runs)
    assert tables["table"].commands == ("evodiverse -m +experiment=these",)
    assert tables["table_off"].commands == ()


# Restrictions


def test_tables_may_be_restricted_to_a_task_and_a_model() -> None:
    rows = [*JNK3, Row(("GSK3β", "EvoDiverse"), "gsk3b", "pt")]
    runs = [result({"score": 0.5}, task, llm=llm) for task in ("jnk3", "gsk3b") for llm in ("off", "deepseek")]
    about = layout(rows, llm=("deepseek",))
    tables = tables_of(about, *runs, task="gsk3b")
    assert [line.of[0] for line in tables["table"].lines] == ["GSK3β"]
    assert [line.of[0] for line in tables["search"].lines] == ["gsk3b", "gsk3b"]
    tables = tables_of(about, *runs, llm="off")
    assert "table" not in tables
    assert texts(tables["table_off"]) == [["—"], ["0.50"], ["0.50"]]
    assert "table" not in tables_of(about, *runs, task="circle_packing")


# Tables of all runs


def test_every_group_of_runs_has_a_row_whatever_its_settings() -> None:
    metrics = {"diverse_top10_full": 0.7, "oracle_calls": 100, "diverse_auc": 0.5}
    runs = [result(metrics, seed=seed) for seed in (0, 1)]
    runs.append(result(metrics, overrides={"method.swap.period": 2, "budget.oracle_calls": 500}))
    table = tables_of(layout(JNK3), *runs)["molecules"]
    assert table.head == ("task", "method", "llm", "overrides", "runs")
    assert [line.of for line in table.lines] == [
        ("jnk3", "pt", "off", "default", "2"),
        ("jnk3", "pt", "off", "method.swap.period=2 budget.oracle_calls=500", "1"),
    ]
    assert texts(table)[0][-2:] == ["0.70 ± 0.00", "100 ± 0"]


def test_equations_are_grouped_by_science_and_own_data_apart() -> None:
    problems = ["builtin/reaction1", "builtin/reaction2", "builtin/aluminium", "csv/mine"]
    runs = [equation({"best_acc": 1.0, "best_nmse": 10.0**at}, problem) for at, problem in enumerate(problems)]
    table = tables_of(layout(JNK3), *runs)["equations"]
    assert [line.of for line in table.lines] == [
        ("chemistry", "pt", "off", "bfgs", "default", "2", "2"),
        ("csv/mine", "pt", "off", "bfgs", "default", "1", "1"),
        ("materials", "pt", "off", "bfgs", "default", "1", "1"),
    ]
    column = [column.title for column in table.columns].index("best NMSE ↓")
    assert texts(table)[0][column] == "5.5e+00"  # the median of 1 and 10


def test_tables_without_runs_are_not_written() -> None:
    assert list(tables_of(layout(JNK3))) == ["table"]


def test_all_tables_of_the_paper_can_be_filled_from_nothing() -> None:
    tables = build_tables([], [])
    assert len(tables) == 25
    assert all(table.commands or table.name == "docking_top10" for table in tables)
    assert not any(table.n_filled for table in tables)


def test_no_command_is_offered_that_would_not_fill_the_table() -> None:
    (docking,) = (table for table in build_tables([], []) if table.name == "docking_top10")
    assert docking.commands == ()
    assert any("needs a docking/ dataset in the run" in note for note in docking.notes)
