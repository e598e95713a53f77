"""Configuration keys of the equation task (``task.*``)."""

import re
from dataclasses import dataclass, field
from typing import Final

from evodiverse.kit.documented import nearest, setting
from evodiverse.tasks.equations.permitted import Permitted
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.vocabulary import MAX_MEMORY_MB, MIN_MEMORY_MB

BUILTIN: Final = "builtin"
SRBENCH: Final = "srbench"
CSV: Final = "csv"
REFUSE, DROP = "refuse", "drop"
"""What to do about rows with a missing value (``task.data.missing``)."""

SQUARED, HUBER = "squared", "huber"
"""The loss that fits minimize (``task.loss``)."""

GROUPS: Final = {
    "physics": "lsr_synth/phys_osc",
    "biology": "lsr_synth/bio_pop_growth",
    "chemistry": "lsr_synth/chem_react",
    "materials": "lsr_synth/matsci",
    "transform": "lsr_transform",
}
"""The HDF5 group of each science in LLM-SRBench; transform holds laws of physics, solved for another variable."""

HELD_BACK: Final = {"lm": 0.2, "bfgs": 0.0}
"""For each value of ``task.fit``, the default share of the training rows that no fit sees; the paper fits all rows."""

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
        ignore: columns to leave out
        missing: what happens to rows with a missing value
        sigma: column of the target's standard errors, which weigh the rows
        units: unit of each column, such as m/s; operations whose units do not fit cost
    """

    train: str | None = None
    test_id: str | None = None
    test_ood: str | None = None
    target: str | None = None
    descriptions: dict[str, str] = field(default_factory=dict)
    science: str | None = None
    hold_back: float | None = setting(default=None, least=0, most=0.5)
    root: str | None = None
    normalize: str = setting(default="target", choices=("target", "none"))
    ignore: list[str] | None = setting(default=None, is_later=True)
    missing: str = setting(default=REFUSE, is_later=True, choices=(REFUSE, DROP))
    sigma: str | None = setting(default=None, is_later=True)
    units: dict[str, str] | None = setting(default=None, is_later=True)


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
        run: folder of an earlier run whose best candidates to start from, in all pools; they are evaluated again
        best: number of candidates to take from the earlier run
    """

    path: str | None = None
    run: str | None = setting(default=None, is_later=True)
    best: int = setting(default=20, unit="candidates", is_later=True, least=1)


@dataclass
class OperatorSettings:
    """``task.operators``: the operations that equations may use, by numpy's names, such as sin, sqrt and divide.

    Attributes:
        allow: all operations that an equation may use
        deny: operations that it may not use
    """

    allow: list[str] | None = setting(default=None, is_later=True)
    deny: list[str] | None = setting(default=None, is_later=True)


@dataclass
class ConstraintSettings:
    """``task.constraints``: what is known of the predictions in the range of the training inputs.

    They are checked at 256 random points. Each that is broken multiplies the errors that rank an equation by 100 to
    10,000, the more the larger the share of these points.

    Attributes:
        positive: whether predictions are above 0
        least: their least value
        most: their largest value
        increasing: columns with which they never decrease
        decreasing: columns with which they never increase
    """

    positive: bool = setting(default=False, is_later=True)
    least: float | None = setting(default=None, is_later=True)
    most: float | None = setting(default=None, is_later=True)
    increasing: list[str] | None = setting(default=None, is_later=True)
    decreasing: list[str] | None = setting(default=None, is_later=True)


@dataclass
class EquationSettings:
    """``task``: the settings of the equation task.

    Attributes:
        problem: builtin/<name>, srbench/<science>/<name> of LLM-SRBench, or csv/<name> for your own data
        fit: how parameters are fitted: lm is least squares from many starts; bfgs is that of the paper's released code
        loss: error of a row: squared, or huber, which hardly follows wild measurements
        energy: energy that swaps compare: the logarithm of the mean squared error, or the error itself (raw_mse)
        timeout: limit on the CPU time of a fit; its wall time is limited to three times this
        memory: limit on the address space of a fit, libraries included
        max_size: largest complexity of an equation
    """

    problem: str | None = None
    fit: str = setting(default="lm", choices=tuple(HELD_BACK))
    loss: str = setting(default=SQUARED, is_later=True, choices=(SQUARED, HUBER))
    energy: str = setting(default="log", choices=("log", "raw_mse"))
    timeout: float = setting(default=30.0, unit="s", above=0, below=1e6)
    memory: int = setting(default=2048, unit="MB", least=MIN_MEMORY_MB, most=MAX_MEMORY_MB)
    max_size: int | None = setting(default=None, unit="nodes", is_later=True, least=1)
    operators: OperatorSettings = field(default_factory=OperatorSettings)
    constraints: ConstraintSettings = field(default_factory=ConstraintSettings)
    data: DataSettings = field(default_factory=DataSettings)
    initial: InitialSettings = field(default_factory=InitialSettings)
    prompts: PromptSettings = field(default_factory=PromptSettings)

    @property
    def held_back(self) -> float:
        """The share of the training rows that no fit sees."""
        return HELD_BACK[self.fit] if self.data.hold_back is None else self.data.hold_back

    @property
    def permitted(self) -> Permitted:
        """The limits on equations."""
        return Permitted(self.operators.allow, self.operators.deny or (), self.max_size)

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
    source, name, data = settings.source, settings.name, settings.data
    if source not in (BUILTIN, SRBENCH, CSV) or (source == CSV and not _NAME.fullmatch(name)):
        forms = f"{BUILTIN}/<name>, {SRBENCH}/<science>/<name> or {CSV}/<name>"
        return [f"task.problem must be {forms}, got {settings.problem}"]
    own = ("train", "test_id", "test_ood", "target", "science", "ignore", "sigma", "units")
    violations = settings.permitted.find_violations()
    if settings.loss == HUBER and settings.fit != "lm":
        violations.append(f"task.loss={HUBER} needs task.fit=lm, got {settings.fit}")
    violations += [
        f"task.data.{key} is for your own data; use task.problem=csv/{name.rpartition('/')[2] or 'mine'}"
        for key in own
        if getattr(data, key) is not None and source != CSV
    ]
    least, most = settings.constraints.least, settings.constraints.most
    if least is not None and most is not None and least > most:
        violations.append(f"task.constraints.least must not be above task.constraints.most, got {least} and {most}")
    if data.root is not None and source != SRBENCH:
        violations.append("task.data.root is for LLM-SRBench; use task.problem=srbench/<science>/<name>")
    if source == BUILTIN and name not in PROBLEMS:
        violations.append(f"task.problem={settings.problem} is unknown; {nearest(name, list(PROBLEMS))}")
    if source == SRBENCH:  # whether the science has this problem is known only from the data
        science, _, problem = name.partition("/")
        if not problem or "/" in problem:
            form = "srbench/<science>/<name>, such as srbench/physics/PO0"
            violations.append(f"task.problem must be {form}, got {settings.problem}")
        elif science not in GROUPS:
            known = nearest(science, list(GROUPS))
            violations.append(f"task.problem={settings.problem} names an unknown science; {known}")
    if source == CSV:
        needed = {"train": "name the CSV file to fit", "target": "name the column to explain"}
        unset = [key for key in needed if getattr(data, key) is None]
        violations += [f"task.data.{key} has no value; {needed[key]}" for key in unset]
        if data.science is not None and not _NAME.fullmatch(data.science):
            violations.append(f"task.data.science must be one word, such as physics, got {data.science!r}")
    return violations
