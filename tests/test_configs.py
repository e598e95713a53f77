"""The YAML files: complete, valid, documented, and packed into the wheel."""

import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from math import inf
from typing import get_args, get_type_hints

import pytest
import yaml
from omegaconf import OmegaConf

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.settings import schema
from scripts.reference import read_docs
from tests.runs import CONF, ROOT, plan
from tests.test_decoding import SAMPLERS

OPTIONS = [
    (group.name, option.stem)
    for group in sorted(CONF.iterdir())
    if group.is_dir() and group.name != "hydra"
    for option in sorted(group.glob("*.yaml"))
]
METHODS = [option for group, option in OPTIONS if group == "method"]
TASKS = {path.stem: OmegaConf.load(path) for path in sorted((CONF / "task").glob("*.yaml"))}
COMPLETE = [name for name, task in TASKS.items() if task.get("evaluator", name)]  # the others need a user's file
DOMAINS = [path.parent.name for path in sorted((ROOT / "evodiverse" / "tasks").glob("*/domain.py"))]


def task_of(domain: str) -> str:
    """Return a task of a domain that needs no file of the user."""
    return next(name for name in COMPLETE if TASKS[name].get("domain") == f"evodiverse.tasks.{domain}")


@pytest.fixture(scope="module")
def help_text() -> str:
    return subprocess.run(
        [sys.executable, "-m", "evodiverse", "--help"], capture_output=True, text=True, check=True
    ).stdout


def test_help_lists_every_option_with_an_example(help_text: str) -> None:
    lines = [(line.split()[0], line) for line in help_text.splitlines() if line.split()]
    assert [
        f"{group}={option}"
        for group, option in OPTIONS
        if not any(first == option and (f"{group}={option}" in line or f",{option}]" in line) for first, line in lines)
    ] == []


def test_help_names_only_options_that_exist(help_text: str) -> None:
    examples = [word for line in help_text.splitlines() for word in line.split() if "=" in word]
    pairs = (word.lstrip("+").split("=") for word in examples)
    named = {(key, value) for key, values in pairs for value in values.strip("[]").split(",")}
    groups = {group for group, _ in OPTIONS}
    chosen = [(group, option) for group, option in named if group in groups]
    assert [pair for pair in chosen if not CONF.joinpath(*pair).with_suffix(".yaml").is_file()] == []


# The constants of the paper, and our own ones in its table (DESIGN.md, "Domain conventions").
CONSTANTS = {
    "molecules": {
        "cold": 0.8,
        "middle": 0.4,
        "hot": 0.2,
        "ensemble": 0.8,
        "capacity": 120,
        "capacity_single": 120,
        "offspring": 70,
        "parents": 2,
        "elites": 3,
        "mutation_rate": 0.067,
        "mating_pool": {"size": 70, "replacement": True, "weight": "score_floor"},
        "survivors": {"rule": "sample", "weight": "score_power"},
        "swap": {"period": 5, "size": 5, "xi": 2.5, "target": 0.4, "tolerance": 0.2, "window": 1},
        "attempts": 3,
        "early_stop": {"top": 100, "gain": 1e-3, "patience": 5},
        "target": None,
        "oracle_calls": 10_000,
        "decoding": {"cold": (1.3, None), "hot": (1.3, None)},
    },
    "equations": {
        "cold": 0.8,
        "middle": 0.2,
        "hot": 0.01,
        "ensemble": 1.0,
        "capacity": 1000,
        "capacity_single": 1000,
        "offspring": 8,
        "parents": 2,
        "elites": 0,
        "mating_pool": {"size": 2, "replacement": False, "weight": "boltzmann_floor"},
        "survivors": {"rule": "append", "weight": "boltzmann_floor"},
        "swap": {"period": 5, "size": 5, "xi": 2.5, "target": 0.3, "tolerance": 0.2, "window": 1},
        "attempts": 1,
        "early_stop": {"top": 100, "gain": 1e-3, "patience": None},
        "target": None,
        "oracle_calls": 1000,
        "decoding": {"cold": (0.7, 0.8), "hot": (1.0, 0.95)},
    },
    "programs": {
        "cold": 1.0,
        "middle": 0.5,
        "hot": 0.25,
        "ensemble": 1.0,
        "capacity": 500,
        "capacity_single": 1000,
        "offspring": 1,
        "parents": 3,
        "elites": 0,
        "mating_pool": {"size": 20, "replacement": False, "weight": "boltzmann"},
        "survivors": {"rule": "append", "weight": "boltzmann"},
        "swap": {"period": 5, "size": 1, "xi": 2.5, "target": 0.3, "tolerance": 0.2, "window": 5},
        "attempts": 1,
        "early_stop": {"top": 100, "gain": 1e-3, "patience": None},
        "target": None,
        "keep_failed": True,
        "repair": False,
        "oracle_calls": 1000,
        "decoding": {"cold": (0.7, 0.8), "hot": (1.0, 0.95)},
    },
}
# The ladders of molecules, equations and programs, by method.
LADDERS = {
    "pt": ([0.8, 0.2], [0.8, 0.01], [1.0, 0.25]),
    "pt_same_prompt": ([0.8, 0.2], [0.8, 0.01], [1.0, 0.25]),
    "pt3": ([0.8, 0.4, 0.2], [0.8, 0.2, 0.01], [1.0, 0.5, 0.25]),
    "random_swap": ([0.8, 0.2], [0.8, 0.01], [1.0, 0.25]),
    "ensemble": ([0.8, 0.8], [1.0, 1.0], [1.0, 1.0]),
    "island": ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0]),
    "molleo": ([0.8], [0.8], [1.0]),
    "tempering": ([0.2], [0.01], [0.25]),
    "ea": ([1.0], [1.0], [1.0]),
    "graph_ga": ([inf], [inf], [inf]),
}


