"""What was kept comes back as it was, or is found to be damaged, named, and asked again; an index never lies."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.checksums import LineState, line_state, with_checksum
from cortexdsl.errors import RecordError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log import index as index_module
from cortexdsl.models.call_log.append_log import AppendLog
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.index import LogIndex
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.transports.interface import Raw, TokenCounts
from tests.models.kit import call_of


def fill(path: Path, count: int, prefix: str = "q") -> dict[str, str]:
    """Write a log of so many calls; return what each key was answered."""
    logs = CallLogs(path.parent, path)
    replies = {}
    for number in range(count):
        call = call_of(f"{prefix} {number}")
        key = call_key(call)
        raw = Raw(f"reply {number}", "stop", TokenCounts(7, number))
        logs.write(call_record(key, call, raw, seconds=0.1, attempts=1 + number % 2, dollars=0.5))
        replies[key] = f"reply {number}"
    logs.close()
    return replies


def answers(folder: Path, keys: Any) -> dict[str, str]:
    logs = CallLogs(folder)
    found = {key: logs.get(key) for key in keys}
    return {key: reply.text for key, reply in found.items() if reply is not None}


def index_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.index")


def test_a_seal_is_the_crc_32_of_what_stands_before_it() -> None:
    """The CRC-32 of "123456789" is cbf43926 (the check value of its catalogue)."""
    assert with_checksum("123456789}") == '123456789,"checksum":"cbf43926"}'
    assert line_state(b'123456789,"checksum":"cbf43926"}\n') is LineState.WHOLE
    assert line_state(b'123456780,"checksum":"cbf43926"}') is LineState.BROKEN
    assert line_state(b'{"key": 1}') is LineState.ABSENT


def test_no_flipped_bit_is_ever_taken_for_what_was_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """200 seeded flips anywhere in a log of three lines: others keep their replies, and the damaged one has none."""
    whole = tmp_path / "whole" / "own.jsonl"
    replies = fill(whole, 3)
    content = whole.read_bytes()
    chance = random.Random(1)
    for trial in range(200):
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        path = tmp_path / str(trial) / "own.jsonl"
        path.parent.mkdir()
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :])
        if trial % 2:
            shutil.copy(index_of(whole), index_of(path))
        with caplog.at_level(logging.WARNING):
            found = answers(path.parent, replies)
        assert found.items() < replies.items()
        damaged = content[:at].count(b"\n") + 1
        assert f"{path}:{damaged}: a corrupt line" in caplog.text or content[at] == ord("\n")
        caplog.clear()


def test_a_damaged_line_is_asked_again_and_the_new_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    replies = fill(path, 3)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"reply 1", b"reply 9"))
    assert answers(tmp_path, replies).keys() < replies.keys()
    fill(path, 3)  # writes all three again, as a job whose index says nothing would
    assert answers(tmp_path, replies) == replies


OLD: dict[str, Any] = {
    "schema_version": 1, "key": "k", "model": "m", "messages": [{"role": "user", "content": "q"}],
    "reply": "r", "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}, "error": None,
    "attempts": 1, "dollars": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"usage": [5]},
        {"usage": {"prompt_tokens": "3"}},
        {"usage": {"prompt_tokens": 10**400}},
        {"usage": {"prompt_tokens": -1}},
        {"usage": {"prompt_tokens": True}},
        {"dollars": "1"},
        {"dollars": 10**400},
        {"dollars": -1},
        {"attempts": "2"},
        {"attempts": 2.5},
        {"finish_reason": 5},
        {"messages": [5]},
        {"messages": "q"},
        {"reply": None},
        {"reply": 5},
        {"error": 5},
        {"schema_version": "1"},
        {"schema_version": 2},
        {"key": 5},
    ],
)
def test_a_line_of_wrong_types_is_corrupt_and_no_traceback(
    tmp_path: Path, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Lines of version 1 had no seal; those of version 2 without one are not believed."""
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(OLD) + "\n")
    assert answers(tmp_path, ["k"]) == {"k": "r"}
    path.write_text(json.dumps({**OLD, **wrong}) + "\n")
    logs = CallLogs(tmp_path, path)
    assert logs.get("k") is None
    assert caplog.text.count("corrupt line") == 1
    assert logs.totals().calls == 0
    logs.close()


@pytest.mark.parametrize("line", [b"[" * 200_000, b'{"key": ' + b"[" * 200_000, b'{"key": "k", "dollars": NaN}', b"\0"])
def test_a_line_that_is_no_json_is_corrupt(tmp_path: Path, line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "own.jsonl").write_bytes(line + b"\n")
    logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
    assert (caplog.text.count("corrupt line"), len(logs)) == (1, 0)
    logs.close()


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("a diary\n")
    (tmp_path / "own.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(RecordError, match="it is a link"):
        AppendLog(tmp_path / "own.jsonl")


@pytest.mark.parametrize("tail", ['{"mine": "unfin', "a diary without an end"])
def test_an_unfinished_line_of_somebody_else_is_not_cut(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(OLD)}\n{tail}")
    with pytest.raises(RecordError, match="no call log has begun it"):
        AppendLog(path)
    assert path.read_text().endswith(tail)


@pytest.mark.parametrize(
    "tail", [b'{"schema_ver', b'{"schema_version": 2, "key": "ab', b"\0\0\0\0", b'{"sch\0\0', b'\0\0, "key": "a']
)
def test_a_torn_line_of_a_log_is_cut(tmp_path: Path, tail: bytes) -> None:
    """A power cut may leave zeros where the file system had not written yet."""
    path = tmp_path / "own.jsonl"
    replies = fill(path, 2)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + tail)
    CallLogs(tmp_path, path).close()
    assert path.stat().st_size == size
    assert answers(tmp_path, replies) == replies


