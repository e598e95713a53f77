"""A SLURM cluster of one node on the loopback interface, made of Debian's slurm-wlm and munge; needs root."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
_START_SECONDS = 30.0
_CONF = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
JobRequeue=1
ReturnToService=2
KillWait=5
MailProg=/bin/true
"""


def find_missing() -> list[str]:
    """What a cluster needs and this machine does not have."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]
    return [*missing, *([] if os.geteuid() == 0 else ["root"])]


@contextmanager
def slurm_cluster(folder: Path, cpus: int = 2) -> Iterator[Mapping[str, str]]:
    """Start a cluster in a folder with a short path, and yield the environment of its users."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    controller, daemon = _free_port(), _free_port()
    conf = _CONF.format(host=socket.gethostname(), cpus=cpus, controller=controller, daemon=daemon, folder=folder)
    (folder / "slurm.conf").write_text(conf)
    env = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}
    files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    commands = [
        ["munged", "--force", "--foreground", f"--socket={folder}/munge.socket", *files],
        ["slurmctld", "-D", "-i"],
        ["slurmd", "-D"],
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.out").open("wb") as out:
                started.append(subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT))
            time.sleep(0.5)
        _wait_until_idle(env, folder)
        yield env
    finally:
        subprocess.run(["scancel", "--full", "--signal=KILL", "--user=root"], env=env, capture_output=True)
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_idle(env: Mapping[str, str], folder: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        told = subprocess.run(["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True)
        if told.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(folder.glob("*.out")))
    raise RuntimeError(f"the cluster does not start: {told.stdout}{told.stderr}\n{logs}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin"
