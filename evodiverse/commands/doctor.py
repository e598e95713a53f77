"""Check whether this machine can run searches, and show how to fix what is missing.

Checks cores, memory and disk, how well the kernel confines programs (by running one), the fetched data, the keys of
language models, and the installed extras. Nothing is changed or fetched, and no key is shown. The exit code is 1 if
something would keep runs from working, else 0.
"""

import argparse
import sys
from io import TextIOWrapper

from evodiverse.version import VERSION

_STYLES = {"ok": "green", "optional": "dim", "limited": "yellow", "problem": "bold red"}


def main() -> int:
    """Check this machine, print the results and return the exit code: 1 if something keeps runs from working, or 0."""
    parser = argparse.ArgumentParser(
        "evodiverse-doctor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.parse_args()
    from rich.console import Console  # here so that --help stays fast
    from rich.table import Table
    from rich.text import Text

    from evodiverse.kit.threads import cap_threads

    cap_threads()  # a process with several threads cannot test whether it may mount a disk
    from evodiverse.commands.doctor_checks import Status, check_all, describe_python
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
