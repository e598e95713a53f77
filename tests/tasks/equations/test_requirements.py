"""What a user requires of equations: units that fit together, and constraints on the predictions."""

from math import log
from pathlib import Path

import numpy as np
import pytest

from evodiverse.tasks.equations.data import anonymize, read_dataset
from evodiverse.tasks.equations.domain import build_prompts, find_violations
from evodiverse.tasks.equations.front import find_front, weigh
from evodiverse.tasks.equations.operators.trees import read_tree
from evodiverse.tasks.equations.requirements import Requirements, count_misfits, read_unit
from evodiverse.tasks.equations.settings import ConstraintSettings, DataSettings, EquationSettings
from evodiverse.tasks.equations.skeleton import read_skeleton, write_function
from evodiverse.vocabulary import Prompt, Request, Stream
from tests.tasks.equations.test_equation_task import evaluate, make_task, sandbox  # noqa: F401

UNITS = {"x": "m", "t": "s", "m": "kg", "n": "1"}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("kg*m/s^2", "N"),
        ("kg m s^-2", "N"),
        ("1/h", "h^-1"),
        ("m/s/s", "m/s2"),
        ("%", "1"),
        ("J", "N m"),
        ("W s", "J"),
        ("m²", "m^2"),
        ("m·s⁻²", "m/s^2"),
    ],
)
def test_units_are_products_of_units(text: str, same: str) -> None:
    assert read_unit(text) == read_unit(same) != read_unit("mg")


@pytest.mark.parametrize("text", ["kg+m", "(m)", "m^"])
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a unit; write it like kg"):
        read_unit(text)


@pytest.mark.parametrize(
    ("expression", "target", "n_misfits"),
    [
        ("x / t", "m/s", 0),
        ("x / t", "m", 1),
        ("x / t", None, 0),
        ("params[0] * x + params[1] * t", "kg", 0),
        ("x + params[0]", "m", 0),
        ("x + 1.5", "m", 0),
        ("x + t", None, 1),
        ("2 * x + params[0] * t", "m", 0),
        ("np.exp(t) + np.sin(x / x)", None, 1),
        ("np.exp(params[0] * t)", "1", 0),
        ("np.sqrt(x**2) + np.abs(x) - x**3 / x**2", "m", 0),
        ("x ** params[0]", "kg", 0),
        ("n ** x", "1", 1),
        ("n ** params[0]", "m", 1),
        ("np.where(x > t, x, np.maximum(x, params[0]))", "m", 1),
        ("m * x / t**2", "N", 0),
    ],
)
def test_misfits_of_units_are_counted(expression: str, target: str | None, n_misfits: int) -> None:
    tree = read_tree(read_skeleton(write_function([*UNITS], expression), [*UNITS]).source)
    units = {name: read_unit(text) for name, text in UNITS.items()}
    assert count_misfits(tree, units, None if target is None else read_unit(target)) == n_misfits


def own(tmp_path: Path, **settings: object) -> EquationSettings:
    rows = [f"{time},{place},{place / time}" for time in range(1, 9) for place in (1.0, 2.0, 5.0)]
    (tmp_path / "train.csv").write_text("\n".join(["time [s],x,speed", *rows]))
    data = DataSettings(train=str(tmp_path / "train.csv"), target="speed", units=settings.pop("units", None))  # type: ignore[arg-type]
    return EquationSettings(problem="csv/own", data=data, **settings)  # type: ignore[arg-type]


def measure(settings: EquationSettings, expression: str) -> float:
    dataset = read_dataset(settings)
    source = read_skeleton(write_function(dataset.names, expression), dataset.names).source
    return Requirements(dataset, settings).measure(source, [1.0])


