"""The molecule task: its candidates are molecules that an oracle or an objective scores between 0 and 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from threading import get_ident
from typing import Any, ClassVar, Final

import numpy as np
import rdkit
from numpy.typing import NDArray
from rdkit import DataStructs

from evodiverse.errors import ContractError, InputError
from evodiverse.kit.apart import Apart
from evodiverse.ports import Discovery
from evodiverse.tasks.molecules.choosing import Choose
from evodiverse.tasks.molecules.decorating import BUILT, ScaffoldLibrary
from evodiverse.tasks.molecules.diversity import count_features, diverse_top_mean, fingerprint
from evodiverse.tasks.molecules.filters.filters import FilteredLibrary, Filters, admit_known, parse_filtered
from evodiverse.tasks.molecules.initial import AnyLibrary, Library
from evodiverse.tasks.molecules.objective.objective import Objective
from evodiverse.tasks.molecules.oracle import OracleFunction, TargetOracle, ask, import_targets
from evodiverse.tasks.molecules.report import draw_top, lay_out
from evodiverse.vocabulary import CHARGED, Candidate, Evaluation, Hypothesis, OwnColumn, Reason, Rejection, Stream

LIBRARY_LINE = "library_line"
COLUMNS: Final = {
    LIBRARY_LINE: OwnColumn(
        int,
        "the line of your file, counted from 1, on which the record of an initial molecule begins",
        null="the candidate is not an initial molecule of the file",
    ),
    CHARGED: OwnColumn(
        bool,
        "false for an initial molecule whose score is your own (`task.initial.measured`): it is not part of the budget",
        null="the molecule was evaluated, and charged",
    ),
}
"""The columns of runs that start from a user's file, the second only with measured scores."""


