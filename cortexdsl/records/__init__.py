"""Debate records: written, read, versioned."""

from cortexdsl.records.debates import (
    Header,
    Record,
    debate_files,
    debate_to_json,
    read_all,
    read_debates,
    record_from_json,
    write_debates,
)

__all__ = [
    "Header",
    "Record",
    "debate_files",
    "debate_to_json",
    "read_all",
    "read_debates",
    "record_from_json",
    "write_debates",
]
