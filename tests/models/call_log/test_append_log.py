"""The call log: nothing acknowledged is lost, nothing torn is believed."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.checksums import with_checksum
from cortexdsl.core import Reply
from cortexdsl.errors import RecordError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.call_log import folder as folder_module
from cortexdsl.models.call_log.append_log import AppendLog
from cortexdsl.models.call_log.folder import CallLogs, LogFolder
from cortexdsl.models.call_log.records import call_record, reply_of
from cortexdsl.models.transports.interface import Raw, TokenCounts
from tests.models.kit import call_of


def write(logs: CallLogs, text: str, reply: str = "fine", error: str | None = None) -> str:
    call = call_of(text)
    key = call_key(call)
    logs.write(call_record(key, call, Raw(reply, "stop", TokenCounts(3, 2)), seconds=0.5, attempts=1, error=error))
    return key


def test_a_line_has_the_fields_of_the_contract(tmp_path: Path) -> None:
    logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
    key = write(logs, "hi", "yes")
    logs.close()
    assert json.loads((tmp_path / "own.jsonl").read_text()) == {
        "schema_version": 2, "key": key, "model": "fake/model", "api_base": None, "parameters": {},
        "messages": [{"role": "user", "content": "hi"}], "seed": 1, "reply": "yes", "finish_reason": "stop",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}, "seconds": 0.5, "attempts": 1, "retries": {},
        "error": None, "dollars": None, "seed_refused": False, "checksum": ANY,
    }  # fmt: skip


def test_an_address_is_kept_without_its_password() -> None:
    call = call_of(api_base="http://me:hunter2@host/v1")
    record = call_record("k", call, None, seconds=0, attempts=1, error="x")
    assert record["api_base"] == "http://[key]@host/v1"


def test_all_logs_of_a_folder_are_read_and_grow_while_others_write(tmp_path: Path) -> None:
    other = CallLogs(tmp_path, tmp_path / "other.jsonl")
    early = write(other, "early")
    mine = CallLogs(tmp_path, tmp_path / "mine.jsonl")
    assert mine.get(early) == Reply(early, "fine", "stop", 3, 2)
    late = write(other, "late")
    assert mine.get(late) is None
    mine.refresh()
    assert mine.get(late) is not None
    assert len(mine) == 2


def test_a_folder_that_is_shared_while_it_is_empty_is_the_same_for_all(tmp_path: Path) -> None:
    """The jobs of a new run start together: what one writes the others know without reading it again."""
    folder = LogFolder(tmp_path)
    one, other = (CallLogs(tmp_path, tmp_path / f"{name}.jsonl", shared=folder) for name in ("one", "other"))
    key = write(one, "hi")
    assert len(folder) == 1
    assert other.get(key) is one.get(key)


def test_replies_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is space for one: the others are read from the log again, and are the same."""
    monkeypatch.setattr(folder_module, "MOST_CHARACTERS", folder_module.SIZE + 5)
    logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
    first, second = write(logs, "one", "1"), write(logs, "two", "22")
    assert logs.get(second) is logs.get(second)
    kept = logs.get(first)
    assert kept == Reply(first, "1", "stop", 3, 2)
    assert logs.get(second) == Reply(second, "22", "stop", 3, 2)
    again = logs.get(first)
    assert again == kept
    assert again is not kept


def test_a_log_that_one_job_has_left_is_read_on_when_another_process_goes_on_with_it(tmp_path: Path) -> None:
    """While a job writes a log nobody else can; afterwards somebody may, and the jobs here must hear of it."""
    shared = LogFolder(tmp_path)
    left = CallLogs(tmp_path, tmp_path / "a.jsonl", shared=shared)
    first = write(left, "first")
    left.close()
    stays = CallLogs(tmp_path, tmp_path / "b.jsonl", shared=shared)
    with_another = CallLogs(tmp_path, tmp_path / "a.jsonl")  # as another process would
    second = write(with_another, "second")
    with_another.close()
    stays.refresh()
    assert stays.get(first) is not None
    assert stays.get(second) is not None
    stays.close()
    shared.close()


def test_where_two_logs_differ_ones_own_counts(tmp_path: Path) -> None:
    a = CallLogs(tmp_path, tmp_path / "a.jsonl")
    key = write(a, "same", "from a")
    a.close()
    b = CallLogs(tmp_path, tmp_path / "b.jsonl")
    write(b, "same", "from b")
    b.close()
    again = CallLogs(tmp_path, tmp_path / "b.jsonl").get(key)
    assert again is not None
    assert again.text == "from b"


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    first = AppendLog(tmp_path / "own.jsonl")
    with pytest.raises(RecordError, match="another process writes this log"):
        AppendLog(tmp_path / "own.jsonl")
    first.close()
    AppendLog(tmp_path / "own.jsonl").close()


