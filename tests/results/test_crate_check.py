"""Crates of strangers: an archive that is too large, or leads out of its folder, is refused before it is unpacked."""

from __future__ import annotations

import json
import stat
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.export import crate_check
from cortexdsl.export.crate import METADATA


def zipped(path: Path, members: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def metadata(*paths: str) -> str:
    return json.dumps({"@graph": [{"@id": path, "@type": "File", "sha256": "0"} for path in paths]})


def refused(place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["verify", str(place)]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    return " ".join(error.split())


def test_a_bomb_is_not_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crate_check, "_MOST_BYTES", 1_000_000)
    bomb = zipped(tmp_path / "bomb.zip", {"zeros": "0" * 2_000_000})
    assert bomb.stat().st_size < 10_000
    assert "it unpacks to 0.0 GB in 1 files, more than the 0.0 GB" in refused(bomb, capsys)


def test_too_many_files_are_not_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crate_check, "_MOST_FILES", 2)
    assert "in 3 files" in refused(zipped(tmp_path / "many.zip", dict.fromkeys("abc", "")), capsys)


@pytest.mark.parametrize("path", ["../out.txt", "/out.txt", "a/../../out.txt", "..\\out.txt"])
def test_paths_that_lead_out_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    """In an archive, and in the metadata of a folder, whose file would be read."""
    inside = tmp_path / "inside"
    inside.mkdir()
    assert "leads out of the crate" in refused(zipped(inside / "crate.zip", {path: "x"}), capsys)
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["crate.zip"]
    (inside / METADATA).write_text(metadata(path))
    assert "leads out of the crate" in refused(inside, capsys)


def test_links_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "crate.zip", "w") as archive:
        link = zipfile.ZipInfo("results")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    assert "results is a link, and crates hold files" in refused(tmp_path / "crate.zip", capsys)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / METADATA).write_text(metadata("passwd"))
    (folder / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(SystemExit):
        main(["verify", str(folder)])
    assert "this is a symbolic link" in capsys.readouterr().err


def test_a_file_that_is_in_an_archive_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(tmp_path / "crate.zip", "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    assert "a is in it twice" in refused(tmp_path / "crate.zip", capsys)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, f"this is not an RO-Crate: there is no {METADATA} at its top"),
        ("[1]", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        (metadata("a"), "holds no results of cortexdsl"),
    ],
)
def test_what_is_not_a_crate_of_an_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, expected: str
) -> None:
    members = {"a": "x"} | ({} if text is None else {METADATA: text})
    assert expected in refused(zipped(tmp_path / "crate.zip", members), capsys)


def test_a_damaged_archive_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = zipped(tmp_path / "crate.zip", {"a": "text " * 1000})
    data = bytearray(place.read_bytes())
    data[45] ^= 0xFF
    place.write_bytes(data)
    assert "it cannot be unpacked" in refused(place, capsys)
