"""The evaluator that a user writes: a Python file that defines how programs are called and how results are scored."""

import ast
import hashlib
import inspect
import json
import logging
import math
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as ET

from evodiverse.errors import ContractError, InputError, ServiceError, describe, reason
from evodiverse.kit.apart import Apart, TooLongError
from evodiverse.kit.inputs import expanded, read_input
from evodiverse.kit.own_code import place_in
from evodiverse.kit.python import parse
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Evaluator, Scored, Stage, Verified, list_files
from evodiverse.tasks.programs.feedback import FEEDBACK, OUTPUT, SECONDS, STAGE
from evodiverse.tasks.programs.operators.moves import BLOCKS, MOVES
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Job, Limits, Reason, Rejection

_LOG = logging.getLogger("evodiverse.tasks.programs")
_KINDS: Mapping[type, Any] = {float: numbers.Real, int: numbers.Integral, str: str}
_REMEDY = "fix it and start the run again, with overwrite=true if earlier scores are wrong too"

MAX_BYTES: Final = 5_000_000
PNG_NAME, SVG_NAME = "picture.png", "picture.svg"

NO_PICTURE: Final[Mapping[str, bytes | None]] = {PNG_NAME: None, SVG_NAME: None}
"""The answer if there is no picture: None for both file names, so that an older picture in ``best/`` is removed."""
SOURCE: Final = "source"
"""The parameter of a user's ``score`` that gets the source of the program."""
_TAKEN: Final = (FEEDBACK, OUTPUT, STAGE)
_STAGE_KEYS: Final = ("arguments", "timeout", "threshold")


class OwnStage(NamedTuple):
    """A stage as a user declares it.

    Attributes:
        arguments: The arguments that the entry point, or ``drive``, is called with; by default ``ARGUMENTS``.
        limits: The limits of a program: those of the task, and the CPU time ``timeout`` if it is shorter.
        threshold: The lowest score with which a program reaches the next stage; None for the last stage.
    """

    arguments: tuple[Any, ...]
    limits: Limits
    threshold: float | None


