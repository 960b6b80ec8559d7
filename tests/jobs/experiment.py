"""A small experiment, run job by job in one process, as the workflow's rules run it."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.cli.main import main
from cortexdsl.plan.compiler import compile_spec
from tests.workflow.bench import TWO_ALONE

NAME = "small"
SPEC = (
    TWO_ALONE.replace("title: Two alone", "title: Is the stronger model better?").replace("size: 30", "size: 20")
    + "analysis:\n  families:\n    main: {compare: [high], to: low}\n"
)


def write_spec(text: str = SPEC, name: str = NAME) -> str:
    """Write a spec below the working directory and return its path."""
    path = Path("specs", f"{name}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path.as_posix()


def run_jobs(spec: str) -> None:
    """Run every job of an experiment but the report's; replies come from its call logs if they hold them."""
    plan = compile_spec(spec)
    call("plan", spec, "--declare")
    for dataset, shards in plan.shards.items():
        for cell in plan.cells:
            for shard in shards:
                out = plan.layout.debates(dataset, cell.slug, shard.label)
                call("debate", spec, "--dataset", dataset, "--cell", cell.slug, "--shard", shard.label, "--out", out)
            call("score", spec, "--dataset", dataset, "--cell", cell.slug)
    call("plan", spec, "--out", plan.layout.plan)
    call("verdict", plan.layout.root)


def call(*arguments: str) -> None:
    """Run a verb that must succeed."""
    assert main(arguments) == 0, arguments
