"""Call a function that scores molecules, and check what it returns."""

import traceback
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import ContractError, EvoDiverseError, Interrupted, ServiceError, describe
from evodiverse.tasks.molecules.oracle import OracleFunction


def ask(function: OracleFunction, smiles: Sequence[str], name: str) -> NDArray[np.float64]:
    """Call a scoring function and return its numbers, without checking their range.

    Args:
        function: A function that maps SMILES to numbers, in order.
        smiles: ``n`` SMILES.
        name: The name of the function in error messages, such as "the oracle".

    Returns:
        ``(n,)`` float64; NaN for a molecule for which the function has no value.

    Raises:
        ServiceError: The function raised an exception. EvoDiverse's own exceptions are passed on instead.
        ContractError: The function did not return one number for each molecule.
    """
    try:
        answer = function(list(smiles))
    except (EvoDiverseError, Interrupted):
        raise
    except BaseException as error:  # noqa: BLE001 (a user's function may raise anything)
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise ServiceError(
            f"{name} raised {describe(error)} ({place.filename}, line {place.lineno})"
        ) from None  # the user's exception may not be picklable, so it cannot cross to another process
    try:
        if isinstance(answer, np.ma.MaskedArray):
            answer = np.ma.filled(answer.astype(np.float64), np.nan)
        numbers = np.asarray(answer)
    except Exception as error:  # a user's objects may raise anything
        raise ContractError(
            f"{name} must return one number for each molecule, got something else ({describe(error)})"
        ) from error
    if numbers.shape != (len(smiles),):
        raise ContractError(
            f"{name} returned an array of shape {numbers.shape} for {len(smiles)} molecules; "
            "it must return one score for each, in order"
        )
    if numbers.dtype.kind not in "bfiu":
        raise ContractError(f"{name} must return one number for each molecule, got values of type {numbers.dtype}")
    return numbers.astype(np.float64)
