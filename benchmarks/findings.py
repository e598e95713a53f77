"""Make the runs of a study in docs/results.md: python benchmarks/findings.py STUDY OUTPUTS.

Makes those runs that do not exist yet, one on each core. Stop it whenever you like: the same command resumes where it
stopped. `benchmarks/findings_tables.py` makes the tables.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from evodiverse.runner.workers import available_cores

CONF = Path(__file__).parents[1] / "conf"
MOLECULES = ("task=jnk3", "task=gsk3b")
EQUATIONS = tuple(
    f"task=equation task.problem=builtin/{name}"
    for name in (
        "oscillator1",
        "oscillator2",
        "bacterial_growth",
        "population1",
        "reaction1",
        "reaction2",
        "aluminium",
        "material1",
    )
)
PMO = tuple(f"task=pmo/{path.stem}" for path in sorted((CONF / "task" / "pmo").glob("*.yaml")))
LONG = "search.early_stop=null"
EXAMPLE = (
    "task=program task.evaluator=docs/examples/bin_packing/evaluator.py "
    "task.initial.path=docs/examples/bin_packing/worst_fit.py"
)
THREE = "task=dual_kinase ~task.objective.components.gsk3b task.pareto=[jnk3,qed,sa]"
NOVEL = ("search.novelty=0.99", "search.novelty=0.95")  # long programs need a limit nearer to 1


@dataclass(frozen=True, slots=True)
class Study:
    """Runs of several methods on the same tasks and seeds.

    Attributes:
        tasks: The tasks, each as arguments of the command line.
        seeds: The seeds.
        methods: The methods, each as it follows ``method=`` on the command line, perhaps with further arguments.
        oracle_calls: The budget of each run, or None for the task's own.
    """

    tasks: tuple[str, ...]
    seeds: range
    methods: tuple[str, ...]
    oracle_calls: int | None = None

    def commands(self) -> Iterator[list[str]]:
        """Yield the command-line arguments of each run, seed by seed.

        If the study is stopped early, the methods thus have most of their seeds in common and can be compared.
        """
        for seed, task, method in product(self.seeds, self.tasks, self.methods):
            budget = [] if self.oracle_calls is None else [f"budget.oracle_calls={self.oracle_calls}"]
            yield [*task.split(), *f"method={method}".split(), LONG, *budget, f"seed={seed}"]


STUDIES = {
    "molecules": Study(
        MOLECULES,
        range(20, 28),
        (
            "diverse",
            "graph_ga",
            "pt",
            "pt_niche",
            "niche_ga",
            "graph_ga task.mutation_rate=0.3",
            "molleo",
            "best_of_n",
        ),
    ),
    "equations": Study(
        EQUATIONS,
        range(3),
        (
            "pt",
            "tempering",
            "ensemble",
            "random_swap",
            "pt3",
            "pt task.energy=raw_mse",
            "pt method.ladder=[0.5,0.01]",
            "pt method.ladder=[1.5,0.01]",
            "pt method.ladder=[0.8,0.5]",
            "pt method.swap.period=2",
            "pt method.swap.period=20",
            "pt method.swap.size=1",
            "pt method.swap.size=10",
        ),
    ),
    "pmo": Study(PMO, range(20, 23), ("gp_bo", "mol_ga task.initial.size=100", "graph_ga", "niche_ga", "pt")),
    "lag": Study(
        (*MOLECULES, "task=circle_packing budget.oracle_calls=200"),
        range(10, 18),
        ("pt", "pt search.lag=1", "pt search.lag=2"),
    ),
    "failures": Study(
        (EXAMPLE,),
        range(10, 20),
        tuple(f"{method}{kept}" for method in ("ea", "pt") for kept in ("", " search.keep_failed=true")),
        oracle_calls=300,
    ),
    "novelty": Study(
        (EXAMPLE,),
        range(10, 15),
        tuple(f"{method} {limit}".strip() for method in ("ea", "diverse") for limit in ("", *NOVEL)),
        oracle_calls=300,
    ),
    "novelty_packing": Study(
        ("task=circle_packing",),
        range(10, 15),
        ("diverse", "diverse search.novelty=0.999", *(f"diverse {limit}" for limit in NOVEL)),
        oracle_calls=300,
    ),
    "pareto": Study((THREE,), range(20, 25), ("nsga2", "graph_ga"), oracle_calls=1_000),
    "pareto_again": Study((THREE,), range(25, 45), ("nsga2", "graph_ga"), oracle_calls=1_000),
    "filters": Study(
        ("task=jnk3",),
        range(10, 13),
        ("diverse", "diverse task.filters=medchem", "graph_ga", "graph_ga task.filters=medchem"),
        oracle_calls=3_000,
    ),
}


def make_runs(study: Study, outputs: str) -> None:
    """Make those runs of a study that do not exist yet, one on each core."""
    commands = list(study.commands())

    def run(number: int) -> None:
        print(f"{number + 1} of {len(commands)}: {' '.join(commands[number])}", flush=True)
        arguments = [*commands[number], f"outputs={outputs}", "display=none", "evaluator.workers=1"]
        subprocess.run([sys.executable, "-m", "evodiverse", *arguments], check=True)

    with ThreadPoolExecutor(available_cores()) as pool:
        for _ in pool.map(run, range(len(commands))):
            pass


def main() -> None:
    name, outputs = sys.argv[1:]
    make_runs(STUDIES[name], outputs)


if __name__ == "__main__":
    main()
