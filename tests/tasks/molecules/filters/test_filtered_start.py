"""Starting from the molecules of a library that pass the filters."""

import logging
from collections import Counter

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.filters import FilteredLibrary, build_filters
from evodiverse.tasks.molecules.initial import Library
from evodiverse.vocabulary import Stream

ALKANES = tuple("C" * n for n in range(1, 41))
AMINES = tuple("C" * n + "N" for n in range(1, 41))
MIXED = tuple(smiles for pair in zip(ALKANES, AMINES, strict=True) for smiles in pair)


def filtered(smiles: tuple[str, ...], needed: int = 1_000) -> FilteredLibrary:
    """A library in which only hydrocarbons pass."""
    filters = build_filters({"elements": ["C"]})
    assert filters is not None
    return FilteredLibrary(Library(smiles), filters, 80, needed)


def draw(library: FilteredLibrary, size: int, seed: int = 0) -> list[str]:
    return [molecule.smiles for molecule in library.sample(size, Stream(seed, 1).rng())]


def test_only_what_passes_is_drawn_and_nothing_twice() -> None:
    drawn = draw(filtered(MIXED), 30)
    assert len(set(drawn)) == len(drawn) == 30
    assert set(drawn) <= set(ALKANES)


def test_a_stream_draws_the_same_again_and_others_differ() -> None:
    draws = [tuple(draw(filtered(MIXED), 5, seed)) for seed in (0, 0, 1, 2)]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3


def test_all_that_pass_are_drawn_alike_often() -> None:
    counts = Counter(smiles for seed in range(400) for smiles in draw(filtered(MIXED), 10, seed))
    # Binomial with n = 400, p = 1/4: 100 ± 8.7; five standard deviations.
    assert all(56 < counts[smiles] < 144 for smiles in ALKANES)


def test_a_short_library_gives_what_passes_in_its_order() -> None:
    assert draw(filtered(MIXED), len(MIXED)) == list(ALKANES)


def test_what_is_passed_over_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    library = filtered(MIXED)
    with caplog.at_level(logging.INFO):
        draw(library, len(MIXED))
    assert caplog.messages == ["filters rejected 40 of 80 molecules drawn for a pool (element 40)"]


def test_the_counts_of_what_is_passed_over_add_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evodiverse.tasks.molecules.filters.filters._MOST_TOLD", 1)
    with caplog.at_level(logging.INFO):
        draw(filtered(("C", "CN", "CO", "C" * 81)), 4)
    assert caplog.messages == ["filters rejected 3 of 4 molecules drawn for a pool (element 2, other 1)"]


def test_a_check_refuses_what_a_draw_refuses_without_drawing_more_than_are_needed() -> None:
    library = filtered(MIXED, needed=3)
    library.sample(50, Stream(0, 1).rng(), enough=3)
    with pytest.raises(InputError) as checked:
        filtered(MIXED, needed=50).sample(60, Stream(0, 1).rng(), enough=50)
    with pytest.raises(InputError) as drawn:
        draw(filtered(MIXED, needed=50), 60)
    assert str(checked.value) == str(drawn.value)


def test_too_few_that_pass_are_an_error_that_says_what_to_do() -> None:
    expected = (
        r"^task\.filters: only 40 of 80 initial molecules pass, expected 50 "
        r"\(rejected by: element 40\)"
        r"; loosen the filters, set task\.initial\.size=40, or provide other molecules with task\.initial\.path$"
    )
    with pytest.raises(InputError, match=expected):
        draw(filtered(MIXED), 50)


def test_drawing_more_than_a_pool_starts_from_may_give_fewer() -> None:
    assert set(draw(filtered(MIXED, needed=40), 50)) == set(ALKANES)


def test_lines_are_those_of_the_library() -> None:
    library = filtered(("CN", "CC", "CCN", "CCC"))
    assert library.sample(4, Stream(0, 1).rng()) == [("CC", 2), ("CCC", 4)]


def test_a_library_of_which_none_passes_is_an_error() -> None:
    expected = (
        r"^task\.filters: none of 41 initial molecules pass, expected 41 "
        r"\(rejected by: element 40, too_large 1\)"
        r"; loosen the filters or provide other molecules with task\.initial\.path$"
    )
    with pytest.raises(InputError, match=expected):
        draw(filtered((*AMINES, "C" * 81)), 100)


def test_what_is_too_large_is_passed_over() -> None:
    assert draw(filtered(("C" * 81, "CC")), 2) == ["CC"]
