"""Call a function that scores molecules, and check what it returns."""

import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import ContractError, EvoDiverseError, Interrupted, ServiceError, describe
from evodiverse.kit.apart import Apart, TooLongError
from evodiverse.tasks.molecules.oracle import OracleFunction, TargetOracle
from evodiverse.tasks.molecules.settings import FAIL, RETRY
from evodiverse.vocabulary import Reason, Rejection

_PAUSES: Final = (1.0, 5.0)
"""The seconds before each further call for a molecule for which the function raised an exception."""


class RaisedError(ServiceError):
    """A scoring function raised an exception."""


Answers: TypeAlias = tuple[NDArray[np.float64], dict[int, Rejection]]
"""What a scoring function answered for ``n`` molecules: ``(n,)`` float64, NaN for a molecule without a value; and why
molecules got no value, by their places, where the function rejected them, raised an exception or took too long."""


def ask(function: OracleFunction, smiles: Sequence[str], name: str, apart: Apart | None = None) -> Answers:
    """Call a scoring function and return its numbers, without checking their range.

    A user's function rejects molecules by an `AssertionError`, and fails for them by any other exception
    (``task.oracle.on_error``). If it raises one for several molecules, or takes too long, it is called again for each.

    Args:
        function: A function that maps SMILES to numbers, in order.
        smiles: ``n`` SMILES.
        name: The name of the function in error messages, such as "the oracle".
        apart: The process in which a user's function is called; None for this process, and any time.

    Raises:
        ServiceError: The function raised another exception, and ``on_error`` is ``fail`` or the function is not a
            user's. EvoDiverse's own exceptions are passed on instead.
        ContractError: The function did not return one number for each molecule.
    """
    if not isinstance(function, TargetOracle):
        return _call(function, smiles, name), {}
    answer = _try(function, list(smiles), name, apart)
    for pause in _PAUSES if function.on_error == RETRY and len(smiles) == 1 else ():
        if not isinstance(answer, Rejection) or answer.reason != Reason.RAISED:
            break
        time.sleep(pause)
        answer = _try(function, list(smiles), name, apart)
    if not isinstance(answer, Rejection):
        return answer, {}
    if len(smiles) == 1:
        return np.array([np.nan]), {0: answer}
    numbers, faults = zip(*(ask(function, [text], name, apart) for text in smiles), strict=True)
    return np.concatenate(numbers), {place: one[0] for place, one in enumerate(faults) if one}


def _try(oracle: TargetOracle, smiles: list[str], name: str, apart: Apart | None) -> NDArray[np.float64] | Rejection:
    try:
        return _call_own(oracle, smiles, name) if apart is None else apart.call(_call_own, oracle, smiles, name)
    except TooLongError:
        return Rejection(Reason.TIMED_OUT, f"no score after {apart.timeout:g} s" if apart else "")
    except RaisedError as error:
        if oracle.on_error == FAIL:
            raise
        return Rejection(Reason.RAISED, str(error))


def _call_own(oracle: TargetOracle, smiles: list[str], name: str) -> NDArray[np.float64] | Rejection:
    try:
        return _call(oracle, smiles, name)
    except AssertionError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(str(error).split())
        return Rejection(
            Reason.INVALID, said or f"{place.line or 'assert'} ({Path(place.filename).name}, line {place.lineno})"
        )


def _call(function: OracleFunction, smiles: Sequence[str], name: str) -> NDArray[np.float64]:
    try:
        answer = function(list(smiles))
    except (EvoDiverseError, Interrupted, AssertionError):
        raise
    except BaseException as error:  # noqa: BLE001 (a user's function may raise anything)
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise RaisedError(
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
