"""A one-node Slurm of a test's own: real daemons on loopback, without systemd, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cortexdsl.jobs.serve import free_port

CONF = Path("/etc/slurm/slurm.conf")  # commands inside a job look here: their environment has no SLURM_CONF
DAEMONS = ("munged", "slurmctld", "slurmd", "squeue", "scancel")
CORES = 4  # as Slurm believes: jobs that wait for a server may share a core
SILENT: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # they have logs
SETTINGS = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.log
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
MinJobAge=86400
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Why no Slurm can be set up here; None where it can."""
    absent = [name for name in DAEMONS if shutil.which(name, path=f"/usr/sbin:/usr/bin:{os.environ['PATH']}") is None]
    if absent:
        return f"Slurm is not installed (apt-get install slurm-wlm munge): no {', '.join(absent)}"
    if os.geteuid() != 0:
        return "the daemons of Slurm need root"
    if CONF.exists():
        return f"this machine has a Slurm of its own ({CONF})"
    return None


@contextmanager
def cluster(base: Path) -> Iterator[None]:
    """Run a cluster of one node, this machine, with a partition `main`."""
    for name in ("state", "spool"):
        (base / name).mkdir(parents=True)
    own_munge = subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode != 0
    daemons: list[subprocess.Popen[bytes]] = []
    host, ports = socket.gethostname().partition(".")[0], {"controller": free_port(), "daemon": free_port()}
    try:
        if own_munge:
            Path("/run/munge").mkdir(exist_ok=True)
            shutil.chown("/run/munge", "munge", "munge")
            daemons.append(
                subprocess.Popen(["runuser", "-u", "munge", "--", "/usr/sbin/munged", "--foreground"], **SILENT)
            )
            _until(["munge", "-n"])
        CONF.parent.mkdir(exist_ok=True)
        CONF.write_text(SETTINGS.format(host=host, base=base, cores=CORES, memory=_memory(), **ports))
        daemons.append(subprocess.Popen(["/usr/sbin/slurmctld", "-D", "-c"], **SILENT))
        daemons.append(subprocess.Popen(["/usr/sbin/slurmd", "-D"], **SILENT))
        _until(["sinfo", "-h", "-t", "idle", "-o", "%n"])
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(30)
        CONF.unlink(missing_ok=True)


def _memory() -> int:
    """Return nine tenths of this machine's memory, in MB: the node must have what any rule asks for."""
    return int(0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20)


def _until(command: list[str], seconds: float = 60) -> None:
    """Wait until a command succeeds and says something: Slurm has no other way to tell that it is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return
        time.sleep(0.1)
    raise AssertionError(f"{' '.join(command)}: nothing within {seconds:.0f} s")
