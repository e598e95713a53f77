"""The runs of a sweep are composed as Hydra would, and complete ones are recognized."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra._internal.hydra import Hydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.runner.display import NoDisplay
from evodiverse.settings.assembly import run
from evodiverse.settings.compose import CONFIG_NAME, split_hydra
from evodiverse.settings.hydra_session import hydra_session
from evodiverse.settings.known_runs import KnownRuns
from evodiverse.settings.schema import register
from evodiverse.settings.sweep import Composer, SweptRun, name_runs, plan_sweep
from tests.runs import TOY_CONF


@pytest.fixture
def hydra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hydra]:
    register()
    monkeypatch.chdir(tmp_path)
    shutil.copytree(TOY_CONF, "options")
    with hydra_session("options") as session:
        yield session


def compose_master(hydra: Hydra) -> DictConfig:
    return hydra.compose_config(CONFIG_NAME, ["task=bits", "hydra.mode=MULTIRUN"], RunMode.MULTIRUN)


RUNS = [
    ["task=bits", "method=pt", "seed=3"],
    ["task=bits", "method=pt3", "method.ladder=[0.9,0.5,0.1]", "search.early_stop=null"],
    ["task=jnk3", "method=diverse", "method.screen.radius=0.3", "+task.objective={}", "budget.oracle_calls=5_000"],
    ["task=jnk3", "llm=off", "task.filters={set: medchem}", "outputs='a b'"],
    ["task=circle_packing", "budget=smoke", "++search.patience=3", "~tracking"],
    ["+experiment=mol_graphga", "task=gsk3b", "seed=1", "method=island", "hydra.verbose=true"],
]


@pytest.mark.parametrize("overrides", RUNS, ids=lambda run: run[-1])
def test_a_run_composes_to_what_hydra_makes_of_it(hydra: Hydra, overrides: list[str]) -> None:
    master = compose_master(hydra)
    composer = Composer(hydra.config_loader, master)
    composer.compose([*(word for word in overrides if not word.startswith("seed=")), "seed=17"])
    config, hydra_part = split_hydra(composer.load_sweep_config(master, overrides))
    expected, expected_part = split_hydra(hydra.config_loader.load_sweep_config(master, overrides))
    assert OmegaConf.to_yaml(config) == OmegaConf.to_yaml(expected)
    assert OmegaConf.to_yaml(hydra_part) == OmegaConf.to_yaml(expected_part)


@pytest.mark.parametrize("wrong", ["sed=1", "seed=a", "method.swap.perid=3", "method=pt9"])
def test_a_run_that_does_not_compose_is_refused_as_hydra_refuses_it(hydra: Hydra, wrong: str) -> None:
    master = compose_master(hydra)
    with pytest.raises(HydraException) as expected:
        hydra.config_loader.load_sweep_config(master, ["task=bits", wrong])
    with pytest.raises(type(expected.value)) as told:
        Composer(hydra.config_loader, master).compose(["task=bits", wrong])
    assert str(told.value) == str(expected.value)


def plan(hydra: Hydra, *runs: list[str]) -> list[SweptRun]:
    """Plan a sweep over seeds as another process would, with what is kept in its folder."""
    master = compose_master(hydra)
    known = KnownRuns(Path("known"), master.hydra)
    return plan_sweep(runs, ["seed"], Composer(hydra.config_loader, master), known)


RUN = ["task=bits", "budget.oracle_calls=30"]


def make(planned: SweptRun) -> None:
    assert planned.plan is not None
    run(planned.plan, NoDisplay(), lambda line: None, lambda folder: folder.mkdir(exist_ok=True))


def test_a_complete_run_is_known_again_without_being_composed(hydra: Hydra, monkeypatch: pytest.MonkeyPatch) -> None:
    (fresh,) = plan(hydra, [*RUN, "seed=1"])
    assert (fresh.complete, fresh.varied) == (None, {"seed": "1"})
    make(fresh)
    monkeypatch.setattr(Composer, "compose", None)
    (again,) = plan(hydra, [*RUN, "seed=1"])
    assert again.path == fresh.path
    assert again.complete is not None
    assert again.complete.startswith(f"{fresh.path} is complete")


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The runs that were composed so far."""
    runs: list[object] = []
    compose = Composer.compose
    monkeypatch.setattr(Composer, "compose", lambda self, run: runs.append(run) or compose(self, run))
    return runs


@pytest.mark.parametrize("change", ["option", "folder"])
def test_a_run_is_composed_again_where_its_surroundings_changed(
    hydra: Hydra, change: str, composed: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (fresh,) = plan(hydra, [*RUN, "seed=1"])
    make(fresh)
    if change == "option":
        os.utime("options/task/bits.yaml", ns=(1, 1))
    if change == "folder":
        (tmp_path / "other").mkdir()
        known = Path("known").absolute()
        monkeypatch.chdir(tmp_path / "other")
        Path("known").symlink_to(known)
    (again,) = plan(hydra, [*RUN, "seed=1"])
    assert len(composed) == 2
    assert (again.complete is None) == (change != "option")
    assert not again.is_refused


def test_a_run_is_composed_again_where_its_files_changed(hydra: Hydra, composed: list[object]) -> None:
    (fresh,) = plan(hydra, [*RUN, "seed=1"])
    make(fresh)
    for name, old, new, is_refused in [
        ("run.json", b'"status": "complete"', b'"status": "failed"', False),
        ("populations/part-000000.parquet", b"cpp", b"cqp", True),
        ("run.json", None, None, True),
    ]:
        file = fresh.path / name
        content = file.read_bytes()
        if old is None or new is None:
            file.unlink()
        else:
            file.write_bytes(content.replace(old, new))
        composed.clear()
        (again,) = plan(hydra, [*RUN, "seed=1"])
        assert len(composed) == 1
        assert (again.complete, again.is_refused) == (None, is_refused)
        file.write_bytes(content)


def test_what_looks_at_the_environment_is_never_known(hydra: Hydra, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE", "a")
    words = [*RUN, "task.source=${oc.env:SOURCE}"]
    plan(hydra, words)
    assert not Path("known").exists()


def test_the_folders_of_a_named_sweep_say_what_is_varied() -> None:
    runs = [["task=bits", "name=mine", f"seed={seed}", "method.swap.period=2"] for seed in (0, 1)]
    named = name_runs(runs, ["seed", "method.swap.period"])
    assert [run[1] for run in named] == [f"name='mine/seed={seed},method.swap.period=2'" for seed in (0, 1)]
    assert name_runs([["name=null", "seed=0"]], ["seed"]) == [["name=null", "seed=0"]]
    assert name_runs([["name=a"], ["name=b"]], ["name"]) == [["name=a"], ["name=b"]]
