"""Results that different versions of the program made say so, and one version leaves no word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl import __version__, program
from cortexdsl.checksums import with_checksum
from cortexdsl.cli.main import main
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence import recording
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files, refresh_manifest, seal_manifest
from cortexdsl.plan.persistence.verification import versions_in_words
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.phrasing.ledger import read_history

OLD, NEW = f"{__version__}+aaaaaaaaaaaa", f"{__version__}+bbbbbbbbbbbb"
DEBATES = ("debates/d/c/r1-s01.jsonl", "debates/d/c/r1-s02.jsonl")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """An experiment whose first debates one version made, with their call log, which gives no notice."""
    monkeypatch.chdir(tmp_path)
    layout = Layout("results/made")
    for name in (*DEBATES, "calls/d/r1-s01/c.jsonl", "scores.csv"):
        path = Path(layout.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    write(layout, monkeypatch, OLD, DEBATES[0], "calls/d/r1-s01/c.jsonl")
    return layout


def write(layout: Layout, monkeypatch: pytest.MonkeyPatch, version: str, *names: str) -> None:
    monkeypatch.setattr(recording, "program_version", lambda: version)
    record_files(layout, [Path(layout.root, name) for name in names])


def test_parts_by_two_versions_are_told_everywhere(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(layout, monkeypatch, NEW, DEBATES[1], "scores.csv")
    seal_manifest(layout)
    said = versions_in_words(read_journal(layout))
    first, second = "1 file of debates", "1 file of debates, 1 file of tables"
    assert f"{__version__} (code aaaaaaaaaaaa): {first}; {__version__} (code bbbbbbbbbbbb): {second}." in said
    assert "delete results/made/debates and run the same command" in said
    assert said in read_history(Path(layout.root), PlanRecord()).said
    main(["ledger", layout.root])
    main(["verify", layout.root])
    assert capsys.readouterr().out.count("Different versions of the program") == 2
    refresh_manifest(layout, {})
    assert versions_in_words(read_journal(layout)) == said


def test_one_version_is_no_news(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    write(layout, monkeypatch, OLD, DEBATES[1])
    assert versions_in_words(read_journal(layout)) == ""
    write(layout, monkeypatch, NEW, "calls/d/r1-s01/c.jsonl")  # replies do not depend on who logged them
    assert versions_in_words(read_journal(layout)) == ""
    write(layout, monkeypatch, NEW, *DEBATES)  # made again
    assert versions_in_words(read_journal(layout)) == ""


def test_no_seal_depends_on_the_version(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    seals = []
    for version in (OLD, NEW):
        write(layout, monkeypatch, version, *DEBATES)
        seal_manifest(layout)
        seals.append(read_journal(layout).entries)
    assert seals[0] == seals[1]


def test_entries_of_earlier_versions_are_unknown(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their manifests name no version: nothing is said of them alone."""
    path = Path(layout.manifest)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    earlier = [{key: line[key] for key in line if key not in ("program", "checksum")} for line in lines]
    path.write_text("".join(f"{with_checksum(json.dumps(line))}\n" for line in earlier))
    assert not read_journal(layout).manifest.damaged_lines
    assert versions_in_words(read_journal(layout)) == ""
    write(layout, monkeypatch, NEW, DEBATES[1])
    assert (
        f"a version that is not known: 1 file of debates; {__version__} (code bbbbbbbbbbbb): 1 file"
        in versions_in_words(read_journal(layout))
    )


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout of which a process has begun to run."""
    (tmp_path / "cortexdsl" / "engine").mkdir(parents=True)
    (tmp_path / "cortexdsl" / "engine" / "run.py").write_text("first = 1\n")
    monkeypatch.setattr(program, "_root", lambda: tmp_path)
    program._at_start.cache_clear()
    program.note_program()
    yield tmp_path / "cortexdsl"
    program._at_start.cache_clear()


def test_code_that_is_replaced_while_it_runs_is_noticed(code: Path) -> None:
    before = program.program_version()
    (code / "engine" / "run.py").write_text("other = 2\n")
    after = program.program_version()
    assert after.startswith(f"{before}..")
    assert "while it ran" in program.version_in_words(after)
    program._at_start.cache_clear()  # the next process
    assert program.program_version() == f"{__version__}+{after.partition('..')[2]}"
    (code / "engine" / "run.py").write_text("first = 1\n")
    (code / "__pycache__").mkdir()
    (code / "__pycache__" / "run.py").write_text("of nobody")
    program._at_start.cache_clear()
    assert program.program_version() == before


def test_a_file_added_or_renamed_is_other_code(code: Path) -> None:
    before = program.program_version()
    (code / "engine" / "run.py").rename(code / "engine" / "other.py")
    assert program.program_version() != before


def test_the_code_of_this_process_is_known() -> None:
    assert program.program_version().startswith(f"{__version__}+")
    assert len(program._states()) > 300
