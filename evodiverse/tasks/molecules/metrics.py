"""Metrics of molecule runs: those of the paper (appendix on molecular discovery), and others common in the field.

Metrics of an iteration are computed over the union of all pools, in which a molecule counts once. Metrics with
``_archive`` in their names, ``pmo_auc`` and those of the module `hits` are computed over all molecules evaluated so far
instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import accumulate, islice
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.ports import Headline, Subject, Tools
from evodiverse.runlog.log import Log, Measurement, calls_by_iteration, mean, union
from evodiverse.runlog.runs import DOCKING, read_docking
from evodiverse.tasks.molecules.diversity import fingerprint, pairwise_distances, select_ranked, unpack
from evodiverse.tasks.molecules.hits import HIT, LIMIT, N_TOP, count_hits, measure_hits
from evodiverse.tasks.molecules.parsing import MAX_HEAVY_ATOMS, NoMoleculeError, Reader
from evodiverse.tasks.molecules.properties import assess, find_scaffold, is_drug_like
from evodiverse.tasks.molecules.records import Source
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

CONVERGED_ITERATIONS = 5
PMO_STEP = 100

_READER = Reader(MAX_HEAVY_ATOMS, allow_fragments=True)


class MoleculeMetrics:
    """The metrics of all molecule runs (see `evodiverse.ports.Metrics`)."""

    kind = "molecules"
    columns: ClassVar[Mapping[str, type]] = {}
    targets = (0.5, 0.6, 0.7, 0.8, 0.9)
    libraries = ("rdkit",)
    reads_texts = False
    subject = Subject()
    headlines = (
        Headline("diverse_auc", "diversity-aware top-10 AUC"),
        Headline("different_hits_0.5_0.4", "different hits", 1),
        Headline("top10", "mean of the ten best"),
    )
    threshold, limit = HIT, LIMIT

    def measure(self, log: Log, tools: Tools) -> Measurement:  # noqa: ARG002 (other domains need encoders)
        """Return the metrics of a run (see `measure_molecules`).

        Raises:
            InputError: The log is damaged, or the file of docking scores cannot be used (see `_measure_docking`).
        """
        with naming_damage(str(log.run.path)):
            return measure_molecules(log)

    def count_hits(self, log: Log, threshold: float) -> Measurement:
        """Return the numbers of hits after each tenth of the budget; see `hits.count_hits`."""
        with naming_damage(str(log.run.path)):
            return count_hits(log, threshold)

    def pick_top(self, log: Log) -> list[int]:
        """Return the diversity-aware top 10 of the final pools; see `select_diverse_calls`."""
        with naming_damage(str(log.run.path)):
            return select_diverse_calls(log, log.final_union)

    def embed(self, genotypes: Sequence[str], tools: Tools) -> NDArray[np.float32]:  # noqa: ARG002
        """Return the ``(n, 2048)`` bits of the fingerprints of molecules."""
        with naming_damage("a log"):
            return unpack([fingerprint(smiles) for smiles in genotypes]).astype(np.float32)

    def embed_reference(self, file: Path, most: int) -> NDArray[np.float32]:
        """Return the ``(n, 2048)`` bits of the fingerprints of a random sample of the molecules in a file.

        Args:
            file: A file in one of the formats of `Source`. Records without a valid molecule are skipped.
            most: How many molecules to return at most.

        Raises:
            InputError: The file cannot be read, or holds no molecule.
        """
        source = Source(file, key="--reference", column_key=None)
        records = list(source.records())
        order = np.random.default_rng(0).permutation(len(records))
        parsed = (source.parse(records[place], _READER) for place in order.tolist())
        valid = (fingerprint(each.genotype) for each in parsed if not isinstance(each, Rejection))
        if not (fingerprints := [*islice(valid, most)]):
            raise InputError(f"--reference: {file} holds no molecules; check the file")
        return unpack(fingerprints).astype(np.float32)


@contextmanager
def naming_damage(log: str) -> Iterator[None]:
    """Refuse a log as damaged if, within this context, a text in it is no molecule.

    Raises:
        InputError: The log is damaged.
    """
    try:
        yield
    except NoMoleculeError as error:
        raise InputError(f"{log} is damaged ({error}); run it again with overwrite=true") from error


def measure_molecules(log: Log) -> Measurement:
    """Return the metrics of a molecule run.

    Most metrics are defined in the functions that compute them. The remaining ones are:

    - ``diverse_average`` is the mean of the curve `diverse_top10_curve` over the last five iterations.
    - ``top10`` and ``top100`` are the mean scores of the best 10 and 100 molecules in the last iteration's pools.
    - ``unique_scaffold_top10`` is the same mean as ``top10``, except that only the best molecule of each scaffold
      counts.
    - ``scaffold_diverse_top10`` is the mean score of a diversity-aware top 10 of the last iteration's pools. Molecules
      count as similar if their scaffolds are, whatever the similarity of the whole molecules.
    """
    curve = diverse_top10_curve(log)
    archive = diverse_archive_curve(log)
    best = [log.scores[call] for call in select_diverse_calls(log, list(log.scores))]
    n_full = count_full_iterations(log)
    budget = int(log.run.settings["budget.oracle_calls"])
    counted = dict(log.counted_scores)
    last = log.top(log.final_union, len(log.final_union))
    scores = [log.scores[call] for call in last]
    scaffolds = [find_scaffold(log.keys[call]) for call in last]
    best_of_each = dict(zip(reversed(scaffolds), reversed(scores), strict=True))
    return {
        "diverse_auc": curve_auc(curve, n_full),
        "diverse_average": fmean(curve[-CONVERGED_ITERATIONS:]),
        "diverse_auc_archive": curve_auc(archive, n_full),
        "diverse_average_archive": fmean(archive[-CONVERGED_ITERATIONS:]),
        "diverse_top10_archive": mean(best),
        "n_diverse_top10_archive": len(best),
        "diverse_top10_archive_full": sum(best) / N_TOP,
        "diverse_auc_calls": calls_auc(curve, calls_by_iteration(log), budget),
        "pmo_auc": pmo_auc([counted.get(call, 0.0) for call in range(1, log.n_calls + 1)], budget),
        "top10": mean(scores[:N_TOP]),
        "top100": mean(scores[:100]),
        **_measure_diverse_top(log),
        "unique_scaffold_top10": mean(nlargest(N_TOP, best_of_each.values())),
        "scaffold_diverse_top10": mean([scores[at] for at in select_ranked(scaffolds, N_TOP)]),
        **measure_hits(log),
        **_measure_docking(log),
        "curve.diverse_top10": [*curve],
        "curve.diverse_top10_archive": [*archive],
        **_measure_pools(log),
    }


def _measure_pools(log: Log) -> Measurement:
    """Return curves that describe the pools after each iteration, starting with iteration 0.

    - ``curve.n_diverse`` is the number of molecules selected if they are visited from the best to the worst, and each
      is selected whose average similarity to those selected before is below the limit of `select_ranked`.
    - ``curve.n_drug_like`` is the number of molecules that `is_drug_like` accepts, and ``curve.drug_like`` their mean
      score, or None if there are none.
    """
    ranked = [log.top(union(pools), len(log.scores)) for pools in log.states]
    drug_like = [[log.scores[call] for call in calls if is_drug_like(log.keys[call])] for calls in ranked]
    return {
        "curve.n_diverse": [len(select_ranked((log.keys[call] for call in calls), len(calls))) for calls in ranked],
        "curve.drug_like": [mean(scores) for scores in drug_like],
        "curve.n_drug_like": [len(scores) for scores in drug_like],
    }


def _measure_diverse_top(log: Log) -> Measurement:
    """Return properties of the last iteration's diversity-aware top 10 (paper, table ``last_iter_top10_div04``).

    ``diverse_top10`` is the mean score of the selected molecules, and ``n_diverse_top10`` is their number, which may be
    less than ten. In ``diverse_top10_full``, each missing molecule counts as 0. ``molecular_diversity`` is the mean
    of one minus the Tanimoto similarity over all pairs of the molecules, and ``scaffold_diversity`` that over all pairs
    of their scaffolds, where the scaffold of a molecule without rings has similarity 0 to every other, including empty
    ones. Both are None for fewer than two molecules.
    """
    selected = select_diverse_calls(log, log.final_union)
    scores = [log.scores[call] for call in selected]
    qualities = [assess(log.keys[call]) for call in selected]
    scaffolds = [find_scaffold(log.keys[call]) for call in selected]
    return {
        "diverse_top10": mean(scores),
        "n_diverse_top10": len(scores),
        "diverse_top10_full": sum(scores) / N_TOP,
        "molecular_diversity": mean(pairwise_distances([fingerprint(log.keys[call]) for call in selected])),
        "n_scaffolds": len(set(scaffolds)),
        "scaffold_diversity": mean(pairwise_distances([fingerprint(scaffold) for scaffold in scaffolds])),
        "qed": mean([quality.qed for quality in qualities]),
        "sa": mean([quality.sa for quality in qualities]),
        "sa_score": mean([quality.sa_score for quality in qualities]),
    }


def _measure_docking(log: Log) -> Measurement:
    """Return the mean docking scores, in kcal/mol, of the diversity-aware top 10, or nothing if the run was not docked.

    The diversity-aware top 10 of an iteration are up to ten molecules of the pools with high scores, each with a low
    average similarity to those selected before it (see `select_diverse_calls`).

    ``docking_last`` is the mean over the docked molecules in the last iteration's top 10, and ``n_docked_last`` is
    their number. ``docking_last5`` is the mean of such means over the last five iterations; an iteration without any
    docked molecule is left out.

    Raises:
        InputError: A molecule of a top 10 is missing from the file of docking scores.
    """
    docked = read_docking(log.run)
    if docked is None:
        return {}
    tops = select_last_tops(log)
    if absent := list(dict.fromkeys(key for keys in tops for key in keys if key not in docked)):
        n_absent = count_of(len(absent), "molecule")
        raise InputError(f"{log.run.path / DOCKING} lacks {n_absent}, such as {absent[0]}; run evodiverse-dock")
    scores = [[score for key in keys if (score := docked[key]) is not None] for keys in tops]
    means = [fmean(some) for some in scores if some]
    return {"docking_last": mean(scores[-1]), "docking_last5": mean(means), "n_docked_last": len(scores[-1])}


def select_last_tops(log: Log) -> list[list[str]]:
    """Return the canonical SMILES of the diversity-aware top 10 of each of the last five iterations, earliest first."""
    tops = [select_diverse_calls(log, union(pools)) for pools in log.states[-CONVERGED_ITERATIONS:]]
    return [[log.keys[call] for call in top] for top in tops]


def select_diverse_calls(log: Log, calls: Sequence[int]) -> list[int]:
    """Select the diversity-aware top 10 from the molecules of the oracle calls ``calls`` that have a charged score.

    These are up to ten good and mutually different molecules. Molecules are visited from the highest score to the
    lowest. A molecule is selected if its *average* Tanimoto similarity to those selected before it is below 0.4.

    Returns:
        The oracle calls of the selected molecules, best first.
    """
    ranked = log.top(calls, len(calls))
    return [ranked[at] for at in select_ranked((log.keys[call] for call in ranked), N_TOP)]


def diverse_top10_curve(log: Log) -> list[float]:
    """Return the mean score of the diversity-aware top 10 of the pools after each iteration, from iteration 0."""
    tops = [select_diverse_calls(log, union(pools)) for pools in log.states]
    return [mean([log.scores[call] for call in top]) or 0.0 for top in tops]  # 0 while all molecules are the user's own


def diverse_archive_curve(log: Log) -> list[float]:
    """Return the mean score of the diversity-aware top 10 of all molecules evaluated up to each iteration.

    These are up to ten good and mutually different molecules, selected as `select_diverse_calls` does.
    """
    ranked = log.top(list(log.scores), len(log.scores))
    curve = []
    for n_charged in accumulate(calls_by_iteration(log)):
        calls = [call for call in ranked if call <= n_charged + log.n_free]
        taken = select_ranked((log.keys[call] for call in calls), N_TOP)
        curve.append(mean([log.scores[calls[place]] for place in taken]) or 0.0)
    return curve


def count_full_iterations(log: Log) -> int:
    """Return the smallest number of iterations, at least 1, in which a run can spend its budget.

    An iteration makes at most one oracle call for each of its ``pools * offspring`` offspring. The number is thus
    ``ceil((budget - initial calls) / (pools * offspring))``.
    """
    n_slots = len(log.run.settings["method.ladder"]) * int(log.run.settings["method.offspring"])
    return max(1, ceil((int(log.run.settings["budget.oracle_calls"]) - calls_by_iteration(log)[0]) / n_slots))


def curve_auc(curve: Sequence[float], n_iterations: int) -> float:
    """Return the mean of a curve over iterations 1 to ``n_iterations``.

    After an early stop, the curve keeps its last value. Runs with the same budget are thus compared over the same span,
    however early they stop. A curve can be longer than ``n_iterations``, because iterations may make fewer oracle
    calls than they could. Such a curve is averaged from iteration 1 to its end.

    Args:
        curve: The values from iteration 0 on.
        n_iterations: The number of iterations to average over, at least 1.
    """
    values = list(curve)
    return fmean(values[1:] + values[-1:] * (n_iterations - len(values) + 1))


def calls_auc(curve: Sequence[float], calls: Sequence[int], budget: int) -> float:
    """Return the mean of a curve over the oracle calls after the initial ones, up to the budget.

    Every call counts with the value that the curve has after the iteration to which the call belongs. Calls that an
    early stop left unspent count with the last value.

    Args:
        curve: The values from iteration 0 on.
        calls: The number of oracle calls in each iteration, from iteration 0 on.
        budget: The oracle calls of the whole run, including those of iteration 0.
    """
    spent = sum(value * count for value, count in zip(curve[1:], calls[1:], strict=True))
    n_after = budget - calls[0]
    return (spent + curve[-1] * (budget - sum(calls))) / n_after if n_after > 0 else curve[-1]


def pmo_auc(scores: Sequence[float], budget: int) -> float:
    """Return the area under the curve of the top-10 mean score over oracle calls, as PMO defines it (Gao et al. 2022).

    The mean score of the ten best molecules so far, diverse or not, is taken every 100 calls and at the end. These
    points are joined by straight lines, starting from 0 at 0 calls, and the last value is kept after an early stop. The
    area under the lines is divided by the budget.

    Args:
        scores: The scores of all oracle calls in the order of their numbers, 0 for a failed evaluation.
        budget: The oracle calls of the whole run.
    """
    ends = [*range(PMO_STEP, len(scores), PMO_STEP), len(scores)]
    area, begin, before, best = 0.0, 0, 0.0, list[float]()
    for end in ends:
        best = nlargest(N_TOP, [*best, *scores[begin:end]])
        now = mean(best) or 0.0  # 0 without calls
        area += (end - begin) * (before + now) / 2
        begin, before = end, now
    return (area + (budget - len(scores)) * before) / budget