# ------------------------------------------------------------ the index
def test_a_log_with_its_index_opens_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 lines the first and the last are looked at, to see that the index is this log's."""
    path = tmp_path / "own.jsonl"
    replies = fill(path, 50)
    looked: list[bytes] = []
    real = index_module.usage_of_line
    monkeypatch.setattr(index_module, "usage_of_line", lambda line: looked.append(line) or real(line))
    logs = CallLogs(tmp_path, path)
    assert (len(logs), len(looked)) == (50, 2)
    totals = logs.totals()
    assert (totals.calls, totals.attempts, totals.input_tokens, totals.output_tokens, totals.dollars) == (
        50, 75, 350, 1225, 25.0,
    )  # fmt: skip
    logs.close()
    monkeypatch.undo()
    assert answers(tmp_path, replies) == replies


def spoil(path: Path, how: str) -> None:
    """Do to a log or its index what a crash, a copy or a person may do."""
    log, kept = path.read_bytes(), index_of(path).read_bytes()
    lines = log.splitlines(keepends=True)
    match how:
        case "index cut":
            index_of(path).write_bytes(kept[:-100])
        case "index of one line too few":
            index_of(path).write_bytes(kept[:-64])
        case "index is garbage":
            index_of(path).write_bytes(os.urandom(len(kept)))
        case "index garbled in the middle":
            index_of(path).write_bytes(kept[: len(kept) // 2] + b"\xff" * 64 + kept[len(kept) // 2 + 64 :])
        case "index gone":
            index_of(path).unlink()
        case "log lost its end":
            path.write_bytes(b"".join(lines[:-3]))
        case "log lost its middle":
            path.write_bytes(b"".join(lines[:3] + lines[-3:]))
        case "log in another order":
            path.write_bytes(b"".join(reversed(lines)))
        case "two lines changed places":
            lines[4], lines[5] = lines[5], lines[4]
            path.write_bytes(b"".join(lines))
        case "log copied later":
            path.write_bytes(log)
            os.utime(path, ns=(index_of(path).stat().st_mtime_ns + 10**9,) * 2)


@pytest.mark.parametrize(
    "how",
    [
        "index cut", "index of one line too few", "index is garbage", "index garbled in the middle", "index gone",
        "log lost its end", "log lost its middle", "log in another order", "two lines changed places",
        "log copied later",
    ],
)  # fmt: skip
def test_whatever_happens_to_an_index_the_log_is_what_counts(tmp_path: Path, how: str) -> None:
    """Every reply that is found is the right one, and after the next job of that log all of the log's are found."""
    path = tmp_path / "own.jsonl"
    replies = fill(path, 12)
    spoil(path, how)
    there = {key: text for key, text in replies.items() if key.encode() in path.read_bytes()}
    found = answers(tmp_path, replies)
    assert found.items() <= there.items()
    assert found == there
    CallLogs(tmp_path, path).close()
    assert answers(tmp_path, there).items() <= there.items()
    more = fill(path, 1, "more")
    assert answers(tmp_path, more) == more


def test_no_flipped_bit_of_an_index_loses_a_reply(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each bit of an index of three entries, flipped alone: the log is read, all replies are there, and no line of the
    log is called corrupt."""
    path = tmp_path / "own.jsonl"
    replies = fill(path, 3)
    kept = index_of(path).read_bytes()
    for bit in range(8 * len(kept)):
        flipped = bytearray(kept)
        flipped[bit // 8] ^= 1 << bit % 8
        index_of(path).write_bytes(flipped)
        index = LogIndex(path)
        assert len(index) == 0
        index.catch_up()
        assert len(index) == 3
    assert answers(tmp_path, replies) == replies
    CallLogs(tmp_path, path).close()
    assert index_of(path).read_bytes() == kept
    assert "corrupt" not in caplog.text


def test_a_writer_that_was_killed_between_line_and_index_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    replies = fill(path, 5)
    kept = index_of(path).read_bytes()
    more = fill(path, 3, "more")
    index_of(path).write_bytes(kept)
    logs = CallLogs(tmp_path, path)
    assert all(logs.get(key) is not None for key in {**replies, **more})
    logs.close()
    assert len(LogIndex(path)) == 8
    assert LogIndex(path).covered == path.stat().st_size


def test_a_log_of_version_1_is_read_indexed_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps({**OLD, "key": f"k{n}"}) + "\n" for n in range(4)))
    new = fill(path, 2)
    assert answers(tmp_path, ["k0", "k3", *new]) == {"k0": "r", "k3": "r", **new}
    assert len(LogIndex(path)) == 6
