"""``python -m evodiverse`` is the command ``evodiverse``."""

from evodiverse.cli import main

main()
