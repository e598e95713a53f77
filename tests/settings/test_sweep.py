"""The runs of a sweep are composed as Hydra would, and complete ones are recognized."""

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
from evodiverse.settings.compose import CONFIG_NAME, hydra_session, split_hydra
from evodiverse.settings.schema import register
from evodiverse.settings.sweep import Composer, SweptRun, name_runs, plan_sweep
from tests.runs import TOY_CONF

pytestmark = pytest.mark.slow


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


RUN = ["task=bits", "budget.oracle_calls=30", "seed=1"]


def plan(hydra: Hydra, run: list[str] = RUN) -> SweptRun:
    """Plan a sweep of one run as another process would."""
    (planned,) = plan_sweep([run], ["seed"], Composer(hydra.config_loader, compose_master(hydra)))
    return planned


@pytest.fixture
def made(hydra: Hydra) -> SweptRun:
    """A run that is complete."""
    planned = plan(hydra)
    assert (planned.is_complete, planned.varied) == (False, {"seed": "1"})
    run(planned.plan, NoDisplay(), lambda line: None, lambda folder: folder.mkdir(exist_ok=True))
    return planned


def test_a_complete_run_is_recognized_by_its_record(hydra: Hydra, made: SweptRun) -> None:
    again = plan(hydra)
    assert again.plan.path == made.plan.path
    assert again.is_complete


def test_a_run_with_other_settings_or_elsewhere_is_not_complete(
    hydra: Hydra, made: SweptRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    option = Path("options/task/bits.yaml")
    option.write_text(option.read_text().replace("rate: 0.5", "rate: 0.25"))
    assert not plan(hydra).is_complete
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    moved = plan(hydra)
    assert (moved.is_complete, moved.is_refused) == (False, False)


def test_a_run_with_a_changed_record_or_damaged_log_is_not_complete(hydra: Hydra, made: SweptRun) -> None:
    for name, old, new, is_refused in [
        ("run.json", b'"status": "complete"', b'"status": "failed"', False),
        ("populations/part-000000.parquet", b"cpp", b"cqp", True),
        ("run.json", None, None, True),
    ]:
        file = made.plan.path / name
        content = file.read_bytes()
        if old is None or new is None:
            file.unlink()
        else:
            file.write_bytes(content.replace(old, new))
        again = plan(hydra)
        assert (again.is_complete, again.is_refused) == (False, is_refused), name
        file.write_bytes(content)


def test_the_folders_of_a_named_sweep_say_what_is_varied() -> None:
    runs = [["task=bits", "name=mine", f"seed={seed}", "method.swap.period=2"] for seed in (0, 1)]
    named = name_runs(runs, ["seed", "method.swap.period"])
    assert [run[1] for run in named] == [f"name='mine/seed={seed},method.swap.period=2'" for seed in (0, 1)]
    assert name_runs([["name=null", "seed=0"]], ["seed"]) == [["name=null", "seed=0"]]
    assert name_runs([["name=a"], ["name=b"]], ["name"]) == [["name=a"], ["name=b"]]