@pytest.mark.parametrize("cut", [1, 20, 150])
def test_a_torn_last_line_is_cut_off_by_the_next_writer(
    tmp_path: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A kill in the middle of a write leaves the beginning of a line; what stood before it is whole."""
    path = tmp_path / "own.jsonl"
    logs = CallLogs(tmp_path, path)
    kept, torn = write(logs, "kept"), write(logs, "torn")
    logs.close()
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first + cut])
    assert CallLogs(tmp_path).get(torn) is None
    logs = CallLogs(tmp_path, path)
    assert path.read_bytes() == whole[:first]
    again = write(logs, "torn")
    logs.close()
    assert path.read_bytes() == whole
    both = CallLogs(tmp_path)
    assert both.get(kept) is not None
    assert both.get(again) is not None
    assert "corrupt line" not in caplog.text


def test_a_last_line_that_lacks_only_its_end_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    logs = CallLogs(tmp_path, path)
    key = write(logs, "whole")
    logs.close()
    path.write_bytes(path.read_bytes()[:-1])
    logs = CallLogs(tmp_path, path)
    assert logs.get(key) is not None
    assert path.read_bytes().endswith(b"}\n")


def test_corrupt_lines_are_skipped_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "own.jsonl"
    logs = CallLogs(tmp_path, path)
    key = write(logs, "good")
    logs.close()
    bad = [b"\xff\xfe\x00", b"[]", b'{"key": 3}', b'{"key": "k", "reply": null, "error": null}', b""]
    path.write_bytes(b"\n".join(bad) + b"\n" + path.read_bytes())
    with caplog.at_level(logging.WARNING):
        read = CallLogs(tmp_path)
    assert caplog.text.count("corrupt line") == len(bad)
    assert read.get(key) is not None


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(with_checksum('{"schema_version": 3, "key": "k", "reply": "x"}') + "\n")
    with pytest.raises(RecordError, match="schema_version 3"):
        CallLogs(tmp_path)


def test_a_failure_that_is_data_is_kept_and_asked_again_only_on_request(tmp_path: Path) -> None:
    logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
    key = write(logs, "bad", error="content filter: no")
    logs.close()
    assert CallLogs(tmp_path).get(key) == Reply(key, "", "stop", 3, 2, "content filter: no")
    again = CallLogs(tmp_path, tmp_path / "own.jsonl", errors_again=True)
    assert again.get(key) is None
    write(again, "bad", "now it works")
    again.close()
    final = CallLogs(tmp_path).get(key)
    assert final is not None
    assert final.text == "now it works"


@given(st.text(st.characters(codec=None, categories=None), max_size=200))
def test_a_reply_comes_back_character_for_character(text: str) -> None:
    """JSON escapes hold every code point: NUL, lone surrogates, line separators."""
    call = call_of("q")
    record = call_record("k", call, Raw(text + "\x00\ud800\u2028\x85", None), seconds=0, attempts=1)
    line = json.dumps(record).encode("ascii")
    assert b"\n" not in line
    assert reply_of(json.loads(line)).text == text + "\x00\ud800\u2028\x85"


def test_a_reply_of_100_kilobytes_is_kept(tmp_path: Path) -> None:
    logs = CallLogs(tmp_path, tmp_path / "own.jsonl")
    text = "\u202e{{ 7*7 }}\x00é" * 10_000
    key = write(logs, "long", text)
    found = logs.get(key)
    assert found is not None
    assert found.text == text


WRITER = """
import os, signal, sys
from pathlib import Path
from cortexdsl.models.call_log.append_log import AppendLog
log = AppendLog(Path(sys.argv[1]))
for number in range(10_000):
    log.append({"schema_version": 1, "key": str(number), "reply": "x" * 500, "error": None})
    os.write(1, b"%d\\n" % number)
    if number == 300:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_has_lost_nothing_that_it_acknowledged(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "own.jsonl"
    done = subprocess.run([sys.executable, "-c", WRITER, str(path)], capture_output=True, check=False, cwd=repository)
    assert done.returncode == -signal.SIGKILL
    acknowledged = done.stdout.split()
    assert acknowledged[-1] == b"300"
    logs = CallLogs(tmp_path, path)
    assert all(logs.get(number.decode()) is not None for number in acknowledged)


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.jsonl"
    logs = CallLogs(tmp_path, path)
    key = write(logs, "before")
    size = path.stat().st_size
    real = os.write
    budget = [50]

    def full(file: int, data: bytes) -> int:
        if budget[0] <= 0:
            raise OSError(28, "No space left on device")
        written = real(file, data[: budget[0]])
        budget[0] -= written
        return written

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RecordError, match="No space left"):
        write(logs, "after")
    monkeypatch.undo()
    assert path.stat().st_size == size
    assert logs.get(key) is not None
