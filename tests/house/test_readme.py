"""What the README shows can be pasted as it stands into an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.cli.main import main

BLOCK = re.compile(r"```(yaml|jinja)\n(.*?)```", re.DOTALL)


def test_its_specs_and_its_prompt_are_accepted_as_they_stand(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first YAML block is a spec of its own; the second one builds on what `cortexdsl new mine` writes."""
    (_, spec), (_, own), (kind, template) = BLOCK.findall((repository / "README.md").read_text(encoding="utf-8"))[:3]
    assert kind == "jinja"
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine"]) == 0
    for path, text in {"specs/shown.yaml": spec, "specs/loudest.yaml": own, "prompts/my/revise.j2": template}.items():
        Path(path).parent.mkdir(exist_ok=True, parents=True)
        Path(path).write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "specs/shown.yaml", "specs/loudest.yaml"]) == 0
    said = capsys.readouterr()
    assert said.out.count("it can run") == 2
    assert not said.err
