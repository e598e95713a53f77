from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.kit.documented import find_beyond
from evodiverse.settings.plan import read_source
from evodiverse.store.record import Source
from evodiverse.tasks.equations.data import anonymize, find_sources, find_wild, hold_back, read_dataset, warn_of_rows
from evodiverse.tasks.equations.problems import PROBLEMS, Rows
from evodiverse.tasks.equations.settings import DataSettings, EquationSettings, PromptSettings, find_setting_violations

PROBLEM = PROBLEMS["reaction3"]


def arrays(splits: object) -> list[np.ndarray]:
    return [array for rows in splits for array in rows]  # type: ignore[attr-defined]


def test_a_builtin_problem_has_its_names_and_its_law() -> None:
    dataset = read_dataset(EquationSettings(problem="builtin/reaction3"))
    assert (dataset.target, dataset.names, dataset.problem) == (PROBLEM.target, ("A",), PROBLEM)
    assert dataset.positive == {"A"}
    assert read_dataset(EquationSettings(problem="builtin/oscillator1")).positive == frozenset()


def csv(path: Path, n: int = 5, scale: float = 1.0) -> Path:
    lines = [f"{x * scale},{-x},{3 * x + 1}" for x in range(n)]
    path.write_text("\n".join(["strain,load,stress", *lines]) + "\n")
    return path


def own(tmp_path: Path, **more: object) -> EquationSettings:
    data = DataSettings(train=str(csv(tmp_path / "train.csv")), target="stress", **more)  # type: ignore[arg-type]
    return EquationSettings(problem="csv/mine", data=data)


def test_columns_of_a_users_own_data_become_variables(tmp_path: Path) -> None:
    dataset = read_dataset(own(tmp_path, descriptions={"strain": "how far it is pulled", "stress": "the answer"}))
    assert dataset.names == ("strain", "load")
    assert [variable.meaning for variable in dataset.variables] == ["how far it is pulled", ""]
    assert dataset.target.meaning == "the answer"
    assert dataset.positive == {"strain"}
    assert dataset.problem is None
    assert [len(rows.target) for rows in dataset.splits] == [5, 0, 0]


def test_a_description_of_a_missing_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"task\.data\.descriptions describes columns that .* does not have: length"):
        read_dataset(own(tmp_path, descriptions={"length": "?"}))


def sources(settings: EquationSettings) -> dict[str, Source]:
    return {role: read_source(role, source) for role, source in find_sources(settings).items()}


def test_sources_change_with_the_data(tmp_path: Path) -> None:
    settings = own(tmp_path, test_id=str(csv(tmp_path / "id.csv", 7)))
    before = sources(settings)
    assert list(before) == ["train", "test_id"]
    csv(tmp_path / "id.csv", 8)
    after = sources(settings)
    assert after["train"] == before["train"]
    assert after["test_id"] != before["test_id"]
    one, other = (find_sources(EquationSettings(problem=f"builtin/reaction{number}")) for number in (3, 4))
    assert one.keys() == other.keys() == {"data"}
    assert one != other


@pytest.mark.parametrize(
    ("settings", "complaints"),
    [
        ({"problem": None}, ["task.problem has no value"]),
        ({"problem": "builtin/oscilator1"}, ["did you mean oscillator1?"]),
        ({"problem": "builtin/zzz"}, ["is unknown; expected one of oscillator1, "]),
        (
            {"problem": "oscillator1"},
            ["task.problem must be builtin/<name>, srbench/<science>/<name> or csv/<name>, got oscillator1"],
        ),
        ({"problem": "csv/../x"}, ["task.problem must be builtin/<name>, srbench/<science>/<name> or csv/<name>"]),
        ({"problem": "csv/x"}, ["task.data.train has no value", "task.data.target has no value"]),
        (
            {"problem": "builtin/oscillator1", "data": DataSettings(train="x.csv")},
            ["task.data.train is for your own data; use task.problem=csv/oscillator1"],
        ),
        (
            {"problem": "builtin/oscillator1", "data": DataSettings(science="biology")},
            ["task.data.science is for your own data; use task.problem=csv/oscillator1"],
        ),
        (
            {"problem": "csv/x", "data": DataSettings(train="x.csv", target="y", science="life science")},
            ["task.data.science must be one word, such as physics, got 'life science'"],
        ),
        (
            {"problem": "builtin/oscillator1", "fit": "adam", "energy": "mse", "timeout": 0.0, "memory": 10},
            ["task.fit=adam is unknown", "task.energy=mse is unknown", "task.timeout must be", "task.memory must be"],
        ),
        ({"problem": "builtin/oscillator1", "memory": 10**15}, ["task.memory must be between 500 and 1000000"]),
        (
            {"problem": "builtin/oscillator1", "data": DataSettings(normalize="train")},
            ["task.data.normalize=train is unknown; expected one of target, none"],
        ),
    ],
)
def test_all_invalid_settings_are_named(settings: dict[str, object], complaints: list[str]) -> None:
    made = EquationSettings(**settings)  # type: ignore[arg-type]
    violations = [*find_beyond(made, "task."), *find_setting_violations(made)]
    assert len(violations) == len(complaints)
    for violation, complaint in zip(violations, complaints, strict=True):
        assert complaint in violation


