"""Check whether this machine can run searches, and show how to fix what is missing.

Checks cores, memory and disk, how well the kernel confines programs (by running one), the fetched data, the keys of
language models, and the installed extras. Nothing is changed or fetched, and no key is shown. The exit code is 1 if
something would keep runs from working, else 0.
"""

import enum
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement

from evodiverse.commands.frame import make_parser
from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.version import VERSION

if TYPE_CHECKING:
    from evodiverse.data.cache import CacheEntry

_GIB: Final = 2**30
_LEAST_MEMORY: Final = 2 * _GIB
_LEAST_DISK: Final = 2 * _GIB

KEYS: Final[Mapping[str, str]] = {
    "ANTHROPIC_API_KEY": "llm=litellm llm.model=anthropic/…",
    "DEEPSEEK_API_KEY": "llm=deepseek",
    "GEMINI_API_KEY": "llm=litellm llm.model=gemini/…",
    "OPENAI_API_KEY": "llm=gpt5",
    "OPENROUTER_API_KEY": "llm=deepseek_v32",
}
"""The environment variables of the most common providers, and the options that read them."""

EXTRAS: Final[Mapping[str, str]] = {
    "baselines": "evodiverse-baseline: Operon and sparse regression",
    "codebert": "the diversity of programs by CodeBERT",
    "docking": "evodiverse-dock",
    "joblib": "launcher=joblib",
    "local": "llm=local",
    "mlflow": "tracking=mlflow",
    "optuna": "hydra/sweeper=optuna",
    "projections": "the figure of the chemical space",
    "ray": "evaluator=ray, launcher=ray",
    "slurm": "launcher=slurm",
    "srbench": "the problems of LLM-SRBench",
}
"""The purpose of each extra (a set of optional packages), except for those for the development of EvoDiverse."""

_NO_PROGRAMS: Final = "until this is fixed, only molecules can be searched here"

_PROBE: Final = """
import os, socket

def main(secret):
    done = []
    try:
        open(secret).read()
        done.append("read your files")
    except OSError:
        pass
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=0.2)
        done.append("reach the network")
    except ConnectionRefusedError:
        done.append("reach the network")
    except OSError:
        pass
    try:
        os.kill(os.getppid(), 0)
        done.append("signal other processes")
    except OSError:
        pass
    return done
"""


class Status(enum.StrEnum):
    """The status of an item: fine, missing but not required, usable with limits, or a problem that prevents runs."""

    OK = "ok"
    OPTIONAL = "optional"
    LIMITED = "limited"
    PROBLEM = "problem"


