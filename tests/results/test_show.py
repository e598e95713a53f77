"""What is shown of a run agrees with its log, whatever its status, and however little of it there is."""

import html
import io
import json
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from evodiverse.commands import show
from evodiverse.errors import InputError, Interrupted, ServiceError
from evodiverse.results.grouping import thin
from evodiverse.results.pages.one_run import read_history, report_run
from evodiverse.results.show import print_run
from evodiverse.results.summary import best_candidates, best_so_far, errors_by_reason, swaps_by_pools, tell_apart
from evodiverse.runlog.runs import Run, find_records, read_record
from tests.results.builders import SETTINGS, columns, evaluated_row, write_parts, write_record, write_run, write_staged
from tests.runs import rows, run_toy, stop_after

SMALL = ("budget.oracle_calls=120", "method.offspring=8", "method.capacity=8", "method.swap.period=1", "task.length=8")


def printed(path: Path, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    print_run(path, console)
    return console.file.getvalue()


def section(text: str, title: str) -> list[list[str]]:
    """The words of each line below a title."""
    _, _, rest = text.partition(f"\n{title}\n")
    return [line.split() for line in rest.split("\n\n")[0].splitlines()]


def fact(text: str, name: str) -> str:
    found, *_ = re.findall(rf"^{name}  +(.*?) *$", text, flags=re.MULTILINE)
    return found


def edit_record(path: Path, **changes: object) -> None:
    record = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(record | changes))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_toy(tmp_path_factory.mktemp("runs"), "method=pt3", *SMALL, "seed=3")


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / run.parent.name / run.name))


# What a run is


def test_what_a_task_chooses_is_shown_as_its_file_says(copy: Path) -> None:
    assert "chosen" not in printed(copy)
    (copy / "best" / "chosen.txt").write_text("y = 3 * x  (held-back NMSE 0.1)\n")
    assert fact(printed(copy), "chosen") == "y = 3 * x  (held-back NMSE 0.1)"
    (copy / "best" / "chosen.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"chosen\.txt cannot be read .*; move it away"):
        printed(copy)


def test_the_first_lines_say_which_run_it_is_and_how_it_ended(run: Path) -> None:
    text = printed(run)
    assert text.splitlines()[0] == str(run)
    assert fact(text, "status") == "complete, stopped by budget"
    assert fact(text, "run") == "task bits, method pt3, llm off, seed 3"
    assert fact(text, "pools") == "0 at β = 0.8, 1 at β = 0.4, 2 at β = 0.2"


def test_provenance_is_that_of_the_record(run: Path) -> None:
    text, record = printed(run, width=200), json.loads((run / "run.json").read_text())
    assert fact(text, "started") == record["started"]
    assert fact(text, "data") == "oracle a…, code (6 files)"
    assert fact(text, "seconds") == ", ".join(f"{name} {value:,.1f} s" for name, value in record["seconds"].items())
    assert fact(text, "versions") == ", ".join(f"{name} {is_}" for name, is_ in record["versions"][0].items())


def test_a_commit_is_short_and_says_whether_files_were_changed(tmp_path: Path) -> None:
    write_record(tmp_path)
    long, dirty = "0123456789abcdef" * 2, "0123456789abcdef-dirty"
    for commit, shown in {long: "0123456789ab", dirty: "0123456789ab-dirty", None: "unknown"}.items():
        edit_record(tmp_path, git_commit=commit)
        assert fact(printed(tmp_path), "git commit") == shown


def test_a_session_with_other_versions_has_a_line_of_its_own(copy: Path) -> None:
    edit_record(copy, versions=[{"numpy": "2.0"}, {"numpy": "2.1"}])
    assert re.search(r"^versions +numpy 2.0 *\n +numpy 2.1 *$", printed(copy), flags=re.MULTILINE)


def test_a_feature_space_and_an_earlier_run_are_told(run: Path, tmp_path: Path) -> None:
    assert "features" not in printed(run)
    words = ["search.features={n_ones: [0, 8]}", f"task.initial.run='{run}'", "task.initial.best=2"]
    later = run_toy(tmp_path, "budget.oracle_calls=30", "task.length=8", *words)
    text = printed(later, width=300)
    assert re.match(r"n_ones: \d\.\d% of 400 cells covered, QD score \d", fact(text, "features"))
    best = [str(row["call"]) for row in best_candidates(columns(rows(run, "evaluations")), 2)]
    assert fact(text, "started from") == f"{run}: calls {', '.join(best)}"
    page = report_run(read_history(Run(later, read_record(later / "run.json"))))
    assert all(fact(text, name) in html.unescape(page) for name in ("features", "started from"))


# In what it differs from the defaults


def test_changed_settings_have_a_line_each(run: Path) -> None:
    lines = printed(run).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("changed"))
    assert [line.split()[-1] for line in lines[first : first + len(SMALL)]] == sorted(SMALL)


