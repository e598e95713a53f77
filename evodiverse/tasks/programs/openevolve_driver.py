"""The driver that lets an evaluator with OpenEvolve's interface evaluate a program, in one process with it.

The source of this module runs in the program's sandbox, without the rest of EvoDiverse.
"""

import functools
import hashlib
import importlib.util
import json
import math
import os
import re
import sys
import time
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_TEXT, MAX_TEXTS = 2_000, 50
"""The largest length of a text that an evaluator reports, and the largest number of texts and of numbers."""

_IDENTITY = re.compile(r"0x[0-9a-fA-F]{6,}|(?<!\d\.)\b\d{12,}\b(?!\.\d)")
_STARTING = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen")
_REFUSED = {**dict.fromkeys(_STARTING, "start processes"), "socket.__new__": "open sockets"}


@dataclass
class EvaluationResult:
    """Stands in for the class of this name in the package openevolve."""

    metrics: dict[str, Any]
    artifacts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics: dict[str, Any]) -> "EvaluationResult":
        """Return a result without artifacts."""
        return cls(metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics."""
        return self.metrics

    def has_artifacts(self) -> bool:
        """Return whether there are artifacts."""
        return bool(self.artifacts)


def drive(
    source: str, evaluator: str, key: str, functions: Sequence[str], thresholds: Sequence[float], is_confined: bool
) -> list[str]:
    """Return what an evaluator reports of a program, as JSON, and its seal.

    The program can change everything in this process. So what writes the report is made before it is loaded, and a
    report without a seal is not accepted. To forge one, a program must find the seal in the memory of this process.

    Args:
        source: The source of the program.
        evaluator: The path of the evaluator.
        key: The key of the seal, in hexadecimal.
        functions: The names of the evaluator's functions to call, one for each stage.
        thresholds: The score needed to reach each stage but the first.
        is_confined: Whether the sandbox confines this process.
    """
    seal, write = hashlib.blake2b(key=bytes.fromhex(key)), json.JSONEncoder().encode
    refused: list[str] = []
    report: dict[str, Any] = {"metrics": {}, "artifacts": {}, "seconds": []}
    if is_confined:
        sys.addaudithook(functools.partial(_refuse, refused))
    try:
        module, path = _load(evaluator), os.path.join(os.getcwd(), "program.py")
        stages = [getattr(module, name) for name in functions]
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        _run_stages(stages, thresholds, path, report)
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001 (a program may raise anything)
        report |= {"error": _describe(error), "is_broken": isinstance(error, _BrokenError)}
        if isinstance(error, PermissionError) and error.filename and not refused:
            refused.append(f"open {_tidy(error.filename)}")
    text = write({**report, "refused": sorted(set(refused))})
    seal.update(text.encode())
    return [text, seal.hexdigest()]


class _BrokenError(Exception):
    """The evaluator cannot be used, whatever the program."""


def _load(path: str) -> types.ModuleType:
    """Import the evaluator under the name that OpenEvolve gives it."""
    _provide_package()
    spec = importlib.util.spec_from_file_location("evaluation_module", path)
    if spec is None or spec.loader is None:
        raise _BrokenError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["evaluation_module"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise _BrokenError(f"it cannot be imported ({_describe(error)})") from error
    return module


def _provide_package() -> None:
    """Provide ``openevolve.evaluation_result`` without loading the rest of the package, which need not be installed."""
    spec = importlib.util.find_spec("openevolve")
    package, module = types.ModuleType("openevolve"), types.ModuleType("openevolve.evaluation_result")
    package.__path__ = [] if spec is None else list(spec.submodule_search_locations or [])
    vars(module)["EvaluationResult"] = EvaluationResult
    EvaluationResult.__module__ = module.__name__  # so that it can be pickled
    vars(package)["evaluation_result"] = module
    sys.modules |= {"openevolve": package, "openevolve.evaluation_result": module}


def _run_stages(
    stages: Sequence[Callable[[str], Any]], thresholds: Sequence[float], path: str, report: dict[str, Any]
) -> None:
    """Call one stage after the other, as long as the score of all metrics so far reaches the threshold.

    What is known after each stage, or when a stage fails, is in the report.
    """
    for number, evaluate in enumerate(stages):
        began = time.perf_counter()
        try:
            result = evaluate(path)
        finally:
            report["seconds"].append(time.perf_counter() - began)
        report["metrics"] |= _read_metrics(result)
        artifacts = report["artifacts"] | {
            _tidy(name): _tidy(value) for name, value in getattr(result, "artifacts", {}).items()
        }
        report["artifacts"] = dict(list(artifacts.items())[:MAX_TEXTS])
        report["score"] = _score(report["metrics"])
        if number == len(thresholds) or not report["score"] >= thresholds[number]:
            break


def _read_metrics(result: Any) -> dict[str, Any]:
    """Return the metrics of a result as numbers, flags and texts."""
    metrics = getattr(result, "metrics", result)
    if not isinstance(metrics, Mapping):
        raise TypeError(f"the evaluator returned a {type(result).__name__}, expected a dictionary of metrics")
    return {_tidy(name): _plain(value) for name, value in list(metrics.items())[:MAX_TEXTS]}


def _plain(value: Any) -> Any:
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return bool(value)
    return float(value) if isinstance(value, (int, float)) else _tidy(value)


def _score(metrics: Mapping[str, Any]) -> float:
    """Return ``combined_score``, or the mean of the metrics that are numbers; flags are none."""
    numbers = {name: value for name, value in metrics.items() if type(value) is float}
    known = [value for value in numbers.values() if not math.isnan(value)]
    return numbers.get("combined_score", sum(known) / len(known) if known else 0.0)


def _describe(error: BaseException) -> str:
    """Return an error with the last line of the program, or else of any file, where it arose."""
    if isinstance(error, _BrokenError):
        return _tidy(error)
    name, text = type(error).__name__, _tidy(error)
    frames = [(os.path.basename(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    others = [place for place in frames if place[0] != "driver.py"]
    places = [place for place in others if place[0] == "program.py"] or others
    where = " ({}, line {})".format(*places[-1]) if places else ""
    return f"{name}: {' '.join(text.split())[:300]}{where}" if text else f"{name}{where}"


def _tidy(value: object) -> str:
    """Return a text that is the same in every repetition: without memory addresses and the temporary folder."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    text = text[: 4 * MAX_TEXT].replace(os.getcwd(), ".").encode(errors="replace").decode()
    return _IDENTITY.sub("…", text)[:MAX_TEXT]


def _refuse(refused: list[str], event: str, _: tuple[Any, ...]) -> None:
    """Say what the sandbox refuses, before the kernel does, and note it."""
    if event in _REFUSED:
        refused.append(_REFUSED[event])
        raise PermissionError(f"the sandbox does not let it {_REFUSED[event]}")
