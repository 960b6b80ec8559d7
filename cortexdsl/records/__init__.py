"""Debate records: written, read, versioned; and transcripts of other programs brought into the same shape."""

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
from cortexdsl.records.transcripts import ForeignTranscript, debate_of, read_transcripts

__all__ = [
    "ForeignTranscript",
    "Header",
    "Record",
    "debate_files",
    "debate_of",
    "debate_to_json",
    "read_all",
    "read_debates",
    "read_transcripts",
    "record_from_json",
    "write_debates",
]
