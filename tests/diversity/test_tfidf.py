"""The diversity of programs, compared with values by hand and with its definition over all pairs."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import evodiverse
from evodiverse.diversity.distances import Diversity, mean_cosine_distance, measure_diversity
from evodiverse.diversity.tfidf import find_tokens, program_diversity, tfidf

PACK = '''
import numpy as np

def pack(n, method="SLSQP"):
    """Place circles."""
    step = 0.5 / (n + 16)  # of the grid
    return [np.sqrt(i * step) for i in range(n)]
'''
REFORMATTED = """
import numpy \\
    as np
def pack(
  n, method = 'SLS' 'QP',
):
        'Place all the circles, with care.'
        # The grid is regular.
        step = (5e-1 / (n + (0x10))); return ([
            (np . sqrt)((i * step),)
            for i in range(n)
        ])
"""
# The tokens of a program that consists only of names are these names.
names = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=5).map("\n".join)


def distances_by_definition(programs: list[str]) -> list[float]:
    """Return the cosine distance of each pair, computed from the definition."""
    documents = [Counter(program.split()) for program in programs]
    idf = {
        word: 1 + math.log((1 + len(documents)) / (1 + sum(word in document for document in documents)))
        for word in set().union(*documents)
    }
    vectors = [{word: count * idf[word] for word, count in document.items()} for document in documents]

    def similarity(one: dict[str, float], other: dict[str, float]) -> float:
        lengths = [math.hypot(*vector.values()) for vector in (one, other)]
        return sum(one[word] * other[word] for word in one.keys() & other.keys()) / (math.prod(lengths) or 1.0)

    return [1 - similarity(one, other) for one, other in combinations(vectors, 2)]


# Tokens


def test_tokens_are_names_numbers_strings_keywords_and_operators() -> None:
    counts = {"np": 2, "n": 3, "step": 2, "i": 2, "0.5": 1, "0x10": 1, "'SLSQP'": 1, "numpy": 1, "pack": 1, "method": 1}
    nodes = ["Import", "FunctionDef", "Assign", "Div", "Add", "Return", "Mult", "comprehension"]
    found = Counter(find_tokens(PACK))
    assert found == counts | {"sqrt": 1, "range": 1} | {f"<{node}>": 1 for node in nodes}


def test_layout_comments_docstrings_brackets_and_spelling_change_nothing() -> None:
    assert sorted(find_tokens(REFORMATTED)) == sorted(find_tokens(PACK))


def test_a_string_that_is_not_a_docstring_is_a_single_token() -> None:
    assert Counter(find_tokens("m = 'COBYLA'")) - Counter(find_tokens("m = 'SLSQP'")) == Counter(["'COBYLA'"])


def test_a_dotted_module_has_the_tokens_of_its_parts() -> None:
    assert sorted(find_tokens("import scipy.optimize")) == ["<Import>", "optimize", "scipy"]


def test_names_that_are_equal_to_python_are_one_token() -> None:
    assert find_tokens("\ufb01") == find_tokens("fi") == ("fi",)  # the ligature


@pytest.mark.parametrize("source", ["", "\n\n", "# nothing", '"""Only said."""', "\f"])
def test_a_program_without_statements_has_no_tokens(source: str) -> None:
    assert find_tokens(source) == ()


@pytest.mark.parametrize(
    "source",
    [
        "℘·x = 名前",  # characters that Python's own tokenizer does not accept in a name
        "x = " + " + ".join(["1"] * 1000),  # deeper than Python recurses
        "x = 0x" + "f" * 5000,  # more digits than Python writes
        "x = 1e999, 1j, b'\\xff', ..., None, True",
        "x = '\\d'",  # Python warns about this
        "x = '\\ud800'",  # no file can hold this
        "if x:\r\n\ty = f'{z!r:>{w}} {{'\r\n",
        "match x:\n case {'a': [*b], **c}: pass\n case None | D(e=1): pass",
        "async def f(a, /, *b, c: int = 1, **d) -> None:\n async with g() as h: yield await i\n global j",
        "try: pass\nexcept* A as b: del c[1:2, ...]\nfrom . import *\nwhile (d := e): assert not f",
    ],
    ids=range(10),
)
def test_whatever_parses_has_tokens(source: str) -> None:
    assert tfidf([source, "x"]).shape[0] == 2


def test_the_tokens_of_real_programs_are_found() -> None:
    sources = [path.read_text("utf-8") for path in Path(evodiverse.__file__).parent.glob("*.py")]
    assert min(len(find_tokens(source)) for source in sources if "def " in source) > 20


def test_a_source_that_is_not_python_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected Python source, got 'x = \('"):
        find_tokens("x = (")


# TF-IDF


def test_the_distance_of_two_programs_equals_that_computed_by_hand() -> None:
    # a is in both of the 2 programs, weight 1 + ln(3/3) = 1; b and c are in one each, weight 1 + ln(3/2) = 1.405465.
    # Similarity 1 / (1 + 1.405465²) = 0.336097.
    assert program_diversity(["a\nb", "c\na"], []).overall == pytest.approx(1 - 0.336097, abs=1e-6)


def test_a_token_counts_as_often_as_it_occurs() -> None:
    # As above, but a occurs twice in the first program: 2 / sqrt((4 + 1.405465²) (1 + 1.405465²)) = 0.474331.
    assert program_diversity(["a\nb\na", "c\na"], []).overall == pytest.approx(1 - 0.474331, abs=1e-6)


@settings(deadline=None)  # the first example imports scikit-learn
@given(st.lists(names, min_size=2, max_size=6))
def test_diversity_is_the_mean_over_all_pairs(programs: list[str]) -> None:
    assert program_diversity(programs, []).overall == pytest.approx(fmean(distances_by_definition(programs)), abs=1e-12)


@settings(deadline=None)  # the first example imports scikit-learn
@given(st.lists(names, min_size=2, max_size=6).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_the_order_of_the_programs_does_not_matter(orders: tuple[list[str], list[str]]) -> None:
    one, other = (program_diversity(programs, []).overall for programs in orders)
    assert one == pytest.approx(other, abs=1e-12)


def test_identical_programs_have_no_diversity() -> None:
    assert program_diversity([PACK, REFORMATTED, PACK], []).overall == pytest.approx(0, abs=1e-12)


def test_programs_without_a_common_token_are_at_distance_1() -> None:
    assert program_diversity(["a\nb", "c", "d\nd"], []).overall == pytest.approx(1)


def test_rows_have_unit_length_except_for_programs_without_tokens() -> None:
    lengths = sparse.linalg.norm(tfidf(["a\nb\na", "# nothing", PACK]), axis=1)
    assert lengths == pytest.approx([1, 0, 1])


@pytest.mark.parametrize("programs", [[], ["# nothing", ""]])
def test_programs_without_any_token_have_no_terms(programs: list[str]) -> None:
    assert tfidf(programs).shape == (len(programs), 0)


# Cosine distance


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix, np.float32])
def test_the_mean_is_over_all_pairs_of_vectors_of_any_length(convert: type) -> None:
    vectors = np.random.default_rng(3).normal(0.3, 1, (7, 4))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = fmean(1 - one @ other for one, other in combinations(units, 2))
    assert mean_cosine_distance(convert(vectors)) == pytest.approx(expected, rel=1e-6)


def test_opposite_vectors_are_at_distance_2() -> None:
    assert mean_cosine_distance(np.array([[1.0, 2.0], [-2.0, -4.0]])) == pytest.approx(2)


def test_a_vector_of_zeros_is_at_distance_1_from_every_other() -> None:
    vectors = np.array([[3.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert mean_cosine_distance(vectors) == pytest.approx((0 + 5 * 1) / 6)


def test_the_mean_is_never_negative() -> None:
    assert mean_cosine_distance(np.full((1000, 3), 0.1)) >= 0


@pytest.mark.parametrize("vectors", [np.ones((0, 3)), np.ones((1, 3)), np.array([[1.0], [np.nan], [2.0]])])
def test_fewer_than_two_vectors_or_one_with_nan_have_no_mean(vectors: np.ndarray) -> None:
    assert math.isnan(mean_cosine_distance(vectors))


# Pools


def test_weights_come_from_the_programs_of_all_pools() -> None:
    # Of 3 programs, a is in two, weight 1 + ln(4/3) = 1.287682; b and c are in one, weight 1 + ln(4/2) = 1.693147.
    expected = 1 - 1.287682**2 / (1.287682**2 + 1.693147**2)
    assert program_diversity(["a\nb", "a\nc", "d"], [[0, 1]]).pools == (pytest.approx(expected, abs=1e-6),)


def test_there_is_a_value_for_each_pool_and_one_for_all_programs() -> None:
    vectors = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert measure_diversity(vectors, [[0, 1], [1, 2]]) == Diversity(pytest.approx(2 / 3), (0, 1))


def test_a_pool_of_fewer_than_two_has_no_value() -> None:
    diversity = program_diversity(["a", "b"], [[], [1]])
    assert [math.isnan(pool) for pool in diversity.pools] == [True, True]


def test_no_programs_have_no_value() -> None:
    diversity = program_diversity([], [[], []])
    assert [math.isnan(value) for value in (diversity.overall, *diversity.pools)] == [True, True, True]