def test_a_run_without_changed_settings_says_so_and_so_does_one_for_which_they_are_not_known(tmp_path: Path) -> None:
    run = run_toy(tmp_path)
    assert fact(printed(run), "changed") == "nothing"
    record = json.loads((run / "run.json").read_text())
    del record["overrides"]
    (run / "run.json").write_text(json.dumps(record))
    assert fact(printed(run), "changed") == "unknown: written by an older version"


def test_the_command_is_quoted_as_for_a_shell_and_that_of_a_baseline_starts_one(copy: Path) -> None:
    (copy / ".hydra" / "overrides.yaml").write_text("- task=bits\n- method.ladder=[0.8,0.2]\n")
    assert fact(printed(copy), "command") == "evodiverse task=bits 'method.ladder=[0.8,0.2]'"
    (copy / ".hydra" / "overrides.yaml").write_text("- --engine=gplearn\n- seed=1\n")
    assert fact(printed(copy), "command") == "evodiverse-baseline --engine=gplearn seed=1"
    shutil.rmtree(copy / ".hydra")
    assert fact(printed(copy), "command") == "unknown: no .hydra folder"


HYDRA = """\
hydra:
  runtime:
    cwd: /home/me
    config_sources: [{path: hydra.conf, provider: hydra}, {path: /home/my options, provider: command-line}]
  overrides: {hydra: ["hydra.mode=RUN", "hydra.searchpath=[file:///more]"], task: []}
"""


def test_the_command_has_the_folders_of_the_users_own_options(copy: Path) -> None:
    (copy / ".hydra" / "overrides.yaml").write_text("- task=mine\n")
    (copy / ".hydra" / "hydra.yaml").write_text(HYDRA)
    text = printed(copy, width=1000)
    expected = "evodiverse --config-dir '/home/my options' 'hydra.searchpath=[file:///more]' task=mine"
    assert (fact(text, "command"), fact(text, "started in")) == (expected, "/home/me")


# How it went, counted independently of what is tested