class UserEvaluator(Evaluator):
    """An evaluator that calls and scores programs in the way that a user's Python file defines.

    The file must define

    * ``ENTRY_POINT``: the name of the function that a program must define;
    * ``score(result)``: returns a finite number of at least 0, or a pair of that number and a dictionary with the
      values of the columns in ``COLUMNS`` and, as ``feedback``, a text for the prompt of a language model; raises
      ``ValueError`` or ``AssertionError`` with the reason if the result is invalid.

    It may define

    * ``ARGUMENTS``: a list of the arguments that the entry point is called with;
    * ``drive(function, *arguments)``: runs inside the sandbox in place of a plain call to the program's function; it
      calls that function, returns the result, and must itself import what it needs;
    * ``HELPERS``: the name of a folder next to the file, which programs and ``drive`` may read and import modules from;
    * ``STAGES``: a dictionary of the stages, the cheapest first (`OwnStage`); ``score`` then gets the name of the stage
      as its second argument;
    * ``source``, a parameter of ``score``: it gets the source of the program;
    * ``COLUMNS``: a dictionary of the names and types of the columns that the file adds to the log;
    * ``DESCRIPTION``: a description of the task for the prompt of a language model;
    * ``draw(columns)``: returns a picture of the best program, drawn from the values of its columns in the log;
    * ``verify(columns)``: returns a number measured on these values by other code than that of ``score``.

    Arguments and results are JSON values.

    The file is read once. With ``task.score_timeout``, ``score`` is called in a process of its own.
    """

    def __init__(self, settings: ProgramSettings) -> None:
        super().__init__(settings)
        self._path = path = expanded(settings.evaluator).absolute()
        try:
            self._content = read_input(path)
        except OSError as error:
            raise InputError(f"task.evaluator={path} cannot be read ({reason(error)}); check the path") from error
        self._timeout = timeout = settings.score_timeout
        self._apart = None if timeout is None else Apart(timeout, partial(_import, path, self._content))
        module = _load(path, self._content)
        self.entry_point: str = module.ENTRY_POINT
        self._own: Mapping[str, type] = dict(getattr(module, "COLUMNS", {}))
        self.columns: Mapping[str, type] = {**self._own, FEEDBACK: str}
        self.metrics = tuple(name for name, kind in self._own.items() if kind is not str)
        arguments, seconds = getattr(module, "ARGUMENTS", ()), self._limits.cpu_seconds
        self._stages = {
            name: OwnStage(
                tuple(stage.get("arguments", arguments)),
                replace(self._limits, cpu_seconds=min(stage.get("timeout", seconds), seconds)),
                stage.get("threshold"),
            )
            for name, stage in getattr(module, "STAGES", {"": {}}).items()
        }
        text = str(getattr(module, "DESCRIPTION", "")).strip()
        self.description: str = f"{text}\n{self._describe_stages()}"
        self._driver = _find_driver(self._content)
        helpers = _find_helpers(path, module)
        self._helpers = None if helpers is None else str(helpers)
        # The call of the last candidate drawn, and its picture.
        self._drawn: tuple[int | None, Mapping[str, bytes | None]] = (None, {})

    @classmethod
    def find_violations(cls, settings: ProgramSettings) -> list[str]:
        """Return a message if ``task.evaluator`` has no value."""
        return [] if settings.evaluator else ["task.evaluator has no value; name your own evaluator.py"]

    @classmethod
    def find_sources(cls, settings: ProgramSettings) -> Mapping[str, Path]:
        """Return the path of the evaluator, and those of the files with its moves, if there are any."""
        path = expanded(settings.evaluator).absolute()
        moves = {"moves": path.with_name(MOVES), "blocks": path.with_name(BLOCKS)}
        own = {role: file for role, file in moves.items() if moves["moves"].is_file() and file.is_file()}
        helpers = _find_helpers(path, _load(path, read_input(path)))
        return {"evaluator": path, **own, **({} if helpers is None else list_files(helpers, "evaluator"))}

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages in ``STAGES``, or one without a name."""
        return [
            Stage(name, partial(self.job, stage=name), partial(self.score, stage=name), stage.threshold)
            for name, stage in self._stages.items()
        ]

    def job(self, source: str, stage: str = "") -> Job:
        """Return the sandbox job that calls a program; ``stage`` is a name in ``STAGES``, if the file has any."""
        own = self._stages[stage]
        return Job(source, self.entry_point, own.arguments, None, own.limits, self._driver, self._helpers)

    def score(self, value: Any, source: str = "", stage: str = "") -> Scored | Rejection:
        """Score a result with the function ``score`` of the user's file.

        If ``score`` raises ``ValueError`` or ``AssertionError``, the result is rejected as invalid. If it raises an
        error typical of malformed results, such as ``TypeError`` or ``KeyError``, the result is also rejected and a
        warning is logged. If it takes too long, its process is killed, and the result is rejected.

        Raises:
            ServiceError: ``score`` raised any other exception except `KeyboardInterrupt`, which is passed on.
            ContractError: ``score`` returned an invalid score, or columns that do not match ``COLUMNS``.
        """
        try:
            score = partial(self._score, value, source, stage)
            scored, warning = self._apart.call(score) if self._apart else score()
        except TooLongError:
            return Rejection(Reason.TIMED_OUT, f"no score after {self._timeout:g} s")
        if warning:
            _LOG.warning("%s", warning)
        return scored

    def _score(self, value: Any, source: str, stage: str) -> tuple[Scored | Rejection, str]:
        """Return the score, or why the result is rejected, and a warning for the user, or an empty string."""
        try:
            score = self._find("score")
            asked = {SOURCE: source} if SOURCE in _signature(score).parameters else {}
            answer = score(value, *([stage] if stage else []), **asked)
        except (ValueError, AssertionError) as error:
            said = describe(error).removeprefix(type(error).__name__).removeprefix(": ")
            return Rejection(Reason.INVALID, said or f"the evaluator raised {self._place(error)}"), ""
        except (TypeError, LookupError, ArithmeticError, AttributeError) as error:  # it did not check the result first
            told = self._place(error)
            warning = f"a result made the evaluator raise {told}; the program counts as invalid"
            return Rejection(Reason.INVALID, f"the evaluator raised {told}"), warning
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a user's function may raise anything)
            # The user's exception may not be picklable.
            raise ServiceError(f"the evaluator raised {self._place(error)}; {_REMEDY}") from None
        score, details = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, {})
        return self._check(score, details), ""

    def _check(self, score: Any, details: Any) -> Scored:
        number = _convert(score, float)
        if number is None:
            fault = f"returned a value of type {type(score).__name__}, expected a number"
        elif not 0 <= number < math.inf:
            fault = f"scored {number}; a score must be finite and at least 0, because a failed program scores 0"
        elif not isinstance(details, dict):
            fault = f"returned a {type(details).__name__} with the score, expected a dictionary of columns"
        else:
            checked = {name: _convert(value, self.columns.get(name)) for name, value in details.items()}
            wrong = [name for name, value in checked.items() if value is None]
            if not wrong:
                return Scored(number, checked)
            known = ", ".join(f"{name} ({kind.__name__})" for name, kind in self.columns.items())
            fault = f"returned {details[wrong[0]]!r:.80} as {wrong[0]}; the columns are {known}"
        raise ContractError(f"the evaluator {fault} ({self._path}); {_REMEDY}")

    def abandon(self) -> None:
        """Stop the call of ``score`` that is running; it raises a `ServiceError`."""
        if self._apart is not None:
            self._apart.close()

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes | None]:
        """Return the picture that ``draw`` makes of a candidate, by file name; None removes an older picture.

        Each candidate is drawn once. If ``draw`` fails, the error is logged as a warning and there is no picture,
        because a missing picture is no reason to stop a run.
        """
        if self._find("draw") and self._drawn[0] != discovery.candidate.call:
            picture = self._ask("draw", discovery, lay_out_picture, "picture")
            self._drawn = (discovery.candidate.call, picture or NO_PICTURE)
        return self._drawn[1]

    def verify(self, discovery: Discovery) -> Verified | None:
        """Return what ``verify`` of the user's file finds, or None if the file has no ``verify``.

        If it fails, or returns no finite number, the reason is logged as a warning, and the result is None.
        """
        exact = self._ask("verify", discovery, _to_fraction, "verified value") if self._find("verify") else None
        return None if exact is None else Verified("what verify measured", exact, f"verify in {self._path.name}", None)

    def _ask(self, name: str, discovery: Discovery, read: Callable[[Any], Any], what: str) -> Any:
        """Return what a function of the user's file returns for the columns of a candidate, as ``read`` reads it.

        If the function raises an exception, or if ``read`` raises ``ValueError``, a warning that ``best/`` has no
        ``what`` is logged, and the result is None.
        """
        try:
            answer = self._find(name)({column: discovery.details.get(column) for column in self._own})
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a user's function may raise anything)
            fault = f"raised {self._place(error)}"
        else:
            try:
                return read(answer)
            except ValueError as error:
                fault = f"returned {error} ({self._path})"
        _LOG.warning("best/ has no %s of call %s: %s %s", what, discovery.candidate.call, name, fault)
        return None

    def _describe_stages(self) -> str:
        """Return for the prompt how long a run may take and, if there are stages, what each of them asks for."""
        if len(self._stages) == 1:
            return f"A run may take {self._limits.cpu_seconds:g} s of CPU time."
        lines = ["A program runs once in each of these stages, until it fails:"]
        for name, (_, limits, threshold) in self._stages.items():
            last = "its score is the score of the program"
            needed = last if threshold is None else f"it must score at least {threshold:g} there"
            lines.append(f"- {name}: it may take {limits.cpu_seconds:g} s of CPU time; {needed}.")
        return "\n".join(lines)

    def _find(self, name: str) -> Any:
        """Return a function of the user's file; None if it does not define the function."""
        return getattr(_load(self._path, self._content), name, None)

    def _place(self, error: BaseException) -> str:
        return f"{describe(error)} ({place_in(error, self._path.parent) or self._path})"


