"""Processor time, memory and sizes of files of debates in rounds of files, with an engine that answers at once.

Each debate has three agents and three rounds after the opening. The jobs `advance` and `answer` run one after the
other, as the workflow runs them. The time of the engine is not counted.

Run from the repository: python benchmarks/speed/files.py [--debates 1000 10000] [--shard 500]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cortexdsl.core import Engine
from cortexdsl.jobs.answer import answer
from cortexdsl.plan.compiled import write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.rounds import rounds_of
from cortexdsl.plan.jobs.consent import VARIABLE, request_of

REPOSITORY = Path(__file__).resolve().parents[2]
SPEC = """\
seed: 5
dataset: {{name: arithmetic, size: {debates}}}
shard_size: {shard}
models: {{small: {{model: openai/small, engine: stub, temperature: 0.5}}}}
agents: [{{name: a, model: small}}, {{name: b, model: small}}, {{name: c, model: small}}]
methods: {{full: {{protocol: multi-llm, rounds: 3}}}}
engines: {{stub: {{command: {command}}}}}
"""
ENGINE = """\
import json, sys, zlib
with open(sys.argv[1]) as requests, open(sys.argv[2], "w") as replies:
    for line in requests:
        request = json.loads(line)
        drawn = zlib.crc32(line.encode())
        text = "Let me think about it. " * 8 + f"Answer: {drawn % 90}\\nConfidence: 0.{drawn % 9}"
        body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": len(line) // 4, "completion_tokens": 60}}
        reply = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
        replies.write(json.dumps(reply) + "\\n")
"""


def main() -> None:
    """Print a line for each number of debates."""
    parser = argparse.ArgumentParser(description=__doc__.partition(".")[0])
    parser.add_argument("--debates", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--shard", type=int, default=500, help="questions of a shard")
    args = parser.parse_args()
    print("debates   calls  ms of processor a call  MB at most  MB of requests  replies  logs  seconds  ms of answer")
    for debates in args.debates:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            measure(debates, args.shard)


def measure(debates: int, shard: int) -> None:
    """Run all rounds of a number of debates, and print what they took."""
    Path("engine.py").write_text(ENGINE, encoding="utf-8")
    command = f"{sys.executable} engine.py {{requests}} {{replies}}"
    text = SPEC.format(debates=debates, shard=shard, command=json.dumps(command))
    Path("specs").mkdir()
    Path("specs/files.yaml").write_text(text, encoding="utf-8")
    plan = compile_spec("specs/files.yaml")
    os.environ[VARIABLE] = request_of(plan).digest
    rounds = rounds_of(plan)
    job("plan", "--declare")
    write_compiled(plan)
    began = time.monotonic()
    seconds, memory, answering = 0.0, 0, 0.0
    for number in range(1, rounds + 2):
        used, most = job("advance", "--round", str(number), *(["--last"] if number > rounds else []))
        seconds, memory = seconds + used, max(memory, most)
        if number <= rounds:
            answering += answered(plan, number, Engine(command))
    calls = sum(count(path) for path in Path(plan.layout.root, "calls").rglob("*.jsonl"))
    sizes = [
        sum(path.stat().st_size for path in Path(plan.layout.root).rglob(name)) / 1e6
        for name in ("*.requests.jsonl", "*.replies.jsonl", "calls/*/*/*.jsonl")
    ]
    ran = time.monotonic() - began
    print(
        f"{debates:7,} {calls:7,} {1000 * seconds / calls:23.2f} {memory / 1000:11.0f} {sizes[0]:15.0f}"
        f" {sizes[1]:8.0f} {sizes[2]:5.0f} {ran:8.0f} {1000 * answering / calls:13.2f}", flush=True,
    )  # fmt: skip


def job(verb: str, *arguments: str) -> tuple[float, int]:
    """Run a job of the experiment, and return its seconds of processor time and its memory in KB."""
    command = [sys.executable, "-m", "cortexdsl", verb, "specs/files.yaml", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with Path("job.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(Path("job.log").read_text(encoding="utf-8"))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def answered(plan: Plan, number: int, engine: Engine) -> float:
    """Answer a round, and return the seconds of processor time of this process, without the engine's."""
    requests, replies = Path(plan.layout.requests(number, "stub", 1)), Path(plan.layout.replies(number, "stub", 1))
    if requests.stat().st_size == 0:
        replies.touch()
        return 0.0
    began = time.process_time()
    answer("stub", engine, requests, replies)
    return time.process_time() - began


def count(path: Path) -> int:
    """Return the lines of a file."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    main()
