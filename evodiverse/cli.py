"""The command ``evodiverse``."""

import sys

from evodiverse.kit.threads import cap_threads
from evodiverse.version import VERSION


def main() -> None:
    """Print the version if asked for it, else run the command line."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"{VERSION}\n")
        return
    cap_threads()
    from evodiverse.commands.run import main  # here: the version does without the libraries that this loads

    main()


if __name__ == "__main__":
    main()
