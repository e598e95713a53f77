"""Families of models, and the sampling parameters that their providers' documentation excludes.

This table has the well-known limits: ranges, combinations, and models behind a gateway. For models that are asked
through litellm, `evodiverse.llm.clients.litellm` also asks litellm which parameters they accept at all; others refuse
them when they are first asked. The table depends on nothing but the model's name, so that a replay, which asks no
provider, has the same parameters as the run that it repeats.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Family(NamedTuple):
    """Models with the same limits.

    Attributes:
        names: A pattern that is found in the name of each of its models.
        samples: Whether the models take sampling parameters; if not, they take a temperature and a top-p of 1 only.
        hottest: The highest temperature, or None if no lower limit than that of the OpenAI API is documented.
        takes_both: Whether a request may have a temperature and top-p at the same time.
    """

    names: re.Pattern[str]
    samples: bool = True
    hottest: float | None = None
    takes_both: bool = True


_CLAUDE = r"(?:^|[/.]|anthropic-|databricks-)claude"  # other models that were trained on its texts end with its name
# The first family with a matching pattern counts.
FAMILIES: Final = (
    Family(re.compile(rf"{_CLAUDE}\D*(?:4[.-]\d?[7-9]|[5-9])(?!\d)"), samples=False),
    Family(re.compile(rf"{_CLAUDE}\D*4[.-][1-6](?!\d)"), hottest=1.0, takes_both=False),
    Family(re.compile(_CLAUDE), hottest=1.0),
    Family(re.compile(r"(?:^|/)(?:o[1-9]|gpt-5(?!\.[1-4]|-chat)|gpt-[6-9])(?!\d)"), samples=False),
    Family(re.compile(r"^moonshot/kimi-k2\.[5-9]"), samples=False),
    Family(re.compile(r"^(?:bedrock|cohere(?:_chat)?|minimax|moonshot|zai)/"), hottest=1.0),
)
# OpenAI's models that refuse ``max_tokens`` and take ``max_completion_tokens`` instead.
_COUNTS_REASONING: Final = re.compile(r"(?:^|/)(?:o[1-9]|gpt-[5-9])(?!\d|-chat)")


def takes_completion_tokens(model: str) -> bool:
    """Return whether OpenAI's API takes the length of a model's reply only as ``max_completion_tokens``."""
    return _COUNTS_REASONING.search(model) is not None


class Misfit(NamedTuple):
    """A sampling parameter that a model does not take.

    Attributes:
        key: The parameter, ``temperature`` or ``top_p``.
        remedy: The nearest value that the model takes; None to leave the parameter out of requests.
        rule: What the model takes instead, for messages.
    """

    key: str
    remedy: float | None
    rule: str


def find_misfits(model: str, temperature: float | None, top_p: float | None) -> Iterator[Misfit]:
    """Yield each parameter that a model does not take. With the remedies in place of these values, it takes them all.

    Args:
        model: The name of the model, with or without its provider.
        temperature: The sampling temperature, or None if requests have none.
        top_p: The probability mass of nucleus sampling, or None if requests have none.
    """
    family = next((family for family in FAMILIES if family.names.search(model.lower())), None)
    if family is None:
        return
    if not family.samples:
        sent = {"temperature": temperature, "top_p": top_p}
        yield from (Misfit(key, None, f"takes no {key}") for key, value in sent.items() if value not in (None, 1))
        return
    if temperature is not None and family.hottest is not None and temperature > family.hottest:
        yield Misfit("temperature", family.hottest, f"takes a temperature of at most {family.hottest:g}")
    if not family.takes_both and temperature is not None and top_p is not None:
        yield Misfit("top_p", None, "takes only one of temperature and top_p")
