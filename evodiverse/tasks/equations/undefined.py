"""Why an equation has no error on some rows."""

from collections.abc import Sequence

import numpy as np

from evodiverse.tasks.equations.metrics import mean_squared_error, measure_variance
from evodiverse.tasks.equations.operators.trees import read_tree
from evodiverse.tasks.equations.problems import FloatArray, Rows


def explain_no_error(
    rows: Rows, predicted: FloatArray | None, names: Sequence[str], source: str, params: Sequence[float]
) -> str | None:
    """Return why the NMSE of an equation on some rows is not known, or None if it is known or there are no rows.

    Args:
        rows: The rows.
        predicted: ``(n,)`` predictions, or None if one of them is not finite.
        names: The names of the variables.
        source: The source of the equation in canonical form.
        params: Its fitted parameters.
    """
    if not len(rows.target):
        return None
    if predicted is not None:
        if measure_variance(rows.target) == 0:
            return "the target is the same in all rows"
        is_known = mean_squared_error(predicted, rows.target) is not None
        return None if is_known else "a prediction is too large to be squared"
    try:
        node = read_tree(source)
    except RecursionError:  # equations of a language model may be that large
        return "a prediction is not a finite number"
    values = node.evaluate(dict(zip(names, rows.inputs.T, strict=True)), params)
    unknown = np.flatnonzero(~np.isfinite(np.broadcast_to(values, len(rows.target))))
    if not len(unknown):
        return "the equation could not be computed"
    columns = dict(zip(names, rows.inputs[unknown[:1]].T, strict=True))
    while inner := [part for part in node.arguments if not np.isfinite(part.evaluate(columns, params)).all()]:
        node = inner[0]
    arguments = [float(part.evaluate(columns, params).item()) for part in node.arguments]
    base = " of a negative base" if node.operation == "power" and arguments[0] < 0 else ""
    called = f"{node.operation}({', '.join(f'{value:.4g}' for value in arguments)})"
    return f"{called}{base} in row {unknown[0] + 1} is not a finite number ({len(unknown)} of {len(rows.target)} rows)"
