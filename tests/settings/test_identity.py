import shutil
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.conf import HydraConf
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig

from evodiverse.kit.documented import setting
from evodiverse.settings import schema
from evodiverse.settings.compose import compose_published, overrides_nothing, resolve, split_hydra
from evodiverse.settings.identity import (
    NAMED_ELSEWHERE,
    digest,
    find_overrides,
    identity,
    later_defaults,
    override_label,
    quiet_keys,
)
from evodiverse.settings.schema import register
from tests.runs import CONF, TOY_CONF, evodiverse, plan

pytestmark = pytest.mark.slow


def label(*overrides: str) -> str:
    return plan(*overrides).path.parent.name


def test_a_run_lies_below_its_task_method_model_overrides_and_seed(tmp_path: Path) -> None:
    path = plan("task=bits", "method=molleo", "seed=7", f"outputs={tmp_path}").path
    assert path == tmp_path / "bits/molleo/off/default/seed7"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], "default"),
        (["method=island"], "default"),
        (["method.swap.period=7"], "method.swap.period=7"),
        (["search.patience=3", "method.elites=1"], "method.elites=1,search.patience=3"),
        (["method.ladder=[0.9,0.1]"], "method.ladder=[0.9,0.1]"),
        (["method=molleo", "method.elites=1", "method.ladder=[inf]"], "method.elites=1,method.ladder=[inf]"),
        (["search.early_stop=null"], "search.early_stop=null"),
        (["task.shared=true"], "task.shared=true"),
        (["task.source='a b/c'"], "task.source=a_b_c-500e9a88"),
        (["evaluator.workers=1", "overwrite=true", "seed=9", "dry_run=true"], "default"),
        (["method.swap.period=2"], "default"),
        (["method.ladder=[0.8,0.2]"], "default"),
        (["task.rate=0"], "task.rate=0.0"),
        (["task.rate=0.0"], "task.rate=0.0"),
    ],
)
def test_a_label_names_what_differs_from_task_method_and_model_alone(overrides: list[str], expected: str) -> None:
    assert label("task=bits", *overrides) == expected


def test_the_budget_option_is_an_override_like_any_other() -> None:
    assert label("task=bits", "budget=smoke") == "budget.oracle_calls=500"


def test_a_long_label_is_cut_and_made_unique_by_a_digest() -> None:
    first = label("task=bits", f"task.source={'x' * 200}")
    second = label("task=bits", f"task.source={'x' * 199}y")
    assert first[:100] == second[:100] == f"task.source={'x' * 88}"
    assert first[100] == "-"
    assert len(first) == len(second) == 109
    assert first != second


def test_awkward_characters_do_not_make_different_settings_share_a_folder() -> None:
    assert label("task=bits", "task.source='a b'") != label("task=bits", "task.source='a/b'")


QUIET = quiet_keys(schema.Config) | NAMED_ELSEWHERE


def compose_with(folder: Path | None, *overrides: str) -> tuple[DictConfig, HydraConf]:
    """Compose, with the toys and a user's own folder if there is one."""
    register()
    searchpath = [] if folder is None else [f"hydra.searchpath=['file://{TOY_CONF}','file://{folder}']"]
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        return split_hydra(compose("config", overrides=[*searchpath, *overrides], return_hydra_config=True))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], True),
        (["task=gsk3b", "method=island", "llm=replay", "seed=4"], True),
        (["evaluator.workers=1", "search.on_failed_start=continue", "outputs=x", "overwrite=true"], True),
        (["task.max_heavy_atoms=60"], False),
        (["method.mutation_rate=0.5"], False),
        (["budget=smoke"], False),
        (["+task.own=1"], False),
        (["hydra.job.name=other"], False),
    ],
)
def test_what_overrides_nothing_is_seen_without_composing_again(overrides: list[str], expected: bool) -> None:
    config, hydra = compose_with(None, *overrides)
    assert overrides_nothing(hydra, QUIET) is expected
    found = find_overrides(identity(resolve(config), QUIET, {}), identity(compose_published(hydra), QUIET, {}), {})
    assert not (expected and found)


