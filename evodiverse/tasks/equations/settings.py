"""Configuration keys of the equation task (``task.*``)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from evodiverse.kit.documented import nearest, setting
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.vocabulary import MAX_MEMORY_MB, MIN_MEMORY_MB

BUILTIN: Final = "builtin"
SRBENCH: Final = "srbench"
CSV: Final = "csv"
GROUPS: Final = {
    "physics": "lsr_synth/phys_osc",
    "biology": "lsr_synth/bio_pop_growth",
    "chemistry": "lsr_synth/chem_react",
    "materials": "lsr_synth/matsci",
    "transform": "lsr_transform",
}
"""The HDF5 group of each science in LLM-SRBench; transform holds laws of physics, solved for another variable."""

FITS: Final = ("lm", "bfgs")
HELD_BACK: Final[Mapping[str, float]] = MappingProxyType({"lm": 0.2, "bfgs": 0.0})
"""For each value of ``task.fit``, the default share of the training rows that no fit sees; the paper fits all rows."""

ENERGIES: Final = ("log", "raw_mse")
NORMALIZATIONS: Final = ("target", "none")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass
class DataSettings:
    """``task.data``: a user's own data, and the unit of the squared error between an equation and the data.

    Attributes:
        train: CSV file with the data to fit, with a header; for csv/… problems
        test_id: CSV file with held-out data in the domain of the training inputs
        test_ood: CSV file with held-out data outside the domain of the training inputs
        target: column that the other columns are to explain
        descriptions: meaning of each column, for prompts
        science: science of your problem, such as physics, for the rows of the tables
        hold_back: share of the training rows that no fit sees, but that decide which equation is the final one; null: a
            fifth, or none with task.fit=bfgs
        root: folder with your copy of LLM-SRBench, for srbench/… problems; null: download it into the cache
        normalize: unit of the squared error: the variance of the training target (target), or the target's own units
            (none)
    """

    train: str | None = None
    test_id: str | None = None
    test_ood: str | None = None
    target: str | None = None
    descriptions: dict[str, str] = field(default_factory=dict)
    science: str | None = None
    hold_back: float | None = setting(default=None, least=0, most=0.5)
    root: str | None = None
    normalize: str = setting(default="target", choices=NORMALIZATIONS)


@dataclass
class PromptSettings:
    """``task.prompts``: the prompts for a language model.

    Attributes:
        dir: folder with your own templates; null: the shipped ones
        anonymize: whether to call the variables x0, x1 and so on and the target y, without meanings, to see what a
            model has memorized
    """

    dir: str | None = None
    anonymize: bool = False


@dataclass
class InitialSettings:
    """``task.initial``: the equations that a search starts from.

    Attributes:
        path: text file with your own equations to start from, one right-hand side per line, instead of a linear and a
            quadratic one
    """

    path: str | None = None


@dataclass
class EquationSettings:
    """``task``: the settings of the equation task.

    Attributes:
        problem: builtin/<name>, srbench/<science>/<name> of LLM-SRBench, or csv/<name> for your own data
        fit: how parameters are fitted: lm is least squares from many starts; bfgs is that of the paper's released code
        energy: energy that swaps compare: the logarithm of the mean squared error, or the error itself (raw_mse)
        timeout: limit on the CPU time of a fit; its wall time is limited to three times this
        memory: limit on the address space of a fit, libraries included
    """

    problem: str | None = None
    fit: str = setting(default="lm", choices=FITS)
    energy: str = setting(default="log", choices=ENERGIES)
    timeout: float = setting(default=30.0, unit="s", above=0, below=1e6)
    memory: int = setting(default=2048, unit="MB", least=MIN_MEMORY_MB, most=MAX_MEMORY_MB)
    data: DataSettings = field(default_factory=DataSettings)
    initial: InitialSettings = field(default_factory=InitialSettings)
    prompts: PromptSettings = field(default_factory=PromptSettings)

    @property
    def held_back(self) -> float:
        """The share of the training rows that no fit sees."""
        if self.data.hold_back is not None:
            return self.data.hold_back
        return HELD_BACK[self.fit]

    @property
    def source(self) -> str:
        """The source of the problem: builtin, srbench or csv."""
        return str(self.problem).partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the problem within its source, such as oscillator1 for builtin/oscillator1."""
        return str(self.problem).partition("/")[2]


def find_setting_violations(settings: EquationSettings) -> list[str]:
    """Return what is wrong with the settings of the problem and its data; each message names a configuration key."""
    if settings.problem is None:
        return ["task.problem has no value; name one, such as builtin/oscillator1, or csv/mine for your own data"]
    files = {"train": settings.data.train, "test_id": settings.data.test_id, "test_ood": settings.data.test_ood}
    given = {**files, "target": settings.data.target, "science": settings.data.science}
    misplaced = [
        f"task.data.{key} is for your own data; use task.problem=csv/{settings.name.rpartition('/')[2] or 'mine'}"
        for key, value in given.items()
        if value is not None and settings.source != CSV
    ]
    if settings.data.root is not None and settings.source != SRBENCH:
        misplaced.append("task.data.root is for LLM-SRBench; use task.problem=srbench/<science>/<name>")
    if settings.source == BUILTIN:
        unknown = f"task.problem={settings.problem} is unknown; {nearest(settings.name, list(PROBLEMS))}"
        return misplaced if settings.name in PROBLEMS else [*misplaced, unknown]
    if settings.source == SRBENCH:
        return [*misplaced, *_find_misnamed(settings)]
    if settings.source != CSV or not _NAME.fullmatch(settings.name):
        forms = f"{BUILTIN}/<name>, {SRBENCH}/<science>/<name> or {CSV}/<name>"
        return [f"task.problem must be {forms}, got {settings.problem}"]
    violations = [
        f"task.data.{key} has no value; {what}"
        for key, what in {
            "train": "name the CSV file to fit",
            "target": "name the column to explain",
        }.items()
        if given[key] is None
    ]
    if settings.data.science is not None and not _NAME.fullmatch(settings.data.science):
        violations.append(f"task.data.science must be one word, such as physics, got {settings.data.science!r}")
    return [*misplaced, *violations]


def _find_misnamed(settings: EquationSettings) -> list[str]:
    """Return what is wrong with the name of an LLM-SRBench problem, as far as this is known without its data."""
    science, _, name = settings.name.partition("/")
    if not name or "/" in name:
        form = f"{SRBENCH}/<science>/<name>, such as {SRBENCH}/physics/PO0"
        return [f"task.problem must be {form}, got {settings.problem}"]
    if science not in GROUPS:
        return [f"task.problem={settings.problem} names an unknown science; {nearest(science, list(GROUPS))}"]
    return []
