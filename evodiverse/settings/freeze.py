"""Conversion of the schema, whose fields Hydra overrides, into the frozen settings that the program uses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from evodiverse.kit.inputs import expanded
from evodiverse.llm.settings import ModelSettings
from evodiverse.runner.ledger import Caps
from evodiverse.search.settings import Batch, EarlyStop, MatingPool, Method, Niche, Screen, Search, Survivors, Swap
from evodiverse.settings import schema
from evodiverse.vocabulary import Decoding, Prompt, Sampler

# The default number of proposals of a generation with the classical operator. With a language model it is 0, since
# proposals of a model cost more than most oracle calls.
_PROPOSALS: Final = 100

T = TypeVar("T")


def per_rung(values: Sequence[T], ladder: Sequence[float]) -> tuple[T, ...]:
    """Return one value for each rung, cold first; the last value applies to all further rungs."""
    return tuple(values[min(rung, len(values) - 1)] for rung in range(len(ladder)))


def freeze_method(method: schema.Method, *, has_model: bool) -> Method:
    """Return the search core's settings for the keys of ``method``.

    Screening is disabled if there are no proposals to choose from, which is the default with a language model
    (``has_model``).
    """
    niche, ladder = method.niche, method.ladder
    return Method(
        ladder=tuple(ladder),
        capacity=method.capacity,
        offspring=method.offspring,
        parents=method.parents,
        elites=method.elites,
        hot_prompt=Prompt(method.hot_prompt),
        mating_pool=MatingPool(**vars(method.mating_pool)),
        survivors=Survivors(**vars(method.survivors)),
        swap=Swap(**vars(method.swap)),
        niche=None if niche is None else Niche(niche.radius, per_rung(niche.share, ladder)),
        screen=_freeze_screen(method, has_model=has_model),
    )


def count_proposals(method: schema.Method, *, has_model: bool) -> int:
    """Return the number of proposals of a generation; 0 if the method does not screen."""
    if method.screen is None:
        return 0
    if method.screen.proposals is None:
        return 0 if has_model else _PROPOSALS
    return method.screen.proposals


def _freeze_screen(method: schema.Method, *, has_model: bool) -> Screen | None:
    proposals = count_proposals(method, has_model=has_model)
    if method.screen is None or not proposals:
        return None
    settings = vars(method.screen) | {"proposals": proposals, "only_evaluated": has_model}
    settings["generations"] = 1 if has_model else method.screen.generations
    settings["kappa"] = per_rung([(low, high) for low, high in method.screen.kappa], method.ladder)
    settings["batches"] = tuple(Batch(*pair) for pair in settings.pop("batch"))
    return Screen(**settings)


def freeze_search(search: schema.Search) -> Search:
    """Return the search core's settings for ``search``; if ``early_stop.patience`` is null, there is no early stop."""
    rule, early_stop = search.early_stop, None
    if rule is not None and rule.patience is not None:
        early_stop = EarlyStop(rule.top, rule.gain, rule.patience)
    continues = search.on_failed_start == "continue"
    return Search(search.attempts, search.patience, early_stop, search.target, continue_on_failed_start=continues)


def freeze_caps(budget: schema.Budget) -> Caps:
    """Return the hard limits of a run on requests to models, tokens, cost and time, as ``budget`` sets them."""
    return Caps(budget.llm_calls, budget.tokens, budget.usd, budget.seconds)


def freeze_model(llm: schema.Llm, cache_folder: Path) -> ModelSettings | None:
    """Return the settings of the language model for ``llm``, or None for a run without one.

    The name of a local model is set later, once its file is known.
    """
    if llm.client == "none":
        return None
    return ModelSettings(
        client=llm.client,
        samplers={name: _freeze_sampler(pool, llm) for name, pool in vars(llm.pools).items()},
        provider=llm.provider,
        api_base=llm.api_base,
        api_key_env=llm.api_key_env,
        concurrency=llm.concurrency,
        retries=llm.retries,
        timeout_s=llm.timeout,
        cache=cache_folder / "replies.sqlite" if llm.cache is None else Path(llm.cache).expanduser(),
        gguf=None if llm.local.gguf is None else expanded(llm.local.gguf),
        length_parameter=llm.length_parameter,
    )


def _freeze_sampler(pool: schema.LlmPool, llm: schema.Llm) -> Sampler:
    decoding = Decoding(pool.temperature, pool.top_p, pool.max_tokens, pool.seed, dict(llm.extra))
    return Sampler(pool.model or llm.model or "local", decoding)
