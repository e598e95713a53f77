"""The line that every command prints for ``--version``."""

from typing import Final

from evodiverse import __version__

VERSION: Final = f"evodiverse {__version__}"
