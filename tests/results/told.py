"""What is said in the debates of a folder, to compare it with what was exported and imported again."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.records import debate_files, read_debates
from tests.explorer.experiments import slug

Told = dict[tuple[str, int, str], tuple[object, ...]]


def told(*folders: Path) -> Told:
    """By cell, replicate and question: the answer, and of each turn its speaker, round, text and whom it heard."""
    found: Told = {}
    for record in (record for folder in folders for path in debate_files(folder) for record in read_debates(path)):
        debate, header = record.debate, record.header
        turns = [(turn.speaker, turn.round, turn.text, sorted(debate.turns[place].speaker for place in turn.heard))
                 for turn in debate.turns]  # fmt: skip
        found[slug(header.cell), header.replicate, debate.question_id] = (debate.answer, turns)
    return found
