"""What a function that scores molecules answers, checked."""

import traceback
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import ContractError, EvoDiverseError, Interrupted, ServiceError, describe
from evodiverse.tasks.molecules.oracle import OracleFunction


def ask(function: OracleFunction, smiles: Sequence[str], name: str) -> NDArray[np.float64]:
    """Return what a function answers for molecules, which may be any numbers; NaN where it has none.

    Args:
        function: Maps SMILES to numbers, in order.
        smiles: n of them.
        name: What the function is called in errors, such as "the oracle".

    Returns:
        ``(n,)`` numbers.

    Raises:
        ServiceError: The function raised something.
        ContractError: It answered something else than one number for each molecule.
    """
    try:
        answer = function(list(smiles))
    except (EvoDiverseError, Interrupted):
        raise
    except BaseException as error:  # noqa: BLE001 (a user's function may raise anything)
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise ServiceError(
            f"{name} raised {describe(error)} ({place.filename}, line {place.lineno})"
        ) from None  # which may not be fit to be sent to another process
    try:
        if isinstance(answer, np.ma.MaskedArray):
            answer = np.ma.filled(answer.astype(np.float64), np.nan)
        numbers = np.asarray(answer)
    except Exception as error:  # whatever a user's objects raise
        raise ContractError(f"{name} returned something else than numbers ({describe(error)})") from error
    if numbers.shape != (len(smiles),):
        raise ContractError(
            f"{name} returned an answer of shape {numbers.shape} for {len(smiles)} molecules; "
            "it must return one score for each, in order"
        )
    if numbers.dtype.kind not in "bfiu":
        raise ContractError(f"{name} returned something else than numbers (of type {numbers.dtype})")
    return numbers.astype(np.float64)
