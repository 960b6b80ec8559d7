"""No verb reads or writes a results folder in which a link leads out of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import cortexdsl as cx
from cortexdsl.cli.main import main
from cortexdsl.cli.verbs import DAILY, DEBATES, RESULTS, VERBS
from cortexdsl.errors import RecordError
from tests.jobs.experiment import NAME, run_jobs, write_spec

FOLDER = Path("results", NAME)
ARGUMENTS = {
    "status": [NAME], "pause": [NAME], "resume": [NAME], "limit": [NAME, "--calls", "5"],
    "report": [NAME], "ledger": [NAME], "verify": [NAME], "view": [NAME, "--static", "site"], "show": [NAME],
    "export": [NAME, "--out", "out.csv"], "compare": [FOLDER.as_posix(), "--to", "low"],
    "gate": [FOLDER.as_posix(), "--undecided", "pass"],
    "whatif": ["specs/small.yaml"], "labels": ["specs/small.yaml", "--human", "labels.csv"],
    "regrade": ["specs/small.yaml"], "replay": ["specs/small.yaml"],
}  # fmt: skip
ELSEWHERE = {"new", "check", "trust", "plan", "run"}
"""Verbs about specs alone; and `run`, which becomes Snakemake: `tests/records/test_symlinks.py` tests its lock."""


def test_every_verb_about_results_is_tried() -> None:
    """The groups of the help are those of the parser: a new verb fails here until it has a line above."""
    named = {name for name, verb in VERBS.items() if verb.group in (DAILY, DEBATES, RESULTS)} | {"compare"}
    assert named - ELSEWHERE == set(ARGUMENTS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_jobs(write_spec())
    return folder


def _state(folder: Path) -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_a_verb_refuses_each_file_and_folder_that_is_a_link(
    verb: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is moved out of the folder in turn, and a link put in its place; nothing outside is changed."""
    place = tmp_path / "copy"
    shutil.copytree(finished, place)
    monkeypatch.chdir(place)
    outside = tmp_path / "outside"
    for path in sorted(path.relative_to(place) for path in (place / FOLDER).rglob("*")):
        shutil.move(path, outside)
        path.symlink_to(outside)
        before = outside.read_bytes() if outside.is_file() else _state(outside)
        try:
            status = main([verb, *ARGUMENTS[verb]])
        except SystemExit as end:  # of the parser
            status = int(end.code or 0)
        printed = capsys.readouterr()
        assert status in (1, 2), path
        assert f"{path}: this is a symbolic link" in printed.out + printed.err, path
        assert (outside.read_bytes() if outside.is_file() else _state(outside)) == before
        path.unlink()
        shutil.move(outside, path)


def test_the_python_interface_refuses_links(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    shutil.move(FOLDER / "spent", tmp_path / "spent")
    (FOLDER / "spent").symlink_to(tmp_path / "spent")
    with pytest.raises(RecordError, match="symbolic link"):
        cx.open(FOLDER)
