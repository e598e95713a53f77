"""Each output is what pip 25.1 or 26.3 printed, cut to the lines that matter."""

import tomllib
from pathlib import Path

import pytest

from evodiverse.data.pip_messages import PIP_REQUIREMENT, explain_failure, parse_progress

# What follows most failures, whatever their cause.
NOT_FOUND = """\
ERROR: Could not find a version that satisfies the requirement oak==1 (from versions: none)
ERROR: No matching distribution found for oak==1
"""
UNFETCHED = "Could not fetch URL https://pypi.org/simple/oak/: "
BROKEN_POOL = f"{UNFETCHED}connection error: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded with "
NEW = "NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new "
REASONS = {
    "no pip": ("/usr/bin/python3: No module named pip\n", "python has no pip"),
    "old pip": ("\nno such option: --resume-retries\n", "the installed pip is too old to resume downloads"),
    "full disk": (
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        "the disk is full",
    ),
    "proxy refuses, 26.3": (
        (
            f"{UNFETCHED}proxy connection error: ('Unable to connect to proxy', OSError('Tunnel connection failed: "
            f"407 Proxy Authentication Required')) - skipping\n{NOT_FOUND}"
        ),
        "the proxy refused with 407 Proxy Authentication Required",
    ),
    "proxy refuses, 25.1": (
        (
            f"{BROKEN_POOL}url: /simple/oak/ (Caused by ProxyError('Cannot connect to proxy.', OSError('Tunnel "
            f"connection failed: 403 Forbidden'))) - skipping\n{NOT_FOUND}"
        ),
        "the proxy refused with 403 Forbidden",
    ),
    "proxy of a plain address": (
        (
            "ERROR: HTTP error 407 while getting http://pypi.org/oak.whl\n"
            "ERROR: 407 Client Error: Proxy Authentication Required for url: http://pypi.org/oak.whl\n"
        ),
        "the proxy refused with 407 Proxy Authentication Required",
    ),
    "no such proxy, 26.3": (
        (
            f"{UNFETCHED}proxy connection error: ('Unable to connect to proxy', NameResolutionError(\"HTTPSConnection("
            "host='proxy.corp', port=80): Failed to resolve 'proxy.corp' ([Errno -2] Name or service not known)\")) "
            f"- skipping\n{NOT_FOUND}"
        ),
        "the proxy proxy.corp:80 cannot be reached (Name or service not known)",
    ),
    "no such proxy, 25.1": (
        (
            f"{BROKEN_POOL}url: /simple/oak/ (Caused by ProxyError('Cannot connect to proxy.', {NEW}connection: "
            f"[Errno 111] Connection refused'))) - skipping\n{NOT_FOUND}"
        ),
        "the proxy cannot be reached (Connection refused)",
    ),
    "proxy without a reason": (
        "error: proxy-connection-failed\n\nFailed to connect to proxy http://proxy.corp while fetching https://x\n",
        "the proxy proxy.corp cannot be reached",
    ),
    "certificate": (
        (
            f"{UNFETCHED}There was a problem confirming the ssl certificate: [SSL: CERTIFICATE_VERIFY_FAILED] "
            f"certificate verify failed: self-signed certificate in certificate chain (_ssl.c) - skipping\n{NOT_FOUND}"
        ),
        (
            "the secure connection to the package index failed with [SSL: CERTIFICATE_VERIFY_FAILED] certificate "
            "verify failed: self-signed certificate in certificate chain"
        ),
    ),
    "no such host, 26.3": (
        (
            f"{UNFETCHED}connection error: Failed to resolve IP address for 'pypi.org' ([Errno -2] Name or service not "
            f"known) - skipping\n{NOT_FOUND}"
        ),
        "pypi.org cannot be reached (Name or service not known)",
    ),
    "no such host, 25.1": (
        (
            f"{BROKEN_POOL}url: /simple/oak/ (Caused by {NEW}connection: [Errno -2] Name or service not known')) "
            f"- skipping\n{NOT_FOUND}"
        ),
        "pypi.org cannot be reached (Name or service not known)",
    ),
    "silence, 26.3": (
        f"{UNFETCHED}pypi.org didn't respond within 15 seconds (while establishing a connection) - skipping\n",
        "pypi.org does not respond",
    ),
    "silence, 25.1": (
        (
            f"{BROKEN_POOL}url: /simple/oak/ (Caused by ConnectTimeoutError(<pip._vendor.urllib3.connection."
            f"HTTPSConnection object at 0x7f>, 'Connection to pypi.org timed out. (connect timeout=15)')) - skipping\n"
        ),
        "pypi.org does not respond",
    ),
    "index refuses": (
        f"{UNFETCHED}403 Client Error: Forbidden for url: https://pypi.org/simple/oak/ - skipping\n{NOT_FOUND}",
        "pypi.org answered 403 Forbidden",
    ),
    "index refuses the wheel": (
        "ERROR: HTTP error 403 while getting https://me:****@files.org/oak.whl (from https://pypi.org/simple/oak/)\n",
        "files.org answered 403",
    ),
    "index is broken": (
        (
            "pip._vendor.requests.exceptions.RetryError: HTTPConnectionPool(host='pypi.org', port=80): Max retries "
            "exceeded with url: /oak.whl (Caused by ResponseError('too many 502 error responses'))\n"
        ),
        "pypi.org answered 502",
    ),
    "connection breaks": (
        "Download failed after 9 attempts because not enough bytes were received (9.0 kB/3.0 MB)\n",
        "the connection broke repeatedly (9.0 kB/3.0 MB arrived)",
    ),
    "index is not secure": (
        (
            "WARNING: The repository located at mirror.corp is not a trusted or secure host and is being ignored. If "
            f"this repository is available via HTTPS we recommend you use HTTPS instead.\n{NOT_FOUND}"
        ),
        "pip ignores mirror.corp, because its address is not secure",
    ),
    "unknown project": (
        f"{UNFETCHED}404 Client Error: Not Found for url: https://pypi.org/simple/oak/ - skipping\n{NOT_FOUND}",
        "the package index has no wheel of oak==1 for this Python (available versions: none)",
    ),
    "unknown version": (
        (
            "ERROR: Could not find a version that satisfies the requirement oak==1 (from versions: 0.1, 0.2, 0.3, 0.4, "
            "0.5, 0.6)\n"
        ),
        "the package index has no wheel of oak==1 for this Python (available versions: …, 0.2, 0.3, 0.4, 0.5, 0.6)",
    ),
    "fault of pip": (
        (
            "ERROR: Exception:\nTraceback (most recent call last):\n  File x\nValueError: check_hostname requires "
            "server_hostname\nRemoved build tracker: '/tmp/x'\n"
        ),
        "pip download oak==1 failed with 'ValueError: check_hostname requires server_hostname'",
    ),
    "unknown error": ("ERROR: one\nERROR: two\nbye\n", "pip download oak==1 failed with 'two'"),
    "silent pip": ("", "pip download oak==1 failed with 'no message'"),
}


