"""The equations that a run has found, read from ``best/equation.json``: predictions for other data, and intervals.

The 95% confidence intervals of constants come from the covariance of a fit, or from a bootstrap.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv
from scipy.optimize import least_squares
from scipy.special import stdtrit

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import read_json
from evodiverse.kit.python import NOT_PYTHON
from evodiverse.tasks.equations.columns import name_columns
from evodiverse.tasks.equations.operators.trees import read_tree, write_infix
from evodiverse.tasks.equations.problems import FloatArray
from evodiverse.tasks.equations.skeleton import SkeletonError, read_skeleton

ABOUT: Final = "equation.json"
MOST_BYTES: Final = 1 << 24
_TAIL: Final = 0.025  # probability beyond each end of an interval
_STEP: Final = 1e-7  # of finite differences, as a share of the constant
# Share of the largest singular value below which a combination of constants has no effect on the predictions, and the
# least share of a constant in such a combination; what is smaller comes from rounding.
_NO_EFFECT, _SHARE = 1e-7, 1e-6
_NO_NUMBER: Final = 1e150  # takes the place of a residual that is not finite; its square is finite

MISSING: Final = frozenset(csv.ConvertOptions().null_values)
"""What cells without a value hold: nothing, NA, nan and the like."""

Predict = Callable[[FloatArray], FloatArray]
"""A function that returns the ``(n,)`` predictions for given constants."""


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation of the front, in the form in which it is shown.

    Attributes:
        size: The complexity: the number of operations, variables, numbers and constants.
        error: The mean squared error on the fitted rows, in units of the target's variance.
        text: The right-hand side, as a person reads it; … if it is too large.
        latex: The equation in LaTeX, or None if sympy cannot write it.
        sympy: The right-hand side in sympy's notation, or None if sympy cannot write it.
        source: The equation as a Python function of the variables and the array ``params``.
        params: The fitted constants.
    """

    size: int
    error: float
    text: str
    latex: str | None
    sympy: str | None
    source: str
    params: tuple[float, ...]

    def evaluate(self, columns: Mapping[str, FloatArray], params: Sequence[float] | FloatArray) -> FloatArray:
        """Return the ``(n,)`` values for the ``(n,)`` columns of the variables, NaN where the value is not finite.

        Raises:
            InputError: The equation is too large.
        """
        n = len(next(iter(columns.values())))
        try:
            values = np.broadcast_to(read_tree(self.source).evaluate(columns, list(params)), n)
        except RecursionError as error:  # equations of a language model may be that large
            what = f"the equation of size {self.size} is too large to be read; choose another size"
            raise InputError(what) from error
        return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True, slots=True)
