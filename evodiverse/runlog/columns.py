"""The columns of a run's log, except the domain's own: type, meaning and unit of each, and when a row has no value.

`evodiverse.runlog.datasets` derives the Arrow schemas from these tables, and ``scripts/columns.py`` generates
``docs/columns.md`` from them. The texts are not written to the Parquet files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

CALLS: Final = pa.list_(pa.int64())
"""The Arrow type of a list of numbers of oracle calls."""

TIMES: Final = pa.struct([(part, pa.float64()) for part in ("wall", "operator", "oracle")])
"""The Arrow type of the times of a run, in seconds."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a dataset.

    Attributes:
        kind: The Arrow type of the values.
        meaning: The meaning of a value, as a phrase or sentences in Markdown.
        unit: The unit of a number; empty for a count, an index, a name or a truth value.
        null: The case in which a row has no value; empty if every row has one.
    """

    kind: pa.DataType
    meaning: str
    unit: str = ""
    null: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a run.

    Attributes:
        meaning: The meaning of a row, as sentences in Markdown.
        key: The columns that identify a row; two logs are compared after sorting their rows by them.
        columns: The columns by name, in the same order as in the Parquet files.
    """

    meaning: str
    key: tuple[str, ...]
    columns: Mapping[str, Column]


def _whole(meaning: str, unit: str = "", null: str = "") -> Column:
    return Column(pa.int64(), meaning, unit, null)


def _number(meaning: str, unit: str = "", null: str = "") -> Column:
    return Column(pa.float64(), meaning, unit, null)


def _text(meaning: str, null: str = "") -> Column:
    return Column(pa.string(), meaning, null=null)


def _truth(meaning: str) -> Column:
    return Column(pa.bool_(), meaning)


_ITERATION: Final = _whole("the iteration, counted from 1")
_POOL: Final = _whole("the pool, counted from 0 (the coldest)")
_SLOT: Final = _whole(
    "the place of the offspring among those of its pool in this iteration, counted from 0; with screening, among the "
    "proposals of its generation or the candidates of the library"
)
_ATTEMPT: Final = _whole(
    "the number of the attempt at this slot, counted from 1; with screening, the generation, or 0 for the library"
)
_COLD: Final = _whole("the colder of the two pools of the exchange")
_HOT: Final = _whole("the hotter of the two pools of the exchange, always `cold_pool` + 1")
_NO_SCORE: Final = "not evaluated, or the evaluation failed (a program that failed has 0)"
_NO_MODEL: Final = "no language model was asked for the candidate"

_PREDICTED: Final = "the surrogate's forecast of the score, cut to the range of 0 to 1"
_SPREAD: Final = "the standard deviation of the forecast"

