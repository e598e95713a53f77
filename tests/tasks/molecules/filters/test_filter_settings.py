"""Reading ``task.filters``: sets, what extends them, and every way to get it wrong."""

from math import inf
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.settings import SETS, FilterSettings, read_filters
from evodiverse.tasks.molecules.prompts import build
from tests.runs import plan
from tests.tasks.molecules.test_prompts import request


def read(value: Any) -> FilterSettings:
    settings = read_filters(value)
    assert settings is not None
    return settings


@pytest.mark.parametrize("value", [None, {}, {"set": None}, {"catalogs": []}, {"ranges": {"logp": [None, None]}}])
def test_nothing_asked_for_is_no_filter(value: Any) -> None:
    assert read_filters(value) is None


@pytest.mark.parametrize("name", SETS)
def test_a_name_stands_for_its_keys(name: str) -> None:
    assert read(name) == read({"set": name}) == read(SETS[name])


def test_keys_extend_a_set() -> None:
    own = {"set": "medchem", "ranges": {"weight": [200, 400], "qed": [0.5, None]}, "novel": "known.smi"}
    base, extended = read("medchem"), read({**own, "smarts": {"acid": "C(=O)[OH]"}})
    assert (extended.elements, extended.catalogs) == (base.elements, base.catalogs)
    assert extended.ranges == {**base.ranges, "weight": (200.0, 400.0), "qed": (0.5, inf)}
    assert (extended.novel, extended.smarts) == ("known.smi", {"acid": "C(=O)[OH]"})


def test_null_takes_away_what_a_set_has() -> None:
    nothing = {"catalogs": None, "elements": None, "max_ring_size": None, "ranges": None}
    assert read_filters({"set": "medchem", **nothing}) is None
    without = read({"set": "medchem", "ranges": {"logp": None}})
    assert read("medchem").ranges.keys() - without.ranges.keys() == {"logp"}


def test_a_set_goes_without_a_catalog_and_with_others() -> None:
    assert read({"set": "medchem", "without": ["BRENK", "NIH"]}).catalogs == ["PAINS"]
    assert read({"set": "medchem", "without": "NIH", "catalogs": "PAINS"}).catalogs == ["BRENK", "PAINS"]


