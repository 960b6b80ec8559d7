"""A run on a disk that fills up: how many delivered replies are sent, and paid for, again.

A small file system in memory is mounted (which needs the right to mount), a run with 48 calls in flight fills it, space
is freed, and the same command goes on. A server counts what it was asked.

    PYTHONPATH=. python benchmarks/house/full_disk.py [--left 4400] [--questions 200]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.chat_server import ChatServer, serving
from benchmarks.house.soak import counted, counting

SPEC = """\
title: A full disk
seed: 5
replicates: 1
shard_size: 40
dataset: {{name: arithmetic, size: {questions}}}
models:
  one: {{model: direct/one, api_base: env:STUB_URL, parameters: 1.0e9, tokens: 2.0e12}}
agents:
  - {{name: one, model: one}}
  - {{name: two, model: one}}
  - {{name: three, model: one}}
methods:
  sparse: {{protocol: cortexdebate, rounds: 2}}
limits: {{connections: 48}}
"""


def run(folder: Path, server: ChatServer) -> tuple[int, str, dict[str, int]]:
    """Run the experiment; return its status, its last lines, and what the server has counted since it started."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cortexdsl", "run", "full", "--cores", "2"],
        cwd=folder, env={**os.environ, "STUB_URL": server.base}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, "\n".join((done.stdout + done.stderr).splitlines()[-14:]), counted(server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--left", type=int, default=4400, help="kilobytes that the run may fill")
    parser.add_argument("--questions", type=int, default=200)
    args = parser.parse_args()
    with serving(counting) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={args.left + 4096}k", "none", name], check=True)
        try:
            ballast = folder / "ballast"
            ballast.write_bytes(bytes(4 << 20))
            (folder / "specs").mkdir()
            (folder / "specs" / "full.yaml").write_text(SPEC.format(questions=args.questions))
            status, said, counts = run(folder, server)
            print(f"{said}\n\nstatus {status}; {counts['requests']:,} replies, {counts['repeated']} of them repeated")
            ballast.unlink()
            status, said, counts = run(folder, server)
            print(f"\n{said}\n\nstatus {status}; {counts['requests']:,} replies, {counts['repeated']} of them repeated")
        finally:
            subprocess.run(["umount", name], check=True)


if __name__ == "__main__":
    main()