# The methods that are not from the paper: rungs, shares of niches, and whether proposals are screened.
OWN = {
    "diverse": ([inf, 100.0], [10, 2], True),  # for molecules, four pools at inf
    "pt_niche": ([inf, 100.0], [10, 2], False),
    "niche_ga": ([inf], [10, 2], False),
    "mol_ga": ([inf], None, False),
    "gp_bo": ([inf], None, True),
    "dominated_novelty": ([0.0], None, False),
    "nsga2": ("cold", None, False),
    "best_of_n": ([inf], None, False),
    "restarts": ([inf], None, False),
    "random_start": ([inf], None, False),
}
NICHES = {"molecules": (120, 0.4, 0.3), "equations": (60, 0.7, None), "programs": (60, 0.98, None)}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("method", sorted(set(METHODS) - set(LADDERS)))
def test_every_method_of_ours_is_valid_for_every_domain(domain: str, method: str) -> None:
    if method == "random_start" and domain != "molecules":
        with pytest.raises(InputError, match=r"task\.initial"):
            plan(f"task={task_of(domain)}", f"method={method}")
        return
    if method == "restarts" and domain != "programs":
        with pytest.raises(InputError, match=r"^method=restarts needs task.operator=reseed, got "):
            plan(f"task={task_of(domain)}", f"method={method}")
        return
    needed = {"dominated_novelty": ["search.features={length: [0, 10]}"], "nsga2": ["task.pareto=[score,10-length]"]}
    config = plan(f"task={task_of(domain)}", f"method={method}", *needed.get(method, [])).config
    ladder, share, is_screened = OWN[method]
    if ladder == "cold":
        ladder = [config.task["defaults"]["cold"]]
    capacity, radius, mutation_rate = NICHES[domain]
    if (method, domain) == ("diverse", "molecules"):
        ladder = [inf] * 4
    assert config.method.ladder == ladder
    assert (config.method.screen is not None) == (is_screened and domain == "molecules")  # others have 0 proposals
    if share is None:
        assert config.method.niche is None
        return
    assert (config.method.capacity, config.method.mutation_rate) == (capacity, mutation_rate)
    assert asdict(config.method.niche) == {"radius": radius, "share": share}
    assert (config.method.survivors.rule, config.method.survivors.weight) == ("niche", "rank")


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_defaults_of_a_domain_are_the_papers_constants(domain: str) -> None:
    defaults = yaml.safe_load((CONF / "task" / "defaults" / f"{domain}.yaml").read_text())
    for ours in ("niche", "diverse"):  # the paper has none
        defaults.pop(ours, None)
    decoding = {sampler: (how["temperature"], how["top_p"]) for sampler, how in defaults["decoding"].items()}
    assert defaults | {"decoding": decoding} == CONSTANTS[domain]


def test_only_a_program_task_of_ones_own_keeps_failed_programs_out_and_repairs_them() -> None:
    example = CONF.parent / "docs/examples/bin_packing"
    own = [f"task.evaluator={example / 'evaluator.py'}", f"task.initial.path={example / 'worst_fit.py'}"]
    for words, kept in ((["task=program", *own], False), (["task=circle_packing"], True), (["task=jnk3"], True)):
        search = plan(*words).config.search
        assert (search.keep_failed, search.repair) == (kept, not kept)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("method", LADDERS)
