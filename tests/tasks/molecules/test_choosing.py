"""Which molecules of a library a pool starts from."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import QED, Crippen
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.tasks.molecules import choosing, initial
from evodiverse.tasks.molecules.initial import AnyLibrary, Library, Molecule, open_library, read_published
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.tasks.molecules.settings import Initial
from evodiverse.vocabulary import Stream

PUBLISHED = Library(tuple(Chem.CanonSmiles(text) for text in read_published(artifact_path("zinc250k")).smiles[:300]))
SIZE = 12


def choose(library: AnyLibrary, size: int = SIZE, seed: int = 0, **settings: Any) -> list[Molecule]:
    settings = {"among": 200, "size": size, **settings}
    assert choosing.find_violations(Initial(**settings)) == []
    return choosing.build(Initial(**settings), artifact_path)(library.sample, size, Stream(seed, 1).rng())


def violations(**settings: Any) -> list[str]:
    return choosing.find_violations(Initial(**settings))


def similarities(smiles: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Similarity of all pairs, computed bit by bit and not by RDKit."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    bits = np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], dtype=float)
    shared = bits @ bits.T
    sizes = bits.sum(axis=1)
    return shared / (sizes[:, None] + sizes[None, :] - shared)


# Diversity


def test_each_molecule_chosen_by_diversity_is_the_farthest_from_those_before() -> None:
    chosen = [molecule.smiles for molecule in choose(PUBLISHED, choose="diverse", among=300)]
    places = [PUBLISHED.smiles.index(text) for text in chosen]
    similarity = similarities(PUBLISHED.smiles)
    for step in range(1, SIZE):
        nearest = similarity[:, places[:step]].max(axis=1)
        rest = np.delete(nearest, places[:step])
        assert nearest[places[step]] == pytest.approx(rest.min(), abs=1e-12)


def test_the_first_molecule_chosen_by_diversity_is_drawn() -> None:
    assert len({choose(PUBLISHED, choose="diverse", seed=seed)[0] for seed in range(10)}) > 5


def test_a_start_chosen_by_diversity_is_less_alike_than_one_drawn() -> None:
    upper = np.triu_indices(SIZE, 1)
    diverse, drawn = (
        [
            similarities([one.smiles for one in choose(PUBLISHED, choose=rule, seed=seed)])[upper].max()
            for seed in range(5)
        ]
        for rule in ("diverse", "random")
    )
    assert max(diverse) < min(drawn)


def test_diversity_chooses_among_as_many_as_are_drawn() -> None:
    assert sorted(choose(PUBLISHED, choose="diverse", among=SIZE)) == sorted(choose(PUBLISHED, choose="random"))


# Score


def best_by(score: Any, size: int = SIZE) -> list[str]:
    """The best molecules, by another way to sort."""
    rated = [(-score(Chem.MolFromSmiles(text)), place, text) for place, text in enumerate(PUBLISHED.smiles)]
    return [text for _, _, text in sorted(rated)[:size]]


def test_the_molecules_chosen_by_score_are_the_best_first() -> None:
    chosen = choose(PUBLISHED, choose="score", score="qed", among=300)
    assert [molecule.smiles for molecule in chosen] == best_by(QED.qed)


def test_a_component_with_its_transform_may_rank() -> None:
    component = {"kind": "logp", "transform": {"kind": "gaussian", "mu": 2.0, "sigma": 0.5}}
    chosen = choose(PUBLISHED, choose="score", score=component, among=300)
    assert [one.smiles for one in chosen] == best_by(lambda molecule: -abs(Crippen.MolLogP(molecule) - 2.0))


def test_a_molecule_is_the_most_similar_to_itself() -> None:
    (nearest, *_) = choose(
        PUBLISHED, choose="score", score={"kind": "similarity", "smiles": PUBLISHED.smiles[150]}, among=300
    )
    assert nearest == (PUBLISHED.smiles[150], 151)


def test_equal_scores_are_chosen_as_they_stand_in_the_file() -> None:
    chosen = choose(PUBLISHED, choose="score", score={"kind": "smarts", "smarts": "[#6]"})
    assert [molecule.line for molecule in chosen] == sorted(molecule.line for molecule in chosen)


def test_score_chooses_among_as_many_as_are_drawn() -> None:
    drawn = choose(PUBLISHED, choose="random")
    assert sorted(choose(PUBLISHED, choose="score", score="qed", among=SIZE)) == sorted(drawn)


@pytest.mark.parametrize("settings", [{"choose": "diverse"}, {"choose": "score", "score": "qed"}])
def test_a_library_that_is_too_small_gives_all(settings: dict[str, Any]) -> None:
    assert sorted(choose(Library(("C", "CC", "CCO")), **settings)) == [("C", 1), ("CC", 2), ("CCO", 3)]


# A file too large to be read


@pytest.mark.parametrize("settings", [{"choose": "diverse"}, {"choose": "score", "score": "qed"}])
def test_molecules_are_chosen_with_their_lines_from_a_long_packed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    monkeypatch.setattr(initial, "WHOLE", 10)
    (tmp_path / "own.smi.gz").write_bytes(gzip.compress("\n".join(PUBLISHED.smiles).encode()))
    library = open_library(str(tmp_path / "own.smi.gz"), None, Reader(80), skip_invalid=True)
    chosen = choose(library, among=100, **settings)
    assert chosen == choose(library, among=100, **settings) != choose(library, among=100, seed=1, **settings)
    assert [PUBLISHED.smiles[line - 1] for _, line in chosen] == [smiles for smiles, _ in chosen]


# Settings


def test_a_choice_needs_as_many_drawn_as_chosen() -> None:
    (told,) = violations(choose="diverse", size=120, among=60)
    assert told == "task.initial.among=60 must be at least task.initial.size=120; raise it"


def test_a_choice_by_score_needs_a_score() -> None:
    (told,) = violations(choose="score")
    assert told == "task.initial.score has no value; set it to a property to choose by, such as qed"


@pytest.mark.parametrize("rule", ["random", "diverse"])
def test_a_score_that_nothing_uses_is_told(rule: str) -> None:
    (told,) = violations(choose=rule, score="qed")
    assert told == "task.initial.score is set but not used; set task.initial.choose=score or task.initial.score=null"


@pytest.mark.parametrize(
    "score", ["oracle", {"kind": "oracle", "published": "jnk3"}, {"kind": "oracle", "_target_": "builtins.len"}]
)
def test_a_score_that_needs_an_oracle_is_refused(score: object) -> None:
    (told,) = violations(choose="score", score=score)
    assert (
        told
        == "task.initial.score.kind=oracle is not allowed, as it would cost oracle calls; use another kind, such as qed"
    )


def test_a_property_that_is_no_score_needs_a_transform() -> None:
    (told,) = violations(choose="score", score="sa")
    assert told == "task.initial.score.transform has no value; set one, as sa is not a score from 0 to 1"


@pytest.mark.parametrize("score", ["qde", 3, ["qed"], {"weight": 1}, {"kind": "qed", "colour": "red"}])
def test_a_score_that_cannot_be_meant_is_told_with_its_key(score: object) -> None:
    (told,) = violations(choose="score", score=score)
    assert told.startswith("task.initial.score.")
    with pytest.raises(InputError, match=r"^task\.initial\.score\."):
        choosing.build(Initial(choose="score", score=score), artifact_path)
