"""Can the test of each promise fail? Break the mechanism of each promise, and run the test that is said to attack it.

Each mutant below breaks one mechanism of docs/guarantees.md, by one edit of a copy of the tracked files. The tests that
the page names for that promise run on the copy, and must fail; then they run without the edit,
and must pass. `test_histories.py` attacks many promises at once: its mutants are marked `histories`, and run against
it alone.

    python benchmarks/house/promises.py [NAME ...] [--jobs 2]

NAME is the name of a mutant, or the beginning of one. The exit status is 1 if a mutant lives.
"""

# ruff: noqa: E501 (the table of mutants)
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutation.copies import ROOT, copy_of

HISTORIES = "tests/histories/test_histories.py::test_random_histories_keep_what_is_promised"
FILES, LOG, INDEX = "files.py", "models/call_log/append_log.py", "models/call_log/index.py"
FOLDER, CLIENT, SPENDING = "models/call_log/folder.py", "models/client.py", "models/spending.py"
BUDGET, LEDGER, MANIFEST = "models/budget.py", "plan/persistence/ledger.py", "plan/persistence/manifest.py"
FILE_CHECKS = "plan/persistence/file_checks.py"
UNSHRUNK = """
import sys, types
sys.modules["tests"] = types.ModuleType("tests")  # an installed package may have the same name
sys.modules["tests"].__path__ = ["tests"]
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.histories.test_histories import FEW, HISTORIES, Histories, play
for name in HISTORIES:
    play(name)
run_state_machine_as_test(Histories, settings=settings(FEW, phases=[Phase.generate]))
"""
"""The histories of the test suite; of random ones without the search for a shorter one after a failure."""
SECONDS = 1800
"""Of the clock for the tests of one mutant."""


