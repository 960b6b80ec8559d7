"""Add a word of a step to a copy of the package: one field of `Step`, and the language, schema and digests know it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cortexdsl
from cortexdsl.core import Limits, Method, Step

FIELD = '    loud: Literal["no", "yes"] = word("no")\n    """Whether it is said loudly."""\n'
PROTOCOL = """
settings: {loud: LOUD}
steps: {answer: {role: debater, prompt: common/answer.j2, loud: $loud}}
schedule: [answer]
decide: majority
"""
USE = f"""
import json
from cortexdsl.core import Agent, Model
from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.nodes import Mark, Node
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse
from cortexdsl.plan.digests import digest
team = (Agent("ann", Model("m", "builtin/solver")),)
choice = MethodChoice("", Node({{}}, Mark("x", 1, 1)), team, {{"ann": team[0]}})
texts = [{PROTOCOL!r}.replace("LOUD", value) for value in ("'no'", "'yes'")]
made = [resolve(protocol_of("p", parse(text, "p.yaml")), choice) for text in texts]
print(json.dumps({{
    "values": [method.steps["answer"].loud for method in made],
    "digests": [digest(method) for method in made],
    "description": json_schema("protocol")["$defs"]["StepText"]["properties"]["loud"]["description"],
}}))
"""


def used_with(field: str, folder: Path) -> dict[str, object]:
    """Return what `USE` prints with a copy of the package in which `Step` has a field more."""
    original = Path(inspect.getfile(cortexdsl)).parent
    shutil.copytree(original, folder / "cortexdsl", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "cortexdsl/core/protocol.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("    variants: tuple[str, ...] = ()\n") == 1
    path.write_text(text.replace("    variants: tuple", f"{field}    variants: tuple"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_a_word_of_a_step_is_one_declaration(tmp_path: Path) -> None:
    """It reaches the value that the engine reads, and a digest changes with it, unless it has its default."""
    result = used_with(FIELD, tmp_path)
    assert result["values"] == ["no", "yes"]
    assert result["description"] == "Whether it is said loudly."
    default, other = result["digests"]  # type: ignore[misc]
    assert default != other


@pytest.mark.parametrize(
    ("kind", "rooms"), [(Step, ["engine", "core"]), (Method, ["engine"]), (Limits, ["models", "jobs"])]
)
def test_each_word_has_an_effect(kind: type, rooms: list[str]) -> None:
    """A word that is declared, and that no function reads, would be accepted and ignored."""
    package = Path(inspect.getfile(cortexdsl)).parent
    paths = [path for room in rooms for path in (package / room).rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words = {field.name for field in dataclasses.fields(kind) if field.metadata}
    assert words
    assert words - read == set()