def test_a_reference_to_a_key_that_never_counts_is_an_override_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "seeded.yaml").write_text("defaults: [bits, _self_]\nname: seeded\nlength: ${seed}\n")
    config, hydra = compose_with(tmp_path, "task=seeded", "seed=7")
    assert not overrides_nothing(hydra, QUIET)
    found = find_overrides(identity(resolve(config), QUIET, {}), identity(compose_published(hydra), QUIET, {}), {})
    assert "task.length" in found


def test_no_published_value_refers_to_a_key_that_never_counts() -> None:
    text = "".join(path.read_text().partition("\nhydra:")[0] for path in CONF.rglob("*.yaml"))
    named = {key for key in QUIET if f"{{{key}" in text or f":{key}" in text}
    assert named == {"method.mutation_rate", "method.operator"}


def test_keys_that_cannot_change_the_log_are_marked_in_the_schema() -> None:
    assert quiet_keys(schema.Config) == {
        "evaluator.name",
        "evaluator.workers",
        "evaluator.batch",
        "evaluator.timeout",
        "evaluator.retries",
        "evaluator.address",
        "evaluator.cpus",
        "llm.batch",
        "llm.batch_fallback",
        "llm.price.input",
        "llm.price.output",
        "llm.price.cached",
        "llm.api_base",
        "llm.api_key_env",
        "llm.cache",
        "llm.concurrency",
        "llm.give_up_after",
        "llm.length_parameter",
        "llm.retries",
        "llm.timeout",
        "llm.warn_after",
        "method.mutation_rate",
        "method.operator",
        "outputs",
        "overwrite",
        "display",
        "sandbox.require",
        "search.on_failed_start",
        "dry_run",
        "name",
        "tracking.name",
        "tracking.uri",
        "tracking.experiment",
    }


def test_quiet_keys_are_found_at_any_depth() -> None:
    @dataclass
    class Inner:
        workers: int = setting(default=1, changes_log=False)

    @dataclass
    class Outer:
        inner: Inner = field(default_factory=Inner)

    assert quiet_keys(Outer) == {"inner.workers"}


def test_identity_is_flat_sorted_and_without_quiet_keys() -> None:
    settings = {"seed": 0, "method": {"ladder": [inf, 1.0]}, "outputs": "x"}
    found = identity(settings, frozenset({"outputs"}), {})
    assert list(found.items()) == [("method.ladder", ["inf", 1.0]), ("seed", 0)]


def test_the_default_of_a_later_key_is_no_part_of_an_identity() -> None:
    @dataclass
    class Settings:
        seed: int = setting(default=0)
        lag: int | None = setting(default=None, is_later=True)

    later = later_defaults(Settings)
    assert identity({"seed": 0, "lag": None}, frozenset(), later) == {"seed": 0}
    assert identity({"seed": 0, "lag": 2}, frozenset(), later) == {"seed": 0, "lag": 2}


def test_overrides_are_the_settings_that_differ_sorted_and_null_where_the_run_has_none() -> None:
    identity = {"seed": 1, "method.elites": 1, "a": None, "same": 2}
    baseline = {"seed": 0, "gone": 3, "a.b": 4, "a.c": 5, "same": 2, "method.elites": 3}
    found = find_overrides(identity, baseline, {})
    assert list(found.items()) == [("a", None), ("gone", None), ("method.elites", 1)]


def test_a_later_key_with_its_default_is_an_override_where_the_task_has_another() -> None:
    assert find_overrides({}, {"search.keep_failed": False}, {"search.keep_failed": True}) == {
        "search.keep_failed": True
    }


def test_a_group_in_place_of_a_value_is_named_by_its_keys_alone() -> None:
    assert find_overrides({"a.b": 1}, {"a": None}, {}) == {"a.b": 1}


values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.floats(0, 1), max_size=3)


@given(st.dictionaries(st.sampled_from(["a", "a.b", "c"]), values))
def test_a_digest_depends_on_every_setting_but_not_on_their_order(settings: dict[str, object]) -> None:
    assert digest(settings) == digest(dict(reversed(settings.items())))
    assert digest(settings) != digest({**settings, "d": 1})


