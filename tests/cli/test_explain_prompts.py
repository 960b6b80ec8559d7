"""`explain --prompts` prints the templates of a protocol or a spec, to copy and change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.templates.templates import shipped_prompts


def test_of_a_shipped_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    """Each template and what it includes, whole."""
    assert main(["explain", "multi-llm", "--prompts"]) == 0
    out = capsys.readouterr().out
    for name in ("common/answer.j2", "common/question.j2", "multi-llm/revise.j2"):
        text = (shipped_prompts() / name).read_text().rstrip()
        assert out.count(f"{{# prompts/{name} #}}\n{text}\n") == 1


def test_of_a_spec_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A template of the spec's folder is the one that is printed, and a method may be chosen."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts/my").mkdir(parents=True)
    (tmp_path / "prompts/my/ask.j2").write_text("{{ question.text }}?\n{{ answer_format }}\n")
    (tmp_path / "spec.yaml").write_text(
        "dataset: {name: arithmetic, size: 2}\nmodels: {m: {model: builtin/solver}}\n"
        "agents: [{name: a, model: m}]\nmethods:\n  one: {protocol: cot, prompts: {answer: my/ask.j2}}\n"
        "  two: {protocol: cot}\n"
    )
    assert main(["explain", "spec.yaml", "one", "--prompts"]) == 0
    out = capsys.readouterr().out
    assert "{# prompts/my/ask.j2 #}\n{{ question.text }}?\n" in out
    assert "{# prompts/common/answer.j2 #}" not in out
