"""Draw the figures of the paper, and others, from the logs of runs, as SVG, PNG and PDF, and list missing runs."""

from pathlib import Path

from evodiverse.commands.frame import KEPT, add_domain, finish, make_parser


def main() -> int:
    """Draw the figures and return the exit code."""
    parser = make_parser("figures", __doc__)
    add = parser.add_argument
    add(
        "runs",
        nargs="*",
        type=Path,
        default=[Path("outputs")],
        metavar="RUN",
        help="run directory, or a folder of runs (outputs); a run named directly is drawn whatever its overrides",
    )
    add("--to", type=Path, help="folder to write to (figures/ in the folder of runs, else in outputs)")
    add("--only", action="append", default=[], metavar="FIGURE", help="only this figure, such as mol")
    add("--format", action="append", default=[], dest="formats", choices=["pdf"], help="write this besides svg and png")
    add("--reference", type=Path, help="file of molecules to show as chemical space (ZINC-250K)")
    add("--all", action="store_true", dest="with_empty", help="list the runs that figures lack, too, with commands")
    add("--metric", help="show this metric in heat maps, such as top10")
    add("--threshold", type=float, metavar="SCORE", help="count candidates from this score on as hits")
    add_domain(parser, "to compute its metrics")
    arguments = parser.parse_args()
    from evodiverse.commands.figure_files import write  # here so that --help stays fast

    return finish(lambda: write(**vars(arguments)), KEPT)