@cache
def _load(path: Path, content: bytes) -> ModuleType:
    """Return a user's file as a module, imported once per process and content."""
    if path.suffix != ".py":
        raise InputError(f"task.evaluator={path} is not a Python file; name one that ends in .py")
    module = ModuleType(f"evaluator_{hashlib.sha256(content).hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)  # noqa: S102 (the user's own file is trusted)
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        raise InputError(f"task.evaluator={path} cannot be imported ({describe(error)}); fix the file") from error
    violations = [f"task.evaluator={path} {message}" for message in _find_violations(module, path, content)]
    if violations:
        raise InputError(*violations)
    return module


def _import(path: Path, content: bytes) -> None:
    """Import a user's file, so that scoring need not; see `_load`."""
    _load(path, content)


def _find_driver(content: bytes) -> str | None:
    """Return the source of ``drive``, which is sent to the sandbox, or None if no ``drive`` is defined at top level."""
    tree = parse(content)
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "drive"]
    return ast.get_source_segment(decode_source(content), defined[-1]) if defined else None


def _find_helpers(path: Path, module: ModuleType) -> Path | None:
    """Return the folder that ``HELPERS`` of a user's file names, or None if it names none."""
    name = getattr(module, "HELPERS", None)
    return None if name is None else path.with_name(name)


