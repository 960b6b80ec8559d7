"""Can each test of a promise fail? Break the mechanism of each promise, and run the tests that are said to attack it.

Each mutant below breaks one mechanism of docs/guarantees.md, by one edit of a copy of the tracked files. Tests that
docs/benchmarks/guarantees.md names for the promise run on the copy, one at a time: each must fail there, and must pass on a
copy without the edit.

    python benchmarks/house/promises.py [NAME ...] [--jobs 2] [--record]

NAME is the number of a promise, or the name of a mutant (or its first words). With --record the page docs/benchmarks/mutants-promises.md gets
the results. The exit status is 1 if a mutant lives.
"""

# ruff: noqa: E501 (the table of mutants)
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from mutation.copies import ROOT, copy_of

PAGE = ROOT / "docs/benchmarks/mutants-promises.md"
FILES, LOG, INDEX = "files.py", "models/call_log/append_log.py", "models/call_log/index.py"
FOLDER, CLIENT, SPENDING = "models/call_log/folder.py", "models/client.py", "models/spending.py"
BUDGET, RECORDING, JOURNAL = "models/budget.py", "plan/persistence/recording.py", "plan/persistence/journal.py"
VERIFICATION, DAMAGE = "plan/persistence/verification.py", "plan/jobs/damaged_outputs.py"
SECONDS = 1800
"""Of the clock for one test."""


