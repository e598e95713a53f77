"""The command that fetches artifacts, with the environment variables that it needs."""

from collections.abc import Sequence

from evodiverse.data.artifacts import Artifact
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline


def fetch_command(artifacts: Sequence[Artifact]) -> str:
    """Return a shell command that fetches these artifacts even if ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: The value of ``EVODIVERSE_OFFLINE`` is invalid.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artifact.name for artifact in artifacts)}"
