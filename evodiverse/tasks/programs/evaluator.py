"""The interface of an evaluator of programs: how a program is called, and how its result is scored."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from evodiverse.errors import PLEASE_REPORT, InputError, ServiceError
from evodiverse.kit.files import read_shipped
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.prompts import fill_description
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Detail, Job, Limits, Rejection

MAX_FILES: Final = 1_000


class Scored(NamedTuple):
    """The score of a program.

    Attributes:
        score: A finite number, at least 0; higher is better.
        details: The values of the columns that the evaluator adds to the log's dataset ``evaluations``, by the name of
            the column.
        failure: Why the program has failed although it has details; None if it has not.
    """

    score: float
    details: Mapping[str, Detail]
    failure: Rejection | None = None


class Stage(NamedTuple):
    """One of the stages of an evaluation, in each of which the program runs once.

    A program whose run or result is rejected in a stage, or that scores less than the threshold, has failed: it scores
    0, and no later stage runs it. However many stages a program sees, its evaluation is one oracle call.

    Attributes:
        name: The name in the log.
        job: Returns the job of a program in this stage, like `Evaluator.job`.
        score: Scores the result of the job, like `Evaluator.score`, given the source of the program too. The last stage
            gives the score of the program.
        threshold: The lowest score with which a program reaches the next stage; None for the last stage.
    """

    name: str
    job: Callable[[str], Job]
    score: Callable[[Any, str], Scored | Rejection]
    threshold: float | None = None


class BestKnown(NamedTuple):
    """The best published value.

    Attributes:
        value: The value in decimal, with all digits that were published.
        source: The publication of the value.
    """

    value: str
    source: str

    @property
    def unit(self) -> Fraction:
        """One unit of the last published digit.

        A record must be better by more than this, so that rounding alone cannot make a record.
        """
        return Fraction(10) ** int(Decimal(self.value).as_tuple().exponent)


BEST_KNOWN: Final[Mapping[str, Mapping[Any, BestKnown]]] = {
    task: {case: BestKnown(**known) for case, known in cases.items()}
    for task, cases in read_shipped(Path(__file__).with_name("best_known.yaml")).items()
}
"""The best published values of each task, by ``task.n`` (0 without it) or by ``task.instances``."""


class Verified(NamedTuple):
    """The exact value of a program's result.

    Attributes:
        quantity: The name of the measured quantity, with its unit if it has one.
        value: The value as an exact fraction.
        how: A description of how the value was verified.
        best_known: The best published value, or None if none is published.
        is_larger_better: Whether larger values are better.
    """

    quantity: str
    value: Fraction
    how: str
    best_known: BestKnown | None
    is_larger_better: bool = True

    @property
    def behind(self) -> Fraction | None:
        """The difference from the best known value: positive if this value is worse, negative if this value is better.

        The difference is None if no best known value is published.
        """
        if self.best_known is None:
            return None
        gap = Fraction(self.best_known.value) - self.value
        return gap if self.is_larger_better else -gap

    @property
    def is_record(self) -> bool:
        """Whether the value is better than the best known value by more than one unit of the last published digit."""
        return self.best_known is not None and self.behind is not None and -self.behind > self.best_known.unit

    def tell(self) -> dict[str, Any]:
        """Return the content of ``verified.json``: the value and its distance from the best known one."""
        best_known, behind = self.best_known, self.behind
        return {
            "quantity": self.quantity,
            "value": float(self.value),
            "verified_by": self.how,
            "best_known": None if best_known is None else float(best_known.value),
            "source": None if best_known is None else best_known.source,
            "behind_by": None if behind is None else float(behind),
            "is_record": self.is_record,
        }


class Evaluator(ABC):
    """An object that defines how programs are called, and that scores their results outside the sandbox.

    What shows the result of a program is called only for programs with a score above 0, since a program that failed has
    no result.

    Attributes:
        task: The name of the folder of a built-in task.
        built_in: The evaluators of the built-in tasks that were imported: for each folder, the class that its module
            ``evaluator`` defines.
        entry_point: The name of the function that a program must define.
        description: The description of the task in the prompts for a language model.
        columns: The types of the columns that the evaluator adds to the log's dataset ``evaluations``, by the name of
            the column. The text column ``feedback`` is for feedback to a language model.
        metrics: The names of those columns of numbers that the prompts of a language model show.
        libraries: The modules that programs are known to import, besides numpy and parts of scipy.

    Args:
        settings: Settings that passed `find_violations`.

    Raises:
        InputError: A file that the settings name cannot be used.
    """

    task: ClassVar[str]
    built_in: ClassVar[dict[str, type["Evaluator"]]] = {}
    entry_point: str
    description: str
    columns: Mapping[str, type]
    metrics: Sequence[str] = ()
    libraries: Sequence[str] = ()

    def __init_subclass__(cls) -> None:
        """Enter the class as the evaluator of the folder with its module, if the module's name is ``evaluator``."""
        package, _, module = cls.__module__.rpartition(".")
        if module == "evaluator" and cls.__module__ != __name__:
            cls.task = package.rpartition(".")[2]
            cls.built_in[cls.task] = cls

    def __init__(self, settings: ProgramSettings) -> None:
        self._limits = Limits(settings.timeout, settings.memory)

    @classmethod
    @abstractmethod
    def find_violations(cls, settings: ProgramSettings) -> list[str]:
        """Return what is wrong with the task's own keys of ``task.*``, as messages."""

    @classmethod
    def find_sources(cls, settings: ProgramSettings) -> Mapping[str, Path]:  # noqa: ARG003
        """Return the paths of the user's files that the scores depend on, by role."""
        return {}

    @abstractmethod
    def job(self, source: str) -> Job:
        """Return the job with which the sandbox loads the program ``source`` and calls its entry point."""

    @abstractmethod
    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a program's result, or the reason why the result is invalid; the program then scores 0.

        Args:
            value: The result as plain data, in the shapes and types that the job asked for, with finite numbers.
                A program that returned no such result scores 0, and this method is not called for it.
        """

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages of an evaluation, the cheapest first; always the same. By default, there is one without a name."""
        return [Stage("", self.job, lambda value, _: self.score(value))]

    def abandon(self) -> None:  # noqa: B027 (most evaluators score in this process)
        """Stop the call of `score` that is running in another process; it raises a `ServiceError`."""

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:  # noqa: ARG002
        """Return the program's result as files: the content of each, by file name.

        This is called for the best program and for every program that is better than all before it.
        """
        return {}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes | None]:  # noqa: ARG002
        """Return pictures of the program's result, by file name; None removes the picture of an earlier program.

        Drawing may be slow, so only the best program is illustrated.
        """
        return {}

    def verify(self, discovery: Discovery) -> Verified | None:  # noqa: ARG002
        """Return the value of a program's result as an exact fraction, for ``best/verified.json``, or None.

        The value is measured again on what is logged, without tolerance; only a value that was verified in this way can
        be reported as better than the best known one.

        Raises:
            ServiceError: The result is invalid or differs from the log, which means that the evaluator has a bug.
        """
        return None


