"""Configuration keys of the equation task (``task.*``)."""

import re
from dataclasses import dataclass, field
from typing import Final

from evodiverse.kit.documented import documented, documented_mapping, nearest
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.vocabulary import MAX_MEMORY_MB, MIN_MEMORY_MB

BUILTIN: Final = "builtin"
CSV: Final = "csv"
FITS: Final = ("lm", "bfgs")
ENERGIES: Final = ("log", "raw_mse")
NORMALIZATIONS: Final = ("target", "none")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass
class DataSettings:
    """``task.data``: a user's own data, and the unit of errors."""

    train: str | None = documented("CSV file that is fitted, with a header; for csv/… problems", default=None)
    test_id: str | None = documented("the same of data held out, from the same domain", default=None)
    test_ood: str | None = documented("the same of data held out, from beyond it", default=None)
    target: str | None = documented("column that the others are to explain", default=None)
    descriptions: dict[str, str] = documented_mapping("what columns mean, by name; a language model is told")
    science: str | None = documented(
        "science that your problem is of, such as physics, biology, chemistry or materials: its rows of the tables",
        default=None,
    )
    hold_back: float = documented(
        "share of the training rows that no fit sees, by which one equation is chosen of those on the front",
        default=0.2,
        least=0,
        most=0.5,
    )
    normalize: str = documented(
        "unit of the squared error: the training target's variance, or none", default="target", choices=NORMALIZATIONS
    )


@dataclass
class PromptSettings:
    """``task.prompts``: how a language model is asked."""

    dir: str | None = documented("folder of your own templates", default=None)
    anonymize: bool = documented(
        "call the variables x0, x1 and so on, the target y, and describe none, to see what a model knows by heart",
        default=False,
    )


@dataclass
class InitialSettings:
    """``task.initial``: where pools start."""

    path: str | None = documented(
        "text file of your own equations, a right-hand side on each line, instead of a linear and a quadratic one",
        default=None,
    )


@dataclass
class EquationSettings:
    """``task``, for equations."""

    problem: str | None = documented("builtin/<name>, or csv/<name> for your own data", default=None)
    fit: str = documented(
        "how parameters are fitted: lm is least squares from many starts, bfgs the paper's", default="lm", choices=FITS
    )
    energy: str = documented("in swaps; raw_mse is the paper's ablation", default="log", choices=ENERGIES)
    timeout: float = documented(
        "CPU time of a fit, three times of wall time at most", default=30.0, unit="s", above=0, below=1e6
    )
    memory: int = documented(
        "address space of a fit, libraries included", default=2048, unit="MB", least=MIN_MEMORY_MB, most=MAX_MEMORY_MB
    )
    data: DataSettings = field(default_factory=DataSettings)
    initial: InitialSettings = field(default_factory=InitialSettings)
    prompts: PromptSettings = field(default_factory=PromptSettings)

    @property
    def source(self) -> str:
        """Where the problem comes from: builtin or csv."""
        return str(self.problem).partition("/")[0]

    @property
    def name(self) -> str:
        """The problem's name, without where it comes from."""
        return str(self.problem).partition("/")[2]


def find_setting_violations(settings: EquationSettings) -> list[str]:
    """Return what is wrong with the problem and its data, each with its key."""
    if settings.problem is None:
        return ["task.problem has no value; name one, such as builtin/oscillator1, or csv/mine for your own data"]
    files = {"train": settings.data.train, "test_id": settings.data.test_id, "test_ood": settings.data.test_ood}
    given = {**files, "target": settings.data.target, "science": settings.data.science}
    if settings.source == BUILTIN:
        violations = [
            f"task.data.{key} is for your own data; use task.problem=csv/{settings.name or 'mine'}"
            for key, value in given.items()
            if value is not None
        ]
        if settings.name not in PROBLEMS:
            violations.append(f"task.problem={settings.problem} is unknown; {nearest(settings.name, list(PROBLEMS))}")
        return violations
    if settings.source != CSV or not _NAME.fullmatch(settings.name):
        return [f"task.problem must be {BUILTIN}/<name> or {CSV}/<name>, got {settings.problem}"]
    violations = [
        f"task.data.{key} has no value; {what}"
        for key, what in {
            "train": "name the CSV file to be fitted",
            "target": "name the column to be explained",
        }.items()
        if given[key] is None
    ]
    if settings.data.science is not None and not _NAME.fullmatch(settings.data.science):
        violations.append(f"task.data.science must be one word, such as physics, got {settings.data.science!r}")
    return violations
