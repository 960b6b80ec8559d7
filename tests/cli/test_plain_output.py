"""Nothing that a spec, a server, a name or a file holds reaches a terminal, a page or a log as a command."""

from __future__ import annotations

import io
import json
import logging
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.cli.main import main
from cortexdsl.display.handler import LogHandler
from cortexdsl.errors import ModelError
from cortexdsl.plain_text import PlainStream, plain_output, printable
from cortexdsl.report.build import build_report
from tests.display.test_handler import Settings, record
from tests.report.test_stopped import stopped_run

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2028\r\x00"
"""A window title, an erased screen, a C1 command, a turned reading direction, a line separator, a null."""


def commands(text: str) -> set[str]:
    """Characters that a terminal or a page would obey."""
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return {sign for sign in text if sign not in "\n\t" and unicodedata.category(sign) in hidden}


@given(st.text())
def test_a_stream_writes_no_command(text: str) -> None:
    """But the colours of verdicts, which do nothing but colour."""
    under = io.StringIO()
    PlainStream(under).writelines(iter([text]))
    written = under.getvalue()
    for colour in ("\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        written = written.replace(colour, "")
    assert commands(written) == set()
    assert commands(printable(text)) == set()


def test_streams_are_put_back() -> None:
    before = sys.stdout, sys.stderr
    with plain_output():
        assert isinstance(sys.stdout, PlainStream)
    assert (sys.stdout, sys.stderr) == before


SPEC = f"""\
title: {json.dumps(f"A title {ATTACK}")}
seed: 1
dataset: {{name: arithmetic, size: 2}}
models: {{one: {{model: builtin/solver}}}}
agents: [{{name: ann, model: one, persona: {json.dumps(ATTACK)}}}, {{name: bob, model: one}}]
methods: {{full: {{protocol: multi-llm, rounds: 1}}}}
"""


@pytest.mark.parametrize(
    "words", [["check", "x"], ["plan", "x"], ["explain", "x"], ["explain", "x", "full"], ["check", f"a{ATTACK[:-1]}b"]]
)
def test_no_verb_prints_a_command_of_a_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/x.yaml").write_text(SPEC, encoding="utf-8")
    main(words)
    out, err = capsys.readouterr()
    assert out or err
    assert commands(out + err) == set()


def test_the_error_of_a_server_is_printable_wherever_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the message itself, in the log of a job as the display shows it, in `status`, and on the page of a stop."""
    assert commands(str(ModelError(f"HTTP 500: {ATTACK}"))) == set()
    handler = LogHandler(Settings(), None)
    handler.emit(record(f"Location: {ATTACK}", None, logging.ERROR))
    handler.close()
    assert commands(capsys.readouterr().err) == set()
    folder = stopped_run(tmp_path / "results" / "e", title=f"Small {ATTACK}")
    tally = next((folder / "spent").glob("*.json"))
    tally.write_text(json.dumps(json.loads(tally.read_text()) | {"state": "failed", "message": f"no: {ATTACK}"}))
    page = build_report(folder).read_text(encoding="utf-8")
    assert "Small \\x1b]0;owned" in page
    assert commands(page) == set()
    for words in (["status", str(folder)], ["report", str(folder), "--text"], ["ledger", str(folder)]):
        main(words)
    out, err = capsys.readouterr()
    assert "owned" in out + err
    assert commands(out + err) == set()
