"""A plan as a Snakemake workflow: it imports the installed workflow as a module, and names the cells with settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cortexdsl.core import Cell
from cortexdsl.plan.experiment import Plan

MODULE = """\
from cortexdsl.display.launch import workflow_folder


module experiment:
    snakefile:
        str(workflow_folder() / "Snakefile")
    config:
        {{**config, "spec": {spec!r}}}


use rule * from experiment


# Snakemake calls these in the main file alone: they start and stop model servers and the worker.
onstart:
    experiment.onstart()


onsuccess:
    experiment.onsuccess()


onerror:
    experiment.onerror()
"""


def workflow_text(plan: Plan) -> str:
    """Write a plan as a Snakefile that runs by itself, from the folder in which the path of the spec is valid.

    Its rules are those of the installed workflow, so that it makes the same files. Each cell has a rule of its own, a
    target that makes the cell's scores, with its settings as params.
    """
    head = [
        f"# {' '.join(plan.title.split())}",
        f"# {plan.spec_path} (digest {plan.digest}) as a Snakemake workflow, written by `cortexdsl compile`.",
        "# Run it with: snakemake --snakefile FILE --cores 4; one cell: ... cell_NAME",
        "# Edit the spec, not this file: the jobs read the spec.",
        "",
    ]
    names = _rule_names([cell.slug for cell in plan.cells])
    rules = [line for cell in plan.cells for line in _cell_rule(plan, cell, names[cell.slug])]
    return "\n".join([*head, MODULE.format(spec=plan.spec_path), *rules])


def _cell_rule(plan: Plan, cell: Cell, name: str) -> Iterator[str]:
    also = f", also {', '.join(cell.aliases)}" if cell.aliases else ""
    yield from ("", f"rule {name}:", f"    # {cell.name}{also}", "    localrule: True", "    input:")
    for dataset in plan.tasks:
        yield f"        {plan.layout.part('scores', dataset, cell.slug)!r},"
    yield "    params:"
    agents = {role: [agent.name for agent in agents] for role, agents in cell.debate.role_agents.items()}
    matched = {"match": str(cell.match)} if cell.match else {}
    params = {"protocol": cell.debate.protocol, **matched, "agents": agents, "settings": dict(cell.settings)}
    for key, value in params.items():
        yield from _param(key, value)
    yield ""


def _param(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"        {name}={value!r},"
        return
    yield f"        {name}={{"
    yield from (f"            {key!r}: {_plain(inner)!r}," for key, inner in value.items())
    yield "        },"


def _plain(value: Any) -> Any:
    """Return a setting as a literal."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


def _rule_names(slugs: list[str]) -> dict[str, str]:
    """Name the rules of cells: identifiers, numbered if two would be the same."""
    names: dict[str, str] = {}
    for slug in slugs:
        base = "cell_" + re.sub(r"\W+", "_", slug).strip("_")
        number = 1
        while (name := f"{base}_v{number}" if number > 1 else base) in names.values():
            number += 1
        names[slug] = name
    return names
