"""The tutorial does what it says: its commands are run in its order, with its files, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from tests.workflow.bench import REPOSITORY, Bench

pytestmark = pytest.mark.workflow

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:# |\{# )(\S+)")


def test_a_newcomer_can_follow_it_to_the_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each `sh` line ends with 0; each `yaml` and `jinja` block is the file that its first line names; each line of a
    `text` block was printed by a command above it."""
    text = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")
    bench = Bench(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # as the page shows it
    said: set[str] = set()
    kinds = set()
    runs = 0
    for kind, block in BLOCK.findall(text):
        kinds.add(kind)
        if kind in ("yaml", "jinja"):
            named = FILE.match(block)
            assert named, block
            bench.write(named[1], block)
        elif kind == "sh":
            for line in block.splitlines():
                program, *arguments = line.split()
                assert program == "cortexdsl"
                if arguments[0] == "run":  # its process becomes Snakemake
                    run = (bench.run if runs else bench.execute)(bench.program(*arguments))
                    status, out, runs = run.status, run.text, runs + 1
                else:
                    status, out = main(arguments), capsys.readouterr().out
                assert status == 0, f"{line}\n{out}"
                said |= set(out.splitlines())
        else:
            missing = [line for line in block.splitlines() if line not in said]
            assert not missing, [line for line in said if line[:12] in {one[:12] for one in missing}]
    assert kinds == {"sh", "text", "yaml", "jinja"}