@dataclass(frozen=True)
class Mutant:
    """One edit that breaks a promise.

    Attributes
    ----------
    name : str
        The number of the promise, or `histories`, and what is broken.
    file : str
        Below `cortexdsl/`.
    old, new : str
        `old` stands there once.
    tests : str
        Names of tests among those of the promise, as a regular expression; by default all.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str = ""


MUTANTS = (
    Mutant(
        "1 a line is written with the next one",
        LOG,
        "append(self._file, line, start)",
        'append(self._file, self.__dict__.get("_held", b""), start); self._held = line',
    ),
    Mutant(
        "3 a file is renamed before its data are on disk",
        FILES,
        "            if durable:\n                sync(file)",
        "            if not durable:\n                sync(file)",
    ),
    Mutant("4 calls are cancelled with the job that waits", CLIENT, "await asyncio.shield(task)", "await task"),
    Mutant("6 names in folders are not brought to disk", FILES, "        os.fsync(file)", "        os.fstat(file)"),
    Mutant(
        "7 a failed sync is forgotten",
        LOG,
        "                raise self._sync_fault",
        "                self._sync_fault = None",
    ),
    Mutant(
        "8 logs of other jobs are not synced before a record",
        "models/call_log/syncing.py",
        "grown = self._logs.grown()",
        "grown: list[tuple[Path, int]] = []",
    ),
    Mutant(
        "9 a promise is not brought to disk",
        SPENDING,
        "        sync(self._file)\n        self._promised",
        "        self._promised",
    ),
    Mutant(
        "9 a restart of the computer is not noticed",
        SPENDING,
        "return bool(host == origin[0] and start != origin[1])",
        "return False",
    ),
    Mutant(
        "10 the ledger is replaced before it is on disk",
        LEDGER,
        'json.dumps(record).encode() + b"\\n"))',
        'json.dumps(record).encode() + b"\\n"), durable=False)',
    ),
    Mutant(
        "11 no space is reserved for replies",
        LOG,
        "            reserve(self._file, self.end, RESERVE)",
        "            pass",
    ),
    Mutant("12 lost replies are not counted", CLIENT, "self._unkept += 1", "self._unkept += 0"),
    Mutant(
        "13 a ledger that failed is written again",
        SPENDING,
        "        if self.fault is not None:\n            raise RecordError(str(self.fault))\n        self._add",
        "        self._add",
    ),
    Mutant(
        "14 the rest of a short write is left out",
        FILES,
        "        data = data[os.write(file, data) :]",
        "        os.write(file, data)\n        return",
    ),
    Mutant(
        "14 the rest of a short write at a position is left out",
        FILES,
        "        data, offset = data[written:], offset + written",
        "        return",
    ),
    Mutant(
        "18 a sum that is smaller than before is believed",
        SPENDING,
        "if total is None or total.calls < self._sum.calls:",
        "if total is None:",
        "limit_holds",
    ),
    Mutant(
        "26 a table without a digest is accepted",
        FILE_CHECKS,
        "elif path not in entries and has_seal",
        "elif False and has_seal",
        "manifest_removed",
    ),
    Mutant(
        "27 the entry that the manifest names may be missing",
        MANIFEST,
        'if seals - known - {""}',
        "if False",
        "end_of_the_ledger|earlier_ledger",
    ),
    Mutant(
        "28 a verb opens results with links",
        "symlinks.py",
        "    if folder.is_dir():",
        "    if False:",
        "a_verb_refuses",
    ),
    Mutant(
        "15 the ledger is booked without its lock",
        SPENDING,
        "        self._lock(fcntl.LOCK_EX)\n        try:\n            try:",
        "        try:\n            try:",
        "six_processes",
    ),
    Mutant("15 a limit is reached one call late", BUDGET, "spent >= limit:", "spent > limit:", "six_processes"),
    Mutant(
        "16 calls in flight are not reserved",
        BUDGET,
        "            tokens, dollars = max(tokens, total.tokens // done), max(dollars, total.dollars / done)\n",
        "            tokens, dollars = 0, 0.0\n",
    ),
    Mutant("17 equal calls at once are both sent", CLIENT, "task = in_flight.get(key)", "task = None"),
    Mutant(
        "17 locks on calls are always granted",
        "models/call_log/call_locks.py",
        "    except (BlockingIOError, PermissionError):  # POSIX allows EAGAIN and EACCES for a lock that is held\n"
        "        return False",
        "    except (BlockingIOError, PermissionError):\n        return True",
        "lock_of_another",
    ),
    Mutant(
        "18 the logs are not compared with the ledger",
        SPENDING,
        "            if logged.attempts > total.attempts:",
        "            if False:",
    ),
    Mutant("19 two runs at once", "worker/run.py", "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    Mutant("20 two writers of a log", LOG, "fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    Mutant(
        "21 a log that is newer than its index counts as read",
        INDEX,
        "        count = (len(content)",
        "        self.covered = 0 if is_fresh else size\n        count = (len(content)",
    ),
    Mutant(
        "22 checksums of lines are not compared",
        "checksums.py",
        "is None else LineState.BROKEN",
        "is None else LineState.WHOLE",
    ),
    Mutant(
        "23 the checksum of an index is not compared",
        INDEX,
        "        if _CRC.pack(crc) != content[end - _CRC.size : end]:",
        "        if not content:",
    ),
    Mutant("26 edited tables are accepted", FILE_CHECKS, "if path in entries and (what := ", "if False and (what := "),
    Mutant(
        "27 the chain of the ledger is not followed", LEDGER, 'if record.get("before", "") != seal:', "if not record:"
    ),
    Mutant(
        "28 links are followed",
        FILES,
        "os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_APPEND",
        "os.O_CLOEXEC | (os.O_APPEND",
        "is_refused",
    ),
    Mutant(
        "28 what is written as a whole is written through a link",
        FILES,
        "        os.replace(part, path)",
        "        os.replace(part, path.resolve())",
        "is_replaced",
    ),
    Mutant(
        "29 counts of a server are not bounded",
        "models/transports/completions.py",
        " and 0 <= count <= MOST_TOKENS:",
        ":",
        "odd_fields",
    ),
    Mutant(
        "29 a body is read to its end",
        "models/transports/streams.py",
        "    return LARGEST_REPLY * (",
        "    return 10**18 * (",
        "body_without",
    ),
    Mutant(
        "30 an outage is recorded as answers", BUDGET, "    return failed > share * calls + margin", "    return False"
    ),
    Mutant("31 all replies stay in memory", FOLDER, "while self._length > MOST_CHARACTERS:", "while self._length < 0:"),
    Mutant(
        "32 two versions are no news",
        "plan/persistence/verification.py",
        "len(counts) < 2",
        "len(counts) < 3",
        "two_versions",
    ),
    Mutant(
        "32 the code is digested at the start alone",
        "program.py",
        "if _states() == start.states or",
        "if True or",
        "replaced",
    ),
    Mutant(
        "histories: lines of earlier runs are not replayed",
        FOLDER,
        "            self._logs[number].catch_up()\n            self._learn(number)\n        if is_writer",
        "            self._logs[number].catch_up()\n            self._learned[number] = len(self._logs[number])\n        if is_writer",
    ),
    Mutant("histories: a limit is reached one call late", BUDGET, "spent >= limit:", "spent > limit:"),
    Mutant(
        "histories: calls of earlier runs do not count",
        SPENDING,
        "            total = known or NO_USAGE",
        "            total, logged = NO_USAGE, NO_USAGE",
    ),
    Mutant(
        "histories: a deleted ledger forgets what was spent",
        SPENDING,
        "            if logged.attempts > total.attempts:",
        "            if False:",
    ),
    Mutant(
        "histories: records of an old prompt are kept",
        "language/prompts/templates.py",
        'f"{name}\\0{seen[name]}" for name in sorted(seen)',
        "name for name in sorted(seen)",
    ),
    Mutant(
        "histories: records of an old shard are kept",
        "plan/experiment.py",
        "digest(self.cell(cell).digest, self.task(dataset).digest, place.first, place.end)",
        "digest(self.cell(cell).digest)",
    ),
    Mutant(
        "histories: a damaged index is believed",
        INDEX,
        "        if _CRC.pack(crc) != content[end - _CRC.size : end]:",
        "        if not content:",
    ),
    Mutant(
        "histories: a call is not known once it is logged",
        FOLDER,
        "        self._remember(name_of(summary.key), place)\n        self._learned[number]",
        "        self._learned[number]",
    ),
    Mutant(
        "histories: attempts are not booked before they are sent",
        BUDGET,
        "            add(ran if reached else cost + ran)\n        if reached:\n            raise BudgetError(reached)\n        return cost",
        "            add(ran)\n        if reached:\n            raise BudgetError(reached)\n        return NO_USAGE",
    ),
    Mutant(
        "histories: verdicts of earlier scores stay",
        "jobs/verdict.py",
        "    rows.to_csv(layout.hypotheses, index=False)",
        "    Path(layout.hypotheses).exists() or rows.to_csv(layout.hypotheses, index=False)",
    ),
)


def named_tests() -> dict[str, list[str]]:
    """Return the tests that docs/guarantees-tests.md names for each promise."""
    text = (ROOT / "docs/guarantees-tests.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (`tests/.+) \|$", text, re.MULTILINE)
    return {number: re.findall(r"`(tests/[\w/]+\.py::\w+)`", tests) for number, tests in rows}


def tests_of(mutant: Mutant) -> list[str]:
    """Return the tests that must fail on a mutant: one of them is enough."""
    number = mutant.name.split()[0]
    named = [HISTORIES] if number == "histories:" else named_tests()[number]
    return [test for test in named if re.search(mutant.tests, test)]


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Run tests on a copy; return pytest's status and its last lines."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "900", *tests]
    command = [sys.executable, "-c", UNSHRUNK] if tests == [HISTORIES] else pytest
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, "no end"
    failures = [line[2:].strip() for line in done.stdout.splitlines() if line.startswith("E  ")]
    raised = [line for line in done.stderr.splitlines() if re.match(r"[\w.]*Error\b", line)]
    return done.returncode, (failures or raised or done.stdout.splitlines()[-1:] or [""])[0][:110]


def try_mutant(mutant: Mutant, folder: Path) -> str:
    """Apply a mutant to a copy, run its tests, take it back; return `caught: ...` or `LIVES: ...`."""
    path = folder / "cortexdsl" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return f"LIVES: its text stands {text.count(mutant.old)} times in {mutant.file}"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        status, said = run_tests(folder, tests_of(mutant))
    finally:
        path.write_text(text, encoding="utf-8")
    if status == 1 and run_tests(folder, tests_of(mutant))[0] != 0:
        return f"LIVES: its tests fail without it, too: {said}"
    return f"{'caught' if status in (1, -1) else 'LIVES'}: {said}"


def main() -> int:
    """Try mutants, several at once, each on a copy of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants, or beginnings of their names; by default all")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = [one for one in MUTANTS if not args.names or any(one.name.startswith(name) for name in args.names)]
    folders: SimpleQueue[Path] = SimpleQueue()
    lives = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(args.jobs) as pool:
        for number in range(args.jobs):
            folders.put(copy_of(Path(place, str(number))))

        def one(mutant: Mutant) -> str:
            folder, begun = folders.get(), time.monotonic()
            try:
                return f"{mutant.name}: {try_mutant(mutant, folder)} ({time.monotonic() - begun:.0f} s)"
            finally:
                folders.put(folder)

        for line in pool.map(one, chosen):
            print(line, flush=True)
            lives += ": LIVES: " in line
    print(f"{len(chosen)} mutants, {lives} live")
    return 1 if lives else 0


if __name__ == "__main__":
    raise SystemExit(main())