class Result:
    """The equations that a run has found.

    Attributes:
        target: The name of the target.
        variables: The names of the variables, in the order of an equation's arguments.
        categories: For each variable that is 1 where a column has a certain text, the column and the text, by name.
        front: The equations on the front of error against complexity, the simplest first.
        chosen: The equation that the run has chosen.
        labels: How the columns are written in the run's data, by their names.
        sigma: The name of the column of the target's standard errors, or None if there is none.
    """

    target: str
    variables: tuple[str, ...]
    categories: Mapping[str, tuple[str, str]]
    front: tuple[Equation, ...]
    chosen: Equation
    labels: Mapping[str, str]
    sigma: str | None

    def pick(self, size: int | None) -> Equation:
        """Return the equation of the front with this size, or the chosen one for None.

        Raises:
            InputError: The front has no equation of this size.
        """
        if size is None:
            return self.chosen
        sizes = {one.size: one for one in self.front}
        if size not in sizes:
            known = ", ".join(map(str, sizes))
            raise InputError(f"the front has no equation of size {size}; its sizes are {known}")
        return sizes[size]

    def predict(self, data: Any, size: int | None = None) -> FloatArray:
        """Return the ``(n,)`` predictions of `evodiverse.api.Run.predict`."""
        found = self.pick(size)
        return found.evaluate(self._columns(data, self.variables), found.params)

    def intervals(self, data: Any, size: int | None = None, bootstrap: int = 0) -> FloatArray:
        """Return the intervals ``(n_params, 2)`` of `evodiverse.api.Run.intervals`."""
        if bootstrap < 0:
            raise InputError(f"bootstrap must be at least 0, got {bootstrap}")
        found = self.pick(size)
        columns = self._columns(data, (*self.variables, self.target, *filter(None, [self.sigma])))
        target = columns.pop(self.target)
        sigma = np.ones(len(target)) if self.sigma is None else columns.pop(self.sigma)
        if not ((sigma > 0) & np.isfinite(sigma)).all():
            raise InputError(f"the column {self.sigma} of task.data.sigma must be above 0 in all rows")
        unknown = np.flatnonzero(~np.isfinite(found.evaluate(columns, found.params) - target))
        if len(unknown):
            raise InputError(f"row {unknown[0] + 1} has no finite target or no finite prediction; leave out such rows")
        predict = partial(found.evaluate, columns)
        if bootstrap:
            return bootstrap_intervals(predict, found.params, target, bootstrap, 1 / sigma)
        return find_intervals(predict, found.params, target, 1 / sigma)

    def _columns(self, data: Any, names: Sequence[str]) -> dict[str, FloatArray]:
        """Return the ``(n,)`` values of each column, by name."""
        if not (isinstance(data, Mapping) or hasattr(data, "columns")):  # tables of pandas and Arrow have columns
            array = np.asarray(data)
            if array.ndim != 2 or array.shape[1] != len(names):
                expected = f"(n, {len(names)}) for {', '.join(names)}"
                raise InputError(f"expected an array of shape {expected}, got {array.shape}")
            given = dict(zip(names, array.T, strict=True))
        else:
            held = list(getattr(data, "column_names", data))  # an Arrow table has these; others yield their names
            names_held = name_columns(list(map(str, held)), self.labels)
            given = {name: data[key] for name, key in zip(names_held, held, strict=True)}
        for name, (column, text) in self.categories.items():
            if name not in given and column in given:
                values = np.asarray(given[column])
                texts = np.char.strip(values.astype(str))
                known = [own for other, own in self.categories.values() if other == column]
                if values.dtype == np.bool_:  # pandas reads true and TRUE as True
                    written = {own.casefold(): own for own in known}
                    texts = np.array([written.get(own.casefold(), own) for own in texts.tolist()])
                is_missing = np.isin(texts, [*({*MISSING, "None", "<NA>"} - {*known})])  # the last two: None and pd.NA
                if unknown := sorted({*texts[~is_missing].tolist()} - {*known}):
                    raise InputError(f"the column {column} has the value {unknown[0]!r}; known are {', '.join(known)}")
                given[name] = np.where(is_missing, np.nan, texts == text)
        missing = [name for name in names if name not in given]
        if missing:
            wanted = ", ".join(dict.fromkeys(self.categories.get(name, (name,))[0] for name in missing))
            raise InputError(f"the data lack the columns {wanted}; they have {', '.join(given) or 'none'}")
        columns = {}
        for name in names:
            try:
                columns[name] = np.asarray(given[name], dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"the column {name} must hold numbers ({error})") from None
        if len({column.shape for column in columns.values()}) > 1 or next(iter(columns.values())).ndim != 1:
            raise InputError("the columns must be one-dimensional and of the same length")
        return columns


def read_result(run: Path) -> Result:
    """Return the equations that a run has found; ``run`` is its folder.

    Raises:
        InputError: The run is not one of equations, has no equation yet, or its file is damaged or too old.
    """
    path = run / "best" / ABOUT
    try:
        about = read_json(path, MOST_BYTES)
        if not {"front", "labels"} <= about.keys():
            raise InputError(f"{path} is from an older version; run it again with overwrite=true")
        variables = tuple(map(str, about["variables"]))
        front = {one["call"]: _read(one, variables) for one in about["front"]}
        categories = {name: (str(column), str(text)) for name, (column, text) in about["categories"].items()}
        labels = {name: str(label) for name, label in about["labels"].items()}
        chosen = front[about["call"]]
        target, sigma = str(about["target"]), about["sigma"]
        return Result(target, variables, categories, tuple(front.values()), chosen, labels, sigma and str(sigma))
    except OSError as error:
        raise InputError(f"cannot read {path} ({reason(error)}); use a run of equations that has found one") from None
    except (LookupError, TypeError, ValueError, SkeletonError) as error:
        raise InputError(f"{path} is damaged ({error}); run it again with overwrite=true") from None


