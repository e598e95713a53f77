"""The task of the program domain: programs are run in the sandbox and scored by what they return."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from evodiverse.diversity.distances import cosine, hashed_counts
from evodiverse.diversity.tfidf import find_tokens
from evodiverse.ports import Discovery, Sandbox
from evodiverse.tasks.programs.evaluator import Evaluator, Scored, to_json
from evodiverse.tasks.programs.feedback import FEEDBACK, OUTPUT, SECONDS, STAGE, stage_columns, tell
from evodiverse.tasks.programs.parsing import parse_program
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Reason, Rejection, Stream

N_TOP = 100
N_FEATURES = 1024
_SCORING = Lock()  # a user's evaluator need not be thread-safe


class ProgramTask:
    """A task whose candidates are programs, built around one evaluator.

    Args:
        evaluator: The evaluator, which defines how a program is called and scores its result.
        sandbox: The sandbox that runs the programs.
        initial: The sources of the programs that every pool starts from.
        max_characters: The length above which a program is rejected.
    """

    summary_name = f"top-{N_TOP} mean"

    def __init__(self, evaluator: Evaluator, sandbox: Sandbox, initial: Sequence[str], max_characters: int) -> None:
        self._evaluator = evaluator
        self._sandbox = sandbox
        self._initial = tuple(initial)
        self._max_characters = max_characters
        names = [stage.name for stage in evaluator.stages]
        self.columns: Mapping[str, type] = {**evaluator.columns, OUTPUT: str, **stage_columns(names)}

    def initial(self, stream: Stream) -> list[str]:  # noqa: ARG002 (nothing is drawn)
        """Return the sources of the programs that every pool starts from."""
        return list(self._initial)

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return for each text the program in it, or the reason why it is not a program of this task."""
        return [parse_program(text, self._evaluator.entry_point, self._max_characters) for text in genotypes]

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        """Return the ``(n,)`` cosine similarities of a program's token counts (`find_tokens`) to those of others."""
        return cosine(_count_tokens(hypothesis.genotype), [_count_tokens(other.genotype) for other in others])

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        """Return the ``(n, N_FEATURES)`` token counts of programs, with tokens hashed into the columns."""
        return hashed_counts([_count_tokens(hypothesis.genotype) for hypothesis in hypotheses], N_FEATURES)

    def prepare(self) -> None:
        """Start the sandbox of this thread."""
        self._sandbox.prepare()

    def abandon(self) -> None:
        """Stop all running programs, in all threads, and the scoring of their results."""
        self._sandbox.close()
        self._evaluator.abandon()

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Run programs and score their results.

        A failed program scores 0, with which it can join its pool (paper, appendix). If the evaluator has stages, a
        program that fails in one does not run in those after it.
        """
        return [self._evaluate(hypothesis.genotype) for hypothesis in hypotheses]

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the mean score of the best `N_TOP` candidates; NaN for no candidates."""
        scores = sorted((candidate.score or 0.0 for candidate in candidates), reverse=True)[:N_TOP]
        return float(np.mean(scores)) if scores else float("nan")

    def show_best(self, discoveries: Sequence[Discovery]) -> Mapping[str, bytes | None]:
        """Return the content of the files that show the best program, by file name.

        ``best_program.py`` holds the source. If the program scores above 0, there are also files with its result, a
        picture of the result and, in ``verified.json``, the verified value, as far as the evaluator provides them.
        None stands for a file to delete.

        Args:
            discoveries: The best candidates, best first; if there are none, the result is empty.
        """
        if not discoveries:
            return {}
        best = discoveries[0]
        files: dict[str, bytes | None] = {"best_program.py": best.candidate.genotype.encode()}
        if best.candidate.score:
            verified = self._evaluator.verify(best)
            files |= {**self._evaluator.report(best), **self._evaluator.illustrate(best)}
            files["verified.json"] = None if verified is None else to_json(verified.tell())
        return files

    def show_improvement(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the files, by path, that document a program that was better than all before it.

        They hold the program and, if its score is above 0, its result. They are in the folder ``history``, and their
        names begin with the number of the program's oracle call.
        """
        files = {"program.py": discovery.candidate.genotype.encode()}
        if discovery.candidate.score:
            files |= self._evaluator.report(discovery)
        return {f"history/{discovery.candidate.call:06d}-{name}": content for name, content in files.items()}

    def _evaluate(self, source: str) -> Evaluation:
        """Run a program in one stage after the other, up to the first in which it fails."""
        stages = self._evaluator.stages
        seconds = {}
        for stage in stages:
            (execution,) = self._sandbox.run([stage.job(source)])
            with _SCORING:
                began = monotonic()
                answer = execution.failure or stage.score(execution.value, source)
                seconds[f"{SECONDS}{stage.name}"] = execution.wall_seconds + monotonic() - began
            score, logged, failure = Scored(0.0, {}, answer) if isinstance(answer, Rejection) else answer
            if failure is None and stage.threshold is not None and score < stage.threshold:
                needed = f"it needs at least {stage.threshold} in the stage {stage.name}"
                failure = Rejection(Reason.BELOW_THRESHOLD, f"{needed}, and scored {score}")
            if failure:
                break
        details = dict(logged)
        details |= tell(details.pop(FEEDBACK, None), execution)
        if len(stages) > 1:
            details |= {STAGE: stage.name, **seconds}
        if failure:
            return Evaluation(0.0, 0.0, valid=False, error=str(failure), details=details)
        return Evaluation(score, -score, details=details)


@lru_cache(maxsize=4096)
def _count_tokens(source: str) -> Mapping[str, int]:
    return Counter(find_tokens(source))
