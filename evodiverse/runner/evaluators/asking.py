"""Evaluation by somebody else: the run asks, ends, and goes on when it is told."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from evodiverse.errors import Asked, ServiceError, reason
from evodiverse.kit.files import write_file
from evodiverse.runner.workers import TimedEvaluation
from evodiverse.vocabulary import Hypothesis

COLUMNS = ("key", "genotype", "score")


class AskingEvaluator:
    """Evaluates nothing: it writes what must be evaluated before the run can go on, and ends it.

    Args:
        path: The table to write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def evaluate(
        self,
        hypotheses: Sequence[Hypothesis],
        report: Callable[[int], object] = lambda _: None,  # noqa: ARG002
    ) -> list[TimedEvaluation]:
        """Return nothing for nothing.

        Raises:
            Asked: There is anything to evaluate.
            ServiceError: The table cannot be written.
        """
        if not hypotheses:
            return []
        table = io.StringIO(newline="")
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((hypothesis.key, hypothesis.genotype, "") for hypothesis in hypotheses)
        try:
            write_file(self._path, table.getvalue().encode())
        except OSError as error:
            raise ServiceError(f"cannot write {self._path} ({reason(error)})") from error
        raise Asked(self._path, len(hypotheses))