@given(values)
def test_a_label_is_a_short_folder_name(value: object) -> None:
    name = override_label({"a": value})
    assert "/" not in name
    assert len(name.encode()) <= 109


def copy_of_jnk3(folder: Path, *, name: str) -> Path:
    """Write a copy of task=jnk3 that scores with another oracle into a folder, and return it."""
    published = (CONF / "task" / "jnk3.yaml").read_text()
    (folder / "task").mkdir(parents=True, exist_ok=True)
    copy = folder / "task" / f"{name}.yaml"
    copy.write_text(published.replace("published: jnk3", "published: gsk3b"))
    return copy


def test_a_copy_of_an_option_cannot_keep_the_name_of_the_original(tmp_path: Path) -> None:
    copy = copy_of_jnk3(tmp_path, name="mine")
    refused = evodiverse("--config-dir", str(tmp_path), "task=mine", "dry_run=true", cwd=tmp_path)
    assert refused.returncode == 2
    assert "task.name must be mine, like its file mine.yaml, got jnk3" in refused.stderr
    copy.write_text(copy.read_text().replace("name: jnk3", "name: mine"))
    renamed = evodiverse("--config-dir", str(tmp_path), "task=mine", "dry_run=true", cwd=tmp_path)
    assert "would run in outputs/mine/pt/off/default/seed0" in renamed.stdout


def test_an_option_in_a_folder_of_its_own_cannot_bear_a_published_name(tmp_path: Path) -> None:
    copy = copy_of_jnk3(tmp_path, name="jnk3")
    (tmp_path / "task" / "own").mkdir()
    copy.rename(tmp_path / "task" / "own" / "jnk3.yaml")
    refused = evodiverse("--config-dir", str(tmp_path), "task=own/jnk3", "dry_run=true", cwd=tmp_path)
    assert refused.returncode == 2
    assert "task.name must be own/jnk3, like its file own/jnk3.yaml, got jnk3" in refused.stderr


def test_a_method_that_inherits_another_needs_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "slow.yaml").write_text("defaults: [pt, _self_]\nswap: {period: 9}\n")
    refused = evodiverse("--config-dir", str(tmp_path), "method=slow", "dry_run=true", cwd=tmp_path)
    assert refused.returncode == 2
    assert "method.name must be slow, like its file slow.yaml, got pt" in refused.stderr


def test_what_a_file_changes_of_the_published_one_of_its_name_is_an_override(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    shutil.copytree(CONF, conf)
    copy_of_jnk3(conf, name="jnk3")
    method = conf / "method" / "pt.yaml"
    method.write_text(method.read_text().replace("rule: metropolis", "rule: metropolis\n  period: 9"))
    planned = evodiverse("-cp", str(conf), "dry_run=true", cwd=tmp_path)
    overrides = "method.swap.period=9,task.oracle.published=gsk3b"
    assert f"would run in outputs/jnk3/pt/off/{overrides}/seed0" in planned.stdout


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [([], "spring"), (["task.fit=bfgs", "method.elites=1"], "spring,method.elites=1,task.fit=bfgs")],
)
def test_a_run_on_own_data_is_named_after_its_problem(tmp_path: Path, overrides: list[str], expected: str) -> None:
    for name in ("train", "test_id"):
        (tmp_path / f"{name}.csv").write_text("load,length\n1,2\n2,4\n3,7\n")
    files = [f"task.data.{name}={tmp_path}/{name}.csv" for name in ("train", "test_id")]
    own = ["task=equation", "task.problem=csv/spring", "task.data.target=length", *files, f"outputs={tmp_path}"]
    made = plan(*own, *overrides)
    assert made.path == tmp_path / "equation/pt/off" / expected / "seed0"
    earlier = made.shelf / override_label(made.overrides)
    earlier.mkdir(parents=True)  # as named before
    assert plan(*own, *overrides).path == earlier / "seed0"
