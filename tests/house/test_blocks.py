"""Every YAML block of the documents is accepted by `check`: as a spec of its own, or as a part of one.

A block that is a part is put where its words belong, and what it leans on (models, methods, files) is there. Blocks of
the README and of the tutorial are run elsewhere, files and all.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from cortexdsl.errors import Problem, SpecError
from cortexdsl.language.grammar.experiment import AnalysisText, SpecText
from cortexdsl.language.grammar.protocol import ProtocolText
from cortexdsl.plan.compiler import validate_experiment
from cortexdsl.plan.forecast.cost import template_problems

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```yaml\n(.*?)^```|(?:^\n|\A)((?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
ELSEWHERE = {"README.md", "tutorial.md"}
BASE = """\
dataset: {name: arithmetic, size: 5}
models:
  base:  {model: openai/base, api_base: "http://127.0.0.1:9/v1", parameters: 7e9, tokens: 1e12, price: PRICE}
  large: {model: openai/large, api_base: "http://127.0.0.1:9/v1", parameters: 70e9, tokens: 1e12, price: PRICE}
agents:
  - {name: ann, model: base}
  - {name: bob, model: base}
  - {name: cai, model: large}
methods:
  full:   {protocol: multi-llm, rounds: 2}
  sparse: {protocol: cortexdebate, rounds: 2}
  vote:   {protocol: voting}
hypotheses:
  - input_tokens(sparse) <= 0.7 * input_tokens(full)
limits: {calls: 100_000}
""".replace("PRICE", "{input: 1, output: 2}")
PROTOCOL = """\
protocols:
  own:
    settings: {rounds: 2}
    roles: {debater: everyone, unsure: everyone, follower: everyone}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: unsure, hears: debater, prompt: my/talk.j2}
    schedule:
      - answer
      - {choose: follower, from: debater, where: random < 0.5}
      - {choose: unsure, from: debater, where: any(differs)}
      - revise
    decide: majority
methods: {own: {protocol: own}}
"""
TALK = "{{ question.text }}{% include 'common/talk.j2' %}\n{{ answer_format }}\n"
FILES = {
    **dict.fromkeys(
        (
            "prompts/my/talk.j2",
            "prompts/my/ask.j2",
            "prompts/base/ask.j2",
            "prompts/my/revise.j2",
            "prompts/my/follow.j2",
        ),
        TALK,
    ),
    "prompts/my/move.j2": '{% include "labels/turn.j2" %}\n\n{% include "labels/end.j2" %}\n',
    "specs/facts.jsonl": '{"id": "1", "title": "Sums", "text": "A sum."}\n',
    "specs/passages.jsonl": '{"id": "1", "title": "Sums", "text": "A sum."}\n',
    "specs/exam.csv": "Question,Key,A,B,C,D\n" + "".join(f"What is {k}?,A,{k},2,3,4\n" for k in range(5)),
    "my_tools.py": "def convert(text):\n    return text\n",
    "specs/_solvers.yaml": (ROOT / "specs/examples/_solvers.yaml").read_text(encoding="utf-8"),
}
EXCUSED = re.compile(
    r"no such (file|folder)|there is no (file|folder)|is not a folder|needs the extra|no hub id could be loaded"  # data
    r"|nobody speaks in this role|no word uses this setting"  # what a part of a protocol is put into
)
"""What is told, and is no mistake of the block."""


def blocks() -> list[tuple[str, str]]:
    """The YAML of the documents, by page and line: fenced, and indented where a known word begins it."""
    words = {*SpecText.model_fields, *AnalysisText.model_fields, *ProtocolText.model_fields, "revise"}
    found = []
    for page in sorted(ROOT.glob("docs/**/*.md")):
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            block = textwrap.dedent(match[1] or match[2])
            begins = re.match(r"([a-z_]+):(\s|$)", block)
            line = text[: match.start()].count("\n") + 1
            if page.name not in ELSEWHERE and (match[1] or (begins and begins[1] in words)):
                found.append((f"{page.relative_to(ROOT)}:{line}", block))
    return found


def specs_of(block: str) -> list[str]:
    """Return the specs that a block makes; of the same word written several times each is a spec."""
    lines = block.splitlines()
    tops = [line.partition(":")[0] for line in lines if re.match(r"[a-z_]+:", line)]
    if len(set(tops)) < len(tops):
        return [spec for line in lines for spec in specs_of(line)]
    word = tops[0] if tops else ""
    if word in SpecText.model_fields:
        return [block if {"extends", "agents"} & {*tops} else f"extends: _base.yaml\n{block}"]
    if word in AnalysisText.model_fields:
        grid = "grid: {sparse: {keep: [mean, median]}}\n"
        return [f"extends: _base.yaml\n{grid}analysis:\n{textwrap.indent(block, '  ')}"]
    protocol = yaml.safe_load(PROTOCOL)
    own, part = protocol["protocols"]["own"], yaml.safe_load(block)
    own |= part if word in ProtocolText.model_fields else {"steps": own["steps"] | part}
    return [f"extends: _base.yaml\n{yaml.safe_dump(protocol, sort_keys=False)}"]


def told(path: Path) -> tuple[Problem, ...]:
    try:
        judged = validate_experiment(str(path))
        return judged.with_problems(template_problems(judged)).problems
    except SpecError as error:
        return error.problems


@pytest.mark.parametrize(("where", "block"), blocks(), ids=[where for where, _ in blocks()])
def test_a_block_of_the_documents_is_accepted(
    where: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {**FILES, "specs/_base.yaml": BASE}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for spec in specs_of(block):
        path = tmp_path / "specs" / "shown.yaml"
        path.write_text(spec, encoding="utf-8")
        wrong = [problem for problem in told(path) if not EXCUSED.search(problem.what)]
        assert not wrong, "\n".join(map(str, wrong))


def test_blocks_are_found() -> None:
    """Fenced and indented ones, of several pages."""
    pages = {where.partition(":")[0] for where, _ in blocks()}
    named = ("language", "language/protocol", "prompts", "tools", "whatif", "training")
    assert {f"docs/{name}.md" for name in named} <= pages