COLUMNS: Final[Mapping[str, Dataset]] = {
    "evaluations": Dataset(
        "One row for each attempt at an offspring, whether or not it cost an oracle call. "
        "Iteration 0 holds the initial candidates.",
        ("iteration", "slot", "pool", "attempt"),
        {
            "iteration": _whole("the iteration, counted from 1; 0 holds the initial candidates"),
            "pool": _whole(
                "the pool that the offspring was proposed for, counted from 0 (the coldest)",
                null="the candidate is an initial one that all pools share",
            ),
            "slot": _whole(f"{_SLOT.meaning}; for an initial candidate, its place among the initial ones"),
            "attempt": _ATTEMPT,
            "outcome": _text(
                "how the attempt ended: `evaluated` (counted as an oracle call), `reused` (evaluated earlier in the "
                "run; if it has a score, it joins the pool for free), `duplicate` (already in the pool or among its "
                "new offspring; with screening, also evaluated or proposed before) or `rejected` (not valid)"
            ),
            "call": _whole(
                "the number of the attempt's oracle call, counted from 1 over the whole run",
                null="it cost no oracle call",
            ),
            "reused_call": _whole(
                "the earlier call that evaluated a `reused` candidate", null="`outcome` is not `reused`"
            ),
            "genotype": _text(
                "the candidate itself, a SMILES string or source code; if rejected, the text as proposed",
                null="nothing was proposed",
            ),
            "key": _text(
                "the canonical identity of the candidate",
                null="`outcome` is `rejected`",
            ),
            "score": _number("the score of the candidate, higher is better", "of the task", _NO_SCORE),
            "energy": _number("the energy that exchanges compare, lower is better", "of the task", _NO_SCORE),
            "valid": _truth("false for a rejected candidate and for one whose evaluation failed"),
            "error": _text(
                "why the candidate was rejected or failed: a reason, often followed by `:` and details",
                null="nothing went wrong",
            ),
            "operator": _text(
                "how the candidate was made: `initial`, `library` (chosen by screening), `llm` or the name of the "
                "changes that the classical operator made, which begins with `fallback_` if it filled a slot that a "
                "language model had left empty"
            ),
            "parents": Column(
                CALLS,
                "the calls of the parents, in the order in which they were drawn; of a parent never evaluated, "
                "those of its nearest evaluated ancestors",
            ),
            "llm_call": _whole("the row of `llm_calls` whose reply the candidate came from", null=_NO_MODEL),
            "seconds": _number(
                "the time of the evaluation; in a batch, an equal share",
                "s",
                "it cost no oracle call",
            ),
        },
    ),
    "populations": Dataset(
        "One row for each pool and iteration: the state of the pool after the iteration, exchange included.",
        ("iteration", "pool"),
        {
            "iteration": _whole("the iteration, counted from 1; 0 is the state before the first"),
            "pool": _POOL,
            "beta": _number("the inverse temperature β of the pool; `inf` for a pool that keeps the best candidates"),
            "members": Column(CALLS, "the calls of the members, in ascending order"),
            "seconds": Column(
                TIMES,
                "the times of the run up to the end of the iteration, like `seconds` in [run.json](#runjson)",
                "s",
                "an older version wrote the row",
            ),
        },
    ),
    "swaps": Dataset(
        "One row for each pair of candidates that an exchange tried, in the order in which they were decided.",
        ("iteration", "cold_pool", "cold_call", "hot_call"),
        {
            "iteration": _ITERATION,
            "cold_pool": _COLD,
            "hot_pool": _HOT,
            "cold_call": _whole("the candidate that the colder pool offered"),
            "hot_call": _whole("the candidate that the hotter pool offered"),
            "log_accept": _number("the logarithm of the acceptance ratio, before it is capped at 0", "nats"),
            "log_u": _number("the logarithm of the uniform random number that was drawn for the pair", "nats"),
            "accepted": _truth("whether the two candidates changed places"),
            "blocked": _truth(
                "whether the pair could not be swapped, because a candidate was already in the other pool"
            ),
            "xi": _number("the powering factor ξ, a factor of `log_accept`; 0 under the `random` rule"),
        },
    ),
    "migrations": Dataset(
        "One row for each candidate that the `ring` rule copied to another pool.",
        ("iteration", "from_pool", "to_pool", "call"),
        {
            "iteration": _ITERATION,
            "from_pool": _whole("the pool that the candidate was copied from"),
            "to_pool": _whole("the pool that the candidate was copied to"),
            "call": _whole("the candidate"),
        },
    ),
    "adaptation": Dataset(
        "For each exchange under the `metropolis` rule, one row for each pair of adjacent pools that took part in it.",
        ("iteration", "cold_pool"),
        {
            "iteration": _ITERATION,
            "cold_pool": _COLD,
            "hot_pool": _HOT,
            "rate": _number(
                "the swap rate of the whole exchange: accepted pairs divided by unblocked ones, for all pools together",
                "0 to 1",
                "every pair of the exchange was blocked",
            ),
            "xi": _number("ξ after the exchange"),
            "accepted": _whole("pairs that these two pools swapped"),
            "tried": _whole("unblocked pairs that these two pools tried"),
            "clamped": _truth("whether ξ was held at one of its bounds, 0.001 or 1,000"),
        },
    ),
    "screened": Dataset(
        "One row for each proposal that got a forecast from the surrogate but was not chosen for evaluation. "
        "Empty without screening (`method.screen`).",
        ("iteration", "slot", "pool", "attempt"),
        {
            "iteration": _ITERATION,
            "pool": _POOL,
            "slot": _SLOT,
            "attempt": _whole("the number of the proposal for this slot, counted from 1"),
            "key": _text("the canonical identity of the candidate"),
            "predicted": _number(_PREDICTED, "of the task"),
            "spread": _number(_SPREAD, "of the task"),
        },
    ),
    "llm_calls": Dataset(
        "One row for each request to a language model, numbered in the order of the search. Empty with `llm=off`.",
        ("llm_call",),
        {
            "llm_call": _whole("the number of the request, counted from 1"),
            "iteration": _ITERATION,
            "pool": _POOL,
            "slot": _SLOT,
            "attempt": _ATTEMPT,
            "model": _text("the model as configured: `llm.model`, or the pool's own (`llm.pools.*.model`)"),
            "prompt_tokens": _whole("the tokens of the prompt", "tokens", "the provider did not count them"),
            "completion_tokens": _whole("the tokens of the reply", "tokens", "the provider did not count them"),
            "cost_usd": _number(
                "the price of the reply when it was bought, at litellm's prices", "USD", "the price is unknown"
            ),
            "seconds": _number("the time from sending the successful request to its reply", "s"),
            "cached": _truth("whether the reply came from the reply cache"),
            "retries": _whole("how often the request failed before the reply was bought"),
            "outcome": _text(
                "what became of the reply: `parsed` (a valid candidate), `no_answer` (it proposed nothing, or was cut "
                "off at `max_tokens`), `invalid` (not valid) or `error` (it was withheld, or the prompt was refused)"
            ),
            "prompt": _text("the messages of the request"),
            "reply": _text("the text of the reply", null="the reply was empty"),
            "error": _text(
                "why there is no reply, or what came instead of a text, such as `only reasoning`",
                null="there is a text, or the reply was empty",
            ),
        },
    ),
}
"""The datasets of every run, in the order of ``docs/columns.md``."""

FORECAST_COLUMNS: Final[Mapping[str, Column]] = {
    "predicted": _number(_PREDICTED, "of the task", "no forecast was made for the candidate"),
    "spread": _number(_SPREAD, "of the task", "no forecast was made for the candidate"),
}
"""Additional columns of ``evaluations`` in a run with ``method.screen``."""

DOCKED: Final = Dataset(
    "One row for each molecule that `evodiverse-dock` docked; missing if this command was never used on the run.",
    ("key",),
    {
        "key": _text("the key of the molecule in `evaluations`"),
        "score": _number("the docking score, lower is better", "kcal/mol", "docking failed"),
        "error": _text("why docking failed", null="docking succeeded"),
    },
)
"""The dataset ``docking``, which is added to a complete run."""


def make_schema(columns: Mapping[str, Column]) -> pa.Schema:
    """Return the Arrow schema of a dataset with these columns, without their descriptions."""
    return pa.schema([(name, column.kind) for name, column in columns.items()])
