"""Twelve tasks, as a reader of the README alone wrote them: `check` leads to specs that run, in few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cortexdsl.cli.main import main

TASKS = yaml.safe_load((Path(__file__).parent / "twelve_tasks.yaml").read_text(encoding="utf-8"))
SPEC = """\
dataset: {dataset}
models:
  qwen:  {{model: openai/Qwen2.5-7B-Instruct, api_base: "http://localhost:8000/v1", temperature: 0.7}}
  llama: {{model: openai/Llama-3.1-8B-Instruct, api_base: "http://localhost:8001/v1", temperature: 0.7}}
agents:
  - {{name: quick, model: qwen}}
  - {{name: careful, model: qwen, persona: checks every step twice}}
  - {{name: third, model: llama}}
  - {{name: fourth, model: llama}}
{text}"""
TEMPLATE = """\
{% include "common/question.j2" %}
{% for turn in heard %}{{ turn.text }}{% endfor %}
{{ answer_format }}
"""
TABLE = "question,A,B,C,D,answer\nWhat is 1+1?,1,2,3,4,B\nWhat is 2+1?,1,2,3,4,C\n"


@pytest.mark.parametrize("case", TASKS, ids=lambda case: str(case["task"]))
def test_check_leads_to_a_spec_that_runs(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each correction is what `check` said to write, as far as it could know it."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("prompts/my").mkdir(parents=True)
    Path("specs/my.csv").write_text(TABLE)
    for name in ("revise", "critique", "judge", "for", "against", "sum"):
        Path(f"prompts/my/{name}.j2").write_text(TEMPLATE)
    text = SPEC.format(dataset=case.get("dataset", "{name: arithmetic, size: 20}"), text=case["text"])
    for corrections in case["corrections"]:
        Path("specs/x.yaml").write_text(text)
        assert main(["check", "x"]) == 2
        told = capsys.readouterr().err
        assert told.count("error: ") <= len(corrections) + 1, told
        for old, new in corrections.items():
            assert old in text
            text = text.replace(old, new)
    Path("specs/x.yaml").write_text(text)
    assert main(["check", "x"]) == 0, capsys.readouterr().err


def test_most_tasks_need_one_correction_or_none() -> None:
    counts = [len(case["corrections"]) for case in TASKS]
    assert (len(counts), sum(counts)) == (12, 14)
