"""Check whether this machine can run searches, and show how to fix what is missing.

Checks how well the kernel confines programs (by running one), the fetched data, the keys of language models, and the
installed extras. Nothing is changed or fetched, and no key is shown. The exit code is 1 if something would keep runs
from working, else 0.
"""

import importlib.metadata
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from evodiverse import __version__
from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.text import printable

# An item is fine, missing but not required, usable with limits, or a problem, which prevents runs.
OK, OPTIONAL, LIMITED, PROBLEM = "ok", "optional", "limited", "problem"

KEYS: Final[Mapping[str, str]] = {
    "ANTHROPIC_API_KEY": "llm=litellm llm.model=anthropic/…",
    "DEEPSEEK_API_KEY": "llm=deepseek",
    "GEMINI_API_KEY": "llm=litellm llm.model=gemini/…",
    "OPENAI_API_KEY": "llm=gpt5",
    "OPENROUTER_API_KEY": "llm=deepseek_v32",
}
"""The environment variables of the most common providers, and the options that read them."""

_PROBE: Final = """
import os, socket

def main(secret):
    attempts = {
        "read your files": lambda: open(secret),
        "reach the network": socket.socket,
        "signal other processes": lambda: os.kill(os.getppid(), 0),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    return done
"""


class Finding(NamedTuple):
    """The result of the check of one item, with a remedy if there is something to do."""

    name: str
    status: str
    text: str
    remedy: str = ""


def main() -> int:
    """Check this machine, print the results and return the exit code: 1 if something keeps runs from working, or 0."""
    make_parser("doctor", __doc__).parse_args()
    return finish(_check_all)


def _check_all() -> int:
    from evodiverse.kit.environment import cap_threads  # here so that --help stays fast

    cap_threads()  # a process with several threads cannot test whether it may mount a disk
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    print(f"evodiverse {__version__}, Python {platform.python_version()}, {system}")
    checks = {
        "Sandbox of programs": check_sandbox,
        "Data": check_data,
        "Keys of language models (only whether they are set; never their values)": check_keys,
        "Extras": check_extras,
    }
    n_problems = 0
    for title, check in checks.items():
        print(f"\n{title}")
        for name, status, text, remedy in check():
            n_problems += status == PROBLEM
            print(f"{status:8}  {printable(name):24}  {printable(text)}")
            if remedy:
                print(f"{'':34}  → {printable(remedy)}")
    ready = "This machine is ready to run searches."
    print(f"\n{f'{n_problems} to fix before runs can work here' if n_problems else ready}")
    return 1 if n_problems else 0


def check_sandbox() -> Iterator[Finding]:
    """Yield findings about the kernel's confinement, and about what a test program can do in the sandbox."""
    from evodiverse.sandbox.confinement import find_gaps
    from evodiverse.sandbox.disk import can_mount
    from evodiverse.sandbox.processes import ProcessSandbox
    from evodiverse.vocabulary import Job, Limits

    if gaps := find_gaps():
        remedy = (
            "run model-written programs on Linux 5.13 or later, outside of containers that forbid Landlock or seccomp; "
            "sandbox.require=strict refuses to run here"
        )
        yield Finding("kernel", LIMITED, f"the kernel cannot protect {' and '.join(gaps)} from programs", remedy)
    else:
        yield Finding("kernel", OK, "Landlock and seccomp are available")
    with tempfile.TemporaryDirectory() as folder:
        has_disk = can_mount(folder)
        secret = Path(folder, "secret.txt")
        secret.write_text("secret")
        try:
            with closing(ProcessSandbox()) as sandbox:
                (execution,) = sandbox.run([Job(_PROBE, "main", (str(secret),), None, Limits(5.0, 1_000))])
            failure = execution.failure and f"a program that should run failed: {execution.failure.detail}"
        except EvoDiverseError as error:
            failure = str(error)
    measured = "no disk in memory (user namespaces are off); the size of programs' files is measured instead"
    yield Finding("disk", OK, "each program gets a small disk in memory" if has_disk else measured)
    if failure:
        yield Finding("trial", PROBLEM, failure, "until this is fixed, only molecules can be searched here")
    elif execution.value:
        remedy = "run only programs that you trust here" if gaps else "report it, see docs/SECURITY.md"
        yield Finding("trial", LIMITED if gaps else PROBLEM, f"a program could {', '.join(execution.value)}", remedy)
    else:
        yield Finding("trial", OK, "a program could not read files, use the network or signal other processes")


def check_data() -> Iterator[Finding]:
    """Yield findings about the cache folder and about the files of data in it, which are checked by their SHA-256."""
    from evodiverse.data.artifacts import ARTIFACTS
    from evodiverse.data.cache import State, inspect_artifact
    from evodiverse.kit.environment import OFFLINE_VARIABLE, cache_folder, is_offline

    try:
        folder, offline = cache_folder(), is_offline()
    except EvoDiverseError as error:
        yield Finding("cache", PROBLEM, str(error))
        return
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        network = f"{OFFLINE_VARIABLE} is set: nothing is fetched" if offline else "missing files are fetched"
        yield Finding("cache", OK, f"{folder}; {network}")
    else:
        yield Finding("cache", PROBLEM, f"{folder} cannot be written", "set EVODIVERSE_CACHE to a writable folder")
    for entry in map(inspect_artifact, ARTIFACTS):
        is_needed = entry.state is State.DAMAGED or (offline and not entry.artifact.is_optional)
        if entry.state is State.PRESENT:
            yield Finding(entry.artifact.name, OK, entry.artifact.description)
        else:
            text = f"{entry.path} {entry.problem}: {entry.artifact.description}"
            yield Finding(entry.artifact.name, PROBLEM if is_needed else OPTIONAL, text, entry.remedy)


def check_keys() -> Iterator[Finding]:
    """Yield a finding for each key: whether it is set, in the environment or in ``.env``; values are never shown."""
    from evodiverse.llm.keys import load_env_file

    before = {name for name, value in os.environ.items() if value.strip()}
    try:
        load_env_file(Path(".env"))
    except InputError as error:
        yield Finding(".env", PROBLEM, str(error))
    others = sorted(name for name in os.environ if name.endswith("_API_KEY") and name not in KEYS)
    for name in (*KEYS, *others):
        use = KEYS.get(name, "llm=litellm llm.model=provider/…")
        if os.environ.get(name, "").strip():
            yield Finding(name, OK, f"set in {'the environment' if name in before else '.env'}, for {use}")
        else:
            yield Finding(name, OPTIONAL, f"not set; only {use} needs it", f"export {name}=… or write it into .env")


def check_extras() -> Iterator[Finding]:
    """Yield a finding for each extra: whether its packages are installed, in versions that work."""
    required = [Requirement(text) for text in importlib.metadata.requires("evodiverse") or ()]
    for extra in importlib.metadata.metadata("evodiverse").get_all("Provides-Extra") or ():
        if extra in ("dev", "site"):  # for the development of EvoDiverse
            continue
        of_extra = [each for each in required if each.marker and each.marker.evaluate({"extra": extra})]
        if problems := [*filter(None, map(_find_problem, of_extra))]:
            yield Finding(extra, OPTIONAL, ", ".join(problems), f"pip install 'evodiverse[{extra}]'")
        else:
            yield Finding(extra, OK, "installed")


def _find_problem(requirement: Requirement) -> str:
    """Return what is wrong with a required package, such as that it is missing; empty if nothing is wrong."""
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} is {version}, expected {requirement.specifier}"
    return ""