@dataclass(eq=False)
class MoleculeTask:
    """The task of a molecule search: it supplies initial molecules, parses SMILES and scores molecules by one oracle.

    Attributes:
        oracle: A function that maps a batch of canonical SMILES to scores in [0, 1], in order, with NaN for a molecule
            that it cannot score; or an objective, whose components are logged next to its score.
        origin: The library from which a pool's initial molecules are chosen.
        initial_size: The number of molecules that a pool starts from.
        max_heavy_atoms: The maximum number of heavy atoms; larger molecules are rejected.
        choose: The function that chooses a pool's initial molecules from the library.
        highlight: SMARTS patterns that the picture of the best molecules marks.
        filters: The filters that molecules must pass besides the size limit, or None for no filters.
        has_scores: Whether the library has measured scores, so that the log has the column `CHARGED`.
    """

    oracle: OracleFunction | Objective
    origin: AnyLibrary | ScaffoldLibrary
    initial_size: int
    max_heavy_atoms: int
    choose: Choose = Choose()
    highlight: Sequence[str] = ()
    filters: Filters | None = None
    has_scores: bool = False
    summary_name: ClassVar = "diverse top-10"

    def __post_init__(self) -> None:
        own = self.oracle.columns if isinstance(self.oracle, Objective) else {}
        logged = {LIBRARY_LINE: self.origin.names_lines, CHARGED: self.has_scores}
        files = {name: COLUMNS[name].kind for name, is_logged in logged.items() if is_logged}
        self.columns: Mapping[str, type] = {**own, **files}
        self._line_of: dict[str, int] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the library, which worker processes do not need."""
        return self.__dict__ | {"origin": Library(()), "choose": Choose()}

    @property
    def _admitted(self) -> AnyLibrary | FilteredLibrary | ScaffoldLibrary:
        """The molecules of the library that pass the filters."""
        if self.filters is None or isinstance(self.origin, ScaffoldLibrary):
            return self.origin
        return FilteredLibrary(self.origin, admit_known(self.filters), self.max_heavy_atoms, self.initial_size)

    def initial(self, stream: Stream) -> list[str]:
        """Choose the molecules that a pool starts from, and return their SMILES."""
        chosen = self.choose(self._admitted.sample, self.initial_size, stream.rng())
        for molecule in chosen:
            if self.origin.names_lines and molecule.line != BUILT:
                self._line_of.setdefault(molecule.smiles, molecule.line)
        return [molecule.smiles for molecule in chosen]

    def check_initial(self, stream: Stream) -> None:
        """Refuse to start if too few molecules of the library pass the filters, without choosing among those that do.

        Raises:
            InputError: Too few molecules pass.
        """
        if isinstance(admitted := self._admitted, FilteredLibrary | ScaffoldLibrary):
            size = self.choose.among or self.initial_size
            admitted.sample(size, stream.rng(), enough=min(size, self.initial_size))

    def trace(self, hypothesis: Hypothesis) -> dict[str, int]:
        """Return the value of the column `LIBRARY_LINE`, or {} for a molecule that was not drawn from a user's file."""
        line = self._line_of.get(hypothesis.key)
        return {} if line is None else {LIBRARY_LINE: line}

    def known(self, hypothesis: Hypothesis) -> Evaluation | None:
        """Return the evaluation of an initial molecule whose score the user's file has, or None."""
        score = self.origin.scores.get(hypothesis.key)
        return None if score is None else _rated(score, details={CHARGED: False})

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return the molecules that texts represent, or why they are rejected (see `parse_filtered`)."""
        return [parse_filtered(text, self.max_heavy_atoms, self.filters) for text in genotypes]

    def parse_initial(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return what `parse` does, but accept known molecules (``task.filters.novel``)."""
        filters = None if self.filters is None else admit_known(self.filters)
        return [parse_filtered(text, self.max_heavy_atoms, filters) for text in genotypes]

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Score molecules; a score of NaN is a failed evaluation.

        Raises:
            ServiceError: The oracle raised an exception. EvoDiverse's own exceptions are passed on instead.
            ContractError: The oracle did not return one number in [0, 1], or NaN, for each molecule.
        """
        smiles = [hypothesis.genotype for hypothesis in hypotheses]
        if isinstance(self.oracle, Objective):
            measured = self.oracle.measure(smiles, self._apart())
            return list(map(_rated, measured.scores.tolist(), measured.rejections, measured.details))
        scores, rejections = ask(self.oracle, smiles, "the oracle", self._apart())
        if len(outside := np.flatnonzero((scores < 0) | (scores > 1))):
            first = outside[0]
            raise ContractError(f"the oracle scored {smiles[first]} as {scores[first]}; a score must lie in [0, 1]")
        return [_rated(score, rejections.get(place)) for place, score in enumerate(scores.tolist())]

    def _apart(self) -> Apart | None:
        """Return the process in which this thread calls users' functions; None to call them in this process."""
        return None

    def rate(self, hypothesis: Hypothesis, score: float) -> Evaluation:
        """Return the evaluation of a molecule that another program or a laboratory has scored.

        Raises:
            InputError: The score lies outside [0, 1].
        """
        if not 0 <= score <= 1:
            raise InputError(f"{hypothesis.genotype} was scored {score:g}; a score must lie in [0, 1]")
        return _rated(score)

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        """Return the ``(n,)`` Tanimoto similarities in [0, 1] of a molecule's Morgan bits to those of ``n`` others."""
        bits = [fingerprint(other.genotype) for other in others]
        return np.array(DataStructs.BulkTanimotoSimilarity(fingerprint(hypothesis.genotype), bits))

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        """Return the ``(n, 2048)`` counts of the Morgan environments of ``n`` molecules."""
        return np.stack([count_features(hypothesis.genotype) for hypothesis in hypotheses]).astype(np.float32)

    def library(self) -> Sequence[str]:
        """Return the SMILES of the library that pools start from, at most `MOST_READ` of a large file."""
        return self.origin.all_smiles()

    def library_digest(self) -> str:
        """Return a digest of the library's content and of what its features depend on."""
        return f"{self.origin.digest()} morgan3 2048 {rdkit.__version__}"

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the mean score of the diversity-aware top 10 of candidates (see `diverse_top_mean`)."""
        scores = np.array([candidate.score for candidate in candidates], dtype=np.float64)
        return diverse_top_mean([candidate.genotype for candidate in candidates], scores)

    def show_best(self, discoveries: Sequence[Discovery]) -> dict[str, bytes]:
        """Return files for ``best/`` by name: those of `lay_out`, and the picture ``top10.png`` (see `draw_top`)."""
        if not discoveries:
            return {}
        columns = tuple(self.columns)
        return {**lay_out(discoveries, columns), "top10.png": draw_top(discoveries, columns, self.highlight)}


class OwnScoreTask(MoleculeTask):
    """A molecule task whose score, or a component of it, is a user's function, which is called in processes of its own.

    Each thread that evaluates has one process. If the function takes too long, the process is killed and replaced. A
    copy of the task in another process, such as on a cluster, calls the function there, without a limit.

    Args:
        own: The user's functions.
        timeout: The seconds that a call of a function may take.
        arguments: The arguments of `MoleculeTask`.
    """

    def __init__(self, own: Sequence[TargetOracle], timeout: float, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._own = own
        self._timeout: float | None = timeout
        self._aparts: dict[int, Apart] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the processes."""
        return super().__getstate__() | {"_timeout": None, "_aparts": {}}

    def prepare(self) -> None:
        """Start the process of this thread, and import the function there."""
        if (apart := self._apart()) is not None:
            apart.prepare()

    def abandon(self) -> None:
        """Kill all of the processes."""
        for apart in list(self._aparts.values()):
            apart.close()

    def _apart(self) -> Apart | None:
        if self._timeout is None:
            return None
        return self._aparts.setdefault(get_ident(), Apart(self._timeout, partial(import_targets, self._own)))


def energy(score: float) -> float:
    """Return ``log(1 - score)``, with ``1 - score`` floored at 1e-6; lower is better (paper, molecular task)."""
    return float(np.log(max(1.0 - score, 1e-6)))


def _rated(
    score: float, rejection: Rejection | None = None, details: Mapping[str, float | None] | None = None
) -> Evaluation:
    if isnan(score):
        error = str(rejection or Rejection(Reason.NON_FINITE, "the oracle returned NaN"))
        return Evaluation(None, None, valid=False, error=error, details=details or {})
    return Evaluation(score, energy(score), details=details or {})
