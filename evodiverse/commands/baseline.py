"""Solve an equation task with another symbolic regression engine, and log the result as a run."""

from evodiverse.commands.frame import finish, make_parser, whole_number

ENGINES = ("operon", "pysr", "sparse")


def main() -> int:
    """Run the engine and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = make_parser("baseline", __doc__)
    parser.add_argument("--engine", required=True, choices=ENGINES, help="engine that searches for equations")
    limits = parser.add_mutually_exclusive_group(required=True)
    shown = {"seconds": "the engine's wall time, in seconds", "evaluations": "evaluations, as the engine counts them"}
    for name, what in shown.items():
        limits.add_argument(f"--{name}", type=whole_number(1, 999_999_999), metavar="N", help=f"limit on {what}")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings, such as the problem and the seed")
    arguments = parser.parse_intermixed_args()
    from evodiverse.commands.baseline_runs import Budget, run_all  # here so that --help stays fast

    budget = Budget(arguments.seconds, arguments.evaluations)
    return finish(
        lambda: run_all(arguments.engine, arguments.overrides, budget),
        interrupted="; run the same command again to start over",
        unwritable="; choose another folder with outputs=…",
    )
