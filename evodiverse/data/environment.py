"""The command that fetches artefacts, as the surroundings need it written."""

from collections.abc import Sequence

from evodiverse.data.artefacts import Artefact
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline


def fetch_command(artefacts: Sequence[Artefact]) -> str:
    """Return the shell command that fetches these artefacts, even where ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: ``EVODIVERSE_OFFLINE`` is neither a yes nor a no.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artefact.name for artefact in artefacts)}"
