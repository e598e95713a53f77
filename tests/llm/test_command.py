"""A command that answers: real processes, one for each query."""

import asyncio
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from evodiverse.errors import InputError, Interrupted
from evodiverse.llm.clients.command import MOST_BYTES, Command, CommandClient
from evodiverse.llm.failures import TransientError
from evodiverse.llm.settings import Llm
from evodiverse.vocabulary import Decoding, Finish, Message, Query, Reply, Stream
from tests.llm.test_client import ask_once
from tests.runs import Silent, log, plan, rows, run_toy

QUERY = Query(
    "toy", (Message("system", "be brief"), Message("user", "say “hällo”")), Decoding(None, None, 9), Stream(0, 0)
)


def ask(code: str, timeout_s: float = 30.0) -> Reply:
    """Ask a command that is this Python program."""
    return ask_once(CommandClient([sys.executable, "-c", code], timeout_s), QUERY)


def test_the_prompt_is_on_stdin_and_the_reply_is_what_the_command_writes_to_stdout() -> None:
    reply = ask("import sys; sys.stderr.write('busy'); print(sys.stdin.read()[::-1], end='')")
    assert (reply.text, reply.finish) == ("”olläh“ yas\n\nfeirb eb", Finish.STOP)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("<think>Hm.</think>hello", ("hello", "Hm.", "")), ("<think>Hm.</think>", ("", "Hm.", "only reasoning"))],
)
def test_reasoning_is_told_apart_from_the_text(written: str, expected: tuple[str, str, str]) -> None:
    reply = ask(f"print({written!r})")
    assert (reply.text, reply.reasoning, reply.error) == expected