_STYLES: Final = {
    Status.OK: "green",
    Status.OPTIONAL: "dim",
    Status.LIMITED: "yellow",
    Status.PROBLEM: "bold red",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the check of one item.

    Attributes:
        name: The name of the item.
        status: The status of the item. Only a `PROBLEM` keeps runs from working.
        text: The result in words.
        remedy: How to fix a problem; empty if there is nothing to do.
    """

    name: str
    status: Status
    text: str
    remedy: str = ""


def main() -> int:
    """Check this machine, print the results and return the exit code: 1 if something keeps runs from working, or 0."""
    make_parser("doctor", __doc__).parse_args()
    from rich.console import Console  # here so that --help stays fast
    from rich.table import Table
    from rich.text import Text

    from evodiverse.kit.threads import cap_threads

    cap_threads()  # a process with several threads cannot test whether it may mount a disk
    from evodiverse.commands.show import WIDE
    from evodiverse.text import printable

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print(f"{VERSION}, {describe_python()}")
    n_problems = 0
    for title, findings in check_all():
        console.print(f"\n{title}", style="bold")
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(min_width=8)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in findings:
            n_problems += finding.status is Status.PROBLEM
            style = _STYLES[finding.status]
            table.add_row(Text(finding.status, style), Text(printable(finding.name)), Text(printable(finding.text)))
            if finding.remedy:
                table.add_row("", "", Text(f"→ {printable(finding.remedy)}", "" if style == "dim" else style))
        console.print(table)
    if n_problems:
        console.print(f"\n{n_problems} to fix before runs can work here", style="bold red")
    else:
        console.print("\nThis machine is ready to run searches.", style="bold")
    return 1 if n_problems else 0


def check_all() -> Iterator[tuple[str, list[Finding]]]:
    """Check the machine, the sandbox, the data, the keys and the extras; yield a title and the findings for each."""
    yield "Machine", [*check_machine()]
    yield "Sandbox of programs", [*check_sandbox()]
    yield "Data", [*check_data()]
    yield "Keys of language models (only whether they are set; never their values)", [*check_keys()]
    yield "Extras", [*check_extras()]


def check_machine() -> Iterator[Finding]:
    """Yield findings about the cores, the memory and the disk that runs can use."""
    from evodiverse.runner.workers import available_cores

    cores = available_cores()
    yield Finding("cores", Status.OK, f"{cores}; evaluator.workers uses that many processes unless you set it")
    total, available = _memory()
    if total is None:
        yield Finding("memory", Status.LIMITED, "unknown on this platform", "watch it yourself; a run needs about 1 GB")
    else:
        text = f"{_gib(total)}" + ("" if available is None else f", of which {_gib(available)} are free")
        is_low = (total if available is None else available) < _LEAST_MEMORY
        remedy = "close other programs or set evaluator.workers=1" if is_low else ""
        yield Finding("memory", Status.LIMITED if is_low else Status.OK, text, remedy)
    folder = Path.cwd()
    free = shutil.disk_usage(folder).free
    if not os.access(folder, os.W_OK):
        yield Finding("outputs", Status.PROBLEM, f"{folder} cannot be written", "set outputs to a writable folder")
    elif free < _LEAST_DISK:
        yield Finding("outputs", Status.LIMITED, f"{_gib(free)} free in {folder}", "make room or set outputs=FOLDER")
    else:
        yield Finding("outputs", Status.OK, f"{_gib(free)} free in {folder}")


def check_sandbox() -> Iterator[Finding]:
    """Yield findings about the kernel's confinement, and about what a test program can do in the sandbox."""
    from evodiverse.sandbox.confinement import find_gaps
    from evodiverse.sandbox.namespaces import can_mount
    from evodiverse.sandbox.processes import ProcessSandbox
    from evodiverse.vocabulary import Job, Limits

    gaps = find_gaps()
    if gaps:
        remedy = (
            "run model-written programs on Linux 5.13 or later, outside of containers that forbid Landlock or seccomp; "
            "sandbox.require=strict refuses to run here"
        )
        yield Finding("kernel", Status.LIMITED, f"the kernel cannot protect {' and '.join(gaps)} from programs", remedy)
    else:
        yield Finding("kernel", Status.OK, "Landlock and seccomp are available")
    with tempfile.TemporaryDirectory() as folder:
        if can_mount(folder):
            yield Finding("disk", Status.OK, "each program gets a small disk in memory")
        else:
            text = "no disk in memory (user namespaces are off); the size of programs' files is measured instead"
            yield Finding("disk", Status.OK, text)
        secret = Path(folder, "secret.txt")
        secret.write_text("secret")
        sandbox = ProcessSandbox()
        try:
            (execution,) = sandbox.run([Job(_PROBE, "main", (str(secret),), None, Limits(5.0, 1_000))])
        except EvoDiverseError as error:
            yield Finding("trial", Status.PROBLEM, str(error), _NO_PROGRAMS)
            return
        finally:
            sandbox.close()
    if execution.failure is not None:
        text = f"a program that should run failed: {execution.failure.detail}"
        yield Finding("trial", Status.PROBLEM, text, _NO_PROGRAMS)
    elif execution.value:
        text = f"a program could {', '.join(execution.value)}"
        remedy = "run only programs that you trust here" if gaps else "report it, see docs/SECURITY.md"
        yield Finding("trial", Status.LIMITED if gaps else Status.PROBLEM, text, remedy)
    else:
        yield Finding("trial", Status.OK, "a program could not read files, use the network or signal other processes")


def check_data() -> Iterator[Finding]:
    """Yield findings about the cache folder and about the files of data in it, which are checked by their SHA-256."""
    from evodiverse.cache_folder import cache_folder
    from evodiverse.data.artifacts import ARTIFACTS
    from evodiverse.data.cache import State, inspect_artifact
    from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline

    try:
        folder = cache_folder()
        offline = is_offline()
    except EvoDiverseError as error:
        yield Finding("cache", Status.PROBLEM, str(error), "set EVODIVERSE_CACHE to a writable folder")
        return
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        remedy = "set EVODIVERSE_CACHE to a writable folder"
        yield Finding("cache", Status.PROBLEM, f"{folder} cannot be written", remedy)
    else:
        network = (
            f"{OFFLINE_VARIABLE} is set: nothing is fetched" if offline else "missing files are fetched when needed"
        )
        yield Finding("cache", Status.OK, f"{folder}; {network}")
    groups: dict[str, list[CacheEntry]] = {}
    for name in ARTIFACTS:
        groups.setdefault(name.partition("/")[0], []).append(inspect_artifact(name))
    for name, entries in groups.items():
        text = entries[0].artifact.description
        for entry in entries:
            if entry.state is State.DAMAGED:
                yield Finding(entry.artifact.name, Status.PROBLEM, f"{entry.path} {entry.problem}", entry.remedy)
        if any(entry.state is State.ABSENT for entry in entries):
            is_needed = offline and not entries[0].artifact.is_optional
            status = Status.PROBLEM if is_needed else Status.OPTIONAL
            yield Finding(name, status, f"not fetched yet: {text}", f"evodiverse-data fetch {name}")
        elif all(entry.state is State.PRESENT for entry in entries):
            yield Finding(name, Status.OK, text)


def check_keys() -> Iterator[Finding]:
    """Yield a finding for each key: whether it is set, in the environment or in ``.env``; values are never shown."""
    from evodiverse.llm.keys import load_env_file

    before = {name for name, value in os.environ.items() if value.strip()}
    try:
        load_env_file(Path(".env"))
    except InputError as error:
        yield Finding(".env", Status.PROBLEM, str(error))
    others = sorted(name for name in os.environ if name.endswith("_API_KEY") and name not in KEYS)
    for name in (*KEYS, *others):
        use = KEYS.get(name, "llm=litellm llm.model=provider/…")
        if os.environ.get(name, "").strip():
            place = "the environment" if name in before else ".env"
            yield Finding(name, Status.OK, f"set in {place}, for {use}")
        else:
            remedy = f"export {name}=… or write it into .env"
            yield Finding(name, Status.OPTIONAL, f"not set; only {use} needs it", remedy)


def check_extras() -> Iterator[Finding]:
    """Yield a finding for each extra: whether its packages are installed, in versions that work."""
    required = [Requirement(text) for text in importlib.metadata.requires("evodiverse") or ()]
    for extra, use in EXTRAS.items():
        of_extra = [each for each in required if each.marker is not None and _is_of(each, extra)]
        problems = [problem for problem in map(_find_problem, of_extra) if problem]
        if problems:
            remedy = f"pip install 'evodiverse[{extra}]'"
            yield Finding(extra, Status.OPTIONAL, f"for {use}; {', '.join(problems)}", remedy)
        else:
            yield Finding(extra, Status.OK, f"for {use}")


def describe_python() -> str:
    """Return the versions of Python and of the system."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.release()}, {platform.machine()}"


def _is_of(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _find_problem(requirement: Requirement) -> str:
    """Return what is wrong with a required package, such as that it is missing; empty if nothing is wrong."""
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} is {version}, expected {requirement.specifier}"
    return ""


def _memory() -> tuple[int | None, int | None]:
    """Return the total and the free memory of this machine or container, in bytes; None if unknown."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None, None
    available = None
    with suppress(OSError, StopIteration):  # macOS has no such file
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with suppress(OSError, ValueError):  # no container, or one without a memory limit
        limit, used = (int(Path("/sys/fs/cgroup", f"memory.{name}").read_text("ascii")) for name in ("max", "current"))
        free = max(limit - used, 0)
        total, available = min(total, limit), free if available is None else min(available, free)
    return total, available


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:.1f} GiB"