class Placing(Evaluator):
    """The evaluator of a task whose programs place points or circles, or construct another object.

    Attributes:
        quantity: The name of the quantity that is maximized or minimized.
        n: The default of ``task.n``, such as the number of points; 0 if the task has no ``task.n``.
        reference: The value that scores 1 for the default of ``task.n``.
        sizes: The possible values of ``task.n``; with a larger one, measuring would take too long.
    """

    quantity: str
    n: ClassVar[int] = 0
    reference: ClassVar[float]
    sizes: ClassVar[range]

    def __init__(self, settings: ProgramSettings) -> None:
        super().__init__(settings)
        self._n = settings.n or self.n
        self._reference = settings.reference or self.reference
        self._best_known = BEST_KNOWN[self.task].get(self._n)
        self.description = fill_description(
            self.task, n=self._n, reference=f"{self._reference:.12g}", timeout=f"{settings.timeout:.12g}"
        )

    @classmethod
    def find_violations(cls, settings: ProgramSettings) -> list[str]:
        """Return everything that is wrong with ``task.n`` and with ``task.reference``, the value that scores 1."""
        n, reference = settings.n, settings.reference
        violations = []
        if not cls.n:
            violations += [] if n is None else [f"task.n has no meaning for task={cls.task}; leave it out"]
        elif n is None:
            violations.append(f"task.n has no value; task={cls.task} sets it")
        elif n not in cls.sizes:
            violations.append(f"task.n must be from {cls.sizes[0]} to {cls.sizes[-1]} for task={cls.task}, got {n}")
        if reference is None:
            violations.append(f"task.reference has no value; give the {cls.quantity} that scores 1")
        if cls.n and n not in {None, cls.n} and reference == cls.reference:
            violations.append(f"task.reference={reference} is for task.n={cls.n}; give the one for task.n={n}")
        return violations


def list_files(folder: Path, role: str) -> Mapping[str, Path]:
    """Return the files in a folder and its subfolders that programs may read, by ``role`` and relative path.

    Links are left out, because a program in the sandbox cannot follow them out of the folder. So are compiled modules.

    Raises:
        InputError: The folder does not exist, or has so many files that it hardly is the folder of one task.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; check the path")
    paths = (path for path in folder.rglob("*") if path.parent.name != "__pycache__")
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    if len(files) > MAX_FILES:
        raise InputError(f"{folder} has more than {MAX_FILES:,} files, all of which programs may read; move it")
    return {f"{role}/{path.relative_to(folder)}": path for path in sorted(files)}


def to_json(content: Mapping[str, Any]) -> bytes:
    """Return the content of a JSON file in ``best/``."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def tell_place(discovery: Discovery) -> str:
    """Return where in a run a candidate was found, for its picture."""
    pool = "" if discovery.pool is None else f", pool {discovery.pool}"
    return f"iteration {discovery.iteration}{pool}, call {discovery.candidate.call}"


def disproved(discovery: Discovery, why: str) -> ServiceError:
    """Return the error that a result in the log fails its verification."""
    return ServiceError(
        f"the result of call {discovery.candidate.call} differs from the logged one ({why}); {PLEASE_REPORT}"
    )
