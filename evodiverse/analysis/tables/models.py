"""Language models by what they are, whoever serves them: the same weights fill the same rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evodiverse.runlog.runs import Run

OFF: Final = "off"
_POOLS: Final = ("cold", "hot")
# Which model a run asks and who answers: none of these changes how the model samples.
_IDENTITY: Final = ("llm.model", "llm.provider", "llm.client", *(f"llm.pools.{pool}.model" for pool in _POOLS))


@dataclass(frozen=True, slots=True)
class PapersModel:
    """A model of the paper.

    Attributes:
        pattern: Matches the end of the names that hosts give it, in lower case and without a tag such as ``:free``.
        words: What chooses it on the command line.
        takes_sampling: Whether it takes a temperature and top-p. One that takes neither must be asked without them, and
            needs room for its thoughts, so that these settings are no change of it.
    """

    pattern: re.Pattern[str]
    words: tuple[str, ...]
    takes_sampling: bool = True


PAPERS_MODELS: Final[Mapping[str, PapersModel]] = {
    "DeepSeek-V3.2": PapersModel(
        re.compile(r"(?:^|[.@-])deepseek[.-]v3[.p-]2(?:-(?:maas|fp8|\d{6,8}))?$"),
        ("llm=litellm", "llm.model=openrouter/deepseek/deepseek-v3.2"),
    ),
    "GPT-5": PapersModel(re.compile(r"(?:^|[.-])gpt-5(?:-\d{4}-\d{2}-\d{2})?$"), ("llm=gpt5",), takes_sampling=False),
}


def identify_model(run: Run) -> str:
    """Return what model a run had: "off", one of the paper's, or the name that its host gives it, without the host.

    Where its pools had different models, both.
    """
    settings = run.settings
    if settings.get("llm.client", run.llm) == "none" or run.llm == OFF:
        return OFF
    named = [settings.get(f"llm.pools.{pool}.model") or settings.get("llm.model") or run.llm for pool in _POOLS]
    return " and ".join(dict.fromkeys(_identify(str(name)) for name in named))


def find_changes(overrides: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the overrides of a run that change how its model is asked."""
    changes = {key: value for key, value in overrides.items() if key.startswith("llm.") and key not in _IDENTITY}
    if model in PAPERS_MODELS and not PAPERS_MODELS[model].takes_sampling:
        return {key: value for key, value in changes.items() if not _is_needed(key, value)}
    return changes


def _identify(name: str) -> str:
    own = name.rpartition("/")[2]
    bare = own.partition(":")[0].lower()
    return next((model for model, papers in PAPERS_MODELS.items() if papers.pattern.search(bare)), own)


def _is_needed(key: str, value: Any) -> bool:
    """Return whether a setting is one without which a model that takes no temperature cannot be asked."""
    _, _, name = key.rpartition(".")
    return (name in ("temperature", "top_p") and value is None) or name == "max_tokens"
