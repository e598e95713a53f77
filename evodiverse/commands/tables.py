"""Write the tables of the paper, and others, from the logs of all runs in a folder, and list them on one page."""

from pathlib import Path

from evodiverse.commands.frame import KEPT, add_domain, finish, make_parser


def main() -> int:
    """Write the tables and return the exit code."""
    parser = make_parser("tables", __doc__)
    add = parser.add_argument
    add("outputs", nargs="?", type=Path, default=Path("outputs"), help="folder of all runs (outputs)")
    add("--task", help="only this task, such as jnk3")
    add_domain(parser, "to compute its metrics")
    add(
        "--by",
        type=lambda text: text.split(","),
        metavar="KEY[,KEY]",
        help="write tables over the values of one or two settings instead, such as method.swap.period,method.ladder",
    )
    add("--against", metavar="VALUE", help="with --by: compare all other values with this one, in pairs of runs")
    add(
        "--metric",
        action="append",
        default=[],
        dest="metrics",
        help="with --by: show this metric, such as top10, or calls_to_0.75 for any score; may be repeated",
    )
    add("--all", action="store_true", dest="with_empty", help="also the tables of the paper that no run fills")
    add("--llm", help="only runs of this language model, such as off or DeepSeek-V3.2")
    arguments = parser.parse_args()
    from evodiverse.commands.table_files import write  # here so that --help stays fast

    return finish(lambda: write(**vars(arguments)), KEPT)
