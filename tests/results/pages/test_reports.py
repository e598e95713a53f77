"""Pages agree with the logs that they show, are complete and small, and are written once."""

import html
import os
import random
import re
import shutil
from math import sqrt
from pathlib import Path

import pytest

from evodiverse.results.pages.one_run import find_lineage, read_history, report_run
from evodiverse.results.pages.rendering import BOTTOM, LEFT, RIGHT, TOP, Line, find_ticks, plan_chart
from evodiverse.results.pages.writing import Curve, average, report_comparison, write_reports
from evodiverse.results.statistics import t_interval
from evodiverse.results.summary import compare, differing_keys
from evodiverse.runlog.datasets import DATASETS
from evodiverse.runlog.runs import Run, read_record
from tests.results.builders import initial_row, write_parts, write_record, write_staged
from tests.results.pages.runs import PLANTED, write_planted
from tests.runs import run_toy


def run_of(path: Path) -> Run:
    return Run(path, read_record(path / "run.json"))


def test_a_page_holds_no_markup_of_others_and_loads_nothing(tmp_path: Path) -> None:
    page = report_run(read_history(run_of(write_planted(tmp_path / "run"))))
    assert PLANTED not in page
    assert "&lt;script&gt;window.planted=1" in page
    assert "default-src 'none';" in html.unescape(page)
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page)


def test_the_table_of_candidates_has_the_values_of_the_objectives_components(tmp_path: Path) -> None:
    page = report_run(read_history(run_of(write_planted(tmp_path / "run"))))
    (listed,) = re.findall(r"<table[^>]*>(?:(?!</table>).)*>candidate<.*?</table>", page, re.DOTALL)
    headings = [re.sub("<.*?>", "", each) for each in re.findall(r"<th.*?>(.*?)</th>", listed, re.DOTALL)]
    second = re.findall(r"<tr.*?>(.*?)</tr>", listed, re.DOTALL)[2]
    cells = [re.sub("<.*?>", "", each) for each in re.findall(r"<td.*?>(.*?)</td>", second, re.DOTALL)]
    assert dict(zip(headings, cells, strict=True))["likeness_raw"] == "0.4062"
    assert 'data-value="0.40625"' in second


def test_the_candidates_that_the_domain_names_come_first_and_each_has_one_card(tmp_path: Path) -> None:
    page = report_run(read_history(run_of(write_planted(tmp_path / "run"))))
    assert re.findall('<section id="([^"]*)"', page)[:2] == ["first", "settings"]
    first, rest = page.split("</section>", 1)
    assert re.findall('<article id="([^"]*)"', first) == ["call-2", "call-1"]  # call 3 is no molecule
    assert re.findall('<article id="([^"]*)"', rest) == ["call-3"]
    assert set(re.findall('href="#([^"]*)"', page)) <= set(re.findall(' id="([^"]*)"', page))


def test_the_chosen_equation_comes_first_and_its_files_are_text(tmp_path: Path) -> None:
    write_record(tmp_path, task__domain="evodiverse.tasks.equations")
    equations = [f"def equation(x, params):\n    return params[0] * x ** {call}\n" for call in (1, 2)]
    attempts = [initial_row(call, text, call / 10) for call, text in enumerate(equations, start=1)]
    write_parts(tmp_path, "evaluations", [[{**row, "genotype": row["key"]} for row in attempts]])
    for name in DATASETS.keys() - {"evaluations"}:
        write_parts(tmp_path, name, [[]])
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "equation.json").write_text('{"call": 1, "nmse_held": 0.125}')
    (tmp_path / "best" / "hall_of_fame.csv").write_text(f'complexity,equation,chosen\n3,"{PLANTED}",1\n')
    page = report_run(read_history(run_of(tmp_path)))
    first, rest = page.split("</section>", 1)
    assert re.findall('<article id="([^"]*)"', first) == ["call-1"]
    assert re.findall('<article id="([^"]*)"', rest) == ["call-2"]
    assert "0.125 on held-back rows" in first
    assert PLANTED not in page
    assert PLANTED in html.unescape(first)


def test_a_program_has_its_own_columns_and_its_code_on_its_card_and_is_folded_if_long(tmp_path: Path) -> None:
    write_record(tmp_path, task__domain="evodiverse.tasks.programs")
    code = ["a = 1\n", "\n".join(f"a{number} = '<b>'" for number in range(50))]
    attempts = [initial_row(call, text, 1 / call) for call, text in enumerate(code, start=1)]
    write_parts(tmp_path, "evaluations", [[{**row, "genotype": row["key"], "tour_length": 12.5} for row in attempts]])
    for name in DATASETS.keys() - {"evaluations"}:
        write_parts(tmp_path, name, [[]])
    page = report_run(read_history(run_of(tmp_path)))
    short, long = re.findall("<article.*?</article>", page, re.DOTALL)
    assert "<dt>tour_length</dt><dd>12.5</dd>" in short
    assert '<pre tabindex="0">a = 1</pre>' in short
    assert "<details>" not in short
    shown, folded = long.split("<details>")
    assert "a19 = &#39;&lt;b&gt;&#39;</pre>" in shown
    assert "Text (50 lines)" in folded
    assert "a49 = &#39;&lt;b&gt;&#39;</pre>" in folded
    assert page.count(">tour_length</button>") == 1


