"""The command that fetches artifacts, as the surroundings need it written."""

from collections.abc import Sequence

from evodiverse.data.artifacts import Artifact
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline


def fetch_command(artifacts: Sequence[Artifact]) -> str:
    """Return the shell command that fetches these artifacts, even where ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: ``EVODIVERSE_OFFLINE`` is neither a yes nor a no.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artifact.name for artifact in artifacts)}"
