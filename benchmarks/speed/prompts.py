"""What the sandbox of templates costs: shipped prompts in it, compared with plain Jinja in the same run.

    python benchmarks/speed/prompts.py [--times 5] [specs/papers/x.yaml ...]

The prompts are those of debates of the shipped specs, with made-up replies of 600 characters. Each is rendered in turn
by `Templates` (its sandbox, without its cache), by a plain `jinja2.Environment` with the same
files and options, and by Jinja's sandbox; the texts must be equal. Processor time. The first rendering of each prompt
is not counted, as its template may be compiled then: what compiling takes is printed apart.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.core import Call, Message, Reading, Reply
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import CortexError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.rehearsal.estimate import Rehearsal
from cortexdsl.plan.rehearsal.explain import QUESTION
from cortexdsl.plan.rehearsal.full_length import full_length
from cortexdsl.templates.templates import SYSTEM, Templates

TEXT = "The total is the sum of the parts, each of which was worked out before.\n" * 8
FORMAT = "End with a line `Answer: ` and the number alone."
OPTIONS: dict[str, Any] = {
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "auto_reload": False,
}


class Timed(Rehearsal):
    """Renders each prompt of a debate in all ways, and adds up what that takes."""

    templates: Templates
    ways: Mapping[str, Environment]
    times: int
    seconds: dict[str, dict[str, float]]
    first: dict[str, dict[str, float]]
    count: int = 0

    def rendered_in_all_ways(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Render in all ways."""
        variables = {**view, "answer_format": FORMAT}
        for name in (SYSTEM, prompt):
            texts = {}
            for turn in range(self.times + 1):
                for way in ("ours", *self.ways):
                    begun = time.process_time()
                    if way == "ours":
                        texts[way] = Timed.templates._rendered(name, variables)
                    else:
                        texts[way] = self.ways[way].get_template(name).render(variables).strip()
                    seconds = Timed.seconds if turn else Timed.first  # the first time, it may be compiled
                    seconds[name][way] += time.process_time() - begun
            assert len(set(texts.values())) == 1, (name, texts)
        Timed.count += 1
        return ({"role": "user", "content": f"{prompt} {view['agent']['name']} {view['round']} {view['about']}"},)

    async def ask(self, call: Call) -> Reply:
        """Reply, and add a text."""
        reply = await super().ask(call)
        return Reply(reply.key, f"{reply.text}\n\n{TEXT}", "stop", 0, 0)

    def read(self, reads: str, text: str) -> Reading:
        """Read a reply without that text."""
        return super().read(reads, text.partition("\n\n")[0])


def main() -> None:
    """Print the ratio of each prompt and of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="*", default=sorted(map(str, Path("specs").rglob("*.yaml"))))
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()
    Timed.times = args.times
    Timed.seconds, Timed.first = (defaultdict(lambda: defaultdict(float)) for _ in range(2))
    for spec in args.specs:
        try:
            plan = compile_spec(spec)
        except Exception as error:  # a data set that is not here
            print(f"{spec}: left out ({str(error).splitlines()[0][:80]})")
            continue
        Timed.templates = plan.templates
        loader = FileSystemLoader([str(folder) for folder in plan.templates.folders])
        Timed.ways = {
            "plain": Environment(loader=loader, **OPTIONS),
            "sandbox": ImmutableSandboxedEnvironment(loader=loader, **OPTIONS),
        }
        for method in {cell.method: cell.debate for cell in plan.cells}.values():
            timed = Timed(lambda *_: ())
            timed.render = timed.rendered_in_all_ways
            with suppress(CortexError):  # there is no knowledge pool
                asyncio.run(run_debate(full_length(method), QUESTION, timed.ports(), seed=1, replicate=1))
    total: dict[str, float] = defaultdict(float)
    rows = []
    for name, ways in Timed.seconds.items():
        rows.append((ways["ours"] / ways["plain"], ways["ours"], name, ways))
        for way, seconds in ways.items():
            total[way] += seconds
    for ratio, _, name, ways in sorted(rows, key=lambda row: -row[1])[:12]:
        print(f"{name:40} {ratio:5.2f} of plain, {ways['ours'] / ways['sandbox']:5.2f} of Jinja's sandbox")
    compiled = {
        way: sum(ways[way] - Timed.seconds[name][way] / args.times for name, ways in Timed.first.items())
        for way in total
    }
    print(
        f"compiling: {1e3 * compiled['ours'] / len(rows):.1f} ms a template, "
        f"{compiled['ours'] / compiled['plain']:.2f} of plain"
    )
    count = Timed.count * args.times
    print(f"worst {max(rows)[0]:.2f} ({max(rows)[2]})")
    print(
        f"{Timed.count:,} prompts of {len(rows)} templates: {1e6 * total['ours'] / count:.0f} us a prompt, "
        f"{total['ours'] / total['plain']:.2f} of plain Jinja, "
        f"{total['ours'] / total['sandbox']:.2f} of its sandbox"
    )


if __name__ == "__main__":
    main()
