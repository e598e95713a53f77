"""Evaluators with OpenEvolve's interface: a Python file that defines ``evaluate(program_path)``."""

import ast
import hashlib
import json
import logging
import math
import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.util import decode_source
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from evodiverse.errors import InputError, ServiceError, describe, reason
from evodiverse.kit.inputs import expanded, read_input
from evodiverse.kit.python import NOT_PYTHON, parse, parse_quietly
from evodiverse.tasks.programs.evaluator import Evaluator, Scored, list_files
from evodiverse.tasks.programs.feedback import FEEDBACK, METRICS, SECONDS, STAGE, stage_columns
from evodiverse.tasks.programs.operators.names import module_names
from evodiverse.tasks.programs.settings import ProgramSettings, initial_paths
from evodiverse.text import one_line, printable
from evodiverse.vocabulary import Detail, Job, Reason, Rejection

_LOG = logging.getLogger("evodiverse.tasks.programs")
_DRIVER: Final = Path(__file__).with_name("openevolve_driver.py").read_text(encoding="utf-8")
CONFIG: Final = "config.yaml"
MAX_NEGATIVE: Final = 1e-6
"""What the score of a program with a negative ``combined_score`` stays below."""
_REFUSED: Final = re.compile(r"\[Errno (?:1|13)\]|Operation not permitted|Permission denied")
_ERROR: Final = re.compile("err|exception|fail|traceback", re.IGNORECASE)


