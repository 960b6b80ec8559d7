"""A plan as Snakemake text: one named rule a cell, to read, to review, or to use as a module of a larger workflow.

Our own Snakefile does not use it: there, static rules read the compiled plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from cortexdsl.errors import InputError
from cortexdsl.plan.experiment import Plan, pool_sources
from cortexdsl.plan.parts.layout import PARTS, TABLES
from cortexdsl.plan.parts.tools import functions_of, tool_files
from cortexdsl.terms import Cell

COMMAND = "cortexdsl"
PREFIX = """
import sys
from pathlib import Path
from shlex import quote

shell.prefix(f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH; ")
workflow.resource_settings.resources.setdefault("connections", CONNECTIONS)
"""
SERVERS = """
from cortexdsl.plan import compile_spec
from cortexdsl.serve import start_servers, stop_servers

SERVERS = []


onstart:
    SERVERS.extend(start_servers([compile_spec({spec!r}, experiment={experiment!r})]))


onsuccess:
    stop_servers(SERVERS)


onerror:
    stop_servers(SERVERS)
"""
UNTIL_DECIDED = '''
import json


def until_decided(batches):
    """The files of those batches that are needed: up to the look at which every claim is decided."""
    files = []
    for number, batch in enumerate(batches, 1):
        look = checkpoints.look.get(batch=str(number)).output[0]
        files += [*batch, look]
        with open(look) as stream:
            if json.load(stream)["decided"]:
                break
    return files
'''


class Code(str):
    """An input that is no path but what Snakemake computes one from."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def rules_text(plan: Plan) -> str:
    """Write a plan as a `.smk` that runs by itself from the folder in which the spec's path holds.

    Raises
    ------
    InputError
        The plan races its cells: which jobs there are is then known from look to look, by our own workflow alone.
    """
    if plan.is_racing:
        raise InputError(
            f"{plan.spec_path}: racing decides from look to look which cells go on, and has no rules of its own\n"
            "    run it with the workflow, or write stopping: {rule: together}"
        )
    return "\n\n".join("\n".join(lines) for lines in _parts(plan)) + "\n"


def _parts(plan: Plan) -> Iterator[list[str]]:
    layout = plan.layout
    yield [
        f"# {' '.join(plan.title.split())}",
        f"# {plan.spec_path} (digest {plan.digest}) as Snakemake rules, printed by `cortexdsl compile`.",
        "# Run it with: snakemake --snakefile FILE --cores 4",
        "# Edit the spec, not this file.",
    ]
    yield [PREFIX.replace("CONNECTIONS", str(plan.limits.connections))]
    yield ["", "rule all:", "    default_target: True", "    input:", f"        {layout.report!r},"]
    spec = f"{_literal(quote(plan.spec_path))} --experiment {quote(plan.experiment)}"
    if plan.servers:
        yield [SERVERS.format(spec=plan.spec_path, experiment=plan.experiment)]
    yield _rule("declare", [], [layout.declared], {}, f"plan {spec} --declare")
    yield _rule("plan", [layout.declared], [layout.plan], {"digest": plan.digest}, f"plan {spec} --out {{output:q}}")
    yield from _pools(plan, spec)
    if plan.stopping:
        yield [UNTIL_DECIDED]
        yield _look(plan, spec)
    names = _names(plan)
    for dataset in plan.tasks:
        for cell in plan.cells:
            yield _debate(plan, dataset, cell, names[dataset, cell.slug], spec)
            debates, judgements = _to_score(plan, dataset, cell.slug), plan.judgements_of(dataset, cell.slug)
            if judgements:
                yield _rule(
                    f"judge_{names[dataset, cell.slug]}",
                    debates,
                    judgements,
                    {"digest": plan.judge_digest(dataset, cell.slug)},
                    f"judge {spec} --dataset {dataset} --cell '{cell.slug}' --out {{output:q}}",
                )
            yield _rule(
                f"score_{names[dataset, cell.slug]}",
                [*debates, *judgements],
                [layout.part(table, dataset, cell.slug) for table in PARTS],
                {"digest": plan.score_digest(dataset, cell.slug)},
                f"score {spec} --dataset {dataset} --cell '{cell.slug}'",
            )
    parts = [part for table in TABLES for part in plan.parts(table)]
    yield _rule("join", parts, [layout.table(table) for table in TABLES], {"digest": plan.join_digest}, f"join {spec}")
    verdict = [layout.metrics, layout.comparisons, layout.omnibus, layout.bounds, layout.ranks, layout.hypotheses]
    scores, rounds = layout.table("scores"), layout.table("rounds")
    yield _rule("verdict", [layout.plan, scores, *plan.answers_asked], verdict, {}, f"verdict {layout.root}")
    agreement = [layout.agreement] if plan.judging else []
    if agreement:
        yield _rule("agreement", plan.judgements(), agreement, {}, f"agreement {spec}")
    whatif = [layout.effects, layout.shapley] if plan.whatifs else []
    if whatif:
        yield _rule("whatif", [layout.plan, scores], whatif, {"digest": plan.whatif_digest}, f"whatif {spec}")
    shown = [layout.plan, scores, rounds, *verdict, *agreement, *whatif]
    yield _rule("report", shown, [layout.report], {}, f"report {layout.root}")


def _pools(plan: Plan, spec: str) -> Iterator[list[str]]:
    used = dict.fromkeys(source for cell in plan.cells for source in pool_sources(cell))
    for dataset in plan.tasks:
        for source in used:
            yield _rule(
                f"pool_{_identifier(f'{dataset}_{source}')}",
                map(_literal, plan.pool_inputs(dataset, source)),
                [plan.layout.pool(dataset, source)],
                {"digest": plan.pool_digest(dataset, source)},
                f"pool {spec} --dataset {quote(dataset)} --source {quote(source)} --out {{output:q}}",
            )


def _literal(text: str) -> str:
    """Return a text in which Snakemake finds no wildcard."""
    return text.replace("{", "{{").replace("}", "}}")


def _to_score(plan: Plan, dataset: str, cell: str) -> list[str]:
    if plan.stopping is None:
        return plan.debates_of(dataset, cell)
    batches = [plan.batch_of(dataset, cell, batch) for batch in range(1, plan.batches + 1)]
    return [Code(f"lambda wildcards: until_decided({batches!r})")]


def _look(plan: Plan, spec: str) -> list[str]:
    inputs = {str(batch): plan.look_inputs(batch) for batch in range(1, plan.batches + 1)}
    lines = _rule(
        "look",
        [Code(f"lambda wildcards: {inputs!r}[wildcards.batch]")],
        [plan.layout.look("{batch}"), plan.layout.look_scores("{batch}")],
        {"digest": plan.look_digest},
        f"look {spec} --batch {{wildcards.batch}}",
    )
    return [line.replace("rule look", "checkpoint look") for line in lines]


def _debate(plan: Plan, dataset: str, cell: Cell, name: str, spec: str) -> list[str]:
    labels = [shard.label for shard in plan.shards[dataset]]
    budget = plan.budget_of(cell)
    inputs = [plan.layout.declared, *map(_literal, plan.paths[dataset]), *plan.pools(dataset, cell)]
    inputs += map(_literal, tool_files(cell.debate, plan.knowledge, Path(plan.spec_path).parent))
    if budget is not None:
        inputs.append(plan.layout.debates(dataset, budget.slug, "{shard}"))
    at_once = f"min(workflow.cores or 1, {plan.jobs})"
    digests = {label: plan.debate_digest(dataset, cell.slug, label) for label in labels}
    lines = _rule(
        f"debate_{name}",
        inputs,
        [plan.layout.debates(dataset, cell.slug, "{shard}")],
        {"protocol": cell.debate.protocol, "settings": dict(cell.settings)},
        f"debate {spec} --dataset {dataset} --cell '{cell.slug}' --shard {{wildcards.shard}}"
        " --digest {params.digest} --connections {resources.connections} --out {output:q}"
        # A file can no more trust code than a spec can: whoever runs it says --config trust=package.module:function.
        + "".join(" --trust {config[trust]}" for _ in functions_of(cell.debate)[:1]),
        more=[
            "    wildcard_constraints:",
            f"        shard={'|'.join(labels)!r},",
            "    resources:",
            f"        connections=lambda wildcards: max(1, {plan.limits.connections} // {at_once}),",
        ],
    )
    at = next(k for k, line in enumerate(lines) if line.startswith("    params:"))
    lines.insert(at + 1, f"        digest=lambda wildcards: {digests!r}[wildcards.shard],")
    return lines


def _rule(
    name: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    params: dict[str, object],
    arguments: str,
    more: Iterable[str] = (),
) -> list[str]:
    lines = ["", f"rule {name}:"]
    found = [f"        {path!r}," for path in inputs]
    lines += ["    input:", *found] if found else []
    lines += ["    output:", *(f"        {path!r}," for path in outputs)]
    lines += ["    params:", *(line for key, value in params.items() for line in _param(key, value))] if params else []
    return [*lines, *more, "    shell:", f"        {f'{COMMAND} {arguments}'!r}"]


def _param(name: str, value: object) -> list[str]:
    if not isinstance(value, dict):
        return [f"        {name}={value!r},"]
    return [f"        {name}={{", *(f"            {key!r}: {inner!r}," for key, inner in value.items()), "        },"]


def _names(plan: Plan) -> dict[tuple[str, str], str]:
    """Name the rules of every dataset and cell: identifiers, numbered where two would be the same."""
    names: dict[tuple[str, str], str] = {}
    for dataset in plan.tasks:
        for cell in plan.cells:
            base = _identifier(f"{dataset}_{cell.slug}")
            taken = sum(name == base or name.startswith(f"{base}_v") for name in names.values())
            names[dataset, cell.slug] = f"{base}_v{taken + 1}" if taken else base
    return names


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")
