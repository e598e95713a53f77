"""Measure what the live panel, the journal and best/ cost, as shares of the time of one whole JNK3 run.

python benchmarks/observers.py [--pictures FOLDER]

With --pictures, it also writes two pictures of the documentation to FOLDER: the panel in the middle of the run, and the
best molecules.
"""

import argparse
import io
import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from hydra import compose, initialize_config_dir
from rich.console import Console

from evodiverse.ports import Snapshot
from evodiverse.runner.display import RichDisplay, draw
from evodiverse.settings import find_conf
from evodiverse.settings.assembly import run
from evodiverse.settings.compose import CONFIG_NAME, split_hydra
from evodiverse.settings.plan import plan_run
from evodiverse.settings.schema import register
from evodiverse.store.files import Journal
from evodiverse.tasks.molecules.task import MoleculeTask

# With one worker, everything runs in the main process, where it is timed. Otherwise the journal is written by workers.
OVERRIDES = ["task=jnk3", "method=pt", "search.early_stop=null", "evaluator.workers=1"]
PHOTO_ITERATION = 45
TITLE = "outputs/jnk3/pt/off/default/seed0"
WATCHED: dict[str, list[tuple[type, str]]] = {
    "live panel": [(RichDisplay, "update"), (RichDisplay, "finish")],
    "journal": [(Journal, "append"), (Journal, "replace")],
    "best/": [(MoleculeTask, "show_best")],
}


def watch(owner: type, method: str, seconds: dict[str, float], name: str) -> None:
    """Replace a method of a class by one that also adds the time of each call to ``seconds[name]``."""
    original = getattr(owner, method)

    def timed(*arguments: object, **named: object) -> object:
        began = time.perf_counter()
        try:
            return original(*arguments, **named)
        finally:
            seconds[name] += time.perf_counter() - began

    setattr(owner, method, timed)


class Photographed(RichDisplay):
    """A live panel that keeps the state of the run at iteration `PHOTO_ITERATION` in ``photo``."""

    photo: Snapshot | None = None

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        super().update(snapshot)
        if self.photo is None and snapshot().iteration == PHOTO_ITERATION:
            self.photo = snapshot()


def save_pictures(folder: Path, photo: Snapshot, path: Path) -> None:
    """Write live.svg, the panel at the time of ``photo``, and copy top10.png from the run directory ``path``."""
    console = Console(record=True, file=io.StringIO(), width=82, force_terminal=True)
    console.print(draw(photo, TITLE))
    panel = console.export_svg(title="evodiverse task=jnk3 method=pt")
    # The documentation fetches nothing from elsewhere, not even a font.
    (folder / "live.svg").write_text(re.sub(r',\s*url\("https://[^"]+"\) format\("\w+"\)', "", panel), "utf-8")
    shutil.copy(path / "best" / "top10.png", folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for live.svg and top10.png")
    arguments = parser.parse_args()
    seconds: dict[str, float] = defaultdict(float)
    for name, methods in WATCHED.items():
        for owner, method in methods:
            watch(owner, method, seconds, name)
    register()
    with tempfile.TemporaryDirectory() as folder:
        with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
            overrides = [*OVERRIDES, f"outputs={folder}"]
            plan = plan_run(*split_hydra(compose(CONFIG_NAME, overrides=overrides, return_hydra_config=True)))
        terminal = Console(file=io.StringIO(), force_terminal=True, width=110, height=40)
        began = time.perf_counter()
        display = Photographed(terminal, TITLE) if arguments.pictures else RichDisplay(terminal, TITLE)
        messages: list[str] = []
        run(plan, display, messages.append, Path.mkdir)
        wall = time.perf_counter() - began
        if isinstance(display, Photographed) and display.photo is not None:
            save_pictures(arguments.pictures, display.photo, plan.path)
    print(f"one run: {wall:.1f} s")
    for name, spent in seconds.items():
        print(f"{name}: {spent:.2f} s, {spent / wall:.1%}")


if __name__ == "__main__":
    main()
