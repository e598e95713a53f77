"""Parse the output of pip: the progress of a download, and the reason for a failure.

These are pure functions of pip's output. The patterns match pip 25.1 to 26.3, whose messages differ; output that
matches no pattern is quoted.
"""

import errno
import re
from typing import NamedTuple

PIP_REQUIREMENT = "pip>=25.1"  # the first version that resumes downloads; pyproject.toml requires the same

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
    """Why pip failed, and what a user can do about it; each is a phrase on one line."""

    reason: str
    advice: str


class _Cause(NamedTuple):
    """A pattern in pip's output, with a reason and advice for the user.

    Reason and advice are format strings. They may contain the fields ``{python}`` and ``{requirement}``, and one field
    for each named group of the pattern, such as ``{host}``.
    """

    pattern: str
    reason: str
    advice: str


# The first pattern that matches anywhere in the output wins, so causes come before their consequences.
_CAUSES = (
    _Cause(
        r": No module named pip$",
        "{python} has no pip",
        f"run `{{python}} -m ensurepip` and `{{python}} -m pip install '{PIP_REQUIREMENT}'`",
    ),
    _Cause(
        r"no such option: --(?:resume-retries|progress-bar)|option --progress-bar: invalid choice",
        "the installed pip is too old to resume downloads",
        f"run `{{python}} -m pip install '{PIP_REQUIREMENT}'`",
    ),
    _Cause(
        rf"\[Errno (?:{errno.ENOSPC}|{errno.EDQUOT})\]",
        "the disk is full",
        "free some space, or set EVODIVERSE_CACHE to a folder on a larger disk",
    ),
    _Cause(r"Tunnel connection failed: (?P<detail>\d{3}[^'\")\n]*)", "the proxy refused with {detail}", _CHECK_PROXY),
    _Cause(r"\b407 Client Error: (?P<detail>.*?) for url", "the proxy refused with 407 {detail}", _CHECK_PROXY),
    _Cause(
        rf"{_PROXY}.*?Connection\(host='(?P<host>[^']+)', port=(?P<port>\d+)\).*?{_SYSTEM_ERROR}",
        "the proxy {host}:{port} cannot be reached ({detail})",
        _CHECK_PROXY,
    ),
    _Cause(rf"{_PROXY}.*?{_SYSTEM_ERROR}", "the proxy cannot be reached ({detail})", _CHECK_PROXY),
    _Cause(rf"{_PROXY} {_HOST} while", "the proxy {host} cannot be reached", _CHECK_PROXY),
    _Cause(_PROXY, "the proxy cannot be reached", _CHECK_PROXY),
    _Cause(
        r"(?P<detail>\[SSL[^\]\n]*\][^'\"(\n]*[^'\"(\s])",
        "the secure connection to the package index failed with {detail}",
        "check `{python} -m pip config list` (its `cert`); if HTTPS_PROXY names a proxy that inspects secure "
        "connections, set its certificate there",
    ),
    _Cause(rf"{_UNFETCHED}.*?{_SYSTEM_ERROR}", "{host} cannot be reached ({detail})", _CHECK_INDEX),
    _Cause(rf"{_UNFETCHED}.*?(?:didn't respond|[Tt]imed ?out|Timeout)", "{host} does not respond", _CHECK_INDEX),
    _Cause(
        rf"{_UNFETCHED}.*?(?P<status>401|403|429|5\d\d) (?:(?:Client|Server) Error: (?P<detail>.*?) for url|error)",
        "{host} answered {status} {detail}",
        f"{_CHECK_INDEX}, or the proxy in front of it (HTTPS_PROXY)",
    ),
    _Cause(
        rf"HTTP error (?P<status>\d{{3}}) while getting {_HOST}",
        "{host} answered {status}",
        f"{_CHECK_INDEX}, or the proxy in front of it (HTTPS_PROXY)",
    ),
    _Cause(
        r"host='(?P<host>[^']+)'.*?too many (?P<status>\d{3}) error responses",
        "{host} answered {status}",
        f"{_CHECK_INDEX}, or the proxy in front of it (HTTPS_PROXY)",
    ),
    _Cause(
        r"not enough bytes\s+were\s+received\s+\((?P<detail>[^)]+)\)",
        "the connection broke repeatedly ({detail} arrived)",
        _CHECK_INDEX,
    ),
    _Cause(r"Pool\(host='(?P<host>[^']+)'.*?Read timed out", "{host} stopped responding", _CHECK_INDEX),
    _Cause(r"Read timed out|ReadTimeoutError", "the package index stopped responding", _CHECK_INDEX),
    _Cause(
        r"repository located at (?P<host>\S+) is not a trusted",
        "pip ignores {host}, because its address is not secure",
        "configure its https address in pip, or set PIP_TRUSTED_HOST={host}",
    ),
    _Cause(rf"{_UNFETCHED} (?!404 )(?P<detail>.+?) - skipping", "{host} could not be read ({detail})", _CHECK_INDEX),
    _Cause(
        r"Could not find a version that satisfies .*\(from versions: (?P<versions>[^)\n]*)\)",
        "the package index has no wheel of {requirement} for this Python (available versions: {versions})",
        "check the package index that pip uses (`{python} -m pip config list`)",
    ),
)


def parse_progress(line: str) -> tuple[int, int | None] | None:
    """Return the progress that a line of ``--progress-bar=raw`` reports, or None for any other line.

    Returns:
        The number of bytes that have arrived, and the total number of bytes, which is None if the index does not report
        it.
    """
    match = _PROGRESS.fullmatch(line)
    if match is None:
        return None
    arrived, total = (int(number) for number in match.groups())
    return arrived, total or None


def explain_failure(output: str, requirement: str, python: str) -> Failure:
    """Return the cause of a failed ``pip -vv download``, which is hidden among retries and follow-up errors.

    Args:
        output: Everything that pip printed on both streams.
        requirement: The requirement to download.
        python: The path of the interpreter that ran pip.
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
    """Shorten pip's ascending list of versions to the newest `_MAX_VERSIONS`, with "…" in place of the older ones."""
    names = versions.split(", ")
    return ", ".join(["…", *names[-_MAX_VERSIONS:]] if len(names) > _MAX_VERSIONS else names)


def _last_error(output: str) -> str:
    """Return the last line of pip's output that describes an error."""
    if "ERROR: Exception:" in output:  # a traceback of pip itself, whose last line names the error
        errors = re.findall(r"^[\w.]+(?:Error|Exception): .*", output.partition("ERROR: Exception:")[2], re.MULTILINE)
    else:
        errors = re.findall(r"^ERROR: *(.*)", output, re.MULTILINE)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return str((errors or lines or ["no message"])[-1])[:_MAX_QUOTE].rstrip()
