"""The typed schema of all configuration keys, except those of the domains (``tasks/<domain>/settings.py``)."""

from dataclasses import dataclass, field
from typing import Any, Final

from hydra.core.config_store import ConfigStore

from evodiverse.kit.documented import setting
from evodiverse.llm.settings import Llm
from evodiverse.runner import DISPLAYS
from evodiverse.runner.evaluators import EvaluatorSettings
from evodiverse.runner.ledger import Budget
from evodiverse.runner.tracking import NONE, TRACKERS
from evodiverse.search.settings import Method, Search

STRICT: Final = "strict"
REQUIREMENTS: Final = ("available", STRICT)


@dataclass
class Sandbox:
    """The keys of ``sandbox``: where untrusted programs run.

    Attributes:
        require: available uses the protection from programs that the kernel offers, strict refuses to run unless it
            offers all
    """

    require: str = setting(default="available", changes_log=False, choices=REQUIREMENTS)


@dataclass
class Tracking:
    """The keys of ``tracking``: the service that runs report their progress to.

    Attributes:
        name: service that tracks runs
        uri: address of the service; null: MLFLOW_TRACKING_URI, else a database in the folder of all runs
        experiment: name of the group of runs in the service
    """

    name: str = setting(default="none", changes_log=False, choices=(NONE, *TRACKERS))
    uri: str | None = setting(default=None, changes_log=False)
    experiment: str = setting(default="evodiverse", changes_log=False)


@dataclass
class Task:
    """The keys of ``task`` that any task may have; the others are those of its domain.

    Attributes:
        pareto: two to five objectives: components, or columns of numbers that the task logs, to be maximized; 10-length
            minimizes length
    """

    pareto: Any = setting(default=None, is_later=True)


@dataclass
class Config:
    """The whole configuration of a run.

    Attributes:
        seed: seed of all random draws
        outputs: folder of all runs
        name: folder of this run or sweep, below outputs
        overwrite: whether to delete the run directory and start from scratch
        display: how a run shows its progress; auto: rich on a terminal, else plain
        dry_run: whether to print what would run, or why it would be refused, but run nothing
    """

    task: Any = field(default_factory=lambda: {"pareto": None})
    method: Method = field(default_factory=Method)
    llm: Llm = field(default_factory=Llm)
    budget: Budget = field(default_factory=Budget)
    search: Search = field(default_factory=Search)
    evaluator: EvaluatorSettings = field(default_factory=EvaluatorSettings)
    sandbox: Sandbox = field(default_factory=Sandbox)
    tracking: Tracking = field(default_factory=Tracking)
    seed: int = setting(default=0, least=0, most=2**64 - 1)
    outputs: str = setting(default="outputs", changes_log=False)
    name: str | None = setting(default=None, changes_log=False)
    overwrite: bool = setting(default=False, changes_log=False)
    display: str = setting(default="auto", changes_log=False, choices=DISPLAYS)
    dry_run: bool = setting(default=False, changes_log=False)


def register() -> None:
    """Register the schema with Hydra, under the name that ``conf/config.yaml`` starts from."""
    ConfigStore.instance().store(name="schema", node=Config)