class OpenEvolveEvaluator(Evaluator):
    """An evaluator that imports a program itself and returns metrics, as OpenEvolve calls it.

    It runs in one process with the program: in the sandbox, where both may read the evaluator's folder, or outside of
    it with ``task.trust``. The file must define ``evaluate(program_path)``, which returns a dictionary of metrics or an
    ``EvaluationResult`` with metrics and artifacts. The score is the metric ``combined_score``, or the mean of all
    metrics that are numbers. If the file defines ``evaluate_stage1``, it is called instead, and ``evaluate_stage2`` and
    ``evaluate_stage3`` after it, each if the score so far reaches a threshold. ``config.yaml`` next to the file may set
    the thresholds and describe the task, as for OpenEvolve.

    A negative score s counts as ``MAX_NEGATIVE / (1 - s)``, because scores must be at least 0; this keeps the order.
    """

    def __init__(self, settings: ProgramSettings) -> None:
        super().__init__(settings)
        self._path = expanded(settings.evaluator).absolute()
        self._is_confined = not settings.trust
        source, tree = _parse(self._path, "task.evaluator")
        config = read_config(self._path.with_name(CONFIG))
        self._stages = _find_stages(tree, config)
        self.columns = {METRICS: str, FEEDBACK: str, **stage_columns(self._stages)}
        starts = initial_paths(settings)
        if not starts:
            raise InputError("task.initial.path has no value; name the program that the search starts from")
        _, start = _parse(starts[0], "task.initial.path")
        # What the evaluator seems to use of the program, at least one function or class.
        defined = [one.name for one in start.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        if not defined:
            raise InputError("task.initial.path: the program defines neither a function nor a class at its top level")
        used = [name for name in defined if re.search(rf"(?:\.|[\"']){name}\b", source)] or defined[-1:]
        functions = [one.name for one in start.body if isinstance(one, ast.FunctionDef) and one.name in used]
        self.entry_point = (functions or used)[-1]
        self.libraries = _find_libraries(self._path.parent, tree, start)
        told = str(config["prompt"].get("system_message") or ast.get_docstring(tree) or "")
        self.description = (
            f"{told.strip()}\n\nAn evaluator imports the program and uses its {' and '.join(used)}. It may take "
            f"{settings.timeout:g} s of CPU time, and reports the score."
        )
        # Each process that evaluates programs draws its own key, so no program knows it from an earlier one.
        self._key = secrets.token_hex(32)
        self._has_warned = False

    @classmethod
    def find_violations(cls, settings: ProgramSettings) -> list[str]:
        """Return a message if programs could read other files of the user, because the evaluator is next to them."""
        path = expanded(settings.evaluator).absolute()
        folder = path.parent.resolve()
        if settings.trust or not any(place.resolve().is_relative_to(folder) for place in (Path.cwd(), Path.home())):
            return []
        remedy = "copy it into a folder of its own with evodiverse-new program DIR --from-openevolve FOLDER"
        seen = "programs may read its folder, which holds the current folder or your home"
        return [f"task.evaluator={path}: {seen}; {remedy}"]

    @classmethod
    def find_sources(cls, settings: ProgramSettings) -> Mapping[str, Path]:
        """Return the paths of the evaluator and of the files in its folder, which it may read."""
        path = expanded(settings.evaluator).absolute()
        return {"evaluator": path, **list_files(path.parent, "evaluator")}

    def job(self, source: str) -> Job:
        """Return the job in which the evaluator evaluates a program."""
        functions, thresholds = zip(*self._stages.values(), strict=True)
        arguments = (str(self._path), self._key, functions, thresholds[:-1], self._is_confined)
        return Job(source, None, arguments, None, self._limits, _DRIVER, str(self._path.parent))

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score that the evaluator reported, or why there is none.

        Raises:
            ServiceError: The evaluator cannot be imported.
        """
        report = self._open(value)
        if report is None:
            return Rejection(Reason.INVALID, "something other than the evaluator wrote its report")
        if report.is_broken:
            raise ServiceError(f"the evaluator {self._path} cannot be used: {self._tell(report.error, report)}; fix it")
        score, details = report.score, self._find_details(report)
        if report.error:
            return Scored(0.0, details, Rejection(Reason.CRASHED, self._tell(report.error, report)))
        if not math.isfinite(score):
            return Scored(0.0, details, Rejection(Reason.NON_FINITE, f"the evaluator reported the score {score}"))
        error = _find_error(report) if score <= 0 else ""
        if error:
            return Scored(0.0, details, Rejection(Reason.INVALID, self._tell(error, report)))
        if score >= 0:
            return Scored(score, details)
        self._warn(
            f"the evaluator reported {score:.6g}; negative scores hardly guide the search, so let it add a constant"
        )
        return Scored(MAX_NEGATIVE / (1 - score), details)

    def _open(self, value: Any) -> "_Report | None":
        """Return a report of the driver; None if it does not bear the driver's seal, or no driver would write it."""
        key = bytes.fromhex(self._key)
        match value:
            case [str(text), str(seal)] if seal == hashlib.blake2b(text.encode(), key=key).hexdigest():
                return _read_report(text)
        return None

    def _find_details(self, report: "_Report") -> dict[str, Detail]:
        """Return the values of the log's columns; the feedback has the metrics, and the artifacts with their names."""
        metrics = [
            f"{name}: {value:{'.6g' if isinstance(value, float) else ''}}" for name, value in report.metrics.items()
        ]
        artifacts = [f"{name}:\n{text.strip()}" for name, text in report.artifacts.items() if text.strip()]
        known = {
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in report.metrics.items()
        }
        details: dict[str, Detail] = {FEEDBACK: "\n".join([*metrics, *artifacts])}
        details |= {METRICS: json.dumps(known)} if known or not report.error else {}
        times = dict(zip(self._stages, report.seconds, strict=False))
        if len(self._stages) > 1 and times:
            details |= {STAGE: list(times)[-1], **{f"{SECONDS}{name}": time for name, time in times.items()}}
        return details

    def _tell(self, error: str, report: "_Report") -> str:
        """Return the error in a report, and what the sandbox seems to have refused; also warn of that, once."""
        told = printable(one_line(error, 400))
        if not self._is_confined or not (report.refused or _REFUSED.search(f"{error} {report.artifacts}")):
            return told
        refused = printable(one_line(" or ".join(report.refused))) or "do that"
        remedy = f"the sandbox does not let it {refused}; task.trust=true runs the evaluator outside of the sandbox"
        self._warn(f"the evaluator or a program failed ({told}): {remedy}")
        return f"{told} ({remedy})"

    def _warn(self, message: str) -> None:
        """Log a warning, unless there was one already."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning("%s", message)


class _Report(NamedTuple):
    """What the driver reports: an error or the score, and what the evaluator returned before."""

    refused: Sequence[str]
    score: float = 0.0
    metrics: Mapping[str, float | bool | str] = {}
    artifacts: Mapping[str, str] = {}
    seconds: Sequence[float] = ()
    error: str = ""
    is_broken: bool = False


def has_interface(path: Path) -> bool:
    """Return whether a file is an evaluator with OpenEvolve's interface and not one with that of EvoDiverse."""
    try:
        names = module_names(parse(read_input(path)))
    except (OSError, *NOT_PYTHON):
        return False
    return "evaluate" in names and "ENTRY_POINT" not in names


def _read_report(text: str) -> _Report | None:
    """Return a report; None if its parts are not what the driver writes."""
    try:
        report = _Report(**json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return None
    match report:
        case _Report(list(), float(), dict(), dict(), list() | tuple(), str(), bool()) if (
            all(isinstance(value, (float, bool, str)) for value in report.metrics.values())
            and all(isinstance(value, str) for value in (*report.artifacts.values(), *report.refused))
            and all(isinstance(value, float) for value in report.seconds)
            and (report.error or report.seconds)
        ):
            return report
    return None


def _find_error(report: _Report) -> str:
    """Return the text under the first name that speaks of an error; empty if there is none."""
    named = [*report.metrics.items(), *report.artifacts.items()]
    texts = [value.strip() for name, value in named if isinstance(value, str) and _ERROR.search(name)]
    text = next(filter(None, texts), "")
    return text.splitlines()[-1] if "Traceback" in text else text


def _parse(path: Path, key: str) -> tuple[str, ast.Module]:
    """Return the source of a Python file and its syntax tree."""
    try:
        source = decode_source(read_input(path))
        return source, parse_quietly(source)
    except OSError as error:
        raise InputError(f"{key}={path} cannot be read ({reason(error)}); check the path") from error
    except NOT_PYTHON as error:
        raise InputError(f"{key}={path} is not Python ({describe(error)}); fix the file") from error


def read_config(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the parts ``evaluator`` and ``prompt`` of a configuration of OpenEvolve; empty if there is no file."""
    try:
        content = yaml.safe_load(read_input(path)) if path.is_file() else {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read ({describe(error)}); fix the file") from error
    parts = content if isinstance(content, dict) else {}
    return {name: part if isinstance(part := parts.get(name), dict) else {} for name in ("evaluator", "prompt")}


def _find_stages(tree: ast.Module, config: Mapping[str, Mapping[str, Any]]) -> Mapping[str, tuple[str, float]]:
    """Return the function of each stage and the score needed to go beyond it, by the name of the stage.

    Without stages, the only function is ``evaluate``, and the name is empty.
    """
    names = module_names(tree)
    thresholds = config["evaluator"].get("cascade_thresholds", [0.5, 0.75])  # the defaults of OpenEvolve
    if "evaluate_stage1" not in names or not config["evaluator"].get("cascade_evaluation", True):
        return {"": ("evaluate", math.inf)}
    if not isinstance(thresholds, list) or not all(isinstance(one, (int, float)) for one in thresholds):
        raise InputError(f"{CONFIG}: evaluator.cascade_thresholds must be a list of numbers; fix the file")
    functions = takewhile(names.__contains__, (f"evaluate_stage{number}" for number in (1, 2, 3)))
    pairs = zip(functions, [*map(float, thresholds), math.inf], strict=False)
    return {function.removeprefix("evaluate_"): (function, least) for function, least in pairs}


def _find_libraries(folder: Path, *trees: ast.Module) -> tuple[str, ...]:
    """Return the installed modules that some programs import, without those of Python and those in ``folder``."""
    names = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    own = {path.stem for path in folder.iterdir()} | sys.stdlib_module_names | {"openevolve"}
    return tuple(sorted(name for name in names if name.partition(".")[0] not in own and _is_installed(name)))


def _is_installed(name: str) -> bool:
    """Return whether there is a module with this name, without importing the package around it."""
    places: Sequence[str] | None = [entry for entry in sys.path if entry not in {"", os.getcwd()}]
    for full in accumulate(name.split("."), "{}.{}".format):
        spec = None if places is None else PathFinder.find_spec(full, places)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True
