"""Where pools start: drawing from a library, and reading a user's file."""

import gzip
import re
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.tasks.molecules import initial
from evodiverse.tasks.molecules.initial import (
    AnyLibrary,
    Library,
    StreamedLibrary,
    open_library,
    read_published,
    shuffled,
)
from evodiverse.tasks.molecules.parsing import Reader, parse_smiles
from evodiverse.vocabulary import Hypothesis, Stream

TEN = Library(tuple("C" * n for n in range(1, 11)))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write the user's file."""

    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "own.smi"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def open_file(path: Path, *, max_heavy_atoms: int = 80, skip_invalid: bool = False) -> AnyLibrary:
    return open_library(str(path), None, Reader(max_heavy_atoms), skip_invalid=skip_invalid)


def read(path: Path, *, max_heavy_atoms: int = 80, skip_invalid: bool = False) -> Library:
    """Read a file that is small enough to be read whole."""
    library = open_file(path, max_heavy_atoms=max_heavy_atoms, skip_invalid=skip_invalid)
    assert isinstance(library, Library)
    return library


def sample(library: AnyLibrary, size: int, *, seed: int = 0, pool: int = 0) -> list[str]:
    return [molecule.smiles for molecule in library.sample(size, Stream(seed, 1, pool=pool).rng())]


def refusals(path: Path, *, max_heavy_atoms: int = 80) -> tuple[str, ...]:
    """What is wrong with a file, without what its path and the way out are."""
    ending = "; fix it or set task.initial.skip_invalid=true"
    with pytest.raises(InputError, match=f"{re.escape(ending)}$") as caught:
        read(path, max_heavy_atoms=max_heavy_atoms)
    return tuple(line.removeprefix(str(path)).removesuffix(ending) for line in caught.value.violations)


# Drawing


def test_a_stream_draws_the_same_lines_again() -> None:
    assert sample(TEN, 4, pool=1) == sample(TEN, 4, pool=1)


def test_streams_draw_different_lines() -> None:
    assert len({tuple(sample(TEN, 4, seed=seed, pool=pool)) for seed in range(5) for pool in range(2)}) > 5


@pytest.mark.parametrize("size", [1, 5, 9])
def test_no_line_is_drawn_twice(size: int) -> None:
    drawn = sample(TEN, size)
    assert len(set(drawn)) == len(drawn) == size
    assert set(drawn) <= set(TEN.smiles)


def test_every_line_is_drawn_equally_often() -> None:
    drawn = [smiles for seed in range(1000) for smiles in sample(TEN, 3, seed=seed)]
    counts = np.array([drawn.count(smiles) for smiles in TEN.smiles])
    standard_error = np.sqrt(1000 * 0.3 * 0.7)
    assert (abs(counts - 300) < 4 * standard_error).all()


@pytest.mark.parametrize("size", [10, 11, 1000])
def test_all_lines_in_their_order_start_a_pool_when_there_are_no_more(size: int) -> None:
    assert sample(TEN, size) == list(TEN.smiles)


def test_molecules_are_drawn_with_the_lines_on_which_they_stand() -> None:
    drawn = TEN.sample(4, Stream(0, 1).rng())
    assert [len(molecule.smiles) for molecule in drawn] == [molecule.line for molecule in drawn]


def test_all_orders_of_numbers_are_equally_likely() -> None:
    orders = Counter(tuple(islice(shuffled(4, Stream(seed, 1).rng()), 3)) for seed in range(6000))
    assert len(orders) == 24
    assert chisquare(list(orders.values())).pvalue > 0.001


def test_a_shuffle_has_each_number_once() -> None:
    assert sorted(shuffled(50, Stream(0, 1).rng())) == list(range(50))


# The published library


def test_the_published_library_is_zinc_250k() -> None:
    library = read_published(artifact_path("zinc250k"))
    assert len(library) == 249_456
    assert library.smiles[0] == "CC(C)(C)c1ccc2occ(CC(=O)Nc3ccccc3F)c2c1"


def test_molecules_of_the_published_library_can_all_start_a_pool() -> None:
    smiles = read_published(artifact_path("zinc250k")).smiles[::1000]
    assert all(isinstance(parse_smiles(text, 80), Hypothesis) for text in smiles)


# A user's file


def test_a_line_is_a_molecule_in_its_canonical_form(write: Callable[[str], Path]) -> None:
    assert read(write("OCC\nC1=CC=CC=C1\n")) == Library(("CCO", "c1ccccc1"), (1, 2))


def test_what_stands_behind_white_space_is_a_name(write: Callable[[str], Path]) -> None:
    assert read(write("CCO ethanol\nCC\tethane, (( and more\n  C methane\n")).smiles == ("CCO", "CC", "C")


def test_comments_and_blank_lines_are_passed_over(write: Callable[[str], Path]) -> None:
    assert read(write("# SMILES name\n\nCCO\n   \n\t# CC\n#C\nCC#N\n")) == Library(("CCO", "CC#N"), (3, 7))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(write: Callable[[str], Path], ending: str) -> None:
    assert read(write(f"CCO{ending}CC")).smiles == ("CCO", "CC")