def test_valid_settings_pass(tmp_path: Path) -> None:
    assert find_setting_violations(EquationSettings(problem="builtin/aluminium")) == []
    assert find_setting_violations(own(tmp_path)) == []


def test_a_share_of_the_rows_is_held_back_from_all_over_the_data() -> None:
    rows = Rows(np.arange(200.0)[:, None], np.arange(200.0) * 2)
    fitted, held = hold_back(rows, 0.2)
    assert (len(fitted.target), len(held.target)) == (160, 40)
    assert sorted([*fitted.target, *held.target]) == rows.target.tolist()
    assert all(np.array_equal(2 * part.inputs[:, 0], part.target) for part in (fitted, held))
    assert np.all(np.diff(fitted.target) > 0)
    assert {int(value // 80) for value in held.target} == set(range(5))


@pytest.mark.parametrize(("n", "share"), [(19, 0.5), (200, 0.0)])
def test_few_rows_are_all_fitted(n: int, share: float) -> None:
    fitted, held = hold_back(Rows(np.arange(n)[:, None], np.ones(n)), share)
    assert (len(fitted.target), len(held.target)) == (n, 0)


def test_no_row_that_is_held_back_is_fitted_elsewhere() -> None:
    values = np.repeat(np.random.default_rng(0).normal(size=50), 3)
    fitted, held = hold_back(Rows(values[:, None], values), 0.2)
    assert (len(held.target), set(fitted.target) & set(held.target)) == (30, set())
    assert len(hold_back(Rows(values[:57, None], values[:57]), 0.2)[1].target) == 0


@pytest.mark.parametrize(
    ("n", "wild", "share", "warnings"),
    [
        (200, {}, 0.2, []),
        (200, {6: 1e6}, 0.2, ["training row 7, without the header, has the target 1e+06"]),
        (40, {39: -1e4}, 0.2, ["training row 40", "by 8 rows that are held back"]),
        (12, {}, 0.2, ["only 12 training rows: the final equation is chosen by its error, its length"]),
    ],
)
def test_wild_rows_and_few_rows_are_said(
    caplog: pytest.LogCaptureFixture, n: int, wild: dict[int, float], share: float, warnings: list[str]
) -> None:
    target = np.exp(np.linspace(0, 5, n))
    target[list(wild)] = list(wild.values())
    assert np.flatnonzero(find_wild(target)).tolist() == list(wild)
    warn_of_rows(Rows(np.arange(n)[:, None], target), share)
    assert len(caplog.messages) == len(warnings)
    assert all(part in message for part, message in zip(warnings, caplog.messages, strict=True))


@pytest.mark.slow
def test_without_its_names_a_problem_is_the_same() -> None:
    for name in PROBLEMS:
        hidden = EquationSettings(problem=f"builtin/{name}", prompts=PromptSettings(anonymize=True))
        dataset, named = read_dataset(hidden), read_dataset(EquationSettings(problem=f"builtin/{name}"))
        assert dataset.names == tuple(f"x{at}" for at in range(len(named.names))), name
        assert {one.meaning for one in (dataset.target, *dataset.variables)} == {""}, name
        assert dataset.problem is not None, name
        assert dataset.problem.evaluate(dataset.splits.train.inputs) == pytest.approx(named.splits.train.target), name
        assert dataset.splits is named.splits or arrays(dataset.splits)[0] is arrays(named.splits)[0], name


def test_names_that_look_like_hidden_ones_change_places_at_once() -> None:
    dataset = read_dataset(EquationSettings(problem="builtin/reaction3"))
    assert anonymize(anonymize(dataset)).problem == anonymize(dataset).problem
