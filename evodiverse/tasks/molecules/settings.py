"""Configuration keys of the molecule tasks (``task.*``)."""

from dataclasses import dataclass, field
from typing import Any

from evodiverse.kit.documented import documented, documented_mapping


@dataclass
class Oracle:
    """``task.oracle``: what scores molecules; the first of ``_target_``, ``path``, ``published`` that is set counts."""

    published: str | None = documented("artifact that holds the published forest", default=None)
    path: str | None = documented("a user's own forest, as a pickle or .npz", default=None)
    _target_: str | None = documented(
        "a user's own function, or class without arguments: a batch of SMILES to scores in [0, 1]", default=None
    )

    elsewhere: bool | None = documented(
        "true: somebody else scores, by evaluator=command or evaluator=ask, and none of the others is asked",
        default=None,
    )

    @property
    def is_own(self) -> bool:
        """Whether the user's own oracle scores, and not a published one."""
        return self.path is not None or self._target_ is not None or bool(self.elsewhere)


@dataclass
class Initial:
    """``task.initial``: where the pools start."""

    path: str | None = documented(
        "file to start from instead of ZINC-250K: .smi, .csv, .tsv or .sdf, also packed as .gz", default=None
    )
    column: str | None = documented(
        "column of a table that holds SMILES; null: smiles or canonical_smiles, in any case", default=None
    )
    size: int = documented(
        "molecules a pool starts from; a shorter file gives fewer", default=120, unit="molecules", least=1
    )
    choose: str = documented(
        "how a pool's start is chosen: uniformly, as different as can be (MaxMin), or the best by score",
        default="random",
        choices=("random", "diverse", "score"),
    )
    score: Any = documented(
        "what score chooses by: qed, or a component as in task.objective.components; none that needs an oracle",
        default=None,
    )
    among: int = documented(
        "molecules drawn for each pool, among which diverse and score choose", default=5000, unit="molecules", least=1
    )
    shared: bool = documented("all pools start from the same molecules", default=False)
    skip_invalid: bool = documented("pass over malformed records of the file and count them", default=True)


@dataclass
class PromptSettings:
    """``task.prompts``: what a language model is told."""

    dir: str | None = documented("folder of your own cold.txt and hot.txt", default=None)
    target: str | None = documented("what the score is about; null: the published oracle's target", default=None)
    meaning: str | None = documented(
        "one sentence on what the score measures; null: the published oracle's", default=None
    )
    name_target: bool = documented("tell the model the target's name and what the score measures", default=True)


@dataclass
class MoleculeSettings:
    """``task``, for molecules."""

    oracle: Oracle = field(default_factory=Oracle)
    initial: Initial = field(default_factory=Initial)
    objective: dict[str, Any] = documented_mapping(
        "a score composed of components, instead of the oracle's: combine and components (docs/objectives.md)"
    )
    highlight: Any = documented(
        "SMARTS, or a list of them, that best/top10.png marks; null: those that the objective wants present",
        default=None,
        changes_log=False,
    )
    prompts: PromptSettings = field(default_factory=PromptSettings)
    filters: Any = documented(
        "what rejects molecules before they are charged: a built-in set by its name (medchem), or a group of keys "
        "(docs/filters.md)",
        default=None,
    )
    max_heavy_atoms: int = documented("larger molecules are rejected", default=80, unit="heavy atoms", least=1)
    mutation_rate: float = documented("chance that Graph GA mutates a child", default=0.067, least=0, most=1)
