"""The search for equations as an estimator of scikit-learn."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from evodiverse.api import run
from evodiverse.errors import InputError
from evodiverse.kit.hints import quote_value
from evodiverse.tasks.equations.columns import make_usable
from evodiverse.tasks.equations.result import Equation, read_result


class EquationRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A search for an equation that explains a target, as ``evodiverse task=equation`` carries it out.

    Names of columns become the names of the variables, altered if they cannot be; without names, these are x0, x1 and
    so on.

    Args:
        calls: The number of equations to evaluate (``budget.oracle_calls``).
        method: The search method.
        llm: The option of the language model; off for none.
        workers: The number of worker processes; more than 1 requires a script with a ``__main__`` guard.
        random_state: The seed, or what scikit-learn draws it from.
        outputs: The folder in which to keep the data and the run; None to keep neither. A run in it with the same
            settings and data is resumed or read.
        settings: Values of further settings, by dotted key, such as ``{"task.fit": "bfgs"}``.

    Attributes:
        equations_: The front of error against complexity, the simplest first, as a list of
            `evodiverse.tasks.equations.result.Equation`: each has a size, an error and a text.
        equation_: The chosen equation.
        variables_: The names of the variables, in the order of the columns; without those that settings such as
            ``task.data.ignore`` leave out.
    """

    def __init__(
        self,
        *,
        calls: int = 1000,
        method: str = "pt",
        llm: str = "off",
        workers: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        outputs: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.calls = calls
        self.method = method
        self.llm = llm
        self.workers = workers
        self.random_state = random_state
        self.outputs = outputs
        self.settings = settings

    def fit(self, X: Any, y: Any) -> "EquationRegressor":  # noqa: N803
        """Search for equations and return the estimator.

        Args:
            X: ``(n, variables)`` numbers, n ≥ 2.
            y: ``(n,)`` target, not the same in all rows.

        Raises:
            ValueError: The data are of the wrong shape, not finite, or too few.
            InputError: A setting is invalid, the target is constant, or this process already carries out a run.
            EvoDiverseError: The run failed.
        """
        inputs, target = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        names = getattr(self, "feature_names_in_", [f"x{at}" for at in range(inputs.shape[1])])
        *self._names, name = make_usable([*map(str, names), "y"])
        with ExitStack() as stack:
            outputs = stack.enter_context(TemporaryDirectory()) if self.outputs is None else self.outputs
            folder = Path(outputs).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            lines = [",".join(map(repr, row)) for row in np.column_stack([inputs, target]).tolist()]
            text = "\n".join([",".join([*self._names, name]), *lines, ""]).encode()
            data = folder / f"data-{sha256(text).hexdigest()[:8]}.csv"
            data.write_bytes(text)
            seed = self.random_state
            if not isinstance(seed, int):
                seed = int(check_random_state(seed).randint(2**31))
            overrides = {
                "task.problem": "csv/data",
                "task.data.train": str(data),
                "task.data.target": name,
                "budget.oracle_calls": self.calls,
                "evaluator.workers": self.workers,
                "seed": seed,
                "outputs": str(folder),
                **(self.settings or {}),
            }
            chosen = ["task=equation", f"method={self.method}", f"llm={self.llm}"]
            found = read_result(run([*chosen, *(f"{key}={_write(value)}" for key, value in overrides.items())]).path)
        self.equations_, self.equation_, self.variables_ = list(found.front), found.chosen, list(found.variables)
        self._result = found
        return self

    def predict(self, X: Any, size: int | None = None) -> NDArray[np.float64]:  # noqa: N803
        """Return the ``(n,)`` predictions of the chosen equation, or that of another size, for ``(n, variables)`` rows.

        A prediction that is not finite is NaN.

        Raises:
            InputError: There is no equation of this size.
        """
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return self._result.predict(dict(zip(self._names, inputs.T, strict=True)), size)

    def sympy(self, size: int | None = None) -> Any:
        """Return the right-hand side of the chosen equation, or that of another size, as an expression of sympy.

        Raises:
            InputError: There is no equation of this size, or sympy cannot write it.
        """
        import sympy

        names = {name: sympy.Symbol(name, real=True) for name in self.variables_}
        return sympy.sympify(_known(self._pick(size).sympy), locals=names)

    def latex(self, size: int | None = None) -> str:
        """Return the chosen equation, or that of another size, in LaTeX.

        Raises:
            InputError: There is no equation of this size, or sympy cannot write it.
        """
        return _known(self._pick(size).latex)

    def _pick(self, size: int | None) -> Equation:
        check_is_fitted(self)
        return self._result.pick(size)


def _known(form: str | None) -> str:
    if form is None:
        raise InputError("sympy cannot write this equation; use its text in equations_")
    return form


def _write(value: Any) -> str:
    if isinstance(value, str | Path):
        return quote_value(str(value))
    return json.dumps(value, default=lambda array: array.tolist())  # scikit-learn sets numbers of numpy
