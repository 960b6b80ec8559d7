"""A working folder with specs of its own, in which the repository's workflow is run as a user runs it."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.jobs.serve import free_port
from cortexdsl.models.servers import processes as servers
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.jobs.consent import VARIABLE, request_of
from tests.workflow import forks

REPOSITORY = Path(__file__).resolve().parents[2]
OWN_STUB = Path(__file__).with_name("stub.py")
SHARED_STUB = REPOSITORY.parent / "shared" / "tools" / "llm_stub.py"
ALONE = {"all": 1}
AFTER_SCORES = {"verdict": 1, "report": 1, **ALONE}

SPEC = """\
title: Small
seed: 3
replicates: 2
dataset: {name: arithmetic, size: 6}
models:
  weak:   {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.7, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: weak}
  - {name: two, model: weak}
  - {name: three, model: strong}
methods:
  sparse:  {protocol: cortexdebate, rounds: 3}
  full:    {protocol: multi-llm, rounds: 1}
  near:    {protocol: neighbor, rounds: 1, prompts: {answer: own/answer.j2}}
  matched: {protocol: self-consistency, agents: [three], budget: calls(full)}
grid:
  sparse:
    keep: [mean, {top: 1}]
analysis:
  metrics: [accuracy, input_tokens_per_agent, consensus]
  families:
    main: {compare: [sparse, near, matched], to: full}
    ablation: {compare: grid, to: sparse}
hypotheses:
  - accuracy(sparse) > accuracy(full)
"""
PROMPT = """\
{% include "common/question.j2" %}

Solve it alone.
{{ answer_format }}
"""
TWO_ALONE = """\
title: Two alone
seed: 3
dataset: {name: arithmetic, size: 30}
models:
  weak:   {model: builtin/solver, skill: 0.3, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.8, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: weak}
  - {name: two, model: strong}
methods:
  low:  {protocol: cot, agents: [one]}
  high: {protocol: cot, agents: [two]}
hypotheses:
  - accuracy(high) > accuracy(low)
"""
"""Two methods of one agent each, the second better; more claims may follow."""
REMOTE = """\
title: Over HTTP
seed: 5
replicates: 1
shard_size: 3
dataset: {name: arithmetic, size: 6}
models:
  one: {model: direct/one, api_base: env:STUB_URL, parameters: 1.0e9, tokens: 2.0e12}
  two: {model: direct/two, api_base: env:STUB_URL, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: one}
  - {name: two, model: one}
  - {name: three, model: two}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
grid:
  sparse:
    keep: [mean, {top: 1}]
limits: {connections: 8}
"""
REMOTE_SCORES = "results/remote/scores.csv"
OF_A_RUN = ("CORTEXDSL_COMMAND", "CORTEXDSL_RUN", "CORTEXDSL_TRUST", "CORTEXDSL_WORKER")
"""Variables that a run sets for its jobs: tests that start one in this process may leave them."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of Snakemake came to: exit status, everything that it printed, and what its own log file holds."""

    status: int
    text: str
    log: str = ""

    @property
    def finished(self) -> Counter[str]:
        """Jobs by rule, as its log has them: on the terminal stands our own display."""
        return Counter(re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)", self.log or self.text, re.MULTILINE))

    @property
    def planned(self) -> Counter[str]:
        """Jobs by rule, of a dry run."""
        _, _, table = self.text.partition("Job stats:")
        rows = re.findall(r"^(\w+) +(\d+)$", table.partition("\n\n")[0], re.MULTILINE)
        return Counter({rule: int(count) for rule, count in rows if rule != "total"})


class Bench:
    """A folder in which a user works."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        own = {name: value for name, value in os.environ.items() if name not in OF_A_RUN}
        self.environment = {**own, **(environment or {})}
        (folder / "specs").mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def permit(self, spec: str) -> None:
        """Permit what a spec does beyond asking models, as CI does."""
        with contextlib.chdir(self.folder):
            self.environment[VARIABLE] = request_of(compile_spec(spec)).digest

    def command(self, *arguments: str, cores: int = 2) -> list[str]:
        snakefile = str(REPOSITORY / "Snakefile")
        return [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--cores", str(cores), *arguments]

    def snakemake(self, *arguments: str, cores: int = 2, timeout: float = 240) -> Run:
        return self.run(self.command(*arguments, cores=cores), timeout)

    def start(self, *arguments: str, cores: int = 2) -> subprocess.Popen[bytes]:
        """Start a run and leave it running, in a process group of its own; what it says goes to said.txt.

        It heeds SIGINT as in a terminal, though a shell may have started these tests in the background.
        """
        with (self.folder / "said.txt").open("wb") as said:
            return forks.Popen(
                self.command(*arguments, cores=cores),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=forks.Heeding((signal.SIGINT,)),
            )

    def said(self) -> str:
        """What a started run has said so far."""
        return (self.folder / "said.txt").read_text(encoding="utf-8", errors="replace")

    def program(self, *arguments: str) -> list[str]:
        """The command line of a verb."""
        return [sys.executable, "-m", "cortexdsl.cli.main", *arguments]

    def cortexdsl(self, *arguments: str, timeout: float = 120) -> Run:
        return self.run(self.program(*arguments), timeout)

    def run(self, command: Sequence[str], timeout: float = 240) -> Run:
        """Run a command as a fork of a process that has imported it, which saves seconds (see `forks`)."""
        return self._run(forks.Popen, command, timeout)

    def execute(self, command: Sequence[str], timeout: float = 240) -> Run:
        """Run a command as a user's shell does."""
        return self._run(subprocess.Popen, command, timeout)

    def _run(self, popen: type[subprocess.Popen[bytes]], command: Sequence[str], timeout: float) -> Run:
        before = self._logs()
        environment = {**self.environment, "PYTHONPATH": str(REPOSITORY)}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with popen(command, cwd=self.folder, env=environment, **streams) as process:
            try:
                said, _ = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        log = "".join(path.read_text(errors="replace") for path in sorted(self._logs() - before))
        return Run(process.returncode, said.decode(errors="replace"), log)

    def _logs(self) -> set[Path]:
        return set((self.folder / ".snakemake" / "log").glob("*.log"))

    # ------------------------------------------------------------ what lies there
    def results(self, experiment: str) -> Path:
        return self.folder / "results" / experiment

    def debates(self, experiment: str) -> list[dict[str, Any]]:
        files = sorted((self.results(experiment) / "debates").rglob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def rows(self, experiment: str, table: str) -> list[dict[str, str]]:
        with (self.results(experiment) / table).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def records(self, experiment: str) -> dict[str, bytes]:
        """Every debate record as bytes, by its path below the experiment's folder."""
        root = self.results(experiment)
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted((root / "debates").rglob("*.jsonl"))}


class Server:
    """A stub that runs as a process of its own."""

    def __init__(self, address: str) -> None:
        self.address = address

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.address.removesuffix("/v1") + "/stats", timeout=10) as answer:
            return dict(json.load(answer))


@contextmanager
def serving(script: Path, *arguments: str) -> Iterator[Server]:
    """Run a stub on a free port of loopback."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    command = [sys.executable, str(script), "--port", str(port), *arguments]
    process = servers.start(command, f"{address}/models", timeout=60)
    try:
        yield Server(address)
    finally:
        servers.stop(process)
