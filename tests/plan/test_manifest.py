"""The manifest of an experiment: entries, seals, and what a crash or an edit leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files, refresh_manifest, seal_manifest
from cortexdsl.plan.persistence.verification import differences, report_files


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """An experiment with a sealed table, and a log and a record that were written later."""
    layout = Layout((tmp_path / "results" / "made").as_posix())
    root = Path(layout.root)
    for name, text in (("scores.csv", "a\n"), ("debates/d/c/r1-s01.jsonl", "{}\n"), ("calls/d/r1-s01/c.jsonl", "{}\n")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    record_files(layout, [root / "scores.csv"])
    seal_manifest(layout)
    record_files(layout, [root / "debates/d/c/r1-s01.jsonl", root / "calls/d/r1-s01/c.jsonl"])
    return layout


def problem(layout: Layout) -> str | None:
    return read_journal(layout).manifest_fault or None


def damaged(layout: Layout) -> list[str]:
    journal = read_journal(layout)
    return [f"{one.path}: {one.what}" for one in differences(journal, report_files(journal))]


def test_a_seal_covers_what_was_there_and_no_logs(layout: Layout) -> None:
    manifest = read_journal(layout).manifest
    assert set(manifest.sealed) == {"scores.csv"}
    assert manifest.unsealed == ["debates/d/c/r1-s01.jsonl"]
    assert problem(layout) is None
    seal_manifest(layout)
    sealed = read_journal(layout)
    assert sealed.manifest.unsealed == []
    assert sealed.manifest.seal == sealed.manifest_seal != manifest.seal
    size = Path(layout.ledger).stat().st_size
    seal_manifest(layout)  # nothing new: nothing is written
    assert Path(layout.ledger).stat().st_size == size


def test_the_last_line_of_a_path_counts(layout: Layout) -> None:
    path = Path(layout.root, "scores.csv")
    path.write_text("other\n")
    assert damaged(layout) == ["scores.csv: changed"]
    record_files(layout, [path])
    assert not damaged(layout)
    assert problem(layout) is None  # written after the seal, as by a job of a run that was stopped


def test_a_log_may_grow(layout: Layout) -> None:
    log = Path(layout.root, "calls/d/r1-s01/c.jsonl")
    with log.open("a") as file:
        file.write("{}\n")
    assert read_journal(layout).damage_of("calls/d/r1-s01/c.jsonl") is None
    log.write_text("[]\n{}\n")
    assert read_journal(layout).damage_of("calls/d/r1-s01/c.jsonl") == "changed"


def test_a_line_that_a_crash_cut_off_costs_its_entry_alone(layout: Layout) -> None:
    """The next job writes below it, and the next run drops it."""
    manifest = Path(layout.manifest)
    manifest.write_bytes(manifest.read_bytes()[:-9])
    record_files(layout, [Path(layout.root, "debates/d/c/r1-s01.jsonl")])
    after = read_journal(layout)
    assert len(after.manifest.damaged_lines) == 1
    assert set(after.files) == {"scores.csv", "debates/d/c/r1-s01.jsonl"}
    assert problem(layout) is None
    refresh_manifest(layout)
    assert read_journal(layout).manifest.damaged_lines == ()
    assert read_journal(layout).files == after.files


def test_a_kill_between_the_seal_and_the_ledger(layout: Layout) -> None:
    """The seal in the ledger counts; what came after it is data of an unfinished run."""
    ledger = Path(layout.ledger).read_bytes()
    seal_manifest(layout)
    Path(layout.ledger).write_bytes(ledger)
    assert problem(layout) is None
    assert set(read_journal(layout).manifest.sealed) == {"scores.csv"}


def test_an_edited_entry_breaks_the_seal(layout: Layout) -> None:
    """Also with a valid checksum, and if the seal in the manifest is replaced, too."""
    root, manifest = Path(layout.root), Path(layout.manifest)
    lines = manifest.read_bytes().splitlines(keepends=True)
    (root / "scores.csv").write_text("forged\n")
    record_files(layout, [root / "scores.csv"])
    forged = manifest.read_bytes().splitlines(keepends=True)[-1]
    manifest.write_bytes(b"".join([forged, *lines[1:]]))
    assert problem(layout) == "its entries differ from their seal"
    manifest.write_bytes(forged)
    assert problem(layout) == "it is missing, cut or has no seal"
    manifest.unlink()
    assert problem(layout) == "it is missing, cut or has no seal"


def test_tables_of_other_programs_get_no_manifest(tmp_path: Path) -> None:
    layout = Layout((tmp_path / "foreign").as_posix())
    Path(layout.root).mkdir()
    Path(layout.table("scores")).write_text("a\n")
    record_files(layout, [layout.table("scores")])
    seal_manifest(layout)
    assert not Path(layout.manifest).exists()
