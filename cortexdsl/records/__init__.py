"""Debate records: written, read, versioned; and transcripts of other programs brought into the same shape."""

from cortexdsl.records.debates import SCHEMA_VERSION, Header, Record, debate_to_json, write_debates
from cortexdsl.records.imported import debate_of
from cortexdsl.records.reading import debate_files, read_debates, record_from_json
from cortexdsl.records.transcripts import Transcript, read_transcripts

__all__ = [
    "SCHEMA_VERSION",
    "Header",
    "Record",
    "Transcript",
    "debate_files",
    "debate_of",
    "debate_to_json",
    "read_debates",
    "read_transcripts",
    "record_from_json",
    "write_debates",
]
