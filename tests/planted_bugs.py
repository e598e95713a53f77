"""Thirty-seven bugs that the tests must catch: python -m tests.planted_bugs [NAME …].

Each bug is one change of the code and the tests that must notice it. The project is copied to a temporary folder, where
each bug is planted in turn and its tests run until the first failure. Before that, the tests must pass without a bug.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]


class Bug(NamedTuple):
    """A bug: in a file of the package, a text that occurs once is replaced, and one of the tests must then fail."""

    file: str
    old: str
    new: str
    tests: str


BUGS: Final = {
    "bandit_cost": Bug(
        "search/bandit.py",
        "indices.append(bound / cost if cost else inf)",
        "indices.append(bound)",
        "tests/search/test_bandit.py",
    ),
    "batch_sent_twice": Bug(
        "llm/batches.py", "if failures and (found", "if False and (found", "tests/llm/test_batches.py"
    ),
    "swap_sign": Bug(
        "search/exchange.py", "return -xi * beta_gap", "return xi * beta_gap", "tests/search/test_exchange.py"
    ),
    "swap_blocked": Bug(
        "search/exchange.py",
        "blocked = hot_call in members[cold] or cold_call in members[hot]",
        "blocked = hot_call in members[cold]",
        "tests/search/test_exchange.py",
    ),
    "swap_rate_counts_blocked": Bug(
        "search/exchange.py",
        "tried = sum(not trial.blocked for trial in trials)",
        "tried = len(trials)",
        "tests/search/test_exchange.py",
    ),
    "ring_backwards": Bug(
        "search/exchange.py",
        "target = (source + 1) % len(pools)",
        "target = (source - 1) % len(pools)",
        "tests/search/test_exchange.py",
    ),
    "alternating_starts_odd": Bug(
        "search/exchange.py",
        "parity = (event.iteration // event.method.swap.period - 1) % 2",
        "parity = (event.iteration // event.method.swap.period) % 2",
        "tests/search/test_exchange.py",
    ),
    "xi_wrong_way": Bug("search/adaptation.py", "factor = 1.1", "factor = 1 / 1.1", "tests/search/test_adaptation.py"),
    "xi_never_emptied": Bug(
        "search/adaptation.py",
        "return Thermostat(clamped), clamped != moved",
        "return Thermostat(clamped, rates), clamped != moved",
        "tests/search/test_adaptation.py",
    ),
    "weights_floor": Bug("search/weights.py", "0.02 / max(", "0.2 / max(", "tests/search/test_weights.py"),
    "weights_infinity": Bug(
        "search/weights.py",
        "return best_first(scores) if np.isinf(beta) else beta * scores",
        "return beta * scores",
        "tests/search/test_weights.py",
    ),
    "sampling_order": Bug(
        "search/sampling.py",
        'return np.argsort(-keys, kind="stable")[:size]',
        'return np.sort(np.argsort(-keys, kind="stable")[:size])',
        "tests/search/test_sampling.py",
    ),
    "niche_flipped": Bug(
        "search/niches.py",
        "for other in taken]) >= radius",
        "for other in taken]) > radius",
        "tests/search/test_survivors.py tests/search/test_niches.py",
    ),
    "exchange_one_late": Bug(
        "search/advance.py",
        "if iteration % method.swap.period == 0:",
        "if state.iteration % method.swap.period == 0:",
        "tests/search/test_advance.py",
    ),
    "budget_off_by_one": Bug(
        "search/stopping.py", "if calls_left <= 0:", "if calls_left <= 1:", "tests/search/test_stopping.py"
    ),
    "patience_off_by_one": Bug(
        "search/stopping.py",
        "if progress.idle >= search.patience:",
        "if progress.idle > search.patience:",
        "tests/search/test_stopping.py",
    ),
    "duplicates_charged": Bug(
        "search/attempts.py",
        "if parsed.key in held or known in self._members[request.pool]:",
        "if known in self._members[request.pool]:",
        "tests/search/test_attempts.py",
    ),
    "failed_join": Bug(
        "search/archive.py",
        "return has_score if self._keep_failed else",
        "return has_score if True else",
        "tests/search/test_attempts.py",
    ),
    "repair_repaired": Bug(
        "search/repair.py",
        "if is_first and is_repairable",
        "if is_repairable",
        "tests/search/test_repair.py",
    ),
    "repair_lost": Bug("runner/rows.py", 'repairs=saved.get("repairs", ())', "repairs=()", "tests/test_failures.py"),
    "novel_in_another_pool": Bug(
        "search/attempts.py",
        "self._reject(self._pools[pool]",
        "self._reject(self._pools[0]",
        "tests/search/test_attempts.py",
    ),
    "class_hides_local": Bug(
        "tasks/programs/forms.py",
        "if scope is self or not is_class:",
        "if scope.parent is not None:",
        "tests/tasks/programs/test_program_forms.py",
    ),
    "stream_without_slot": Bug(
        "search/streams.py",
        "return Stream(self.seed, purpose, iteration, pool, slot, attempt)",
        "return Stream(self.seed, purpose, iteration, pool, 0, attempt)",
        "tests/search tests/test_faults.py",
    ),
    "cap_off_by_one": Bug(
        "runner/ledger.py",
        "spent[cap][0] + most <= spent[cap][1]",
        "spent[cap][0] + most < spent[cap][1]",
        "tests/runner/test_ledger.py",
    ),
    "unknown_tokens_are_free": Bug(
        "runner/ledger.py", "self._tokens += bound.tokens", "self._tokens += 0", "tests/runner/test_ledger.py"
    ),
    "cache_key_without_model": Bug(
        "llm/cache.py", "parts = [query.model, query.messages", "parts = [query.messages", "tests/llm/test_cache.py"
    ),
    "key_not_redacted": Bug(
        "llm/keys.py",
        "return _hide(text, found.union(secrets))",
        "return text",
        "tests/llm/test_keys.py tests/llm/test_client.py",
    ),
    "redirect_followed": Bug(
        "llm/transfer.py",
        "if response.next_request is not None:",
        "if False:",
        "tests/llm/test_transfer.py",
    ),
    "journal_line_lost": Bug(
        "store/files.py",
        'content = b"".join(map(encode_line, records))',
        'content = b"".join(map(encode_line, records[1:]))',
        "tests/store/test_files.py",
    ),
    "checkpoint_unchecked": Bug(
        "store/run_directory.py",
        'if saved is not None and saved.pop("checksum", None) != _checksum(saved):',
        'if saved is not None and saved.pop("checksum", None) is None:',
        "tests/store/test_run_directory.py",
    ),
    "link_followed": Bug("store/files.py", "flags | os.O_NOFOLLOW", "flags", "tests/store/test_files.py tests/store"),
    "more_files_than_allowed": Bug(
        "sandbox/confinement.py",
        "resource.RLIMIT_NOFILE: MAX_OPEN_FILES,",
        "resource.RLIMIT_NOFILE: 2 * MAX_OPEN_FILES,",
        "tests/sandbox",
    ),
    "cell_not_escaped": Bug(
        "results/pages/rendering.py",
        "html.escape(text, quote=False))",
        "text)",
        "tests/results/tables/test_write.py",
    ),
    "formula_in_spreadsheet": Bug(
        "results/tables/write.py",
        r"""(_FORMULA.sub(r"\1'", label) for label in line.of)""",
        "(label for label in line.of)",
        "tests/results/tables/test_write.py",
    ),
    "deviation_of_population": Bug(
        "results/tables/cells.py",
        "stdev(means) if len(means) > 1 else None",
        "stdev([*means, fmean(means)]) if len(means) > 1 else None",
        "tests/results/tables/test_cells.py",
    ),
    "interval_too_narrow": Bug(
        "results/statistics.py",
        "stats.t.ppf(0.975, n - 1)",
        "stats.norm.ppf(0.975)",
        "tests/results/test_statistics.py tests/results/tables/test_marginals.py tests/results/pages",
    ),
    "energy_sign": Bug(
        "tasks/programs/task.py",
        "return Evaluation(score, -score, details=details)",
        "return Evaluation(score, score, details=details)",
        "tests/tasks/programs/test_program_task.py",
    ),
}


def main(names: Sequence[str]) -> int:
    """Plant bugs, print which are caught, and return 1 if any is missed."""
    if unknown := [name for name in names if name not in BUGS]:
        raise SystemExit(f"{unknown[0]} is no bug; expected some of {', '.join(BUGS)}")
    chosen = {name: BUGS[name] for name in names or BUGS}
    for name, bug in chosen.items():
        if (n := (ROOT / "evodiverse" / bug.file).read_text(encoding="utf-8").count(bug.old)) != 1:
            raise SystemExit(f"{name}: {bug.file} has its text {n} times, expected once; change the bug")
    with TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "outputs", "build", "__pycache__"))
        every = sorted({path for bug in chosen.values() for path in bug.tests.split()})
        if not run(copy, every):
            raise SystemExit("the tests fail without any bug")
        missed = [name for name, bug in chosen.items() if not is_caught(copy, name, bug)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} caught" + (f"; MISSED: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


def is_caught(copy: Path, name: str, bug: Bug) -> bool:
    """Return whether a test fails while a bug is planted, and print it."""
    file = copy / "evodiverse" / bug.file
    sound = file.read_text(encoding="utf-8")
    file.write_text(sound.replace(bug.old, bug.new), encoding="utf-8")
    try:
        caught = not run(copy, bug.tests.split())
    finally:
        file.write_text(sound, encoding="utf-8")
    print(f"{name}: {'caught' if caught else 'MISSED'}", flush=True)
    return caught


def run(copy: Path, tests: Sequence[str]) -> bool:
    """Return whether some tests of a copy of the project pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-m", "", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