def test_words_are_no_shell_s() -> None:
    client = CommandClient([sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME", "a b;", "*"], 30.0)
    assert ask_once(client, QUERY).text == "['$HOME', 'a b;', '*']"


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert ask(r"import sys; sys.stdout.buffer.write(b'a\xffb')").text == r"a\xffb"


def test_a_command_may_answer_without_reading_a_long_prompt() -> None:
    query = Query("toy", (Message("user", "x" * 10**6),), QUERY.decoding, QUERY.stream)
    assert ask_once(CommandClient([sys.executable, "-c", "print(7)"], 30.0), query).text == "7"


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("import sys; sys.stderr.write('one\\nno credit\\n\\n'); sys.exit(3)", "exit code 3: no credit"),
        ("raise SystemExit(4)", "exit code 4: it wrote nothing to stderr"),
        ("import os; print(1, flush=True); os.kill(os.getpid(), 9)", "exit code -9"),
        ("import os; raise SystemExit(os.environ['TOY_TOKEN'] + ' is wrong')", r"exit code 1: \*\*\* is wrong"),
    ],
)
def test_a_command_that_fails_is_asked_again(code: str, failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_TOKEN", "toy-token-1234")
    with pytest.raises(TransientError, match=f"^the command ended with {failure}"):
        ask(code)


def test_a_program_that_has_gone_is_looked_for_again() -> None:
    with pytest.raises(TransientError, match=r"^nowhere/none cannot be started \(No such file or directory\)$"):
        ask_once(CommandClient(["nowhere/none"], 1.0), QUERY)


def test_a_reply_hides_the_key_of_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_API_KEY", "sk-toy-1234")
    assert ask("import os; print(os.environ['TOY_API_KEY'])").text == "***"


def test_a_flood_is_cut_off() -> None:
    reply = ask("while True: print('x' * 1000)")
    assert (reply.finish, len(reply.text)) == (Finish.LENGTH, MOST_BYTES)


# The child ignores polite signals, and has a child that keeps the pipes open.
HANG = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({path!r}, 'w').write(f'{{os.getpid()}}')
child = os.fork()
open({path!r} + f'{{int(child == 0)}}', 'w').write(f'{{os.getpid()}}')
time.sleep(600)
"""


def are_written(*files: Path) -> bool:
    return all(file.exists() and file.read_text() for file in files)


def wait_for_death(*files: Path) -> None:
    """Wait until the processes that wrote these files are gone, or zombies that nobody has waited for."""
    for file in files:
        stat = Path("/proc", file.read_text(), "stat")
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)


@pytest.mark.timeout(60)
def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with pytest.raises(TransientError, match=r"^no reply within 1 s$"):
        ask(HANG.format(path=str(path)), 1.0)
    wait_for_death(tmp_path / "pid0", tmp_path / "pid1")


@pytest.mark.timeout(60)
def test_a_helper_that_keeps_stdout_open_ends_with_its_command() -> None:
    assert ask_once(CommandClient(["sh", "-c", "sleep 600 & echo 7"], 50.0), QUERY).text == "7"


@pytest.mark.timeout(60)
def test_a_command_that_hangs_after_a_flood_is_not_waited_for() -> None:
    reply = ask("import time; print('x' * 1_100_000, flush=True); time.sleep(600)", 60.0)
    assert (reply.finish, len(reply.text)) == (Finish.LENGTH, MOST_BYTES)


@pytest.mark.timeout(60)
def test_a_query_that_is_canceled_kills_its_command(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def cancel() -> None:
        client = CommandClient([sys.executable, "-c", HANG.format(path=str(path))], 60.0)
        asking = asyncio.create_task(client.ask(QUERY))
        while not are_written(tmp_path / "pid0", tmp_path / "pid1"):
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancel())
    wait_for_death(tmp_path / "pid0", tmp_path / "pid1")


@pytest.mark.timeout(60)
def test_a_query_that_is_canceled_while_its_command_starts_kills_its_children(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def cancel() -> None:
        client = CommandClient([sys.executable, "-c", HANG.format(path=str(path))], 60.0)
        asking = asyncio.create_task(client.ask(QUERY))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        while not are_written(tmp_path / "pid1"):
            time.sleep(0.01)  # the process has started, but the event loop does not know it yet
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancel())
    wait_for_death(tmp_path / "pid1")


def test_the_name_of_the_model_stands_for_the_command_and_for_the_user_s_files_in_it(tmp_path: Path) -> None:
    script = tmp_path / "toy.py"
    script.write_text("print(1)")

    def name(command: str) -> str | None:
        return Command().complete(Llm("command", "command", command=command), Path).model

    first = name(f"python3 {script}")
    assert str(first).startswith("command/python3@")
    assert name(f"python3 {script}") == first
    assert name(f"python3 {script} --fast") != first
    script.write_text("print(2)")
    assert name(f"python3 {script}") != first


@pytest.mark.slow
class TestSettings:
    """Invalid settings are refused before anything is charged."""

    def refusals(self, *overrides: str) -> list[str]:
        with pytest.raises(InputError) as refused:
            plan("task=bits", "llm=command", *overrides)
        return list(refused.value.violations)

    @pytest.mark.parametrize(
        ("overrides", "expected"),
        [
            ([], "llm.command has no value; name the program, such as llm.command='claude -p'"),
            (['llm.command="a \'b"'], "llm.command has quotes that do not match; name the program"),
            (
                ["llm.command=nowhere/none -p"],
                "llm.command: nowhere/none cannot be started (No such file or directory)",
            ),
            (
                ["llm.command='cat --api-key=sk-12345678'"],
                "llm.command must not contain a key, since it is",
            ),
            (["llm.command=cat my-own-secret"], "llm.command must not contain a key, since it is"),
            (["llm.command=cat", "llm.pools.hot.temperature=0.7"], "set llm.pools.hot.temperature=null"),
            (["llm.command=cat", "llm.pools.cold.seed=7"], "llm.pools.cold.seed=7: a command takes no sampling param"),
            (["llm.command=cat", "+llm.extra.effort=low"], "llm.extra.effort=low: a command takes no sampling param"),
            (
                ["llm.command=cat", "budget.usd=1"],
                "budget.usd: the price of a command is unknown; set budget.llm",
            ),
            (
                ["llm.command=cat", "budget.tokens=1"],
                "budget.tokens: a command reports no tokens; set budget.llm",
            ),
            (["llm.command=cat", "llm.model=a/b"], "llm=command takes no model"),
            (["llm=off", "llm.command=cat"], "llm.command needs llm=command, got llm=off"),
        ],
    )
    def test_each_is_named_with_its_remedy(
        self, overrides: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_TOKEN", "my-own-secret")
        (violation,) = self.refusals(*overrides)
        assert expected in violation
        assert "12345678" not in violation
        assert "my-own" not in violation

    def test_a_command_with_options_is_accepted(self) -> None:
        assert "requests to command, " in plan("task=bits", "llm=command", "llm.command=cat --tokens 9").summary


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_an_interrupted_run_kills_its_commands(tmp_path: Path) -> None:
    script, path = tmp_path / "hang.py", tmp_path / "pid"
    script.write_text(
        "import sys\nif 'ready' in sys.stdin.read(): sys.exit(print('ready'))\n" + HANG.format(path=str(path))
    )

    class Interrupting(Silent):
        def update(self, snapshot: object) -> None:
            if (tmp_path / "pid0").exists() and (tmp_path / "pid1").exists():
                raise Interrupted(signal.SIGINT)

    using = ["llm=command", f"llm.command='{sys.executable} {script}'", f"llm.cache={tmp_path / 'cache'}"]
    with pytest.raises(Interrupted):
        run_toy(tmp_path / "run", *using, "llm.concurrency=1", display=Interrupting())
    wait_for_death(tmp_path / "pid0", tmp_path / "pid1")


# Fails at every second start. Otherwise, a proposal that depends on the prompt.
ANSWER = """
import hashlib, pathlib, sys
prompt = sys.stdin.read()
seen = pathlib.Path(sys.argv[1], hashlib.sha256(prompt.encode()).hexdigest())
if not seen.exists():
    seen.touch()
    sys.exit("not yet")
bits = bin(int(seen.name, 16))[2:].zfill(256)
print("ready =" + bits[:24])
"""


@pytest.mark.slow
def test_a_run_asks_again_and_its_repetition_starts_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.llm.asking.backoff", lambda failures, retry_after, rng: 0.0)
    script, seen = tmp_path / "answer.py", tmp_path / "seen"
    script.write_text(ANSWER)
    seen.mkdir()
    python = Path(sys.executable)
    command = shlex.join([str(python), str(script), str(seen)])
    using = ["llm=command", f"llm.command='{command}'", f"llm.cache={tmp_path / 'cache'}", "budget.oracle_calls=24"]
    run = run_toy(tmp_path / "one", *using)
    calls = rows(run, "llm_calls")
    assert {(call["retries"], call["model"].partition("@")[0]) for call in calls} == {(1, f"command/{python.name}")}
    assert len(os.listdir(seen)) == len(calls) + 1  # and the probe
    seen.rename(tmp_path / "away")  # so that every command would fail
    assert log(run_toy(tmp_path / "two", *using)) == log(run)
    (tmp_path / "away").rename(seen)
    script.write_text(f"{ANSWER}# another model")
    assert {call["model"] for call in rows(run_toy(tmp_path / "three", *using), "llm_calls")} != {calls[0]["model"]}
