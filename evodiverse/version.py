"""What every command answers to ``--version``."""

from typing import Final

from evodiverse import __version__

VERSION: Final = f"evodiverse {__version__}"
