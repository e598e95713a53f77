"""The files in ``best/``, which show the chosen equation and the Pareto front of error against complexity.

The chosen equation is written in Python, LaTeX and JSON, and a picture shows its fit.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evodiverse.kit.pictures import GRAY, GROUND, new_figure, styled, to_png
from evodiverse.ports import Discovery, Sandbox
from evodiverse.tasks.equations.data import find_wild
from evodiverse.tasks.equations.front import EXACT, Member
from evodiverse.tasks.equations.metrics import mean_squared_error, measure_variance
from evodiverse.tasks.equations.operators.trees import Node, number, read_tree
from evodiverse.tasks.equations.problems import Dataset, FloatArray, Rows
from evodiverse.tasks.equations.result import find_intervals, write_right_side
from evodiverse.tasks.equations.skeleton import NAME, PARAMS
from evodiverse.tasks.equations.symbolic import Law, read_law
from evodiverse.vocabulary import Job, Limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPLITS: Final = {
    "train": "training",
    "held": "held back from training",
    "id": "held out, in domain",
    "ood": "held out, out of domain",
}
"""The title of each split of the data in ``fit.png``. The column ``nmse_<key>`` has the error on this split."""

Form = tuple[str, str] | None
"""An equation in LaTeX, and its right-hand side in sympy's notation; None if sympy cannot write it."""

# This code is sent to the sandbox as text and not loaded there in advance, since sympy takes long to load.
_FORMULA: Final = Path(__file__).parent.joinpath("in_sandbox", "formula.py").read_text(encoding="utf-8")

MAX_ROWS, MAX_POINTS = 6, 2000
_SIDE, ROW_LENGTH = 420, 50  # pixels of a panel's side, and characters of text for each panel

# One dark and one light, so that they differ in grayscale too.
POINT, OUTSIDE = "#244a86", "#f09228"


def lay_out(
    front: Mapping[Member, Discovery],
    chosen: Member,
    dataset: Dataset,
    rows: Sequence[Rows],
    own: Rows,
    predictions: Sequence[FloatArray | None],
    sandbox: Sandbox,
) -> dict[str, bytes]:
    """Return the content of each file in ``best/``, by name.

    ``hall_of_fame.csv`` lists the front. ``equation.py``, ``equation.tex``, ``equation.json`` and ``fit.png`` show the
    chosen equation.

    Args:
        front: The equations on the front, in the order of `find_front`, each with its candidate and where the search
            found it.
        chosen: The member of the front with the chosen equation, as `front.choose` returns it.
        dataset: The data that the equations explain.
        rows: The rows of each split, in the order of `SPLITS`: the training rows used in the fits, the training rows
            held back from the fits, and the test rows in and out of domain.
        own: The rows to which the shown constants are fitted.
        predictions: The predictions of the chosen equation for each of these splits, or None for a split in which a
            prediction is not finite.
        sandbox: The sandbox in which sympy runs.
    """
    found = front[chosen]
    source, params = found.candidate.genotype, read_params(found)
    intervals = _find_intervals(source, params, dataset.names, own)
    no_error = {
        name: why
        for name, split, predicted in zip(SPLITS, rows, predictions, strict=True)
        if (why := explain_no_error(split, predicted, dataset.names, source, params)) is not None
    }
    law = dataset.problem
    match = None if law is None else Law(law, dataset.splits).is_same(source, params)
    equations = [(one.candidate.genotype, read_params(one)) for one in front.values()]
    laws = [] if law is None else [(read_law(law), law.constants)]
    written = write_formulas(dataset.target.name, [*equations, *laws], sandbox)
    forms = dict(zip(front, written, strict=False))
    columns = filter(None, (*dataset.variables, dataset.target, dataset.sigma))
    about = {
        "call": found.candidate.call,
        "iteration": found.iteration,
        "pool": found.pool,
        "score": found.candidate.score,
        "complexity": chosen.complexity,
        **{name: value for name, value in found.details.items() if name != "params"},
        "no_error": no_error,
        "params": params,
        "intervals": [ends if np.isfinite(ends).all() else None for ends in intervals.tolist()],
        "law": None if law is None else law.law,
        "law_constants": None if law is None else law.constants,
        "symbolic_match": match,
        "target": dataset.target.name,
        "variables": dataset.names,
        "categories": {one.name: one.category for one in dataset.variables if one.category is not None},
        "labels": {one.name: one.label for one in columns if one.label and one.category is None},
        "sigma": None if dataset.sigma is None else dataset.sigma.name,
        "front": [
            {
                "call": member.call,
                "complexity": member.complexity,
                "nmse_train": member.error,
                "source": one.candidate.genotype,
                "params": read_params(one),
                **dict(zip(("latex", "sympy"), forms[member] or (None, None), strict=True)),
            }
            for member, one in front.items()
        ],
    }
    verdict = {True: "; it is the law", False: "; it is not the law", None: ""}[match]
    lines = [
        f"{dataset.target.label or dataset.target.name}: prediction against data",
        f"call {found.candidate.call}, iteration {found.iteration}{verdict}",
        write_equation(dataset.target.name, found),
        *([] if law is None else [f"law: {law.law}"]),
        *(f"no NMSE, {SPLITS[name]}: {why}" for name, why in no_error.items()),
    ]
    return {
        "equation.py": write_module(found, dataset, params, intervals).encode(),
        "equation.tex": _write_tex(forms[chosen], written[len(front) :]).encode(),
        "equation.json": (json.dumps(about, indent=1) + "\n").encode(),
        "fit.png": draw_fit(_list_panels(found, rows, predictions), list(front), chosen, lines),
        "hall_of_fame.csv": _list_front(front, chosen, forms).encode(),
    }


