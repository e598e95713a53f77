"""Identification of language models regardless of the host.

Runs of the same model fill the same rows of a table, no matter which hosts served the model.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evodiverse.kit.files import read_shipped
from evodiverse.runlog.runs import Run

OFF: Final = "off"
_POOLS: Final = ("cold", "hot")
# The settings that choose the model and its host. They do not change how the model samples.
_IDENTITY: Final = ("llm.model", "llm.provider", "llm.client", *(f"llm.pools.{pool}.model" for pool in _POOLS))


PAPERS_MODELS: Final[Mapping[str, Any]] = read_shipped(Path(__file__).with_name("models.yaml"))
"""The models of the paper.

Each has a ``pattern`` for the names that hosts give the model, in lower case and without the host, and ``words``, the
overrides that choose it on the command line. It may not accept a temperature and top-p (``takes_sampling``). Then it
must be asked without them, and with more tokens for its reasoning, so a run with such settings still counts as one with
the paper's settings.
"""


def identify_model(run: Run) -> str:
    """Return the model of a run.

    For a run without a model, this is ``off``. For a model of the paper, it is the paper's name for the model. For any
    other model, it is the provider's name for the model, without the provider prefix. If the run had several models,
    the result names all of them.
    """
    settings = run.settings
    client = settings.get("llm.client", "none" if run.llm == OFF else "litellm")
    if client == "none":
        return OFF
    named = []
    for pool in _POOLS:
        one = settings.get(f"llm.pools.{pool}.model") or settings.get("llm.model") or run.llm
        mixture = settings.get(f"llm.pools.{pool}.models")
        named += [one] if mixture is None else [model["model"] for model in mixture]
    return " and ".join(dict.fromkeys(_identify(str(name)) for name in named))


def find_changes(run: Run, overrides: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the settings of a run that change how its model is queried.

    These are the settings that differ from those of the chosen option of ``llm``, except those that choose the model
    and its host. For a model of the paper, three kinds of settings are added, no matter whether an option of ``llm`` or
    the user has set them: sampling parameters that differ from those of the task (or all that are set, if the model
    accepts none), a fallback for offspring, and extra parameters, except the one that disables reasoning. If this model
    accepts no temperature, the settings that this makes necessary are left out: a temperature or top-p of None, and any
    ``max_tokens``.

    Args:
        run: The run that queried the model.
        overrides: The settings of the run that differ from the defaults of its task, method and llm.
        model: The result of `identify_model` for the run.
    """
    changes = {key: value for key, value in overrides.items() if key.startswith("llm.") and key not in _IDENTITY}
    if model not in PAPERS_MODELS:
        return changes
    papers = PAPERS_MODELS[model]
    changes |= {key: value for key, value in run.settings.items() if _is_change(key, value, run.settings, papers)}
    nulls = [key for key, value in changes.items() if value is None and key.endswith((".temperature", ".top_p"))]
    needed = [] if papers["takes_sampling"] else [*nulls, *(key for key in changes if key.endswith(".max_tokens"))]
    return {key: value for key, value in changes.items() if key not in needed}


def _is_change(key: str, value: Any, settings: Mapping[str, Any], papers: Mapping[str, Any]) -> bool:
    """Return whether a setting of a run with one of the paper's models changes how the model is queried.

    There are three such cases:

    - The setting is a sampling parameter whose value differs from the one that the task defines. If the model accepts
      no sampling parameters, any value but None counts.
    - It names a fallback, which makes an offspring if the model's replies give none.
    - It is an extra parameter other than the one that disables reasoning.
    """
    if key.startswith("llm.extra."):
        return (key, value) != ("llm.extra.thinking.type", "disabled")
    if key == "llm.fallback":
        return bool(value != "none")
    parts = key.split(".")
    if parts[:2] != ["llm", "pools"] or parts[-1] not in ("temperature", "top_p", "max_tokens"):
        return False
    wanted = settings.get(f"task.defaults.decoding.{parts[2]}.{parts[-1]}") if papers["takes_sampling"] else None
    return bool(value != wanted)


def _identify(name: str) -> str:
    own = name.rstrip("/").rpartition("/")[2] or name
    matches = (re.fullmatch(papers["pattern"], own.lower(), re.VERBOSE) for papers in PAPERS_MODELS.values())
    known = next((model for model, match in zip(PAPERS_MODELS, matches, strict=True) if match), own)
    return f"a model named {OFF}" if known == OFF else known