def test_totals_are_those_of_the_log(run: Path) -> None:
    text, log = printed(run), [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated"]
    assert fact(text, "oracle calls") == f"{len(log)} of 120, {sum(row['score'] is None for row in log)} failed"
    assert fact(text, "iterations") == str(rows(run, "populations")[-1]["iteration"])


def test_attempts_are_counted_by_outcome_with_shares_of_all(run: Path) -> None:
    log = Counter(row["outcome"] for row in rows(run, "evaluations"))
    lines = section(printed(run), "attempts, including the initial ones")[1:]
    assert lines == [
        [outcome, str(log[outcome]), f"{100 * log[outcome] / log.total():.1f}%"]
        for outcome in ("evaluated", "reused", "duplicate", "rejected")
    ]
    assert log["rejected"] > 0
    assert log["duplicate"] > 0


def test_the_ten_best_are_those_of_the_log(run: Path) -> None:
    log = [row for row in rows(run, "evaluations") if row["outcome"] == "evaluated" and row["score"] is not None]
    best = sorted(log, key=lambda row: row["score"], reverse=True)[:10]
    shown = [
        (float(score), int(iteration), int(pool), genotype)
        for score, iteration, pool, genotype in section(printed(run), "best")[2:]
    ]
    assert shown == [
        (pytest.approx(row["score"], abs=1e-6), row["iteration"], row["pool"], row["genotype"]) for row in best
    ]


def test_the_older_of_two_with_one_score_comes_first() -> None:
    log = [evaluated_row(0, call, "k", 0.5) | {"genotype": "g"} for call in (2, 1, 3)]
    assert [row["call"] for row in best_candidates(columns(log))] == [1, 2, 3]


def test_best_so_far_never_falls_and_begins_with_the_first_score() -> None:
    scores = [(0, None), (1, 0.2), (1, 0.3), (2, None), (3, 0.1), (4, 0.9)]
    log = [evaluated_row(iteration, 1, "k", score) for iteration, score in scores]
    assert best_so_far(columns(log)) == [0.3, 0.3, 0.3, 0.9]


def test_swaps_are_counted_by_rungs(run: Path) -> None:
    log = rows(run, "swaps")
    lines = section(printed(run), "exchange")[1:-1]
    expected = []
    for cold in (0, 1):
        pairs = [row for row in log if row["cold_pool"] == cold]
        tried = [row for row in pairs if not row["blocked"]]
        accepted = [row for row in tried if row["log_u"] <= row["log_accept"]]
        counts = [len({row["iteration"] for row in pairs}), len(tried), len(accepted)]
        rate = f"{len(accepted) / len(tried):.3f}"
        expected.append([str(cold), "⇄", str(cold + 1), *map(str, counts), rate, str(len(pairs) - len(tried))])
    assert lines == expected
    assert any(row["blocked"] for row in log)


def test_a_swap_that_was_blocked_was_not_tried() -> None:
    pair = {"iteration": 5, "cold_pool": 0, "hot_pool": 1}
    log = [pair | {"accepted": accepted, "blocked": blocked} for accepted, blocked in [(1, 0), (0, 0), (0, 1), (0, 0)]]
    assert swaps_by_pools(columns(log)).lines == [("0 ⇄ 1", 1, 3, 1, pytest.approx(1 / 3), 1)]


def test_xi_goes_from_its_first_value_to_its_last(run: Path) -> None:
    first, last = rows(run, "swaps")[0]["xi"], rows(run, "adaptation")[-1]["xi"]
    assert section(printed(run), "exchange")[-1][:4] == ["ξ", f"{first:.4g}", "→", f"{last:.4g}"]
    assert first != last


def test_an_exchange_that_met_an_empty_pool_has_no_swaps_to_show(tmp_path: Path) -> None:
    write_record(tmp_path)
    write_parts(tmp_path, "evaluations", [[evaluated_row(0, 1, "k", 0.5) | {"genotype": "C"}]])
    write_parts(tmp_path, "adaptation", [[{"iteration": 5, "cold_pool": 0, "hot_pool": 1, "xi": 2.5, "tried": 0}]])
    assert section(printed(tmp_path), "exchange") == [["ξ", "2.5", "→", "2.5", "▁"]]


def test_migrations_are_counted_by_direction(tmp_path: Path) -> None:
    path = run_toy(tmp_path, "method=island", *SMALL)
    log = Counter(row["from_pool"] for row in rows(path, "migrations"))
    events = len({row["iteration"] for row in rows(path, "migrations")})
    (line,) = section(printed(path), "exchange")
    assert " ".join(line) == f"{log.total()} migrations in {events} events (0 → 1: {log[0]}, 1 → 0: {log[1]})"


@pytest.mark.parametrize(("method", "shown"), [("molleo", "none (method.swap.rule=none)"), ("random_swap", "1.000")])
def test_a_rule_without_xi_shows_none(tmp_path: Path, method: str, shown: str) -> None:
    lines = section(printed(run_toy(tmp_path, f"method={method}", *SMALL)), "exchange")
    assert shown in " ".join(lines[-1])
    assert "ξ" not in str(lines)


def test_errors_are_counted_by_their_reason_with_an_example(run: Path) -> None:
    log = [row for row in rows(run, "evaluations") if row["outcome"] == "rejected"]
    counts = Counter(row["error"].split(":")[0] for row in log)
    lines = [line for line in section(printed(run), "errors")[1:] if line[1] != "0"]
    assert {line[0]: line[1:3] for line in lines} == {kind: [str(n), "0"] for kind, n in counts.items()}
    (example,) = [line for line in lines if line[0] == "unparsable"]
    first = next(row for row in log if row["error"].startswith("unparsable"))
    assert example[3:] == ["9", "characters", first["genotype"]]


def test_failed_evaluations_are_distinguished_from_rejected_attempts(tmp_path: Path) -> None:
    failed = [evaluated_row(0, call, "k", None) | {"error": "non_finite: NaN", "genotype": "C"} for call in (1, 2)]
    rejected = {"iteration": 0, "outcome": "rejected", "genotype": "((", "error": "unparsable"}
    write_record(tmp_path)
    write_parts(tmp_path, "evaluations", [[*failed, rejected]])
    text = printed(tmp_path)
    assert fact(text, "oracle calls") == "2 of 12, 2 failed"
    assert section(text, "best") == [["no", "candidate", "has", "a", "score", "yet"]]
    assert section(text, "errors")[1:] == [
        ["non_finite", "0", "2", "NaN", "C"],
        ["unparsable", "1", "0", "(("],
    ]


def test_a_failed_evaluation_proposed_again_is_counted_once() -> None:
    failed = {**evaluated_row(0, 1, "k", None), "valid": False, "error": "non_finite", "genotype": "C"}
    (line,) = errors_by_reason(columns([failed, {**failed, "outcome": "reused", "call": None}])).lines
    assert line == ("non_finite", 0, 1, "", "C")


@pytest.mark.parametrize("n_values", [1, 5, 6, 31, 1000])
def test_a_long_curve_is_thinned_to_its_ends_and_what_lies_evenly_between(n_values: int) -> None:
    thinned = thin(range(n_values), 5)
    assert (len(thinned), thinned[0], thinned[-1]) == (min(n_values, 5), 0, n_values - 1)
    assert thinned == sorted(set(thinned))


# Any domain, any width


@pytest.mark.parametrize("width", [40, 60, 120])
def test_no_line_but_the_path_is_wider_than_the_terminal(run: Path, width: int) -> None:
    assert max(len(line) for line in printed(run, width).splitlines()[1:]) <= width


@pytest.mark.parametrize("width", [40, 60, 120])
def test_a_genotype_that_does_not_fit_is_cut_and_the_numbers_before_it_are_not(tmp_path: Path, width: int) -> None:
    write_record(tmp_path)
    write_parts(tmp_path, "evaluations", [[evaluated_row(0, 1, "k", 0.123456) | {"genotype": "C" * 200, "pool": 1}]])
    *numbers, genotype = section(printed(tmp_path, width), "best")[2]
    assert numbers == ["0.123456", "0", "1"]
    assert re.fullmatch("C+…", genotype)


@pytest.mark.parametrize(
    ("genotype", "shown"),
    [
        ("\n  def pack():\n      pass\n      return 1\n", "def pack(): …"),
        ("def equation(x, params):\n    return params[0] * x\n", "return params[0] * x"),
        ("C[NH2+][/]C:o:[red]", "C[NH2+][/]C:o:[red]"),
        ("\x1b[31mC\x07", "�[31mC�"),
        ("", ""),
    ],
)
def test_a_genotype_is_shown_as_its_first_line_and_never_as_markup(tmp_path: Path, genotype: str, shown: str) -> None:
    write_record(tmp_path, task__domain="programs")
    write_parts(tmp_path, "evaluations", [[evaluated_row(0, 1, "k", 0.5) | {"genotype": genotype}]])
    assert " ".join(section(printed(tmp_path), "best")[2]) == f"0.5 0 all {shown}".rstrip()


def test_the_molecules_that_differ_come_before_the_best_by_score(tmp_path: Path) -> None:
    scores = {"c1ccccc1CCO": 0.9, "c1ccccc1CCCO": 0.8, "CC(=O)N(C)C": 0.6, "C1CCSC1": 0.2}
    path = write_run(tmp_path / "run", scores, [[[1], [2]]]).path
    write_parts(path, "evaluations", [[{**row, "genotype": row["key"]} for row in rows(path, "evaluations")]])
    text = printed(path)
    assert "3 are hits (score of at least 0.5), in 2 clusters" in " ".join(text.split())
    (_, *shown) = section(text, "best different molecules")[-4:]
    assert [line[-1] for line in shown] == ["c1ccccc1CCO", "CC(=O)N(C)C", "C1CCSC1"]
    assert text.index("best different molecules") < text.index("\nbest\n")


def test_the_chosen_equation_and_the_front_come_before_the_best_by_score(tmp_path: Path) -> None:
    write_record(tmp_path, task__domain="evodiverse.tasks.equations")
    forms = [f"def equation(x, params):\n    return params[0] * x ** {power}\n" for power in (2, 3)]
    attempts = [evaluated_row(0, call, form, call / 10) | {"genotype": form} for call, form in enumerate(forms, 1)]
    write_parts(tmp_path, "evaluations", [[row | {"nmse_held": 0.25} for row in attempts]])
    (tmp_path / "best").mkdir()
    (tmp_path / "best/equation.json").write_text('{"call": 1, "nmse_held": 0.25}')
    (tmp_path / "best/hall_of_fame.csv").write_text("complexity,nmse_held,call,equation\n3,0.25,12345,\x1b[31mx\n")
    note, names, chosen, _, _, front = section(printed(tmp_path, 200), "chosen equation")
    assert " ".join(note) == "The error (NMSE) of the chosen equation is 0.25 on held-back rows."
    assert names == ["score", "nmse_held", "iteration", "pool", "genotype"]
    assert " ".join(chosen) == "0.1 0.25 0 all return params[0] * x ** 2"
    assert front == ["3", "0.25", "12345", "�[31mx"]


def test_programs_have_the_columns_of_their_evaluator_and_the_lines_that_differ(tmp_path: Path) -> None:
    write_record(tmp_path, task__domain="evodiverse.tasks.programs")
    code = [f'"""Pack."""\nimport numpy\nN = {call}\n' for call in (1, 2)]
    attempts = [evaluated_row(0, call, text, call / 10) | {"genotype": text} for call, text in enumerate(code, 1)]
    write_parts(tmp_path, "evaluations", [[row | {"sum_radii": 2.5} for row in attempts]])
    _, names, *lines = section(printed(tmp_path), "best")
    assert names == ["score", "sum_radii", "iteration", "pool", "genotype"]
    assert [" ".join(line) for line in lines] == ["0.2 2.5 0 all N = 2", "0.1 2.5 0 all N = 1"]


def test_feedback_output_and_stages_of_programs_are_shown(tmp_path: Path) -> None:
    write_staged(tmp_path)
    text = printed(tmp_path)
    assert section(text, "best")[4:] == [["feedback", "of", "call", "1:"], ["<b>"], ["�[31m"]]
    assert section(text, "stages")[1:] == [["quick", "2", "1", "0.75"], ["full", "1", "0", "3"]]
    assert section(text, "errors")[1][:3] == ["below_threshold", "0", "1"]
    assert section(text, "errors")[2:] == [["output", "of", "call", "2:"], ["oh"]]


def test_programs_are_told_apart_by_the_lines_that_not_all_of_them_have() -> None:
    first, second = "import x\na = 1\nb = 2\n", "import x\na = 3\nb = 2\nc = 4\n"
    assert tell_apart([first, second, first, None, "a line"]) == ["a = 1", "a = 3\nc = 4", "a = 1", "", "a line"]
    assert tell_apart([first, first]) == [first.strip()] * 2


# Any status


def test_a_run_that_has_only_just_started_says_so(tmp_path: Path) -> None:
    write_record(tmp_path, status="running")
    text = printed(tmp_path)
    assert fact(text, "status") == "running or killed"
    assert fact(text, "seconds") == "recorded when it ends"
    assert fact(text, "iterations") == "none logged yet"


@pytest.mark.slow
@pytest.mark.usefixtures("written_at_once")
def test_a_run_is_shown_after_each_of_its_commits(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(commits: int) -> None:
        (record,) = find_records(tmp_path)
        seen.append(fact(printed(record.parent), "iterations"))

    display = stop_after(0)
    display._after = look
    run_toy(tmp_path, "method=pt", *SMALL, display=display)
    assert seen == [str(number) for number in range(len(seen))]
    assert len(seen) > 3


def test_an_interrupted_run_is_shown_up_to_its_last_commit(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="SIGINT"):
        run_toy(tmp_path, "method=pt", *SMALL, display=stop_after(2))
    (record,) = find_records(tmp_path)
    text = printed(record.parent)
    assert fact(text, "status") == "interrupted"
    assert fact(text, "iterations") == str(json.loads(record.read_text())["totals"]["iterations"])


@pytest.mark.parametrize(
    ("spoiled", "iterations", "error"),
    [
        ("failing", "0", "every initial candidate failed"),
        ("oracle", "none logged yet", "the toy oracle is spoiled"),
    ],
)
def test_a_failed_run_says_with_what(tmp_path: Path, spoiled: str, iterations: str, error: str) -> None:
    with pytest.raises((InputError, ServiceError), match=error):
        run_toy(tmp_path, "method=pt", *SMALL, f"task.spoiled={spoiled}")
    (record,) = find_records(tmp_path)
    text = printed(record.parent, width=1000)
    assert (fact(text, "status"), fact(text, "iterations")) == ("failed", iterations)
    assert fact(text, "seconds").startswith("wall" if iterations == "0" else "none recorded")
    assert error in fact(text, "error")


def test_seconds_of_a_running_run_are_those_of_earlier_sessions(copy: Path) -> None:
    edit_record(copy, status="running", seconds={"wall": 1234.56})
    assert fact(printed(copy), "seconds") == "wall 1,234.6 s (before it was resumed)"


def test_a_part_that_is_being_written_is_not_read(copy: Path) -> None:
    before = printed(copy)
    (copy / "evaluations" / ".part-000099.parquet.tmp").write_bytes(b"half a part")
    assert printed(copy) == before


# Damage


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.json", r"/run\.json is not the record of a run \("),
        (".hydra/overrides.yaml", r"/\.hydra/overrides\.yaml cannot be read \("),
        ("checkpoint/parts", r"/checkpoint/parts is damaged \(.*; delete it"),
        ("evaluations/part-000000.parquet", r"/evaluations/part-000000\.parquet is damaged \(it has "),
        ("swaps/part-000000.parquet", r"/swaps/part-000000\.parquet is damaged \(it has "),
    ],
)
@pytest.mark.parametrize("content", [b"\xff\xfe", b"[", b"PAR1" * 20])
def test_a_damaged_file_is_named_in_one_line_and_nothing_is_printed(
    copy: Path, name: str, message: str, content: bytes
) -> None:
    (copy / name).write_bytes(content)
    console = Console(file=io.StringIO())
    with pytest.raises(InputError, match=message) as raised:
        print_run(copy, console)
    assert len(str(raised.value).splitlines()) == 1
    assert console.file.getvalue() == ""


@pytest.mark.parametrize("dataset", ["evaluations", "populations", "screened"])
def test_a_flipped_bit_is_found_in_a_part_that_is_not_shown_too(copy: Path, dataset: str) -> None:
    part = copy / dataset / "part-000000.parquet"
    part.write_bytes(part.read_bytes().replace(b"cpp", b"cqp"))
    with pytest.raises(InputError, match=rf"/{dataset}/part-000000\.parquet is damaged \(its content has changed\)"):
        printed(copy)


def test_all_damaged_parts_are_counted(copy: Path) -> None:
    for part in copy.glob("*/part-*.parquet"):
        part.write_bytes(b"")
    with pytest.raises(InputError, match=r"part-000000\.parquet is damaged \(.*\), as are .*, .*, .* and \d+ more; "):
        printed(copy)


@pytest.mark.parametrize(
    ("number", "is_listed", "message"),
    [
        (0, True, r"/evaluations/part-000000\.parquet is damaged \(it is missing\)"),
        (1, False, r"/evaluations holds \d+ of 120 calls, so a part is missing"),
        (-1, False, r"/evaluations holds \d+ of 120 calls, so a part is missing"),
    ],
)
def test_a_lost_part_is_found(copy: Path, number: int, is_listed: bool, message: str) -> None:
    sorted((copy / "evaluations").glob("*.parquet"))[number].unlink()
    if not is_listed:
        (copy / "checkpoint/parts").unlink()
    with pytest.raises(InputError, match=message):
        printed(copy)


@pytest.mark.parametrize("name", ["sources", "versions", "seconds", "totals"])
def test_a_record_with_something_else_in_a_place_is_damaged(tmp_path: Path, name: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"status": "complete", "settings": SETTINGS, name: 3}))
    with pytest.raises(InputError, match=rf"/run\.json is damaged \({name} is 3, expected "):
        printed(tmp_path)