def test_feedback_output_and_stages_of_programs_are_shown_as_text(tmp_path: Path) -> None:
    write_staged(tmp_path)
    page = report_run(read_history(run_of(tmp_path)))
    assert page.count('<summary>Feedback</summary><pre tabindex="0">&lt;b&gt;') == 2  # the card and the lineage
    assert page.count('<summary>Output</summary><pre tabindex="0">oh</pre>') == 2  # the card and the errors
    assert "<b>" not in page
    (stages,) = re.findall(r'aria-label="stages">.*?</table>', page, re.DOTALL)
    assert re.findall(r"<td[^>]*>(.*?)</td>", stages) == ["quick", "2", "1", "0.75", "full", "1", "0", "3"]


def test_a_run_that_has_no_rows_yet_has_a_report(tmp_path: Path) -> None:
    write_record(tmp_path, "running")
    page = report_run(read_history(run_of(tmp_path)))
    assert "running or killed" in page
    assert "No candidate has a score yet." in page


def test_a_run_of_a_domain_that_draws_nothing_has_a_report(tmp_path: Path) -> None:
    path = run_toy(tmp_path, "method=pt3", "budget.oracle_calls=60", "task.length=8", "method.swap.period=1")
    history = read_history(run_of(path))
    page = report_run(history)
    assert history.view is None
    assert f"{history.log.n_calls:,} of 60" in page
    assert "Swaps accepted" in page


def test_the_lineage_goes_by_the_best_parent_and_ends_at_the_start() -> None:
    def row(call: int, score: float | None, *parents: int) -> dict[str, object]:
        return {"call": call, "score": score, "parents": list(parents)}

    by_call = {1: row(1, 0.1), 2: row(2, 0.5), 3: row(3, None), 4: row(4, 0.6, 1, 2, 3), 5: row(5, 0.9, 4, 5, 9)}
    assert [step["call"] for step in find_lineage(by_call, 5)] == [5, 4, 2]


@pytest.mark.parametrize(
    ("low", "high", "ticks"), [(0, 10, [0, 2, 4, 6, 8, 10]), (-1, 1, [-1, -0.5, 0, 0.5, 1]), (3.1, 3.2, None)]
)
def test_ticks_are_round_and_lie_within(low: float, high: float, ticks: list[float] | None) -> None:
    found = find_ticks(low, high)
    assert 3 <= len(found) <= 7
    assert low - 1e-9 <= found[0] < found[-1] <= high + 1e-9
    assert ticks is None or found == pytest.approx(ticks)


@pytest.mark.parametrize("value", [0.0, -3.5, 1e-300, 1e300])
def test_a_single_value_is_drawn(value: float) -> None:
    chart = plan_chart("t", "x", "y", [Line("a", [(1.0, value)])])
    ((_, placed, _),) = chart["lines"]
    assert placed == [(pytest.approx((LEFT + RIGHT) / 2), pytest.approx((TOP + BOTTOM) / 2))]
    assert all(TOP <= y <= BOTTOM for y, _ in chart["y_ticks"])


def test_the_interval_is_that_of_students_t() -> None:
    half = t_interval([1.0, 2.0, 3.0]).high - 2.0
    assert half == pytest.approx(4.302652729911275 / sqrt(3))  # the table's t(0.975, 2)


def test_curves_are_averaged_where_all_of_them_have_values(tmp_path: Path) -> None:
    write_record(tmp_path)
    run = run_of(tmp_path)
    line = average("x", [Curve(run, [(1.0, 0.0), (50.0, 1.0)], 100, 1.0), Curve(run, [(31.0, 3.0)], 60, 3.0)])
    assert line.points[0] == (31.0, 1.5)
    assert line.points[-1] == (60.0, 2.0)
    assert line.band[-1][1:] == t_interval([1.0, 3.0])[1:]


def test_a_comparison_has_a_section_for_each_subject_even_if_their_titles_are_the_same(tmp_path: Path) -> None:
    write_record(tmp_path / "older", task__name="cap_set")
    write_record(tmp_path / "newer", task__name="cap_set", task__evaluator="cap_set")
    curves = [Curve(run_of(tmp_path / name), [(1.0, 0.5)], 9, 0.5) for name in ("older", "newer")]
    page = report_comparison(curves, tmp_path)
    assert set(re.findall(r'id="(subject-\d+)"', page)) == {"subject-1", "subject-2"}


