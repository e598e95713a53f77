"""Configuration keys of the molecule tasks (``task.*``)."""

from dataclasses import dataclass, field
from typing import Any, Final

from evodiverse.kit.documented import setting

FAIL: Final = "fail"
SKIP: Final = "skip"
RETRY: Final = "retry"


@dataclass
class Oracle:
    """``task.oracle``: the oracle.

    ``path`` or ``_target_`` names the user's own oracle; ``elsewhere`` means that the scores come from outside the
    program. At most one of these three may be set; it replaces ``published``. In a component of an objective, exactly
    one of ``published``, ``path`` and ``_target_`` must be set; ``elsewhere`` is not allowed there.

    Attributes:
        published: name of a published classifier
        path: your own random forest, as a pickle or .npz
        _target_: module.name of your own function, which maps a batch of SMILES to scores in [0, 1], or of a class
        elsewhere: true: scores come from outside, through evaluator=command or evaluator=ask
        on_error: if your own function raises an exception for a molecule: fail ends the run, skip fails the evaluation,
            retry first calls the function twice more
    """

    published: str | None = None
    path: str | None = None
    _target_: str | None = None
    elsewhere: bool | None = None
    on_error: str = setting(default=SKIP, is_later=True, choices=(FAIL, SKIP, RETRY))

    @property
    def is_own(self) -> bool:
        """Whether the oracle is the user's own instead of a published one."""
        return self.path is not None or self._target_ is not None or bool(self.elsewhere)


@dataclass
class Initial:
    """``task.initial``: the molecules that pools start from.

    Attributes:
        path: file to start from instead of ZINC-250K: .smi, .csv, .tsv or .sdf, optionally followed by .gz
        column: column that holds the SMILES if the file is a table; null: smiles or canonical_smiles, in upper or lower
            case
        size: number of molecules that a pool starts from (all, if the file has fewer that can be used)
        choose: how initial molecules are chosen: at random, for diversity (by MaxMin), or the best by
            task.initial.score
        score: score for choose=score: qed, or a component that needs no oracle, written as in task.objective.components
        among: for choose=diverse and score: number of molecules drawn for each pool, from which the initial ones are
            chosen
        shared: whether all pools start from the same molecules
        measured: column of the table, or property of the SDF, with scores from 0 to 1 that you have measured; these
            molecules cost no oracle calls
        skip_invalid: whether to skip and count malformed records of the file instead of stopping
        run: folder of an earlier run whose best candidates to start from, in all pools; they are evaluated again
        best: number of candidates to take from the earlier run
    """

    path: str | None = None
    column: str | None = None
    size: int = setting(default=120, unit="molecules", least=1)
    choose: str = setting(default="random", choices=("random", "diverse", "score"))
    score: Any = None
    among: int = setting(default=5000, unit="molecules", least=1)
    shared: bool = False
    measured: str | None = setting(default=None, is_later=True)
    skip_invalid: bool = True
    run: str | None = setting(default=None, is_later=True)
    best: int = setting(default=20, unit="candidates", is_later=True, least=1)


@dataclass
class PromptSettings:
    """``task.prompts``: the prompts for a language model.

    Attributes:
        dir: folder with your own cold.txt and hot.txt
        target: name of the target, for the prompts; null: that of the published oracle
        meaning: one sentence on what the score measures; null: that of the published oracle
        name_target: whether the model is told the name of the target and what the score measures
    """

    dir: str | None = None
    target: str | None = None
    meaning: str | None = None
    name_target: bool = True


@dataclass
class MoleculeSettings:
    """The configuration group ``task`` of the molecule tasks.

    Attributes:
        objective: score composed of several components, instead of the oracle's score; keys: combine and components
            (docs/objectives.md)
        highlight: SMARTS, or a list of them, that best/top10.png marks; null: the substructures that the objective
            rewards
        filters: filters that reject molecules before any oracle call: the name of a built-in set (medchem), or a group
            of keys (docs/objectives.md)
        scaffold: SMILES of a core with open positions [*:1], which all molecules keep (docs/molecules.md); null: none
        score_timeout: time that a call of your own function may take before the molecule's evaluation fails; null: no
            limit
        max_heavy_atoms: maximum size of a molecule; larger ones are rejected
        mutation_rate: probability that Graph GA mutates a child
    """

    oracle: Oracle = field(default_factory=Oracle)
    initial: Initial = field(default_factory=Initial)
    objective: dict[str, Any] = field(default_factory=dict)
    highlight: Any = setting(default=None, changes_log=False)
    prompts: PromptSettings = field(default_factory=PromptSettings)
    filters: Any = None
    scaffold: str | None = setting(default=None, is_later=True)
    score_timeout: float | None = setting(default=600.0, unit="s", above=0, most=1e6, changes_log=False)
    max_heavy_atoms: int = setting(default=80, unit="heavy atoms", least=1)
    mutation_rate: float = setting(default=0.067, least=0, most=1)
