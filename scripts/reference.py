"""Print docs/configuration.md: python scripts/reference.py > docs/configuration.md."""

import importlib
import sys
from typing import Any

from hydra import compose, initialize_config_dir

from evodiverse.kit.typed import flatten
from evodiverse.settings.compose import CONFIG_NAME, resolve
from evodiverse.settings.conf_folder import find_conf
from evodiverse.settings.reference import render
from evodiverse.settings.schema import Config, register

INTRODUCTION = """\
# Configuration

Every configuration key, with its default and its meaning. `make docs` generates this page.

Every key can be set on the command line (`key=value`) and swept with `-m` (`key=a,b,c`). The defaults are those of
`task=jnk3 method=pt llm=off budget=paper`; those of *Programs* and *Equations* are those of `task=bin_packing` and
`task=equation`. `???` marks a key that has no default with these choices. `evodiverse --cfg job task=… method=…` prints
the defaults of other tasks and methods. Some defaults depend on the domain: they are in the task's file, below
`task.defaults`. `search.early_stop=null` disables early stopping.

† Not part of a run's identity: a run resumes even if the value has changed, and the path of its folder does not name
it. Such a key does not by itself change what a run logs, except that `evaluator.timeout`, `evaluator.retries`,
`task.score_timeout` and `search.on_failed_start` decide what counts as failed.

The groups `task`, `method`, `llm`, `budget`, `evaluator`, `tracking`, `launcher` and `experiment` choose files in
`conf/`; `evodiverse --help` lists their options. `--config-dir FOLDER` adds a folder of your own.

"""


def main() -> int:
    """Print the page that lists all configuration keys, and return the exit code."""
    register()
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        default = _compose()
        sections = {"All tasks": (Config, "", default)}
        tasks = sorted(path.stem for path in find_conf().joinpath("task").glob("*.yaml"))
        for task in [default["task.name"], *tasks]:
            values = _compose(f"task={task}")
            domain = str(values["task.domain"])  # the first task of a domain provides its defaults
            settings = importlib.import_module(f"{domain}.domain").settings
            sections.setdefault(domain.rpartition(".")[2].capitalize(), (settings, "task.", values))
    sys.stdout.write(INTRODUCTION + render(sections))
    return 0


def _compose(*overrides: str) -> dict[str, Any]:
    return dict(flatten(resolve(compose(CONFIG_NAME, list(overrides)))))


if __name__ == "__main__":
    sys.exit(main())
