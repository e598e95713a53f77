"""Evaluation outside the run: the run writes a table of candidates, ends, and resumes with their scores."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from evodiverse.errors import Asked, ServiceError, reason
from evodiverse.kit.files import write_file
from evodiverse.ports import ReportDone, TimedEvaluation
from evodiverse.vocabulary import Hypothesis

COLUMNS = ("key", "genotype", "score")


class AskingEvaluator:
    """An evaluator that writes a table of the candidates that need scores, and ends the run.

    Args:
        path: The CSV file to write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: ReportDone) -> list[TimedEvaluation]:  # noqa: ARG002
        """Write a CSV table of the hypotheses and raise `Asked`, or return an empty list if there are no hypotheses.

        Raises:
            Asked: There is something to evaluate; the table is written.
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
