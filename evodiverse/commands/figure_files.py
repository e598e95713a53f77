"""Draw figures from the logs of runs into a folder, with a page that lists the figures and missing runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from re import compile as compile_pattern
from typing import Final

from rich.console import Console
from rich.progress import track

from evodiverse.commands.table_files import find_encoders, read_runs
from evodiverse.data.cache import present_path
from evodiverse.errors import PLEASE_REPORT, InputError, describe, reason
from evodiverse.kit.environment import cache_folder
from evodiverse.kit.files import write_listed
from evodiverse.kit.inputs import expanded
from evodiverse.results.figures.catalog import FIGURES, INDEX, Entry, find_lacks, to_page, to_text
from evodiverse.results.figures.reading import Context, FigureKind, Picture, is_budget
from evodiverse.results.figures.style import add_basis, styled, write_image
from evodiverse.results.measuring import Measurer
from evodiverse.results.tables.results import Result, compare_by
from evodiverse.results.tables.write import find_unused
from evodiverse.runlog.record import RECORD
from evodiverse.runner.process import complain, say
from evodiverse.text import count_of

ENDINGS: Final = ("svg", "png")
_UNSAFE: Final = compile_pattern(r"[^A-Za-z0-9.=-]+")
_LONGEST: Final = 180  # the most characters in a file name; file systems allow 255 bytes


def write(
    runs: Sequence[Path],
    to: Path | None = None,
    only: Sequence[str] = (),
    reference: Path | None = None,
    own: Sequence[str] = (),
    formats: Sequence[str] = (),
    metric: str | None = None,
    threshold: float | None = None,
    *,
    with_empty: bool = False,
) -> int:
    """Draw the figures of some runs into a folder, and return the exit code.

    The exit code is 2 if any run is damaged or drawing any figure fails, and otherwise 0. A figure whose libraries are
    not installed is skipped, and does not count as failed.

    Args:
        runs: Run directories, or folders of runs.
        to: The folder to write to. If it is None and ``runs`` is a single folder of runs, the figures go to the
            subfolder ``figures`` of that folder. If it is None otherwise, they go to ``outputs/figures``.
        only: The names of the figures to draw; empty for all.
        reference: A file of molecules, which figures of the chemical space show in gray behind the molecules of the
            runs; None for ZINC-250K.
        own: The user's own Python packages that define domains, as named with ``--domain``.
        formats: The formats to write besides SVG and PNG, such as "pdf".
        metric: The metric that heat maps show; None for the first of each domain.
        threshold: The score from which on candidates count as hits; None for the usual one of each domain.
        with_empty: Whether to list the runs that figures lack, too. They are listed anyway if ``only`` names figures,
            or if there is no run.

    Raises:
        InputError: A folder or figure does not exist, or the folder cannot be written to.
    """
    names = [kind.name for kind in FIGURES]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"--only {unknown[0]} is unknown; expected one of {', '.join(names)}")
    is_folder = len(runs) == 1 and not (runs[0] / RECORD).exists()
    folder = to or (runs[0] if is_folder else Path("outputs")) / "figures"
    if missing := [path for path in runs if not path.is_dir()]:
        raise InputError(f"{missing[0]} is not a folder; name a run directory or a folder of runs")
    found = read_runs(runs, own)
    results, errors = compare_by(found.results, [] if metric is None else [metric]), found.errors
    named = {path.resolve() for path in runs}
    compared = [one for one in results if one.run.path.resolve() in named or all(map(is_budget, one.overrides))]
    measurer = Measurer(cache_folder() / "analysis", find_encoders(), tuple(own))
    find_reference = partial(present_path, "zinc250k") if reference is None else partial(expanded, reference)
    title = "ZINC-250K" if reference is None else reference.name
    context = Context(measurer, find_reference, title, threshold=threshold)
    kinds = [kind for kind in FIGURES if not only or kind.name in only]
    entries, contents = _draw_all(kinds, compared, results, context, [*ENDINGS, *formats], errors)
    empty: list[str] = []
    if results and not (with_empty or only):
        empty = [entry.kind.name for entry in entries if not entry.pictures and not entry.needs]
        entries = [replace(entry, lacks=[]) for entry in entries if entry.kind.name not in empty]
    facts = [
        f"{found.words}.",
        (
            "Figures show runs in which no setting of the search but the budget is changed, and runs that were named "
            "directly; figures of sweeps show all runs."
        ),
        *([f"No runs for {', '.join(empty)}; --all lists what would fill these and others."] if empty else []),
    ]
    try:
        write_listed(folder, contents, {INDEX: to_page(entries, facts).encode()})
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({reason(error)}); choose another with --to") from error
    say(to_text(entries).removesuffix("\n"))
    for problem in errors:
        complain(str(problem))
    n_drawn = sum(len(entry.pictures) for entry in entries)
    say("\n".join([*facts[2:], f"{count_of(n_drawn, 'figure')} of {facts[0]} {folder / INDEX}"]))
    return 2 if errors else 0


def _draw_all(
    kinds: Sequence[FigureKind],
    chosen: Sequence[Result],
    results: Sequence[Result],
    context: Context,
    endings: Sequence[str],
    errors: list[InputError],
) -> tuple[list[Entry], dict[str, bytes]]:
    """Draw figures, and add the errors of those that fail to ``errors``.

    Args:
        kinds: The figures to draw.
        chosen: The runs for most figures: those named directly, and those that change nothing but the budget.
        results: All runs, for figures that show runs with any overrides (`FigureKind.takes_all`).
        context: What figures need besides the metrics of runs.
        endings: The formats to write, without the dot.
        errors: The list to which errors are added.

    Returns:
        The index entries of the figures, and the contents of the files by file name.
    """
    entries: list[Entry] = []
    contents: dict[str, bytes] = {}
    names: set[str] = set()
    console = Console(stderr=True)
    for kind in track(kinds, "drawing", console=console, transient=True, disable=not console.is_terminal):
        lacks = [] if kind.wanted is None else find_lacks(kind.wanted, results)
        needs = kind.missing()
        drawn: list[Picture] = []
        pictures: list[Picture] = []
        with _collecting(errors, kind.name):
            pictures = [] if needs else [*kind.find(results if kind.takes_all else chosen, context)]
        for picture in pictures:
            with _collecting(errors, picture.name), styled():
                figure = picture.draw()
                add_basis(figure, picture.basis)
                files = {f".{ending}": write_image(figure, ending) for ending in endings}
                files |= {ending: text.encode() for ending, text in picture.texts().items()}
                name = find_unused(_UNSAFE.sub("_", picture.name).strip("_.")[:_LONGEST], names)
                names.add(name)
                contents |= {f"{name}{ending}": content for ending, content in files.items()}
                drawn.append(replace(picture, name=name))
        entries.append(Entry(kind, drawn, lacks, needs))
    return entries, contents


@contextmanager
def _collecting(errors: list[InputError], name: str) -> Iterator[None]:
    """Add an error within the context to ``errors``, so that the other figures are still drawn."""
    try:
        yield
    except InputError as error:
        errors.append(error)
    except Exception as error:  # noqa: BLE001 (drawing may raise anything)
        errors.append(InputError(f"{name} cannot be drawn ({describe(error)}); {PLEASE_REPORT}"))