def _read(one: Mapping[str, Any], variables: Sequence[str]) -> Equation:
    """Return an equation of the front; what is no elementwise arithmetic is refused, since the file may be foreign."""
    params = tuple(map(float, one["params"]))
    source = read_skeleton(one["source"], variables, len(params)).source
    size, error, text = int(one["complexity"]), float(one["nmse_train"]), write_right_side(source, params)
    return Equation(size, error, text, one["latex"], one["sympy"], source, params)


def write_right_side(source: str, params: Sequence[float]) -> str:
    """Return the right-hand side of an equation as a person reads it, or … if it is too large.

    Args:
        source: The equation as a skeleton in canonical form.
        params: The values of its parameters.
    """
    try:
        return write_infix(read_tree(source), params)
    except NOT_PYTHON:  # equations of a language model may be that large
        return "…"


def find_intervals(
    predict: Predict, params: Sequence[float], target: FloatArray, roots: FloatArray | float = 1.0
) -> FloatArray:
    """Return the ends ``(n_params, 2)`` of the intervals that follow from the fit's covariance and Student's t.

    The Jacobian is computed by central differences. The ends are infinite if the rows do not determine the constant,
    for example because there are no more rows than constants.

    Args:
        predict: The predictions of the fitted rows.
        params: The fitted constants.
        target: ``(n,)`` target of the fitted rows.
        roots: ``(n,)`` square roots of the weights of the squared errors, up to a common factor.
    """
    fitted = np.array(params, dtype=np.float64)
    free = len(target) - len(fitted)
    if not len(fitted) or free <= 0:
        return np.tile([-np.inf, np.inf], (len(fitted), 1))
    steps = _STEP * np.where(fitted == 0, 1.0, np.abs(fitted))
    with np.errstate(all="ignore"):
        changes = [roots * (predict(fitted + step) - predict(fitted - step)) for step in np.diag(steps)]
        jacobian = np.stack(changes, 1) / 2
        lengths = np.linalg.norm(jacobian, axis=0)
        scaled = np.nan_to_num(jacobian / lengths, nan=0.0, posinf=0.0, neginf=0.0)
        _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
        sizes[sizes <= _NO_EFFECT * sizes[0]] = 0.0
        directions[np.abs(directions) < _SHARE] = 0.0
        variances = np.nansum((directions / sizes[:, None]) ** 2, axis=0)
        error = float(np.sqrt(np.sum((roots * (predict(fitted) - target)) ** 2) / free))
        half = stdtrit(free, 1 - _TAIL) * error * np.sqrt(variances) * steps / lengths
    half[~np.isfinite(half)] = np.inf
    return np.stack([fitted - half, fitted + half], axis=1)


def bootstrap_intervals(
    predict: Predict, params: Sequence[float], target: FloatArray, n_samples: int, roots: FloatArray | float = 1.0
) -> FloatArray:
    """Return the ends ``(n_params, 2)`` of the intervals of constants that are fitted to samples of the rows.

    Each sample draws as many rows as there are, with replacement. The arguments are those of `find_intervals`, besides
    the number of samples. The result is always the same for the same arguments.
    """

    def find_residues(params: FloatArray, rows: NDArray[np.int64]) -> FloatArray:
        residues = (roots * (predict(params) - target))[rows]
        return np.where(np.isfinite(residues), residues, _NO_NUMBER)

    rng, fits = np.random.default_rng(0), []
    sizes = np.where(np.array(params) == 0, 1.0, np.abs(params))
    for _ in range(n_samples if len(params) else 0):
        rows = rng.integers(len(target), size=len(target))
        fits.append(least_squares(find_residues, params, x_scale=sizes, args=(rows,)).x)
    return np.quantile(fits, [_TAIL, 1 - _TAIL], axis=0).T if fits else np.empty((0, 2))