@dataclass(frozen=True)
class Mutant:
    """One edit that breaks a promise.

    Attributes
    ----------
    name : str
        The number of the promise, and what is broken.
    file : str
        Its path from `cortexdsl/`.
    old, new : str
        `old` stands there once.
    tests : str
        Names of tests of the promise that must each fail, as a regular expression; by default all.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str = ""

    @property
    def promise(self) -> str:
        """The number of the promise."""
        return self.name.split()[0]


MUTANTS = (
    Mutant(
        "1 a line is written with the next one",
        LOG,
        "append(self._file, line, start)",
        'append(self._file, self.__dict__.get("_held", b""), start); self._held = line',
    ),
    Mutant(
        "2 lines of earlier runs are not replayed",
        FOLDER,
        "            self._logs[number].catch_up()\n            self._learn(number)\n        if is_writer",
        "            self._logs[number].catch_up()\n            self._learned[number] = len(self._logs[number])\n        if is_writer",
    ),
    Mutant(
        "3 a file is renamed before its data are on disk",
        FILES,
        "            if durable:\n                sync(file)",
        "            if not durable:\n                sync(file)",
    ),
    Mutant(
        "4 calls are cancelled with the debate that waits",
        CLIENT,
        "await asyncio.shield(task)",
        "await task",
        "failure_of_another",
    ),
    Mutant(
        "4 calls in flight are cancelled at the end of a job",
        CLIENT,
        "if is_cancelled or task not in self._sender.sending:",
        "if task:",
    ),
    Mutant(
        "5 a file of a lock blocks",
        "worker/run.py",
        "            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n            break",
        "            if os.fstat(file).st_size:\n                raise BlockingIOError\n            break",
    ),
    Mutant(
        "5 a job goes on without its run",
        "worker/process.py",
        "        select.select([watched], [], [])\n        os.kill(os.getpid(), signal.SIGTERM)",
        "        select.select([watched], [], [])",
    ),
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
        "grown = self._logs[0].grown()",
        "grown: list[tuple[Path, int]] = []",
        "other_jobs",
    ),
    Mutant(
        "8 a job's own log is not synced before a record",
        "models/call_log/syncing.py",
        "for log in self._writers:\n            log.sync()",
        "for log in ():\n            log.sync()",
        "power_cut",
    ),
    Mutant(
        "9 call logs do not count after a power cut",
        SPENDING,
        "            if logged.attempts > self._sum.attempts:",
        "            if False:",
        "earlier_moment",
    ),
    Mutant(
        "10 the ledger is replaced before it is on disk",
        RECORDING,
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
        "13 a failed sync is done again",
        LOG,
        "self._sync_fault = self.fault = cannot_write(",
        "self.fault = cannot_write(",
        "a_sync_that_fails",
    ),
    Mutant(
        "13 a failed sync of a folder counts as done",
        FILES,
        "        if error.errno not in _NO_FOLDER_SYNC:\n            raise",
        "        pass",
        "never_ends_green",
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
        "continued_where",
    ),
    Mutant(
        "18 a sum that is smaller than before is believed",
        SPENDING,
        "if known is None or known.attempts < self._sum.attempts:",
        "if known is None:",
        "limit_holds",
    ),
    Mutant(
        "26 a table without a digest is accepted",
        VERIFICATION,
        "if journal.manifest_seal and is_sealed(path)",
        "if False and is_sealed(path)",
        "manifest_removed",
    ),
    Mutant(
        "27 the entry that the manifest names may be missing",
        JOURNAL,
        "            if seals - known\n",
        "            if False\n",
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
    Mutant("15 a limit is reached one call late", BUDGET, "spent >= limit:", "spent > limit:"),
    Mutant(
        "15 attempts are not booked before they are sent",
        BUDGET,
        "            add(ran if reached else cost + ran)\n        if reached:\n            raise BudgetError(reached)\n        return cost",
        "            add(ran)\n        if reached:\n            raise BudgetError(reached)\n        return NO_USAGE",
        "a_history|over_jobs",
    ),
    Mutant(
        "16 calls in flight are not reserved",
        BUDGET,
        "            tokens, dollars = max(tokens, total.tokens // done), max(dollars, total.dollars / done)\n",
        "            tokens, dollars = 0, 0.0\n",
    ),
    Mutant("17 equal calls at once are both sent", CLIENT, "task = in_flight.get(key)", "task = None", "at_once"),
    Mutant(
        "17 a call is not known once it is logged",
        FOLDER,
        "        self._remember(name_of(key), place)\n        self._learned[number]",
        "        self._learned[number]",
        "then_replayed",
    ),
    Mutant(
        "17 news of other processes are not read",
        CLIENT,
        "            if locks.has_news():",
        "            if False:",
        "another_process_is_asking",
    ),
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
        "            if logged.attempts > self._sum.attempts:",
        "            if False:",
        "earlier_moment|a_history",
    ),
    Mutant(
        "18 calls of earlier runs do not count",
        SPENDING,
        "            self._sum = known or NO_USAGE",
        "            self._sum, logged = NO_USAGE, NO_USAGE",
        "a_history",
    ),
    Mutant("19 two runs at once", "worker/run.py", "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    Mutant("20 two writers of a log", LOG, "fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    Mutant(
        "21 a log that is newer than its index counts as read",
        INDEX,
        "        rows = content[",
        "        self.covered = 0 if is_fresh else size\n        rows = content[",
        "any_age",
    ),
    Mutant(
        "21 a file of another time counts as changed",
        "plan/persistence/file_entries.py",
        "            if is_whole and _digest(",
        "            if is_whole and not is_quick and _digest(",
        "an_hour_off",
    ),
    Mutant(
        "21 times in the future stay",
        DAMAGE,
        "            if modified[path] > now:",
        "            if False:",
        "set_back",
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
        " and content.endswith(_CRC.pack(zlib.crc32(content[: -_CRC.size])))",
        "",
    ),
    Mutant(
        "24 deleted parts of the scores are not made again",
        "../workflows/score.smk",
        "lambda plan: [part for table in PARTS for part in table_parts(plan, table)]",
        "lambda plan: [part for table in TABLES for part in table_parts(plan, table)]",
        "was_deleted",
    ),
    Mutant(
        "24 records of other questions are kept",
        "plan/job_digests.py",
        "digest(plan.cell(cell).digest, plan.task(dataset).digest, place.first, place.end)",
        "digest(plan.cell(cell).digest)",
        "history|histories",
    ),
    Mutant(
        "25 records of an old prompt are kept",
        "templates/templates.py",
        'f"{name}\\0{seen[name]}" for name in sorted(seen)',
        "name for name in sorted(seen)",
    ),
    Mutant(
        "25 verdicts of earlier scores stay",
        "jobs/verdict.py",
        "    rows.to_csv(layout.hypotheses, index=False)",
        "    Path(layout.hypotheses).exists() or rows.to_csv(layout.hypotheses, index=False)",
        "a_history",
    ),
    Mutant(
        "26 edited tables are accepted",
        VERIFICATION,
        "elif what := journal.damage_of(path):",
        "elif what := journal.damage_of(path) and None:",
        "nor_compared",
    ),
    Mutant(
        "27 the chain of the ledger is not followed",
        JOURNAL,
        'if record.get("before", "") != seal:',
        "if not record:",
        "a_line",
    ),
    Mutant(
        "27 changed call logs are not written into the ledger",
        DAMAGE,
        'record_damage(layout, "logs", [',
        "len([",
        "a_reply",
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
)


def named_tests() -> dict[str, list[str]]:
    """Return the tests that docs/benchmarks/guarantees.md names for each promise."""
    text = (ROOT / "docs/benchmarks/guarantees.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| .+ \| (`tests/.+) \|$", text, re.MULTILINE)
    return {number: re.findall(r"`(tests/[\w/]+\.py::\w+)`", tests) for number, tests in rows}


def tests_of(mutant: Mutant) -> list[str]:
    """Return the tests that must each fail on a mutant."""
    return [test for test in named_tests()[mutant.promise] if re.search(mutant.tests, test)]


def row_of(mutant: Mutant, test: str) -> str:
    """Return the row of the page for a test on a mutant, without the result."""
    return f"| {mutant.promise} | `{test}` | {mutant.name.partition(' ')[2]} |"


def recorded() -> dict[str, str]:
    """Return the result of each row of the page: `yes`, `no` (the test passed on the mutant) or `not run`."""
    rows = re.findall(r"^(\| \d+ \| `tests/.+ \|) (yes|no|not run) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)


def record(results: dict[str, bool]) -> None:
    """Write into the page which tests failed on which mutants; rows that no mutant has any more go."""
    known = recorded() | {row: "yes" if is_caught else "no" for row, is_caught in results.items()}
    rows = [row_of(mutant, test) for mutant in MUTANTS for test in tests_of(mutant)]
    lines = [f"{row} {known.get(row, 'not run')} |\n" for row in sorted(rows, key=lambda row: int(row.split()[1]))]
    head, line, rest = PAGE.read_text(encoding="utf-8").partition("|---|---|---|---|\n")
    PAGE.write_text(head + line + "".join(lines) + re.sub(r"^(\| .+\n)*", "", rest), encoding="utf-8")


def failures(folder: Path, tests: list[str]) -> dict[str, str]:
    """Run tests on a copy; return those that fail, each with the reason. A test that does not end has not failed."""
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "300"}
    options = ["-q", "-p", "no:cacheprovider", "--timeout", str(SECONDS)]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = re.findall(r"^FAILED (tests/[\w/]+\.py::\w+)(.*)$", done.stdout, re.MULTILINE)
    return {test: reason for test, reason in lines if "Timeout (>" not in reason}


def failures_on(folder: Path, mutant: Mutant) -> dict[str, str]:
    """Apply a mutant to a copy, run its tests, take the edit back."""
    path = folder / "cortexdsl" / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return failures(folder, tests_of(mutant))
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the tests without an edit and on their mutants, several mutants at once, each on a copy of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="numbers of promises, or names of mutants; by default all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true", help="write the results into the page")
    args = parser.parse_args()
    chosen = [
        one for one in MUTANTS if not args.names or any(f"{one.name} ".startswith(f"{name} ") for name in args.names)
    ]
    tests = list(dict.fromkeys(test for mutant in chosen for test in tests_of(mutant)))
    folders: SimpleQueue[Path] = SimpleQueue()
    snakemake = Lock()  # one workflow at a time: each has jobs of its own
    results: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(args.jobs) as pool:
        for number in range(args.jobs):
            folders.put(copy_of(Path(place, str(number))))

        def failures_of(mutant: Mutant) -> dict[str, str]:
            with snakemake if any("tests/workflow" in test for test in tests_of(mutant)) else nullcontext():
                folder = folders.get()
                try:
                    return failures_on(folder, mutant)
                finally:
                    folders.put(folder)

        unsound = failures(Path(place, "0"), tests)
        for test, reason in unsound.items():
            print(f"fails without an edit: {test}{reason}")
        for mutant, failed in zip(chosen, pool.map(failures_of, chosen), strict=True):
            for test in tests_of(mutant):
                is_caught = results[row_of(mutant, test)] = test in failed and test not in unsound
                print(f"{'caught' if is_caught else 'LIVES'}: {mutant.name}: {test}{failed.get(test, '')}", flush=True)
    if args.record:
        record(results)
    print(f"{len(chosen)} mutants, {len(results)} tests on them, {sum(results.values())} caught")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
