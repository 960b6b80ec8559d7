"""Random histories of an experiment: runs, kills, edits, deletions and copies in any order, held against a plain model.

What must be true after each run: a call whose reply is in a log is not sent; no call is sent twice in one run; the
limit holds over all runs; and if the run ends, records, scores and verdicts are those of a run of the present spec in
an empty folder.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from cortexdsl.cli.main import main
from cortexdsl.errors import BudgetError
from tests.histories.workflow import PROMPT, RESULTS, SPEC, Killed, Server, Workflow, copy_results, logged_keys

TEXT = """\
title: Wild
seed: {seed}
replicates: 1
shard_size: 2
dataset: {{name: arithmetic, size: {size}}}
models:
  one: {{model: direct/one, api_base: "http://127.0.0.1:9/v1", parameters: 1.0e9, tokens: 2.0e12}}
agents:
  - {{name: one, model: one}}
  - {{name: two, model: one}}
methods:
  alone: {{protocol: cot, agents: [one], prompts: {{answer: own/answer.j2}}}}
  talk: {{protocol: multi-llm, rounds: {rounds}}}
hypotheses:
  - accuracy(talk) > accuracy(alone)
limits: {{calls: {limit}, connections: 4, failed: 100%}}
"""
ASKED = """\
{{% include "common/question.j2" %}}

