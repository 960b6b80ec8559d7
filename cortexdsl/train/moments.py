"""Records of debates to learn from: one line for each reply that was guided, with what came of it.

They hold the right answer among what guided them, say so (`guided`), and are no debates: nothing scores them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.debate.trajectory import WAYS, Moment, Response, Way
from cortexdsl.errors import RecordError
from cortexdsl.records.files import write_lines
from cortexdsl.seals import Seal, seal_of, sealed
from cortexdsl.terms import Message

SCHEMA_VERSION = 1
KIND = "moment"


@dataclass(frozen=True, slots=True)
class Tried:
    """A reply and what it is worth.

    Attributes
    ----------
    text : str
    has_failed : bool
        It, or a roll-out from it, brought no reply: nothing is known of its value.
    is_cut : bool
        The model did not end it itself.
    scores : tuple of float
        Of the answers with which the roll-outs ended, in [0, 1]; an unreadable one scores 0.
    """

    text: str
    has_failed: bool
    is_cut: bool
    scores: tuple[float, ...]

    @property
    def value(self) -> float:
        """The mean score: what the debate is expected to come to from here (Eq. 4, by roll-outs of one round)."""
        return sum(self.scores) / len(self.scores)


@dataclass(frozen=True, slots=True)
class Judged:
    """A moment of a debate, its replies valued.

    Attributes
    ----------
    question : str
    round, turn : int
    prompt : messages
    tried : mapping of Way to Tried
    """

    question: str
    round: int
    turn: int
    prompt: tuple[Message, ...]
    tried: Mapping[Way, Tried]


def moment_line(moment: Moment, question: str, digest: str, scores: Mapping[Way, Sequence[float]]) -> str:
    """Return a moment as one sealed line.

    Parameters
    ----------
    moment : Moment
    question : str
        The id.
    digest : str
        Of everything that the trajectories of its phase depend on.
    scores : mapping of Way to floats
        Of the endings.
    """
    line: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "guided": True,
        "digest": digest,
        "question_id": question,
        "round": moment.round,
        "turn": moment.turn,
        "prompt": [dict(message) for message in moment.prompt],
        **{way: _response(moment.responses[way], scores[way]) for way in WAYS},
    }
    return sealed(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _response(response: Response, scores: Sequence[float]) -> dict[str, Any]:
    turn = response.turn
    return {
        "text": turn.text,
        "answer": turn.answer,
        "call": turn.call,
        "ended": turn.ended,
        "failed": any((each.unparsed or "").startswith("no reply: ") for each in (turn, *response.endings)),
        "endings": [
            {"answer": end.answer, "unparsed": end.unparsed, "score": score, "call": end.call}
            for end, score in zip(response.endings, scores, strict=True)
        ],
    }


def write_moments(path: Path, lines: Iterable[str]) -> None:
    """Write the moments of a shard: all of them or, after a crash, none."""
    write_lines(path, lines)


def read_moments(path: Path, digest: str) -> Iterator[Judged]:
    """Read the moments of a shard.

    Raises
    ------
    RecordError
        A line is no moment, is broken, or belongs to another meaning of the spec.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordError(
            f"{path}: it cannot be read ({error.strerror})\n    run the workflow, which writes it"
        ) from None
    for number, line in enumerate(content.splitlines(), 1):
        where = f"{path}:{number}"
        try:
            said = json.loads(line) if seal_of(line) is Seal.WHOLE else None
            if said is None or said["kind"] != KIND or said["schema_version"] != SCHEMA_VERSION:
                raise ValueError
            meant, tried = said["digest"], {way: _tried(said[way]) for way in WAYS}
            found = Judged(said["question_id"], said["round"], said["turn"], tuple(said["prompt"]), tried)
        except (ValueError, KeyError, TypeError):
            remedy = "delete the file and run the workflow again: what was asked is in the call logs"
            raise RecordError(f"{where}: this is no whole moment of a debate\n    {remedy}") from None
        if meant != digest:
            raise RecordError(f"{where}: it belongs to another meaning of the spec\n    run the workflow again")
        yield found


def _tried(said: Mapping[str, Any]) -> Tried:
    return Tried(said["text"], said["failed"], said["ended"] is not None, tuple(e["score"] for e in said["endings"]))
