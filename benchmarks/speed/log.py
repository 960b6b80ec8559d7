"""How fast a call log opens, what it needs in memory, and what a reservation costs.

    python benchmarks/speed/log.py [--records 1000000] [--resumed 100000]

Beside each figure stands a peer of the same run: reading the log by `json.loads` line by line into a dict of offsets,
which is what a reader without an index must do. Each measurement is a process of its own, for its memory's sake.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cortexdsl.core import Call, Limits, Model, Usage
from cortexdsl.models.budget import Budget
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log.append_log import AppendLog, whole_lines
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.client import open_client
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.worker.process import collect_garbage_rarely

WORDS = "The total is the sum of the parts, each of which was worked out before. " * 8


def call_of(number: int) -> Call:
    return Call(Model("m", "direct/m"), ({"role": "user", "content": f"{WORDS} {number}?"},), number)


def write(path: Path, records: int) -> None:
    with AppendLog(path) as log:
        for number in range(records):
            call = call_of(number)
            raw = Raw(f"{WORDS} Answer: {number}", "stop", TokenCounts(150, 130))
            log.append(call_record(call_key(call), call, raw, seconds=1.0, attempts=1, dollars=0.001))


def parsed(path: Path) -> int:
    places = {}
    for offset, line in whole_lines(path):
        record = json.loads(line)
        places[record["key"]] = (offset, len(line), record["usage"]["prompt_tokens"])
    return len(places)


def opened(path: Path) -> int:
    logs = CallLogs(path.parent, path)
    count = len(logs)
    logs.close()
    return count


def added_up(path: Path) -> int:
    logs = CallLogs(path.parent, path)
    total = logs.totals().calls
    logs.close()
    return total


def resumed(path: Path) -> int:
    async def job() -> int:
        async with open_client(path) as client:
            for number in range(sum(1 for _ in whole_lines(path))):
                await client(call_of(number))
            return client.counts.replayed

    return asyncio.run(job())


def reserved(path: Path) -> int:
    budget = Budget(Limits(calls=10**9), path.parent / "spent")
    for _ in range(20_000):
        budget.settle(budget.reserve(100), Usage(attempts=1, input_tokens=120))
    budget.close()
    return 20_000


MEASURED = {each.__name__: each for each in (parsed, opened, added_up, resumed, reserved)}


def measure(name: str, path: Path) -> tuple[int, float, float, float]:
    """Return the count, seconds, seconds of processor time and megabytes of one measurement in its own process."""
    command = [sys.executable, __file__, "--only", name, "--log", str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(said[0]), float(said[1]), float(said[2]), float(said[3])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--resumed", type=int, default=100_000)
    parser.add_argument("--only", choices=MEASURED)
    parser.add_argument("--log", type=Path)
    args = parser.parse_args()
    collect_garbage_rarely()  # as every job of a run
    if args.only:
        began, busy = time.perf_counter(), time.process_time()
        count = MEASURED[args.only](args.log)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(count, time.perf_counter() - began, time.process_time() - busy, memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "large" / "own.jsonl", Path(folder) / "small" / "own.jsonl"
        write(path, args.records)
        write(small, args.resumed)
        print(f"{args.records:,} records, {path.stat().st_size / 2**20:,.0f} MB")
        rows = [
            ("json.loads line by line", *measure("parsed", path)),
            ("opened without an index", *measure("opened", path)),
            ("opened with its index", *measure("opened", path)),
            ("opened and added up", *measure("added_up", path)),
            ("resumed through the client", *measure("resumed", small)),
            ("reserved and settled", *measure("reserved", small)),
        ]
    peer = rows[0][3]
    print(f"{'':28}{'records':>10}{'wall s':>9}{'cpu s':>9}{'of peer':>9}{'us each':>9}{'MB':>7}")
    for name, count, wall, busy, memory in rows:
        ratio = f"{busy / peer:9.3f}" if count == args.records else f"{'':9}"
        print(f"{name:28}{count:10,}{wall:9.2f}{busy:9.2f}{ratio}{busy / count * 1e6:9.1f}{memory:7.0f}")


if __name__ == "__main__":
    main()