def _list_front(front: Mapping[Member, Discovery], chosen: Member, forms: Mapping[Member, Form]) -> str:
    """Return the front as CSV, the simplest equation first, each in sympy's notation if sympy can write it.

    Errors have four significant digits, and parameters all.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    splits = [f"nmse_{name}" for name in SPLITS]
    writer.writerow(["chosen", "complexity", *splits, "call", "equation", "latex", "params"])
    for member, found in front.items():
        latex, equation = forms[member] or ("", "")
        errors = ["" if (error := found.details.get(name)) is None else f"{error:.4g}" for name in splits]
        own = [member.call, equation, latex, found.details["params"]]
        writer.writerow([int(member is chosen), member.complexity, *errors, *own])
    return text.getvalue()


def read_params(discovery: Discovery) -> list[float]:
    """Return the fitted constants of a candidate, which the log stores as JSON in the column ``params``."""
    params: list[float] = json.loads(str(discovery.details["params"]))
    return params


def _find_intervals(source: str, params: Sequence[float], names: Sequence[str], rows: Rows) -> FloatArray:
    """Return the ends ``(n_params, 2)`` of the 95% interval of each constant; see `find_intervals`."""
    columns = dict(zip(names, rows.inputs.T, strict=True))
    roots = 1.0 if rows.weights is None else np.sqrt(rows.weights)

    def predict(values: FloatArray) -> FloatArray:
        return np.broadcast_to(read_tree(source).evaluate(columns, values.tolist()), len(rows.target))

    try:
        return find_intervals(predict, params, rows.target, roots)
    except RecursionError:  # equations of a language model may be that large
        return np.tile([-inf, inf], (len(params), 1))


def write_module(discovery: Discovery, dataset: Dataset, params: Sequence[float], intervals: FloatArray) -> str:
    """Return the source of a Python module that defines the equation with its constants and needs only numpy.

    A comment has the intervals of the constants.
    """
    target = ascii(" ".join(dataset.target.name.split()))
    defined = discovery.candidate.genotype.replace(f", {PARAMS}):", f", {PARAMS}=CONSTANTS):", 1)
    labels = [f"# {one.name}: {one.label!a}\n" for one in dataset.variables if one.label not in ("", one.name)]
    shown = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in intervals)
    known = f"# 95% intervals: {shown}\n" if shown else ""
    return (
        f"# Call {discovery.candidate.call} of a search for {target}.\n{''.join(labels)}"
        f"import numpy as np\n\nCONSTANTS = {list(params)!r}\n{known}\n\n{defined}"
    )


def write_formulas(target: str, equations: Sequence[tuple[str, Sequence[float]]], sandbox: Sandbox) -> list[Form]:
    """Return each equation in two forms.

    All equations share one process of the sandbox. If this process fails, each gets a process of its own.

    Args:
        target: The name of the left-hand side.
        equations: For each equation, its skeleton and the values of the skeleton's parameters. The skeleton is the
            source code of a Python function that computes the equation from the variables and the array ``params``, in
            the canonical form that `read_skeleton` writes.
        sandbox: The sandbox in which sympy runs.
    """
    try:
        trees = [_to_lists(read_tree(source).replace_parameters(_constants(params))) for source, params in equations]
        limits = Limits(cpu_seconds=10.0)
        (execution,) = sandbox.run([Job(f"def {NAME}(): ...", NAME, (target, trees), None, limits, _FORMULA)])
        written = execution.value
    except RecursionError:  # equations of a language model may be that large
        written = None
    if isinstance(written, list):
        return [None if forms is None else (forms[0], forms[1]) for forms in written]
    if len(equations) == 1:
        return [None]
    return [forms for one in equations for forms in write_formulas(target, [one], sandbox)]


def _constants(params: Sequence[float]) -> Callable[[Node], Node]:
    return lambda leaf: number(params[int(leaf.value)])


def _to_lists(node: Node) -> list[Any]:
    return [node.operation, *(map(_to_lists, node.arguments) if node.arguments else [node.value])]


def write_equation(target: str, discovery: Discovery) -> str:
    """Return an equation in one line of text; see `write_right_side`."""
    return f"{target} = {write_right_side(discovery.candidate.genotype, read_params(discovery))}"


def has_pole(discovery: Discovery, columns: Mapping[str, FloatArray]) -> bool:
    """Return whether a divisor of an equation changes its sign among some rows, so that it may be 0 between them.

    Args:
        discovery: The equation. One that is too large to analyze counts as having no pole.
        columns: The ``(n,)`` values of each variable, by name.
    """
    params = read_params(discovery)
    try:
        nodes = [node for _, node, _ in read_tree(discovery.candidate.genotype).places()]
    except RecursionError:
        return False
    divisors = [factor for node in nodes if node.operation == "divide" for _, factor in node.arguments[1].factors()]
    powers = [node.arguments for node in nodes if node.operation == "power"]
    divisors += [one.arguments[0] for one in divisors if one.operation == "power"]
    divisors += [base for base, exponent in powers if (exponent.evaluate(columns, params) < 0).all()]
    values = [divisor.evaluate(columns, params) for divisor in divisors]
    return any(each.min() < 0 < each.max() for each in values)


def _write_tex(shown: Form, laws: Sequence[Form]) -> str:
    lines = [r"\begin{equation}", f"  {shown[0]}", r"\end{equation}"] if shown else []
    lines = lines or ["% sympy cannot show this equation; see equation.py"]
    return "\n".join([*lines, *(f"% the law: {law[0] if law else None}" for law in laws)]) + "\n"


class Panel(NamedTuple):
    """A panel of the picture.

    Attributes:
        name: The heading.
        target: ``(n,)`` measurements, n ≥ 1, finite.
        predicted: ``(n,)`` predictions, possibly not finite.
        caption: The line below the heading.
    """

    name: str
    target: FloatArray
    predicted: FloatArray
    caption: str


def _list_panels(found: Discovery, splits: Sequence[Rows], predictions: Sequence[FloatArray | None]) -> list[Panel]:
    """Return a panel for the training rows, and one for each kind of test rows.

    If the data set has no test rows, the training rows that no fit saw are shown instead.
    """
    panels = []
    is_held_out = any(len(rows.target) for rows in splits[2:])
    for (name, title), rows, predicted in zip(SPLITS.items(), splits, predictions, strict=True):
        if len(rows.target) and not (name == "held" and is_held_out):
            nmse = found.details.get(f"nmse_{name}")
            caption = "no NMSE" if nmse is None else f"NMSE {nmse:.3g}"
            known = np.full(len(rows.target), np.nan) if predicted is None else predicted
            panels.append(Panel(title, rows.target, known, caption))
    return panels


@styled()
def draw_fit(panels: Sequence[Panel], front: Sequence[Member], chosen: Member, lines: Sequence[str]) -> bytes:
    """Return a PNG with one square per panel: measurements on the horizontal axis, predictions on the vertical one.

    The last square shows the front.

    Args:
        panels: One to three panels, from left to right.
        front: The front of error against complexity.
        chosen: Its member with the chosen equation.
        lines: The lines of text (see `to_png`), which are wrapped, and cut after `MAX_ROWS` rows.
    """
    figure, places = new_figure(_SIDE, len(panels) + 1)
    for axes, panel in zip(places, panels, strict=False):
        draw_panel(axes, panel)
    draw_front(places[-1], front, chosen)
    return to_png(figure, wrap_lines(lines, len(places) * ROW_LENGTH))


def draw_front(axes: "Axes", front: Sequence[Member], chosen: Member) -> None:
    """Draw the error of each equation on the front against its complexity, with a ring around the chosen one."""
    points = {member: (member.complexity, max(member.error, EXACT)) for member in front}
    axes.plot(*zip(*points.values(), strict=True), "o-", color=POINT, drawstyle="steps-post", markersize=6, mew=0)
    axes.plot(*points[chosen], "o", color=OUTSIDE, markersize=12, fillstyle="none", mew=2)
    axes.grid()
    axes.set(yscale="log", xlabel="complexity", ylabel="NMSE", title="front\nchosen: ring")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def draw_panel(axes: "Axes", panel: Panel) -> None:
    """Draw predictions against measurements; perfect predictions lie on the diagonal.

    Wild measurements (`find_wild`) do not widen the axes. A point beyond the limits of the axes is drawn at the border
    in another color. A prediction that is not finite is not drawn. If there are more than `MAX_POINTS` rows, only
    `MAX_POINTS` of them are drawn, evenly spaced. The square states how many of all points are beyond the limits or not
    finite.
    """
    limits = find_limits(panel.target)
    points = np.array([panel.target, panel.predicted])
    outside = ~np.logical_and(*((limits[0] <= points) & (points <= limits[1])))
    chosen = np.linspace(0, len(outside) - 1, min(len(outside), MAX_POINTS)).round().astype(int)
    axes.plot(limits, limits, color=GRAY, linewidth=1)
    for color, is_drawn in [(POINT, ~outside), (OUTSIDE, outside & np.isfinite(panel.predicted))]:
        shown = points[:, chosen[is_drawn[chosen]]].clip(*limits)
        axes.plot(*shown, "o", color=color, markersize=6 if len(chosen) < 400 else 4, mew=0, clip_on=False)
    if outside.any():
        text = axes.annotate(f"{outside.sum()} outside", (0.97, 0.03), xycoords="axes fraction", ha="right", zorder=3)
        text.set_bbox({"color": GROUND, "pad": 2})
    axes.grid()
    axes.locator_params(nbins=5)
    axes.set(xlim=limits, ylim=limits, xlabel="measured", ylabel="predicted", title=f"{panel.name}\n{panel.caption}")


def find_limits(target: FloatArray) -> tuple[float, float]:
    """Return the limits shared by both axes, a little beyond the range of the target ``(n,)`` without wild values."""
    target = target[~find_wild(target)]
    low, high = float(target.min()), float(target.max())
    magnitude = max(abs(low), abs(high))
    spread = high - low
    # A far smaller range than the magnitude counts as none, since its ticks would have too many digits.
    extension = 0.05 * spread if spread > 1e-5 * magnitude else 0.1 * (magnitude or 1.0)
    return low - extension, high + extension


def wrap_lines(lines: Sequence[str], length: int) -> list[str]:
    """Return a title and lines, broken into at most `MAX_ROWS` rows of at most ``length`` characters.

    A title that does not fit into a row, and lines that do not fit into the rows, end with an ellipsis.
    """
    title, *others = lines
    rows = [row for line in others for row in wrap(line, length, break_on_hyphens=False)]
    if len(rows) >= MAX_ROWS:
        rows[MAX_ROWS - 2 :] = [rows[MAX_ROWS - 2][: length - 1] + "…"]
    return [title if len(title) <= length else title[: length - 1] + "…", *rows]


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
        return None if mean_squared_error(predicted, rows.target) < inf else "a prediction is too large to be squared"
    try:
        node = read_tree(source)
        values = node.evaluate(dict(zip(names, rows.inputs.T, strict=True)), params)
    except RecursionError:  # equations of a language model may be that large
        return "a prediction is not a finite number"
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
