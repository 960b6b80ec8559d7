"""Add a decision rule to a copy of the package, and use it from a spec."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import cortexdsl

RULE = """\
        "longest": DecisionRule(
            lambda given: Decision(max((turn.answer or "" for turn in given.last), key=len)),
            is_word=True,
        ),
"""
SPEC = """
title: A rule of one's own
dataset: {name: arithmetic, size: 8}
models: {solver: {model: builtin/solver, skill: 0.1}}
agents: [{name: a, model: solver}, {name: b, model: solver}, {name: c, model: solver}]
protocols:
  mine:
    roles: {debater: everyone}
    steps: {answer: {role: debater, prompt: common/answer.j2}}
    schedule: [answer]
    decide: longest
methods: {longest: {protocol: mine}}
"""
USE = """
import json
from pathlib import Path
from cortexdsl.cli.main import main
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.rehearsal.explain import method_values
from cortexdsl.records import read_debates
assert main(["check", "spec.yaml"]) == 0
plan = compile_spec("spec.yaml")
assert main(["plan", "spec.yaml", "--declare"]) == 0
[(dataset, [shard])], [cell] = plan.shards.items(), plan.cells
out = plan.layout.debates(dataset, cell.slug, shard.label)
parts = ["--dataset", dataset, "--cell", cell.slug, "--shard", shard.label, "--out", out]
assert main(["debate", "spec.yaml", *parts]) == 0
debates = [record.debate for record in read_debates(Path(out))]
last = [[turn.answer or "" for turn in debate.turns if turn.reads == 'answer'] for debate in debates]
print(json.dumps({
    "shown": method_values(cell.debate)["decide"],
    "is_longest": [debate.answer == max(answers, key=len) for debate, answers in zip(debates, last)],
}))
"""


def test_a_decision_rule_is_added_in_one_place(tmp_path: Path) -> None:
    """One entry: it is a word of `decide:`, decides debates, and is described by `explain`."""
    original = Path(inspect.getfile(cortexdsl)).parent
    package = tmp_path / "cortexdsl"
    shutil.copytree(original, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "prompts").symlink_to(original.parent / "prompts")
    file = package / "engine" / "decisions.py"
    text, before = file.read_text(encoding="utf-8"), '        "last": DecisionRule('
    assert text.count(before) == 1
    file.write_text(text.replace(before, RULE + before), encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == {"shown": "longest", "is_longest": [True] * 8}
