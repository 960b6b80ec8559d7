"""Add a keep rule to a copy of the package, and use it from a spec."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import cortexdsl

RULES = "core/keep_rules.py"


@dataclass(frozen=True)
class Edit:
    """Text that is inserted before another text of a file of the package."""

    file: str
    before: str
    text: str


WORD = (
    Edit(
        RULES,
        '        "all": KeepRule(',
        '        "best": KeepRule("the highest weight", _at_least_ranked(lambda count, number: (count - 1,))),\n',
    ),
)
NUMBER = (
    Edit(
        RULES,
        '        "all": KeepRule(',
        '        "near": KeepRule(\n'
        '            "at least a share of the highest weight",\n'
        "            _at_least(lambda weight, possible, number: number * np.nanmax(weight, axis=0)),\n"
        '            number="The least share of the highest weight.",\n'
        "        ),\n",
    ),
)
SPEC = """
title: A rule of one's own
dataset: {{name: arithmetic, size: 1}}
models: {{solver: {{model: builtin/solver, skill: 0.5}}}}
agents: [{{name: a, model: solver}}, {{name: b, model: solver}}, {{name: c, model: solver}}, {{name: d, model: solver}}]
methods: {{sparse: {{protocol: cortexdebate, weight: position, rounds: 1, until: never}}}}
grid: {{sparse: {{keep: [{keep}]}}}}
"""
USE = """
import json
from pathlib import Path
from cortexdsl.cli.main import main
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.records import read_debates
assert main(["check", "spec.yaml"]) == 0
plan = compile_spec("spec.yaml")
assert main(["plan", "spec.yaml", "--declare"]) == 0
[(dataset, [shard])], cell = plan.shards.items(), plan.cells[-1]
out = plan.layout.debates(dataset, cell.slug, shard.label)
parts = ["--dataset", dataset, "--cell", cell.slug, "--shard", shard.label, "--out", out]
assert main(["debate", "spec.yaml", *parts]) == 0
[record] = read_debates(Path(out))
graph = record.debate.graphs[-1]
print(json.dumps({"cell": cell.name, "heard": graph.heard.astype(int).tolist()}))
"""


def run_with(edits: Sequence[Edit], keep: str, folder: Path) -> dict[str, object]:
    """Return the cell of a spec with a rule, and the edges that it keeps, under a copy of the package with edits."""
    original = Path(inspect.getfile(cortexdsl)).parent
    package = folder / "cortexdsl"
    shutil.copytree(original, package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "prompts").symlink_to(original.parent / "prompts")
    for edit in edits:
        text = (package / edit.file).read_text(encoding="utf-8")
        assert text.count(edit.before) == 1, edit.before
        (package / edit.file).write_text(text.replace(edit.before, edit.text + edit.before), encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC.format(keep=keep), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize(
    ("edits", "keep", "cell", "speakers"),
    [
        (WORD, "best", "sparse[keep=best]", [{4}, {4}, {4}, {3}]),
        (NUMBER, "{near: 0.6}", "sparse[keep=near-0.6]", [{3, 4}, {3, 4}, {4}, {2, 3}]),
    ],
    ids=["without a number", "with a number"],
)
def test_a_keep_rule_is_added_in_one_file(
    edits: Sequence[Edit], keep: str, cell: str, speakers: list[set[int]], tmp_path: Path
) -> None:
    """The weight of an edge is its speaker's place, 1 to 4; `speakers` are those that each listener keeps."""
    assert {edit.file for edit in edits} == {RULES}
    result = run_with(edits, keep, tmp_path)
    heard = [[int(place in listener) for listener in speakers] for place in range(1, 5)]
    assert result == {"cell": cell, "heard": heard}
