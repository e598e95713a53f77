from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evodiverse.kit.documented import documented
from evodiverse.ports import Sandbox
from tests.toys.bits.metrics import BitMetrics
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.prompts import BitPrompts
from tests.toys.bits.task import BitTask, StockedBitTask


@dataclass
class BitSettings:
    """``task``, for bit strings."""

    length: int = documented("bits of a string", default=24, unit="bits", least=1)
    start: int = documented("strings a pool starts from", default=8, unit="strings")
    shared: bool = documented("all pools start from the same strings", default=False)
    rate: float = documented("changes nothing", default=0.5, unit="0 to 1")
    source: str = documented("stands for a data file's checksum", default="a")
    pause: float = documented("seconds that an evaluation takes", default=0.0, unit="s")
    diary: str = documented("file to which each evaluation adds its key as it ends", default="")
    library: int = documented("strings of the library that screening rates; 0: there is no library", default=0)
    spoiled: str = documented("what goes wrong: nothing, start, failing, oracle, bug or worker", default="nothing")


settings = BitSettings


def find_violations(settings: BitSettings) -> list[str]:
    return []


def count_initial(settings: BitSettings) -> int:
    return settings.start


def is_shared(settings: BitSettings) -> bool:
    return settings.shared


def build_operator(settings: BitSettings) -> BitCrossover:
    return BitCrossover()


def build_metrics(settings: Mapping[str, Any]) -> BitMetrics:
    return BitMetrics()


def choose_problems(groups: Collection[str | None]) -> list[str]:
    return []


def build_prompts(settings: BitSettings) -> BitPrompts:
    return BitPrompts()


def sources(settings: BitSettings, artifact_sha256: Callable[[str], str]) -> dict[str, str | Path]:
    return {"oracle": settings.source}


def build_task(settings: BitSettings, artifact: Callable[[str], Path], sandbox: Callable[[], Sandbox]) -> BitTask:
    arguments = (settings.length, settings.start, settings.spoiled, settings.pause, settings.diary)
    return StockedBitTask(settings.library, *arguments) if settings.library else BitTask(*arguments)