def _find_violations(module: ModuleType, path: Path, content: bytes) -> Iterator[str]:
    """Yield what is wrong with a user's evaluator."""
    columns, helpers = getattr(module, "COLUMNS", {}), getattr(module, "HELPERS", None)
    if not _is_name(getattr(module, "ENTRY_POINT", None)):
        yield "must define ENTRY_POINT, the name of the function that a program must define"
    if not callable(getattr(module, "score", None)):
        yield "must define score(result)"
    if not isinstance(columns, dict) or not all(_is_name(name) and columns[name] in list(_KINDS) for name in columns):
        yield "must define COLUMNS as a dictionary of names and types, each float, int or str"
    if isinstance(columns, dict) and any(f"{name}".startswith(SECONDS) or name in _TAKEN for name in columns):
        yield f"must name no column {FEEDBACK}, {OUTPUT}, {STAGE} or {SECONDS}…, which the log has anyway"
    if not _is_json_list(getattr(module, "ARGUMENTS", ())):
        yield "must define ARGUMENTS as a list of JSON values"
    if hasattr(module, "drive") and _find_driver(content) is None:
        yield "must define drive with def, at the top level: only its source goes into the sandbox"
    if helpers is not None and not _is_folder(path, helpers):
        yield "must define HELPERS as the name of a folder next to it"
    for name in ("draw", "verify"):
        if not callable(getattr(module, name, len)):
            yield f"must define {name}(columns) as a function"
    is_staged, signature = hasattr(module, "STAGES"), _signature(getattr(module, "score", None))
    if is_staged:
        yield from _find_stage_violations(module)
    try:
        signature.bind(None, *([""] if is_staged else []), **({SOURCE: ""} if SOURCE in signature.parameters else {}))
    except TypeError:
        needed = (
            "score(result, stage), because it has STAGES" if is_staged else "score(result) or score(result, source)"
        )
        yield f"must define {needed}"


def _find_stage_violations(module: ModuleType) -> Iterator[str]:
    """Yield what is wrong with ``STAGES`` of a user's evaluator."""
    stages = module.STAGES
    if not (
        isinstance(stages, dict)
        and len(stages) > 1
        and all(_is_name(name) and isinstance(stage, dict) for name, stage in stages.items())
    ):
        yield "must define STAGES as a dictionary from names to dictionaries, of at least two stages, cheapest first"
        return
    for number, (name, stage) in enumerate(stages.items(), 1):
        for key in [key for key in stage if key not in _STAGE_KEYS]:
            yield f"has STAGES, whose stage {name} has the unknown key {key!r}; expected {', '.join(_STAGE_KEYS)}"
        if number == len(stages) and "threshold" in stage:
            yield f"must give the stage {name} no threshold, because no stage follows"
        if number < len(stages) and not _is_above_0(stage.get("threshold")):
            yield f"must give the stage {name} a threshold, the score above 0 that the next stage needs"
        if not _is_json_list(stage.get("arguments", [])):
            yield f"must define the arguments of the stage {name} as a list of JSON values"
        if not _is_above_0(stage.get("timeout", 1)):
            yield f"must give the stage {name} a timeout above 0, in seconds, or none"


def _signature(function: Any) -> inspect.Signature:
    """Return the signature of a user's function; one that takes anything if Python does not know it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.signature(lambda *_: None)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _is_json_list(arguments: object) -> bool:
    """Return whether an object is a list or tuple that JSON can express."""
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(arguments, list | tuple)


def _is_above_0(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < math.inf


def _is_folder(path: Path, name: object) -> bool:
    """Return whether something is the name of a folder next to a file, whose other neighbors may be unreadable."""
    return isinstance(name, str) and name not in {"", ".", ".."} and "/" not in name and path.with_name(name).is_dir()


def _convert(value: Any, kind: type | None) -> Any:
    """Return a value as a number or a text for the log; None if it is of another kind, or if Parquet cannot hold it."""
    if kind is None or isinstance(value, bool) or not isinstance(value, _KINDS[kind]):
        return None
    if kind is int:
        return int(value) if -(2**63) <= value < 2**63 else None
    try:
        return float(value) if kind is float else str(value).encode().decode()
    except OverflowError:
        return math.inf
    except UnicodeEncodeError:
        return None


def _to_fraction(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80}, expected a finite number")
    return Fraction(value) if isinstance(value, numbers.Rational) else Fraction(float(value))


def lay_out_picture(drawn: object) -> Mapping[str, bytes | None]:
    """Return a picture under the file name of its format, and None under the file name of the other format.

    None tells the caller to delete an older picture of that format.

    Args:
        drawn: The return value of a user's ``draw``, which may be of any type.

    Raises:
        ValueError: The value is neither a PNG nor an SVG, or it is too large.
    """
    if not isinstance(drawn, bytes | str):
        expected = "the bytes of a PNG or the text of an SVG"
        raise ValueError(f"a value of type {type(drawn).__name__}, expected {expected}")  # noqa: TRY004 (callers catch only ValueError)
    content = drawn.encode(errors="replace") if isinstance(drawn, str) else drawn
    if len(content) > MAX_BYTES:
        raise ValueError(f"{len(content):,} bytes, expected at most {MAX_BYTES:,}")
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return {**NO_PICTURE, PNG_NAME: content}
    try:
        root = ET.fromstring(content).tag  # noqa: S314 (expat limits the expansion of entities)
    except (ET.ParseError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise ValueError(f"neither a PNG nor an SVG ({error})") from None
    if root != "{http://www.w3.org/2000/svg}svg":
        raise ValueError('XML that is not an SVG; its root must be <svg xmlns="http://www.w3.org/2000/svg">')
    return {**NO_PICTURE, SVG_NAME: content}