def request_row(pool: int, outcome: str, *, cached: bool = False, cost_usd: float | None = 0.5) -> dict[str, object]:
    tokens = {"prompt_tokens": 300, "completion_tokens": 20, "cost_usd": cost_usd}
    return {
        "llm_call": 0,
        "iteration": 1,
        "pool": pool,
        "model": "toy/model",
        "outcome": outcome,
        "cached": cached,
        **tokens,
    }


def test_requests_to_models_are_counted_by_pool_and_outcome(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", {"C": 0.5}, [[[1], [1]]]).path
    asked = [request_row(0, "parsed"), request_row(0, "invalid", cached=True), request_row(1, "error", cost_usd=None)]
    write_parts(path, "llm_calls", [asked])
    assert section(printed(path), "language model")[1:] == [
        ["0", "2", "50.0%", "0.0%", "50.0%", "0.0%", "1"],
        ["1", "1", "0.0%", "0.0%", "0.0%", "100.0%", "0"],
        ["pool", "0:", "600", "+", "40", "tokens,", "$1.0000,", "toy/model"],
        ["pool", "1:", "300", "+", "20", "tokens,", "unknown", "cost,", "toy/model"],
    ]


def test_a_run_without_a_model_shows_none(run: Path) -> None:
    assert "language model" not in printed(run)


# Overrides from somebody else

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, "expected a list of strings"),
        ("- &a [*a]", "recursive|expected a list of strings"),
        ("[" * 30_000, "RecursionError|expected the node content"),
        ("- x\n" * 100_000, "it has more than 65,536 bytes"),
        ("- [task=bits]", "expected a list of strings"),
        ("task: bits", "expected a list of strings"),
        ("- !!python/object/apply:os.getcwd []", "expected a list of strings"),
    ],
)
def test_overrides_that_are_not_a_list_of_texts_are_named_at_once(copy: Path, content: str, message: str) -> None:
    (copy / ".hydra" / "overrides.yaml").write_text(content)
    with pytest.raises(InputError, match=rf"overrides\.yaml cannot be read \(.*({message})") as raised:
        printed(copy)
    assert len(str(raised.value)) < 1000


