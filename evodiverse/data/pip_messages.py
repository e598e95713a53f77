"""Read what pip prints: how far a download is, and why it failed.

Pure functions of pip's output. The patterns hold for pip 25.1 to 26.3, whose wordings differ; output that matches none
of them is quoted.
"""

import errno
import re
from typing import NamedTuple

PIP_REQUIREMENT = "pip>=25.1"  # the first that resumes a download; pyproject.toml asks for the same

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)\s*")
_MAX_VERSIONS = 5
_MAX_QUOTE = 200
_HOST = r"https?://(?:[^@/\s]*@)?(?P<host>[^/\s]+)"
_UNFETCHED = rf"Could not fetch URL {_HOST}\S*:"
_PROXY = r"(?:ProxyError|proxy connection error|Failed to connect to proxy)"
_SYSTEM_ERROR = r"\[Errno -?\d+\] (?P<detail>[^'\")\n]+)"

_CHECK_PROXY = "check HTTPS_PROXY and `{python} -m pip config list` (its `proxy`)"
_CHECK_INDEX = "check the network and the package index that pip uses (`{python} -m pip config list`)"


class Failure(NamedTuple):
    """Why pip failed, and what a user can do about it; each a phrase on one line."""

    reason: str
    advice: str


class _Cause(NamedTuple):
    """A pattern in pip's output; both phrases may name its groups, ``{python}`` and ``{requirement}``."""

    pattern: str
    reason: str
    advice: str


# The first that is found anywhere in the output wins, so what explains other lines stands above them.
_CAUSES = (
    _Cause(
        r": No module named pip$",
        "{python} has no pip",
        f"run `{{python}} -m ensurepip` and `{{python}} -m pip install '{PIP_REQUIREMENT}'`",
    ),
    _Cause(
        r"no such option: --(?:resume-retries|progress-bar)|option --progress-bar: invalid choice",
        "its pip is too old to resume downloads",
        f"run `{{python}} -m pip install '{PIP_REQUIREMENT}'`",
    ),
    _Cause(
        rf"\[Errno (?:{errno.ENOSPC}|{errno.EDQUOT})\]",
        "the disk is full",
        "free some space or set EVODIVERSE_CACHE to a folder that has more",
    ),
    _Cause(r"Tunnel connection failed: (?P<detail>\d{3}[^'\")\n]*)", "the proxy refused with {detail}", _CHECK_PROXY),
    _Cause(r"\b407 Client Error: (?P<detail>.*?) for url", "the proxy refused with 407 {detail}", _CHECK_PROXY),
    _Cause(rf"{_PROXY}.*?{_SYSTEM_ERROR}", "the proxy cannot be reached ({detail})", _CHECK_PROXY),
    _Cause(_PROXY, "the proxy cannot be reached", _CHECK_PROXY),
    _Cause(
        r"(?P<detail>\[SSL[^\]\n]*\][^'\"(\n]*[^'\"(\s])",
        "the secure connection to the package index failed with {detail}",
        "check `{python} -m pip config list` (its `cert`); a proxy that HTTPS_PROXY names and that opens secure "
        "connections needs its own certificate there",
    ),
    _Cause(rf"{_UNFETCHED}.*?{_SYSTEM_ERROR}", "{host} cannot be reached ({detail})", _CHECK_INDEX),
    _Cause(rf"{_UNFETCHED}.*?(?:didn't respond|[Tt]imed ?out|Timeout)", "{host} does not answer", _CHECK_INDEX),
    _Cause(
        rf"{_UNFETCHED}.*?(?P<status>401|403|429|5\d\d) (?:(?:Client|Server) Error: (?P<detail>.*?) for url|error)",
        "{host} answered {status} {detail}",
        f"{_CHECK_INDEX}, or the proxy before it (HTTPS_PROXY)",
    ),
    _Cause(
        rf"HTTP error (?P<status>\d{{3}}) while getting {_HOST}",
        "{host} answered {status}",
        f"{_CHECK_INDEX}, or the proxy before it (HTTPS_PROXY)",
    ),
    _Cause(
        r"host='(?P<host>[^']+)'.*?too many (?P<status>\d{3}) error responses",
        "{host} answered {status}",
        f"{_CHECK_INDEX}, or the proxy before it (HTTPS_PROXY)",
    ),
    _Cause(
        r"not enough bytes\s+were\s+received\s+\((?P<detail>[^)]+)\)",
        "the connection broke time and again ({detail} arrived)",
        _CHECK_INDEX,
    ),
    _Cause(r"Read timed out|ReadTimeoutError", "the package index stopped answering", _CHECK_INDEX),
    _Cause(
        r"repository located at (?P<host>\S+) is not a trusted",
        "pip ignores {host}, whose address is not secure",
        "give pip its https address or set PIP_TRUSTED_HOST={host}",
    ),
    _Cause(rf"{_UNFETCHED} (?!404 )(?P<detail>.+?) - skipping", "{host} gave nothing ({detail})", _CHECK_INDEX),
    _Cause(
        r"Could not find a version that satisfies .*\(from versions: (?P<versions>[^)\n]*)\)",
        "the package index has no wheel of {requirement} for this Python (versions it has: {versions})",
        "check the package index that pip uses (`{python} -m pip config list`)",
    ),
)


def parse_progress(line: str) -> tuple[int, int | None] | None:
    """Return what a line of ``--progress-bar=raw`` says, None for any other line.

    Returns:
        Bytes that arrived, and bytes in all, None where the index does not say.
    """
    match = _PROGRESS.fullmatch(line)
    if match is None:
        return None
    arrived, total = (int(number) for number in match.groups())
    return arrived, total or None


def explain_failure(output: str, requirement: str, python: str) -> Failure:
    """Return why ``pip -vv download`` failed: the cause behind the retries and follow-up errors that it prints.

    Args:
        output: All that pip printed on both streams.
        requirement: What it was to download.
        python: The interpreter whose pip it is.
    """
    for cause in _CAUSES:
        match = re.search(cause.pattern, output, re.MULTILINE)
        if match is not None:
            words = {name: (value or "").strip() for name, value in match.groupdict().items()}
            words |= {"requirement": requirement, "python": python, "versions": _shorten(words.get("versions", ""))}
            return Failure(cause.reason.format_map(words).strip(), cause.advice.format_map(words))
    quoted = f"pip download {requirement} failed with {_last_error(output)!r}"
    return Failure(quoted, _CHECK_INDEX.format(python=python))


def _shorten(versions: str) -> str:
    """Keep the newest of the versions that pip lists, which are in ascending order."""
    names = versions.split(", ")
    return ", ".join(["…", *names[-_MAX_VERSIONS:]] if len(names) > _MAX_VERSIONS else names)


def _last_error(output: str) -> str:
    """Return the last line of pip's output that says what went wrong."""
    if "ERROR: Exception:" in output:  # a traceback of pip's own, whose last line says what it was
        errors = re.findall(r"^[\w.]+(?:Error|Exception): .*", output.partition("ERROR: Exception:")[2], re.MULTILINE)
    else:
        errors = re.findall(r"^ERROR: *(.*)", output, re.MULTILINE)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return str((errors or lines or ["no message"])[-1])[:_MAX_QUOTE].rstrip()