def test_one_catalog_or_element_needs_no_list() -> None:
    assert read({"catalogs": "PAINS", "elements": "C"}) == read({"catalogs": ["PAINS"], "elements": ["C"]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("medchm", "task.filters: there is no set medchm; use medchem"),
        ({"set": "medchm"}, "task.filters: there is no set medchm; use medchem"),
        (3, "task.filters must be null, the name of a set (medchem) or a group of keys, got 3"),
        ({"catalog": "PAINS"}, "task.filters.catalog is unknown; did you mean task.filters.catalogs?"),
        (
            {"catalogs": ["PAINS", "MLSMR"]},
            "task.filters.catalogs: MLSMR is unknown; expected one of BRENK, NIH,",
        ),
        ({"catalogs": ["PAIN"]}, "task.filters.catalogs: PAIN is unknown; did you mean PAINS?"),
        ({"catalogs": "brenk"}, "task.filters.catalogs: brenk is unknown; did you mean BRENK?"),
        ({"catalogs": {"a": 1}}, "task.filters.catalogs must be a list, got {'a': 1}"),
        ({"set": "medchem", "catalogs": {"a": 1}}, "task.filters.catalogs must be a list, got {'a': 1}"),
        ({"catalogs": [["PAINS"]]}, "task.filters.catalogs[0] must be text, got ['PAINS']"),
        ({"elements": {"a": 1}}, "task.filters.elements must be a list, got {'a': 1}"),
        ({"elements": ["C", None]}, "task.filters.elements[1] must be a value other than null, got null"),
        ({"novel": {"a": 1}}, "task.filters.novel must be text, got {'a': 1}"),
        ({"max_ring_size": {"a": 1}}, "task.filters.max_ring_size must be an integer, got {'a': 1}"),
        ({"catalogs": 3}, "task.filters.catalogs must be a list, got 3"),
        ({"elements": ["C", "Xx"]}, "task.filters.elements: Xx is not an element; write a symbol such as F"),
        ({"elements": []}, "task.filters.elements must name at least one element, got []"),
        ({"max_ring_size": 2}, "task.filters.max_ring_size must be at least 3, or null, got 2"),
        ({"max_ring_size": "six"}, "task.filters.max_ring_size must be an integer, got six"),
        ({"ranges": 3}, "task.filters.ranges must be a group of keys, got 3"),
        ({"ranges": {"wieght": [0, 1]}}, "task.filters.ranges.wieght is unknown; did you mean weight?"),
        ({"ranges": {"weight": [500, 100]}}, "task.filters.ranges.weight has a lower bound of 500 above its upper"),
        ({"ranges": {"weight": 500}}, "task.filters.ranges.weight must be [low, high], each a finite number or null"),
        ({"ranges": {"weight": [1, 2, 3]}}, "task.filters.ranges.weight must be [low, high]"),
        ({"ranges": {"weight": [0, inf]}}, "task.filters.ranges.weight must be [low, high]"),
        ({"ranges": {"weight": [True, 5]}}, "task.filters.ranges.weight must be [low, high]"),
        ({"smarts": "C"}, "task.filters.smarts must be a group of keys, got C"),
        ({"smarts": {"ring": "c1("}}, "task.filters.smarts.ring: expected a SMARTS of 1 to 1000 characters, got 'c1('"),
        ({"smarts": {"ring": 3}}, "task.filters.smarts.ring must be a SMARTS, got 3"),
        ({"smarts": {"a\nb": "C"}}, "a name may have at most 60 letters"),
        ({"require": {"ring": "c1("}}, "task.filters.require.ring: expected a SMARTS of 1 to 1000 characters, got"),
        ({"similar_to": "CCO"}, "task.filters.similar_to must be a group of keys with smiles, least and most, got CCO"),
        ({"similar_to": {"least": 0.4}}, "task.filters.similar_to.smiles has no value"),
        ({"similar_to": {"smiles": "C(("}}, "task.filters.similar_to.smiles: 'C((' is not a molecule"),
        ({"similar_to": {"smiles": "CCO", "least": 2}}, "task.filters.similar_to.least must be between 0 and 1, got 2"),
        (
            {"similar_to": {"smiles": "CCO", "least": 0.6, "most": 0.4}},
            "task.filters.similar_to.least=0.6 is above task.filters.similar_to.most=0.4; swap them",
        ),
        ({"without": "BRENK"}, "task.filters.without: BRENK is not a catalog in use; leave it out"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_key(value: Any, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_filters(value)
    assert [expected in line for line in raised.value.violations] == [True]


def test_everything_wrong_is_told_at_once_before_a_run() -> None:
    with pytest.raises(InputError) as raised:
        plan("task=jnk3", "task.filters={catalogs:[PANS],ranges:{logp:[3,1]},max_ring_size:1}")
    assert len(raised.value.violations) == 3
    with pytest.raises(InputError) as raised:
        read_filters({"ranges": 5, "catalogs": "PANS", "smarts": {"a": "c1("}})
    assert len(raised.value.violations) == 3


def test_the_name_of_a_substructure_may_be_a_number() -> None:
    settings = plan("task=jnk3", "task.filters={smarts:{1:'[N+]'},require:{2:C}}").task.filters
    assert list(read(settings).smarts.values()) == ["[N+]"]
    assert list(read(settings).require.values()) == ["C"]


def test_a_file_of_known_molecules_that_is_missing_is_told_before_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"task\.filters\.novel: cannot read .*none\.smi \(No such file"):
        plan("task=jnk3", f"task.filters={{novel:{tmp_path}/none.smi}}")


# What a run is


def test_a_run_without_filters_is_the_run_it_was() -> None:
    planned = plan("task=jnk3")
    assert (planned.overrides, planned.settings["task.filters"]) == ({}, None)
    assert plan("task=jnk3", "task.filters=null").path == planned.path


def test_filters_stand_in_the_name_of_a_run() -> None:
    assert plan("task=jnk3", "task.filters=medchem").path.parent.name == "task.filters=medchem"
    own = plan("task=gsk3b", "+task.filters.max_ring_size=6")
    assert own.path.parent.name == "task.filters.max_ring_size=6"


def test_known_molecules_are_a_source_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "known.smi").write_text("CCO\n")
    planned = plan("task=dual_kinase", f"task.filters={{set:medchem,novel:{tmp_path}/known.smi}}")
    assert planned.find_sources(lambda name: name)["filters.novel"].path == tmp_path / "known.smi"


# What a language model is told


def test_a_model_is_told_the_filters_in_one_line_below_the_parents() -> None:
    own = "task.filters={set:medchem,smarts:{acid:'C(=O)[OH]'},ranges:{qed:[0.3,null],logp:[0,5]}}"
    (message,) = build(plan("task=jnk3", own).task).messages(request())
    (told,) = [line for line in message.content.splitlines() if line.startswith("Only molecules that meet all")]
    assert f"0.3333\n\n{told}\n\nYour task" in message.content
    for term in ("logP from 0 to 5", "QED) at least 0.3", "at most 500", "acid", "Br;", "of BRENK, NIH, PAINS"):
        assert term in told


def test_a_model_is_told_nothing_without_filters() -> None:
    assert "Only molecules" not in build(plan("task=jnk3").task).messages(request())[0].content
