"""An error in a user's function is reported in one line with its name and place."""

import json
import pickle
from pathlib import Path

import pytest

from evodiverse.errors import InputError, Interrupted, ServiceError
from evodiverse.kit.inputs import expanded
from evodiverse.kit.own_code import broken, call, name_of, show


def half(n: int) -> float:
    return n / 0


def read_json(text: str) -> object:
    return json.loads(text)


class Oracle:
    """A function of a user."""

    def score(self) -> None:
        raise SystemExit("no\nlicense")


class Grumpy:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError


def test_an_error_names_the_function_the_file_and_the_line() -> None:
    with pytest.raises(ServiceError, match=r"^tests\.kit\.test_own_code\.half raised ZeroDivisionError: .* \(") as told:
        call(half, 1)
    line = half.__code__.co_firstlineno + 1
    assert str(told.value).endswith(f"({__file__}, line {line}); fix it, then run the same command again")


def test_the_line_is_the_users_own_even_where_a_library_raised() -> None:
    with pytest.raises(ServiceError, match=r"test_own_code\.py, line \d+\)"):
        call(read_json, "{")


def test_a_function_that_cannot_be_called_so_is_named_with_its_definition() -> None:
    with pytest.raises(ServiceError, match=rf"TypeError: .*test_own_code\.py, line {half.__code__.co_firstlineno}\)"):
        call(half, 1, 2)  # type: ignore[call-arg]


def test_whatever_ends_the_process_is_one_line_too() -> None:
    with pytest.raises(ServiceError, match=r"Oracle\.score raised SystemExit: no license \("):
        call(Oracle().score)


def test_the_error_can_be_sent_to_another_process() -> None:
    with pytest.raises(ServiceError) as told:
        call(half, 1)
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)


@pytest.mark.parametrize("error", [InputError("bad"), Interrupted(2)])
def test_evodiverse_errors_and_interrupts_pass_through(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        call(fail)


def test_an_error_in_evodiverse_keeps_its_traceback() -> None:
    with pytest.raises(TypeError):
        call(expanded, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        ("0101", "a str ('0101')"),
        (3, "an int (3)"),
        ([1] * 100, f"a list ([{'1, ' * 26}1…)"),
        (object(), "an object"),
        (Grumpy(), "a Grumpy"),
        ("a\x1b", r"a str ('a\x1b')"),
    ],
)
def test_any_value_is_shown_on_one_short_line(value: object, shown: str) -> None:
    assert show(value) == shown


def test_a_name_says_where_a_function_is() -> None:
    assert name_of(Oracle().score) == "tests.kit.test_own_code.Oracle.score"
    assert name_of(Path) == "pathlib.Path"


def test_a_broken_contract_says_what_came_and_what_was_expected() -> None:
    told = broken(half, "returned None", "a number")
    assert str(told) == "tests.kit.test_own_code.half returned None; expected a number"