@pytest.mark.parametrize(("output", "reason"), REASONS.values(), ids=REASONS)
def test_the_line_with_the_cause_is_found(output, reason):
    assert explain_failure(output, "oak==1", "python").reason == reason


@pytest.mark.parametrize("output", [output for output, _ in REASONS.values()], ids=REASONS)
def test_advice_is_one_line_with_nothing_left_to_fill_in(output):
    advice = explain_failure(output, "oak==1", "python").advice
    assert advice
    assert not set(advice) & set("\n{}")


@pytest.mark.parametrize("name", [name for name in REASONS if "proxy" in name])
def test_advice_about_a_proxy_names_the_settings(name):
    advice = explain_failure(REASONS[name][0], "oak==1", "python").advice
    assert advice == "check HTTPS_PROXY and `python -m pip config list` (its `proxy`)"


def test_a_proxy_explains_the_other_errors_of_the_same_output():
    both = REASONS["no such host, 26.3"][0] + REASONS["proxy refuses, 26.3"][0]
    assert explain_failure(both, "oak==1", "python").reason.startswith("the proxy refused")


def test_progress_is_read():
    assert parse_progress("Progress 262144 of 3000661\n") == (262144, 3000661)


def test_a_size_that_the_index_does_not_report_is_unknown():
    assert parse_progress("Progress 262144 of 0\n") == (262144, None)


def test_other_lines_are_no_progress():
    assert parse_progress("Progress is being made\n") is None


def test_the_pip_that_is_advised_is_the_one_that_is_required():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert PIP_REQUIREMENT in project["project"]["dependencies"]