def test_names_need_not_be_ascii(write: Callable[[str], Path]) -> None:
    assert read(write("CCO Äthanol\n")).smiles == ("CCO",)


def test_a_file_is_found_in_the_home_folder(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(write("CCO\n").parent))
    assert read(Path("~/own.smi")).smiles == ("CCO",)


def test_a_file_that_was_edited_gives_the_new_molecules(write: Callable[[str], Path]) -> None:
    assert read(write("CCO\n")).smiles == ("CCO",)
    assert read(write("CC\nC\n")).smiles == ("CC", "C")


def test_a_file_that_was_mended_is_accepted(write: Callable[[str], Path]) -> None:
    assert len(refusals(write("((\n"))) == 1
    assert read(write("CC\n")).smiles == ("CC",)


def test_a_byte_order_mark_is_no_part_of_the_first_molecule(write: Callable[[bytes], Path]) -> None:
    assert read(write("CCO\nCC\n".encode("utf-8-sig"))).smiles == ("CCO", "CC")


def test_a_byte_order_mark_does_not_hide_a_comment(write: Callable[[bytes], Path]) -> None:
    assert read(write("# SMILES name\nCC\n".encode("utf-8-sig"))) == Library(("CC",), (2,))


def test_a_malformed_line_is_named_by_its_number_in_the_file(write: Callable[[str], Path]) -> None:
    path = write("# comment\n\nCCO\nc1ccc ring\n")
    expected = f"{path} line 4: 'c1ccc' is malformed (unparsable: RDKit reads no molecule); fix it"
    with pytest.raises(InputError, match=re.escape(expected)):
        read(path)


def test_all_malformed_lines_are_named_at_once(write: Callable[[str], Path]) -> None:
    assert refusals(write("((\nCCO\nC.C\n[H][H]\nCCCCCC\n"), max_heavy_atoms=5) == (
        " line 1: '((' is malformed (unparsable: RDKit reads no molecule)",
        " line 3: 'C.C' is malformed (multi_fragment: several fragments)",
        " line 4: '[H][H]' is malformed (empty: no heavy atom)",
        " line 5: 'CCCCCC' is malformed (too_large: 6 heavy atoms, at most 5)",
    )


@pytest.mark.parametrize(
    ("n_malformed", "rest"), [(6, ": 1 more malformed record"), (12, ": 7 more malformed records")]
)
def test_beyond_five_malformed_lines_are_counted(write: Callable[[str], Path], n_malformed: int, rest: str) -> None:
    *named, last = refusals(write("((\n" * n_malformed))
    assert [line.split(":")[0] for line in named] == [f" line {number}" for number in range(1, 6)]
    assert last == rest


def test_five_malformed_lines_leave_none_to_count(write: Callable[[str], Path]) -> None:
    lines = refusals(write("((\n" * 5))
    assert [line.split(":")[0] for line in lines] == [f" line {number}" for number in range(1, 6)]


def test_a_long_malformed_line_is_shown_by_its_beginning(write: Callable[[str], Path]) -> None:
    (line,) = refusals(write("(" * 300))
    assert line == f" line 1: {'(' * 60!r} is malformed (unparsable: RDKit reads no molecule)"


def test_malformed_lines_are_passed_over_and_counted_on_demand(write: Callable[[str], Path]) -> None:
    library = read(write("#\nCCO\n((\nC.C x\n\nCC\n"), skip_invalid=True)
    assert (library.smiles, library.lines) == (("CCO", "CC"), (2, 6))
    assert re.search(
        r"own\.smi: skipped 2 of 4 records, which cannot be used; the first fault: line 3: '\(\('", library.notice
    )


def test_a_molecule_that_stands_twice_in_a_file_counts_once(write: Callable[[str], Path]) -> None:
    assert read(write("OCC\nC\nCCO\n")) == Library(("CCO", "C"), (1, 2))


def test_a_larger_molecule_is_malformed_only_where_the_limit_says_so(write: Callable[[str], Path]) -> None:
    path = write("CCCCCC\nCC\n")
    assert read(path, max_heavy_atoms=5, skip_invalid=True).smiles == ("CC",)
    assert read(path, max_heavy_atoms=6, skip_invalid=True).smiles == ("CCCCCC", "CC")


@pytest.mark.parametrize("content", ["", "\n \n", "# nothing\n#CC\n"])
def test_a_file_without_molecules_is_refused(write: Callable[[str], Path], content: str) -> None:
    with pytest.raises(InputError, match=r"^task\.initial\.path: .*/own\.smi contains no molecules$"):
        read(write(content))


def test_a_file_that_is_malformed_throughout_holds_no_molecule(write: Callable[[str], Path]) -> None:
    with pytest.raises(InputError, match=r"own\.smi contains no molecules; line 1: '\(\(' is malformed"):
        read(write("((\n))\n"), skip_invalid=True)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^task\.initial\.path: cannot read .*/absent\.smi: .*No such file"):
        read(tmp_path / "absent.smi")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^task\.initial\.path: cannot read .*Is a directory"):
        read(tmp_path)


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError, match=r"^task\.initial\.path: cannot read ~no-such-user/own.smi: .*No such file"):
        read(Path("~no-such-user/own.smi"))