{word}
{{{{ answer_format }}}}
"""
COMPARED = ("debates/**/*.jsonl", "scores.csv", "metrics.csv")
DELETED = (
    "debates/**/*.jsonl", "scores/**/*.csv", "scores.csv", "hypotheses.csv", "plan.json", "spent/.ledger",
    "spent/*.json", "calls/**/.*.index", "calls/**/*.jsonl",
)  # fmt: skip
Words = dict[str, int | str]
_EXPECTED: dict[str, dict[str, object]] = {}
COUNTS: Counter[str] = Counter()


def write_spec(words: Words) -> None:
    for path, text in ((SPEC, TEXT), (PROMPT, ASKED)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**words))


def outcome(words: Words) -> dict[str, object]:
    """Return what a run must come to: the files of the present plan, and the verdicts."""
    plan = json.loads((RESULTS / "plan.json").read_text())
    shards = [shard["label"] for label in plan["shards"] for shard in plan["shards"][label]]
    files = {str(path): path.read_bytes() for pattern in COMPARED for path in RESULTS.glob(pattern)}
    present = {name: content for name, content in files.items() if "debates" not in name or Path(name).stem in shards}
    with (RESULTS / "hypotheses.csv").open(newline="") as stream:
        verdicts = [(row["claim"], row["verdict"], row["estimate"]) for row in csv.DictReader(stream)]
    return {**present, "verdicts": verdicts}


def expected(words: Words) -> dict[str, object]:
    """Return the outcome of a run in an empty folder, without a limit that matters."""
    free = {**words, "limit": 10_000}
    name = json.dumps(free)
    if name not in _EXPECTED:
        home = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                write_spec(free)
                Workflow(Server()).run()
                _EXPECTED[name] = outcome(free)
            finally:
                os.chdir(home)
    return _EXPECTED[name]


def attempts_logged() -> int:
    """Return the attempts that all whole lines of the call logs say."""
    count = 0
    for path in RESULTS.glob("calls/**/*.jsonl"):
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                count += json.loads(line)["attempts"]
    return count


class Histories(RuleBasedStateMachine):
    """One experiment in one folder."""

    def __init__(self) -> None:
        super().__init__()
        self._home = Path.cwd()
        self._folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        os.chdir(self._folder.name)
        self.server = Server()
        self.workflow = Workflow(self.server)
        self.words: Words = {"seed": 1, "size": 3, "rounds": 1, "limit": 40, "word": "Think."}
        self.paid = 0  # requests, as far as the folder can know of them
        self.is_done = False
        self.copies = 0
        COUNTS["histories"] += 1

    def teardown(self) -> None:
        os.chdir(self._home)
        self._folder.cleanup()

    @initialize()
    def begin(self) -> None:
        write_spec(self.words)

    def _run(self, kill_at: int | None) -> None:
        known, requests, sent = logged_keys(), self.server.requests, Counter(self.server.sent)
        if RESULTS.exists() and not (RESULTS / "spent" / ".ledger").exists():
            self.paid = attempts_logged()
        self.server.kill_at = kill_at
        self.server.kill = lambda: copy_results(Path("killed"))
        limit = int(self.words["limit"])
        ended = ""
        try:
            self.workflow.run()
            ended = "done"
        except BudgetError:
            ended = "limit"
        except Killed:
            shutil.rmtree("results")
            Path("killed").rename("results")
            ended = "killed"
        finally:
            self.server.kill_at = None
        COUNTS[ended] += 1
        new = self.server.sent - sent
        COUNTS["calls"] += sum(new.values())
        self.paid += self.server.requests - requests
        assert not known & set(new), "a call was sent whose reply is in a log"
        assert set(new.values()) <= {1}, "a call was sent twice in one run"
        assert self.paid <= limit
        assert ended != "limit" or self.paid == limit
        self.is_done = ended == "done"
        if self.is_done:
            assert outcome(self.words) == expected(self.words)

    @rule(times=st.integers(1, 2))
    def run(self, times: int) -> None:
        for _ in range(times):
            self._run(None)

    @rule(value=st.integers(1, 2))
    def edit_rounds_and_run(self, value: int) -> None:
        self.edit_spec("rounds", value)
        self._run(None)

    @rule(at=st.integers(0, 12))
    def run_and_kill(self, at: int) -> None:
        self._run(at)

    @rule(name=st.sampled_from(["seed", "rounds", "size"]), value=st.integers(1, 2))
    def edit_spec(self, name: str, value: int) -> None:
        self.words[name] = value + 2 if name == "size" else value
        write_spec(self.words)
        self.is_done = False
        COUNTS["edits"] += 1

    @rule(word=st.sampled_from(["Think.", "Think twice."]))
    def edit_prompt(self, word: str) -> None:
        self.words["word"] = word
        write_spec(self.words)
        self.is_done = False
        COUNTS["edits"] += 1

    @rule()
    def raise_limit(self) -> None:
        self.words["limit"] = int(self.words["limit"]) + 20
        write_spec(self.words)
        COUNTS["limits raised"] += 1

    @precondition(lambda self: RESULTS.exists())
    @rule(pattern=st.sampled_from(DELETED), number=st.integers(0, 100))
    def delete(self, pattern: str, number: int) -> None:
        files = sorted(RESULTS.glob(pattern))
        if files:
            files[number % len(files)].unlink()
            self.is_done = False
            COUNTS["deleted"] += 1

    @precondition(lambda self: RESULTS.exists())
    @rule(seed=st.integers(0, 1000))
    def flip_a_bit_of_an_index(self, seed: int) -> None:
        files = sorted(RESULTS.glob("calls/**/.*.index"))
        if files:
            chance = random.Random(seed)
            path = chance.choice(files)
            content = bytearray(path.read_bytes())
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            state = path.stat()
            path.write_bytes(content)
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
            COUNTS["flipped"] += 1

    @precondition(lambda self: RESULTS.exists())
    @rule()
    def go_on_in_a_copy(self) -> None:
        """Folders are copied without their ages, as many programs copy them."""
        self.copies += 1
        copy = Path(self._folder.name) / f"copy {self.copies}"
        shutil.copytree(Path.cwd(), copy, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("copy *"))
        os.chdir(copy)
        COUNTS["copies"] += 1

    @precondition(lambda self: self.is_done)
    @rule()
    def regrade(self) -> None:
        requests = self.server.requests
        assert main(["regrade", SPEC.as_posix()]) == 0
        assert self.server.requests == requests
        assert outcome(self.words) == expected(self.words)
        COUNTS["regraded"] += 1

    @precondition(lambda self: self.is_done)
    @rule()
    def report(self) -> None:
        assert main(["report", RESULTS.as_posix(), "--text"]) == 0
        COUNTS["reports"] += 1


Step = tuple[str, dict[str, str | int]]
RUN: Step = ("run", {"times": 1})
HISTORIES: dict[str, tuple[int, list[Step]]] = {
    "a limit that is reached, a deleted ledger, a limit that is raised": (
        8, [RUN, RUN, ("delete", {"pattern": "spent/.ledger", "number": 0}), RUN, ("raise_limit", {}), RUN]
    ),
    "a prompt that is edited and edited back": (
        40, [RUN, ("edit_prompt", {"word": "Think twice."}), RUN, ("edit_prompt", {"word": "Think."}), RUN]
    ),
    "damaged indexes, each before a deleted record": (
        40,
        [RUN, *(
            step for seed in range(3) for step in (
                ("flip_a_bit_of_an_index", {"seed": seed}),
                ("delete", {"pattern": "debates/**/*.jsonl", "number": seed}),
                RUN,
            )
        )],
    ),
    "a kill, another seed, and the first one again": (
        40, [("run_and_kill", {"at": 5}), RUN, ("edit_spec", {"name": "seed", "value": 2}), ("raise_limit", {}), RUN,
             ("edit_spec", {"name": "seed", "value": 1}), RUN, ("edit_spec", {"name": "size", "value": 2}), RUN]
    ),
}  # fmt: skip
"""A limit of calls and steps: what random histories seldom come to."""


def play(name: str) -> None:
    """Play one of these histories."""
    limit, steps = HISTORIES[name]
    machine = Histories()
    try:
        machine.words["limit"] = limit
        machine.begin()
        for rule_name, values in steps:
            getattr(machine, rule_name)(**values)
    finally:
        machine.teardown()


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_keeps_what_is_promised(name: str) -> None:
    """Each fails if its mechanism is broken: `benchmarks/house/promises.py`."""
    play(name)


_COMMON = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
FEW = settings(_COMMON, max_examples=5, stateful_step_count=14, derandomize=True, phases=[Phase.generate])
MANY = settings(_COMMON, max_examples=60, stateful_step_count=25)


@pytest.mark.timeout(7200)
def test_random_histories_keep_what_is_promised(request: pytest.FixtureRequest) -> None:
    """A few short histories, the same each time; with --thorough many long ones, and a search for a shorter one."""
    COUNTS.clear()
    run_state_machine_as_test(Histories, settings=MANY if request.config.getoption("--thorough") else FEW)
    print(", ".join(f"{count:,} {what}" for what, count in sorted(COUNTS.items())))