def test_every_method_of_the_paper_has_its_constants_in_every_domain(
    domain: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-none")
    composed = plan(f"task={task_of(domain)}", f"method={method}", "llm=deepseek").config
    constants, ladder = CONSTANTS[domain], LADDERS[method][list(CONSTANTS).index(domain)]
    made = asdict(composed.method)
    del made["survivors"]["neighbors"]  # of a rule of ours
    taken = {"offspring", "parents", "elites", "mating_pool", "survivors"}
    assert list(composed.method.ladder) == ladder
    assert composed.method.capacity == constants["capacity_single" if len(ladder) == 1 else "capacity"]
    assert {key: made[key] for key in taken} == {key: constants[key] for key in taken}
    assert made["swap"] | constants["swap"] == made["swap"]
    assert (composed.search.attempts, composed.search.target) == (constants["attempts"], constants["target"])
    assert composed.budget.oracle_calls == constants["oracle_calls"]
    assert (made["niche"], made["screen"]) == (None, None)
    assert made["mutation_rate"] == constants.get("mutation_rate")
    samplers = [*composed.method.samplers, *composed.method.samplers[-1:] * len(ladder)]
    assert samplers[: len(ladder)] == SAMPLERS[method]
    pools = {"cold": composed.llm.pools.cold, "hot": composed.llm.pools.hot}
    assert {name: (pool.temperature, pool.top_p) for name, pool in pools.items()} == constants["decoding"]


@pytest.mark.parametrize("task", COMPLETE)
def test_no_score_ends_a_run_by_default(task: str) -> None:
    assert plan(f"task={task}").config.search.target is None


@pytest.mark.parametrize("task", COMPLETE)
def test_every_task_can_be_sent_to_worker_processes(task: str) -> None:
    planned = plan(f"task={task}")
    assert planned.task is not None
    built = planned.domain.build_task(planned.task, artifact_path, lambda *_: ProcessSandbox())
    assert pickle.loads(pickle.dumps(built)) is not None


def test_the_molecule_tasks_differ_only_in_their_target() -> None:
    first, second = (plan(f"task={task}").settings for task in ("jnk3", "gsk3b"))
    assert {key for key in first if first[key] != second[key]} == {
        "task.name",
        "task.oracle.published",
    }


def walk_keys(owner: type, prefix: str = "") -> Iterator[tuple[str, str | None]]:
    """Yield each key with what it means; ``task`` itself is left to the domains."""
    kinds, docs = get_type_hints(owner), read_docs(owner)
    for field in fields(owner):
        if field.metadata.get("omegaconf_ignore"):
            continue
        inner = [kind for kind in (kinds[field.name], *get_args(kinds[field.name])) if is_dataclass(kind)]
        if inner:
            yield from walk_keys(inner[0], f"{prefix}{field.name}.")
        elif f"{prefix}{field.name}" != "task":
            yield f"{prefix}{field.name}", docs.get(field.name)


def keys_of(section: str) -> dict[str, str | None]:
    """Return the keys that a section of the reference covers."""
    if section == "all tasks":
        return dict([*walk_keys(schema.Config), *walk_keys(schema.Task, "task.")])
    return dict(walk_keys(importlib.import_module(f"evodiverse.tasks.{section}.domain").settings, "task."))


@pytest.mark.parametrize("section", ["all tasks", *DOMAINS])
def test_every_key_is_documented(section: str) -> None:
    found = keys_of(section)
    assert found
    assert [key for key, doc in found.items() if not doc] == []


@pytest.mark.parametrize("section", ["all tasks", *DOMAINS])
def test_the_reference_has_every_key_and_no_other(section: str) -> None:
    _, found, text = (ROOT / "docs" / "configuration.md").read_text().partition(f"## {section.capitalize()}\n")
    assert found
    listed = re.findall(r"^\| `([^`]+)`", text.partition("\n## ")[0], re.MULTILINE)
    assert listed == list(keys_of(section))


def test_every_file_starts_with_a_comment() -> None:
    texts = {path.relative_to(CONF): path.read_text() for path in CONF.rglob("*.yaml")}
    assert [path for path, text in texts.items() if not text.startswith("# ") or not yaml.safe_load(text)] == []


def test_a_mutation_rate_of_the_method_sets_that_of_the_task() -> None:
    assert plan("task=jnk3", "method.mutation_rate=0.2").overrides == {"task.mutation_rate": 0.2}
    assert plan("task=jnk3", "method=diverse").overrides == {}
