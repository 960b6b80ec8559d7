"""The call log: every call to a model, kept as it was asked and answered. It is the only saved state.

A folder holds the logs of the cells that share their questions: each has one writer, all are read by all. A
call that is in any of them is not asked again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.models.keys import plain
from cortexdsl.models.logs.appendlog import SCHEMA_VERSION, AppendLog, parse, whole_lines
from cortexdsl.models.reach.secrets import without_credentials
from cortexdsl.models.transports.transport import Raw
from cortexdsl.terms import Call, Reply

_say = logging.getLogger(__name__)


def call_record(
    key: str,
    call: Call,
    raw: Raw | None,
    *,
    seconds: float,
    attempts: int,
    error: str | None = None,
    dollars: float | None = None,
) -> dict[str, Any]:
    """Return one line of the call log.

    `parameters` are the model's options, `api_base` is the address as the spec writes it (the two and the
    messages and seed are what the key is made of), `dollars` what the call cost where a price is known. Text is
    written with JSON's escapes, so that NUL characters and lone surrogates come back as they were.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "key": key,
        "model": call.model.model,
        "api_base": without_credentials(call.model.api_base),
        "parameters": plain(call.model.options),
        "messages": [dict(message) for message in call.messages],
        "seed": call.seed,
        "reply": raw.text if raw is not None and error is None else None,
        "finish_reason": raw.finish_reason if raw is not None else None,
        "usage": {
            "prompt_tokens": raw.prompt_tokens if raw is not None else None,
            "completion_tokens": raw.completion_tokens if raw is not None else None,
        },
        "seconds": round(seconds, 4),
        "attempts": attempts,
        "error": error,
        "dollars": dollars,
        "seed_refused": raw.seed_refused if raw is not None else False,
    }


def reply_of(record: Mapping[str, Any]) -> Reply:
    """Return the reply that a log line holds."""
    usage = record.get("usage") or {}
    return Reply(
        key=record["key"],
        text=record.get("reply") or "",
        finish_reason=record.get("finish_reason"),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        error=record.get("error"),
    )


def _is_call(record: Mapping[str, Any]) -> bool:
    text, error = record.get("reply"), record.get("error")
    return isinstance(text, str) if error is None else isinstance(error, str)


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    offset: int
    length: int
    is_error: bool


class CallLogs:
    """All call logs of a folder as one index from key to reply; the texts stay on disk.

    Parameters
    ----------
    folder : Path
        Its `*.jsonl` files are the logs. May be absent.
    own : Path or None
        The log that this job writes; None to read only. Its lines come first: where two logs answer one key
        differently (two machines asked at once), each job goes on with what it heard itself.
    errors_again : bool
        Failures that are data (content filter ...) are not taken as answers, so that they are asked again.

    Attributes
    ----------
    folder, own
        As given, absolute.
    corrupt : int
        Lines that could not be read, and were skipped with a warning.
    """

    def __init__(self, folder: Path, own: Path | None = None, *, errors_again: bool = False) -> None:
        self.folder = folder.absolute()
        self.own = own = own.absolute() if own is not None else None
        self._errors_again = errors_again
        self._places: dict[str, _Place] = {}
        self._read_to: dict[Path, int] = {}
        self.corrupt = 0
        self._writer = AppendLog(own) if own is not None else None
        if own is not None:
            self._read(own)
        self.refresh()

    def refresh(self) -> None:
        """Read what other jobs have written since the last look."""
        try:
            with os.scandir(self.folder) as entries:
                grown = [
                    Path(entry.path)
                    for entry in entries
                    if entry.name.endswith(".jsonl") and entry.stat().st_size > self._read_to.get(Path(entry.path), 0)
                ]
        except FileNotFoundError:
            return
        for path in sorted(grown):
            if path != self.own:
                self._read(path)

    def _read(self, path: Path) -> None:
        for offset, line in whole_lines(path, self._read_to.get(path, 0)):
            self._read_to[path] = offset + len(line) + 1
            record = parse(line)
            if record is None or not _is_call(record):
                self.corrupt += 1
                _say.warning("%s: byte %d: a corrupt line of the call log is skipped", path, offset)
                continue
            self._add(record["key"], _Place(path, offset, len(line), record.get("error") is not None))

    def _add(self, key: str, place: _Place) -> None:
        known = self._places.get(key)
        if known is None or (known.is_error and not place.is_error):
            self._places[key] = place

    def get(self, key: str) -> Reply | None:
        """Return the reply to a key, or None where no log has one."""
        record = self.record(key)
        return None if record is None else reply_of(record)

    def record(self, key: str) -> dict[str, Any] | None:
        """Return the whole line of a key, or None."""
        place = self._places.get(key)
        if place is None or (place.is_error and self._errors_again):
            return None
        with place.path.open("rb") as file:
            file.seek(place.offset)
            record = parse(file.read(place.length))
        return record if record is not None and record["key"] == key else None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a line to the own log and to the index."""
        if self._writer is None:
            raise RuntimeError("these logs were opened to be read only")
        offset, length = self._writer.append(record)
        self._add(record["key"], _Place(self._writer.path, offset, length - 1, record["error"] is not None))

    def own_records(self) -> list[dict[str, Any]]:
        """Return every record of the own log that can be read."""
        if self.own is None:
            return []
        records = (parse(line) for _, line in whole_lines(self.own))
        return [record for record in records if record is not None and _is_call(record)]

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Close the own log."""
        if self._writer is not None:
            self._writer.close()
