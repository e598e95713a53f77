"""Print docs/configuration.md: python scripts/reference.py > docs/configuration.md."""

import sys

from hydra import compose, initialize_config_dir

from evodiverse.settings.compose import CONFIG_NAME, find_conf, resolve
from evodiverse.settings.identity import flatten
from evodiverse.settings.reference import render
from evodiverse.settings.schema import Config, register
from evodiverse.tasks.equations.settings import EquationSettings
from evodiverse.tasks.molecules.settings import MoleculeSettings
from evodiverse.tasks.programs.settings import ProgramSettings

INTRODUCTION = """\
# Configuration

Made by `make docs`. Every key can be set on the command line (`key=value`) and swept with `-m` (`key=a,b,c`). The
defaults are those of `evodiverse` alone, which is `task=jnk3 method=pt llm=off budget=paper`; other tasks and methods
bring their own, and `evodiverse --cfg job task=… method=…` prints them. What differs by domain stands in the task's
file below `task.defaults`, from where methods and budgets take it. `search.early_stop=null` is no early stop.

The groups `task`, `method`, `llm`, `budget` and `experiment` choose files of `conf/`; `evodiverse --help` lists their
options. A folder of your own joins them with `--config-dir FOLDER`.

"""
SECTIONS = {
    "All tasks": (Config, "", "jnk3"),
    "Molecules": (MoleculeSettings, "task.", "jnk3"),
    "Equations": (EquationSettings, "task.", "equation"),
    "Programs": (ProgramSettings, "task.", "circle_packing"),
}


def main() -> int:
    """Print the reference and return the exit code."""
    register()
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        defaults = {
            task: dict(flatten(resolve(compose(CONFIG_NAME, [f"task={task}"])))) for _, _, task in SECTIONS.values()
        }
    sections = {heading: (owner, prefix, defaults[task]) for heading, (owner, prefix, task) in SECTIONS.items()}
    sys.stdout.write(INTRODUCTION + render(sections))
    return 0


if __name__ == "__main__":
    sys.exit(main())