@pytest.mark.parametrize(
    ("given", "kept", "broken", "share"),
    [
        ({"positive": True}, "x / time", "x - params[0] * 3", 0.5),
        ({"least": 0.0}, "(x - params[0])**2", "params[0] - x", 1),
        ({"most": 5.0}, "x", "2 * x", 0.625),
        ({"increasing": ["x"]}, "x**2 / time", "np.sin(x)", 0.95),
        ({"decreasing": ["time [s]"]}, "x / time", "x + time", 1),
        ({"increasing": ["x"], "decreasing": ["time"]}, "x - time", "params[0] * time", 1),
        ({"positive": True}, "x", "np.log(-x)", 1),
    ],
)
def test_a_broken_constraint_counts_one_and_the_share_of_the_points(
    tmp_path: Path, given: dict[str, object], kept: str, broken: str, share: float
) -> None:
    settings = own(tmp_path, constraints=ConstraintSettings(**given))  # type: ignore[arg-type]
    assert measure(settings, kept) == 0
    assert measure(settings, broken) == pytest.approx(1 + share, abs=0.25)


def test_hidden_names_keep_their_units(tmp_path: Path) -> None:
    settings = own(tmp_path, units={"time [s]": "s", "x": "m", "speed": "m/s"})
    assert [measure(settings, "x / time"), measure(settings, "x * time"), measure(settings, "x + time")] == [0, 1, 1]
    hidden = anonymize(read_dataset(settings))
    source = read_skeleton(write_function(hidden.names, "x1 / x0"), hidden.names).source
    assert Requirements(hidden, settings).measure(source, []) == 0


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"units": {"tim": "s"}}, "task.data.units: 'tim' is not a variable; did you mean time?"),
        ({"units": {"time": "(s)"}}, "task.data.units: '(s)' is not a unit; write it like kg, m/s, 1/h or kg*m^2"),
        (
            {"constraints": ConstraintSettings(increasing=["xx"])},
            "task.constraints.increasing: 'xx' is not a variable; did you mean x?",
        ),
        (
            {"constraints": ConstraintSettings(decreasing=["speed"])},
            "task.constraints.decreasing: 'speed' is not a variable; expected one of time, x",
        ),
        (
            {"constraints": ConstraintSettings(least=5.0, most=1.0)},
            "task.constraints.least must not be above task.constraints.most, got 5.0 and 1.0",
        ),
    ],
)
def test_wrong_requirements_are_refused_in_one_line(
    tmp_path: Path, settings: dict[str, object], complaint: str
) -> None:
    assert find_violations(own(tmp_path, **settings)) == [complaint]


def test_a_model_is_told_of_units_and_constraints(tmp_path: Path) -> None:
    settings = own(tmp_path, units={"time": "s"}, constraints=ConstraintSettings(positive=True, increasing=["x"]))
    system, user = build_prompts(settings).messages(Request(1, 0, 0, 1, (), Prompt.COLD, Stream(0, 5)))
    assert "- Its values are positive.\n- It never decreases with x.\n- Units must fit" in system.content
    assert "time: in s" in system.content + user.content


def test_a_violation_ranks_an_equation_behind(sandbox) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    plain = make_task(sandbox)
    bound = make_task(sandbox, constraints=ConstraintSettings(most=4.0))
    free, broken = (evaluate(task, "params[0] * x") for task in (plain, bound))
    share = float(broken.details["violations"] or 0) - 1
    assert "violations" not in free.details
    assert 0.5 < share < 1
    assert broken.details["mse"] == free.details["mse"]
    assert broken.score == pytest.approx(100 ** (1 + share) * (free.score or 0))
    assert broken.energy == pytest.approx((free.energy or 0) + (1 + share) * log(100))
    assert evaluate(bound, "params[0] * 0 * x + 4").details["violations"] == 0
    assert (set(bound.columns) - set(plain.columns)) == {"violations"}


def test_the_front_counts_violations() -> None:
    source = read_skeleton(write_function(["x"], "x"), ["x"]).source
    larger = read_skeleton(write_function(["x"], "params[0] * x"), ["x"]).source
    row = {"nmse_train": 0.01, "description_length": 5.0}
    good = weigh(1, source, {"nmse_train": 0.1})
    worse = weigh(2, larger, {**row, "violations": 1.0})
    assert find_front([good, worse]) == [good]
    assert find_front([good, weigh(2, larger, row)])[1].error == 0.01
    assert worse.description == np.inf