def test_a_file_that_is_no_utf_8_is_refused_even_when_invalid_lines_are_skipped(
    write: Callable[[bytes], Path],
) -> None:
    with pytest.raises(InputError, match=r"cannot read .*own\.smi: line 1 is not UTF-8; save"):
        read(write("CCO äthanol\n".encode("latin-1")), skip_invalid=True)


# A file that is too large to be read whole

N = 60


@pytest.fixture
def chains(write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of chains whose lengths are their lines, which is streamed."""
    monkeypatch.setattr(initial, "WHOLE", N - 1)
    return write("".join(f"{'C' * line}\n" for line in range(1, N + 1)))


def streamed(path: Path, **settings: Any) -> StreamedLibrary:
    library = open_file(path, **settings)
    assert isinstance(library, StreamedLibrary)
    return library


def test_a_long_file_is_streamed(chains: Path) -> None:
    assert len(streamed(chains)) == N


def test_a_draw_from_a_long_file_is_the_seeds(chains: Path) -> None:
    assert sample(streamed(chains), 20) == sample(streamed(chains), 20)
    assert len({tuple(sample(streamed(chains), 20, seed=seed, pool=pool)) for seed in (0, 1) for pool in (0, 1)}) == 4


def test_molecules_of_a_long_file_come_with_their_lines(chains: Path) -> None:
    assert all(len(smiles) == line for smiles, line in streamed(chains).sample(20, Stream(0, 1).rng()))


def frequencies(draw: Callable[[int], list[int]]) -> float:
    """Probability of lines drawn as unevenly as 200 draws are, or more so, were all lines equally likely."""
    counts = Counter(line for seed in range(200) for line in draw(seed))
    return float(chisquare([counts[line] for line in range(1, N + 1)]).pvalue)


def test_every_line_of_a_long_file_is_drawn_equally_often(chains: Path) -> None:
    library = streamed(chains)
    assert frequencies(lambda seed: [line for _, line in library.sample(6, Stream(seed, 1).rng())]) > 0.001


def test_the_test_of_uniform_draws_would_tell_a_draw_from_the_head_of_the_file() -> None:
    assert frequencies(lambda seed: [1 + place for place in islice(shuffled(50, Stream(seed, 1).rng()), 6)]) < 1e-9


def test_malformed_lines_leave_the_others_equally_likely(write: Callable[[str], Path], chains: Path) -> None:
    write("".join("((\n" if line % 2 else f"{'C' * line}\n" for line in range(1, N + 1)))
    library = streamed(chains, skip_invalid=True)
    counts = Counter(line for seed in range(200) for _, line in library.sample(6, Stream(seed, 1).rng()))
    assert sorted(counts) == list(range(2, N + 1, 2))
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_malformed_lines_that_were_drawn_are_told_for_each_pool(
    write: Callable[[str], Path], chains: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write("CCO\n" + "((\n" * (N - 1))
    library = streamed(chains, skip_invalid=True)
    assert sample(library, 5) == sample(library, 5, pool=1) == ["CCO"]
    told, again = caplog.messages
    assert told == again
    assert f"skipped {N - 1} of {N} records, which cannot be used; the first fault: line 2: '((' is" in told


def test_malformed_lines_that_were_drawn_are_refused_on_demand(write: Callable[[str], Path], chains: Path) -> None:
    write("((\n" * N)
    with pytest.raises(InputError, match=r"own\.smi line \d+: '\(\(' is malformed .*skip_invalid=true"):
        streamed(chains).sample(5, Stream(0, 1).rng())


def test_a_long_file_in_which_molecules_are_too_rare_is_refused(
    write: Callable[[str], Path], chains: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initial, "MOST_READ", N - 10)
    write("CCO\n" * N)
    with pytest.raises(
        InputError, match=r"50 records drawn from .*own\.smi hold 1 molecules, expected 5; check the file"
    ):
        streamed(chains).sample(5, Stream(0, 1).rng())


def test_a_molecule_that_stands_twice_in_a_long_file_is_drawn_once(write: Callable[[str], Path], chains: Path) -> None:
    write("CCO\nOCC\n" * N)
    assert sample(streamed(chains), 5) == ["CCO"]


def test_only_lines_that_are_drawn_are_read_by_rdkit(chains: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, read = streamed(chains), []
    monkeypatch.setattr(Reader, "read", lambda self, text: read.append(text) or parse_smiles(text, 80))
    assert len(read) == 0
    sample(library, 10)
    assert len(read) == 10


def test_a_file_packed_by_gzip_is_drawn_from_like_the_file_itself(chains: Path) -> None:
    packed = chains.with_suffix(".smi.gz")
    packed.write_bytes(gzip.compress(chains.read_bytes()))
    assert sample(streamed(packed), 10) == sample(streamed(chains), 10)
