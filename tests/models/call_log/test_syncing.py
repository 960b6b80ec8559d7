"""Before a record is written, all logs that its replies came from are brought to disk: the job's own, and others'."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cortexdsl.models.call_log import syncing
from cortexdsl.models.client import open_client
from tests.models.kit import Fake, Time, call_of


def test_logs_of_other_jobs_are_synced_before_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`b` takes a reply that `a` has logged: its record may not be on disk before that line."""
    synced: list[str] = []
    monkeypatch.setattr(syncing, "sync_path", lambda path: synced.append(path.name))
    fake, time = Fake(), Time()

    async def scene() -> None:
        paths = [tmp_path / "calls" / f"{name}.jsonl" for name in "ab"]
        clients = [open_client(path, transports={"fake": fake}, runtime=time.runtime()) for path in paths]
        async with clients[0] as first, clients[1] as second:
            await first(call_of())
            await second(call_of())
            await second.sync()
            assert synced == ["a.jsonl"]
            await second.sync()  # it has not grown since
            assert synced == ["a.jsonl"]
            await first(call_of("another"))
            await second(call_of("another"))
            await second.sync()
            assert synced == ["a.jsonl"] * 2

    asyncio.run(scene())
    assert len(fake.asked) == 2