def test_overrides_that_look_like_something_else_are_text(copy: Path) -> None:
    (copy / ".hydra" / "overrides.yaml").write_text("- null\n- 2020-01-01\n- !!int x\n")
    assert fact(printed(copy), "command") == "evodiverse null 2020-01-01 x"


# Several runs


def test_several_runs_are_compared_in_a_row_each_with_columns_for_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [run_toy(tmp_path, "budget.oracle_calls=40", f"seed={seed}") for seed in (1, 2)]
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["evodiverse-show", str(tmp_path), str(paths[0])])
    assert show.main() == 0
    head, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["best", "calls", "seed", "status", "run"]
    assert [line[1] for line in lines] == ["40", "40"]
    assert {(line[2], line[4]) for line in lines} == {("1", str(paths[0])), ("2", str(paths[1]))}
    assert float(lines[0][0]) >= float(lines[1][0])


def test_runs_in_progress_show_the_time_left_and_failed_ones_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, changes in enumerate([{"status": "running"}, {"status": "failed", "error": "the disk is full"}, {}]):
        edit_record(run_toy(tmp_path, "budget.oracle_calls=40", f"seed={seed}"), **changes)
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["evodiverse-show", str(tmp_path)])
    assert show.main() == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["best", "calls", "seed", "status", "left", "run"]
    assert [line.split()[3:5] for line in lines if "running" in line] == [["running", "0:00:00"]]
    assert lines[-1].endswith("seed1 failed: the disk is full")
