"""The complete example of the manual: its spec is valid, and `plan` and `power` print what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "gsm8k.md").read_text(encoding="utf-8")


def test_plan_and_power_print_what_the_page_shows(
    page: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a file of a hundred questions in place of the hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    spec = page.split("```yaml\n")[1].split("```")[0]
    spec = spec.replace("name: gsm8k,", f"name: gsm8k, file: {shared_data / 'gsm8k_test.jsonl'},")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "gsm8k.yaml").write_text(spec)
    consoles = [block.split("```")[0] for block in page.split("```console\n")[1:3]]
    for command, shown in zip(("plan", "power"), consoles, strict=True):
        assert main([command, "specs/gsm8k.yaml"]) == 0
        out = capsys.readouterr().out.splitlines()
        lines = [line for line in shown.splitlines() if not line.startswith("$") and line.strip() != "..."]
        assert len(lines) >= 2
        assert set(lines) <= set(out)
