"""What is told about a program besides its score: the feedback of its evaluator, its output, and its stages."""

import re
from collections.abc import Iterable
from typing import Final

from evodiverse.text import printable
from evodiverse.vocabulary import Detail, Execution, OwnColumn, Reason

FEEDBACK, OUTPUT, STAGE, METRICS = "feedback", "output", "stage", "metrics"
SECONDS: Final = "seconds_"
"""The beginning of the names of the columns with the seconds of each stage."""
MAX_FEEDBACK, MAX_OUTPUT, MAX_LINES = 2_000, 1_000, 20
"""The largest number of characters of a feedback, and of characters and lines of stdout and of stderr."""

COLUMNS: Final = {
    FEEDBACK: OwnColumn(
        str,
        f"feedback of your own evaluator for the prompts of a language model, at most {MAX_FEEDBACK:,} characters",
        null="the evaluator gave none",
    ),
    OUTPUT: OwnColumn(
        str,
        f"end of what the program printed, first on stdout and then on stderr; of each at most {MAX_LINES} lines and "
        f"{MAX_OUTPUT:,} characters, without memory addresses",
        null="the program printed nothing, or ran out of time",
    ),
    METRICS: OwnColumn(
        str,
        "metrics of an evaluator from OpenEvolve, as JSON",
        null="the task has another evaluator, or the program failed without metrics",
    ),
    STAGE: OwnColumn(str, "last stage in which the program ran; only if your evaluator has stages"),
    f"{SECONDS}NAME": OwnColumn(
        float,
        "time that the program took in the stage NAME, with the scoring of its result; a column for each stage",
        "s",
        "it did not get there",
    ),
}
"""The columns of ``evaluations`` that program tasks have besides those of their evaluators."""

# Memory addresses and the random part of the sandbox's folder, which always differ.
_VARYING: Final = re.compile(r"0x[0-9a-fA-F]{6,}|(?<=evodiverse-sandbox-)\w+")


def stage_columns(names: Iterable[str]) -> dict[str, type]:
    """Return the types of the columns for stages with these names; empty for a single stage."""
    seconds = {f"{SECONDS}{name}": float for name in names}
    return {STAGE: str, **seconds} if len(seconds) > 1 else {}


def tell(feedback: Detail, execution: Execution) -> dict[str, Detail]:
    """Return the values of the columns `FEEDBACK` and `OUTPUT`, without those that are empty.

    The feedback consists of printable lines, of which the first `MAX_FEEDBACK` characters count. The output has the
    ends of stdout and stderr of a program, printable and short. For a program that ran out of time, it is empty: what
    it had printed by then differs from run to run.
    """
    told = "\n".join(_clean_lines(str(feedback or "")))
    if len(told) > MAX_FEEDBACK:
        told = f"{told[: MAX_FEEDBACK - 1]}…"
    is_late = execution.failure is not None and execution.failure.reason is Reason.TIMED_OUT
    printed = [] if is_late else [execution.stdout, execution.stderr]
    texts = {FEEDBACK: told, OUTPUT: "\n".join(filter(None, map(_cut_output, printed)))}
    return {name: text for name, text in texts.items() if text}


def _cut_output(text: str) -> str:
    lines = _clean_lines(_VARYING.sub("…", text))
    shown = "\n".join(lines[-MAX_LINES:])
    is_cut = len(lines) > MAX_LINES or len(shown) > MAX_OUTPUT
    return f"…{shown[1 - MAX_OUTPUT :]}" if is_cut else shown


def _clean_lines(text: str) -> list[str]:
    return [printable(line.expandtabs(4).rstrip()) for line in text.rstrip().lstrip("\r\n").splitlines()]