def test_runs_are_told_apart_by_what_differs_and_sorted_by_best(tmp_path: Path) -> None:
    write_record(tmp_path / "a", overrides={"method.capacity": 7})
    write_record(tmp_path / "b", seed=1)
    runs = [run_of(tmp_path / name) for name in "ab"]
    assert differing_keys(runs) == ["method.capacity", "seed"]
    compared = compare(runs, [None, 0.5])
    assert [one.run.path.name for one in compared] == ["b", "a"]
    assert compared[1].differing == {"method.capacity": "7", "seed": "0"}


def test_a_folder_gets_a_list_of_all_its_runs_and_a_report_is_written_once(tmp_path: Path) -> None:
    write_record(tmp_path / "a", seed=1)
    write_record(tmp_path / "b" / "c")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "run.json").write_text("{")
    pages, errors = write_reports([tmp_path])
    assert pages == [tmp_path / "a" / "report.html", tmp_path / "b" / "c" / "report.html", tmp_path / "index.html"]
    assert len(errors) == 1
    index = (tmp_path / "index.html").read_text()
    assert 'href="a/report.html"' in index
    assert 'href="b/c/report.html"' in index
    assert "Damaged" in index
    assert write_reports([tmp_path])[0] == [tmp_path / "index.html"]
    later = (tmp_path / "a" / "report.html").stat().st_mtime_ns + 10**9
    os.utime(tmp_path / "a" / "run.json", ns=(later, later))
    assert write_reports([tmp_path])[0] == [tmp_path / "a" / "report.html", tmp_path / "index.html"]


def test_the_list_of_runs_has_one_heading_and_starts_each_row_with_a_name_that_is_the_link(tmp_path: Path) -> None:
    write_record(tmp_path / "a", overrides={"method.capacity": 7})
    write_record(tmp_path / "b", seed=1)
    index = write_reports([tmp_path])[0][-1].read_text()
    assert re.findall("<h[1-6].*?>(.*?)</h", index) == ["Runs"]
    rows = re.findall("<tr>(.*?)</tr>", index, re.DOTALL)
    assert [re.findall("<button.*?>(.*?)</button>", row) for row in rows[:1]] == [
        ["run", "best", "calls", "status", "started"]
    ]
    first = [re.findall(r'^\s*<td><a href="(.*?)">(.*?)</a></td>', row) for row in rows[1:]]
    assert first == [
        [("a/report.html", "jnk3 · pt · off · method.capacity=7 · seed 0")],
        [("b/report.html", "jnk3 · pt · off · seed 1")],
    ]


def test_runs_that_are_given_by_name_are_compared_and_a_copy_is_no_further_seed(tmp_path: Path) -> None:
    paths = [run_toy(tmp_path, "budget.oracle_calls=40", "task.length=8", f"seed={seed}") for seed in (1, 2)]
    paths.append(shutil.copytree(paths[0], tmp_path / "copy"))
    pages, errors = write_reports(paths)
    assert errors == []
    assert [page.name for page in pages] == [*["report.html"] * 3, "comparison.html"]
    page = pages[-1].read_text()
    best = [max(read_history(run_of(path)).log.scores.values()) for path in paths]
    assert "(n = 2)" in page
    assert "Left out: 1 run that repeats or replays another run." in page
    assert all(f'data-value="{score!r}"' in page for score in best)
    part = paths[0] / "screened/part-000000.parquet"
    part.write_bytes(part.read_bytes().replace(b"cpp", b"cqp"))
    for given in (paths, [tmp_path]):  # a report that is written again, and one that is kept
        (error,) = write_reports(given)[1]
        assert f"{part} is damaged (its content has changed)" in error


def test_ten_thousand_calls_fit_into_five_megabytes(tmp_path: Path) -> None:
    """Programs with long prompts and replies, each bred from the one before."""
    write_record(tmp_path, task__domain="evodiverse.tasks.programs", budget__oracle_calls=10_000)
    rng = random.Random(1)  # noqa: S311
    evaluations = []
    for call in range(1, 10_001):
        text = "\n".join(f"x{rng.randrange(10**6)} = {rng.random()}" for _ in range(100 if call > 9_900 else 1))
        evaluations.append({"iteration": call // 10, "pool": 0, "outcome": "evaluated", "call": call, "genotype": text})
        evaluations[-1] |= {"key": text, "score": call / 10_000, "operator": "llm", "valid": True, "llm_call": call}
        evaluations[-1] |= {"parents": [call - 1] if call > 1 else []}
    said = {"pool": 0, "model": "m", "cached": False, "outcome": "parsed", "iteration": 0, "prompt": "p" * 30_000}
    for name in DATASETS:
        write_parts(tmp_path, name, [[]])
    write_parts(tmp_path, "evaluations", [evaluations])
    write_parts(
        tmp_path, "llm_calls", [[{**said, "llm_call": call, "reply": "r" * 9_000} for call in range(9_900, 10_001)]]
    )
    page = report_run(read_history(run_of(tmp_path)))
    assert "more steps" in page
    assert len(page.encode()) < 5_000_000
