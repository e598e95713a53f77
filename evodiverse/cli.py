"""The command ``evodiverse``."""

import gc
import sys

from evodiverse.version import VERSION


def main() -> None:
    """Print the version or the help page if requested; otherwise run the command line."""
    gc.set_threshold(10_000)  # with the default, a tenth of a start goes into collections that find nothing
    arguments = sys.argv[1:]
    if "--version" in arguments:
        sys.stdout.write(f"{VERSION}\n")
        return
    from evodiverse.commands.help import OPTIONS, help_page  # imported only if needed: Hydra is slow to load

    if not set(OPTIONS).isdisjoint(arguments):
        from evodiverse.runner.process import prepare, say

        prepare()
        say(help_page(arguments).removesuffix("\n"))
        return
    from evodiverse.kit.environment import cap_threads

    cap_threads()
    from evodiverse.commands.run import main

    main()


if __name__ == "__main__":
    main()
