"""Run `evodiverse-show` from a checkout: python scripts/show.py."""

import sys

from evodiverse.commands.show import main

if __name__ == "__main__":
    sys.exit(main())
