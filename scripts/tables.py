"""Run `evodiverse-tables` from a checkout: python scripts/tables.py."""

import sys

from evodiverse.commands.tables import main

if __name__ == "__main__":
    sys.exit(main())
