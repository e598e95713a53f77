from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evodiverse.kit.documented import setting
from evodiverse.ports import Sandbox
from tests.toys.bits.metrics import BitMetrics
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.prompts import BitPrompts
from tests.toys.bits.task import BitTask, StockedBitTask


@dataclass
class BitInitial:
    """``task.initial``, for bit strings.

    Attributes:
        run: folder of an earlier run to start from
        best: number of candidates to take from it
    """

    run: str | None = setting(default=None, is_later=True)
    best: int = setting(default=20, unit="candidates", is_later=True, least=1)


@dataclass
class BitSettings:
    """``task``, for bit strings.

    Attributes:
        length: bits of a string
        start: strings a pool starts from
        shared: all pools start from the same strings
        rate: changes nothing
        source: stands for a data file's checksum
        pause: seconds that an evaluation takes
        diary: file to which each evaluation adds its key as it ends
        library: strings of the library that screening rates; 0: there is no library
        spoiled: what goes wrong: nothing, start, failing, some (strings that begin with 1 fail), oracle, bug or worker
        initial: where a pool starts
    """

    length: int = setting(default=24, unit="bits", least=1)
    start: int = setting(default=8, unit="strings")
    shared: bool = False
    rate: float = setting(default=0.5, unit="0 to 1")
    source: str = "a"
    pause: float = setting(default=0.0, unit="s")
    diary: str = ""
    library: int = 0
    spoiled: str = "nothing"
    initial: BitInitial = field(default_factory=BitInitial)


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
