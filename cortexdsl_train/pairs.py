"""Moments of debates as records, and the pairs and examples that are chosen from them.

A record is one line for each reply that was guided, with what came of it. It holds the right answer, says so
(`guided`), and is not a debate: nothing scores it. Pairs and examples have the formats that TRL reads (conversational
preference, prompt-completion), and say where they come from.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cortexdsl.checksums import LineState, line_state, with_checksum, write_lines
from cortexdsl.core import Message
from cortexdsl.engine.trajectories import BRANCH_KINDS, Branch, BranchKind, BranchPoint
from cortexdsl.errors import RecordError

SCHEMA_VERSION = 1
KIND = "moment"


@dataclass(frozen=True, slots=True)
class ValuedReply:
    """A reply and what it is worth.

    Attributes
    ----------
    text : str
    has_failed : bool
        It, or a roll-out from it, brought no reply: nothing is known of its value.
    is_cut : bool
        The model did not end it itself.
    scores : tuple of float
        The scores of the final answers of the roll-outs, in [0, 1]; an unreadable one scores 0.
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
class ValuedMoment:
    """A moment of a debate, its replies valued.

    Attributes
    ----------
    question : str
    round, turn : int
    prompt : messages
    tried : mapping of BranchKind to ValuedReply
        Only the natural one if nothing was guided.
    label : str or None
        What the question's debates decided, if that counts as right.
    """

    question: str
    round: int
    turn: int
    prompt: tuple[Message, ...]
    tried: Mapping[BranchKind, ValuedReply]
    label: str | None = None

    @property
    def natural(self) -> ValuedReply:
        """The unguided reply."""
        return self.tried["natural"]

    @property
    def is_guided(self) -> bool:
        """Whether replies were guided here, and debates continued from each of them."""
        return len(self.tried) > 1


def moment_line(
    moment: BranchPoint,
    question: str,
    digest: str,
    scores: Mapping[BranchKind, Sequence[float]],
    label: str | None = None,
    *,
    is_undecided: bool = False,
) -> str:
    """Return a moment as one sealed line.

    Parameters
    ----------
    moment : BranchPoint
    question : str
        The id.
    digest : str
        The digest of everything that the trajectories of its phase depend on.
    scores : mapping of BranchKind to floats
        The scores of the endings.
    label : str or None
        What the question's debates decided, if the scores count its equals.
    is_undecided : bool
        Nothing is known of the value, because no answer has the majority.
    """
    responses: dict[str, Any] = {way: _response(branch, scores[way]) for way, branch in moment.responses.items()}
    line: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "guided": len(responses) > 1,
        "digest": digest,
        "question_id": question,
        "round": moment.round,
        "turn": moment.turn,
        "prompt": [dict(message) for message in moment.prompt],
        **responses,
        **({} if label is None else {"label": label}),
    }
    if is_undecided:
        line["natural"]["failed"] = True
    return with_checksum(json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _response(response: Branch, scores: Sequence[float]) -> dict[str, Any]:
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


def read_moments(path: Path, digest: str) -> Iterator[ValuedMoment]:
    """Read the moments of a shard.

    Raises
    ------
    RecordError
        A line is not a moment, is damaged, or belongs to another version of the spec.
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
            said = json.loads(line) if line_state(line) is LineState.WHOLE else None
            if said is None or said["kind"] != KIND or said["schema_version"] != SCHEMA_VERSION:
                raise ValueError
            kinds = BRANCH_KINDS if said["guided"] else BRANCH_KINDS[:1]
            meant, tried = said["digest"], {way: _tried(said[way]) for way in kinds}
            at = said["question_id"], said["round"], said["turn"]
            found = ValuedMoment(*at, tuple(said["prompt"]), tried, said.get("label"))
        except (ValueError, KeyError, TypeError):
            remedy = "delete the file and run the workflow again: what was asked is in the call logs"
            raise RecordError(f"{where}: this is not a complete moment of a debate\n    {remedy}") from None
        if meant != digest:
            raise RecordError(f"{where}: it belongs to another version of the spec\n    run the workflow again")
        yield found


def _tried(said: Mapping[str, Any]) -> ValuedReply:
    return ValuedReply(
        said["text"], said["failed"], said["ended"] is not None, tuple(e["score"] for e in said["endings"])
    )


Outcome: TypeAlias = Literal["right", "wrong", "natural", "below", "same", "cut", "no_reply"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "natural", "below", "same", "cut", "no_reply")
"""A pair with the reply that was guided to the right answer, one with that guided to a wrong one, one of two natural
replies; or none: no difference reaches the threshold, both say the same, the better reply was cut short, a reply or
roll-out failed (or no answer has the majority)."""
HAIR = 1e-9
"""Means of a few scores that differ by the threshold may differ by less in the last place."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies to one prompt, the better one first; `guided` is the one of them that was, or `natural`."""

    chosen: ValuedReply
    rejected: ValuedReply
    guided: Literal["right", "wrong", "natural"]


def select_pair(moment: ValuedMoment, threshold: float) -> tuple[Pair | None, Outcome]:
    """Return the pair that a moment makes, and what came of it.

    The reply guided to the right answer is preferred to the natural one if its value is at least `threshold` higher;
    else the natural one is preferred to the reply guided to a wrong answer, if that is worth as much less. If the first
    pair reaches the threshold and cannot be learned from, the second is tried; if that fails, too, the reason is given.

    Parameters
    ----------
    moment : ValuedMoment
    threshold : float
        In [0, 1]; at 0 every two replies make a pair unless the guided one did harm, at 1 only a certainly wrong and a
        certainly right one.
    """
    natural, right, wrong = (moment.tried[way] for way in ("natural", "right", "wrong"))
    asked: tuple[tuple[Literal["right", "wrong"], ValuedReply, ValuedReply], ...]
    asked = (("right", right, natural), ("wrong", natural, wrong))
    why: Outcome = "below"
    for way, better, worse in asked:
        if better.has_failed or worse.has_failed:
            why = "no_reply" if why == "below" else why
        elif better.value - worse.value >= threshold - HAIR:
            if better.text == worse.text:
                why = "same"
            elif better.is_cut:
                why = "cut"
            else:
                return Pair(better, worse, way), way
    return None, why


def natural_pair(replies: Iterable[ValuedReply], threshold: float) -> tuple[Pair | None, Outcome]:
    """Return the pair that unguided replies to one prompt make, the first of the best and of the worst.

    So a majority prefers the replies that agree with it to those that do not (MACA, arXiv 2509.15172, MV-DPO).
    """
    known = [reply for reply in replies if not reply.has_failed]
    if len(known) < 2:
        return None, "below" if known else "no_reply"
    best = max(known, key=lambda reply: (reply.value, not reply.is_cut))
    worst = min(known, key=lambda reply: reply.value)
    if best.value - worst.value < threshold - HAIR or best.text == worst.text:
        return None, "below"
    return (None, "cut") if best.is_cut else (Pair(best, worst, "natural"), "natural")


def is_exemplary(moment: ValuedMoment) -> bool:
    """Return whether the natural reply may be imitated: every roll-out from it ended right, and it was not cut."""
    natural = moment.natural
    return not natural.has_failed and not natural.is_cut and natural.value >= 1 - HAIR


COLUMNS = ("part", "round", "moments", *OUTCOMES, "examples")
"""The columns of the table of selected moments."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The lines of pairs.jsonl, sft.jsonl and prompts.jsonl of a phase, and the rows of the table of moments.

    Replies to one prompt that were not guided are one moment.
    """

    pairs: tuple[str, ...]
    examples: tuple[str, ...]
    prompts: tuple[str, ...]
    kept: tuple[tuple[str | int, ...], ...]


def select_examples(moments: Iterable[ValuedMoment], threshold: float, validation: frozenset[str]) -> Selection:
    """Select pairs and examples.

    Parameters
    ----------
    moments : iterable of ValuedMoment
        All moments of a phase.
    threshold : float
    validation : frozenset of str
        Ids of the questions whose pairs are kept apart.
    """
    pairs: list[str] = []
    examples: list[str] = []
    prompts: list[str] = []
    counts: Counter[tuple[str, int, str]] = Counter()
    for group in _by_prompt(moments):
        moment = group[0]
        part = "validation" if moment.question in validation else "train"
        whose = {"part": part, "question": moment.question, "round": moment.round}
        if moment.is_guided:
            pair, outcome = select_pair(moment, threshold)
        else:
            pair, outcome = natural_pair([each.natural for each in group], threshold)
            prompts.append(_line({"prompt": _asked(moment), "label": moment.label or "", **whose}))
        counts[part, moment.round, outcome] += 1
        if pair is not None:
            values = {
                "value_chosen": pair.chosen.value,
                "value_rejected": pair.rejected.value,
                "values": {way: tried.value for way, tried in moment.tried.items()},
            }
            said = {"chosen": _said(pair.chosen.text), "rejected": _said(pair.rejected.text)}
            pairs.append(_line({"prompt": _asked(moment), **said, **whose, "guided": pair.guided, **values}))
        for natural in {each.natural.text: each.natural for each in group if is_exemplary(each)}.values():
            completion = {"prompt": _asked(moment), "completion": _said(natural.text)}
            examples.append(_line({**completion, **whose, "value": natural.value}))
            counts[part, moment.round, "examples"] += 1
    return Selection(tuple(pairs), tuple(examples), tuple(prompts), tuple(_rows(counts)))


def _by_prompt(moments: Iterable[ValuedMoment]) -> Iterable[list[ValuedMoment]]:
    """Return moments in groups: alone if replies were guided, else together with others of the same prompt."""
    groups: dict[tuple[str, int, object], list[ValuedMoment]] = {}
    for moment in moments:
        which = moment.turn if moment.is_guided else json.dumps(_asked(moment))
        groups.setdefault((moment.question, moment.round, which), []).append(moment)
    return groups.values()


def check_whole(moments: Sequence[ValuedMoment], places: Iterable[tuple[str, int]]) -> None:
    """Refuse moments that are not those of the phase, each once.

    Raises
    ------
    RecordError
    """
    there, meant = Counter((moment.question, moment.turn) for moment in moments), Counter(places)
    for odd, what in (
        (meant - there, "is missing"),
        (there - meant, "is there twice, or belongs to no question of it"),
    ):
        if odd:
            question, turn = next(iter(odd))
            remedy = "delete the folder trajectories of the phase and run the workflow again"
            raise RecordError(f"question {question!r}, turn {turn}: its moment {what}\n    {remedy}")


def selection_csv(made: Selection) -> list[str]:
    """Return the table of selected moments as lines of CSV."""
    return [",".join(COLUMNS), *(",".join(map(str, row)) for row in made.kept)]


def _rows(counts: Counter[tuple[str, int, str]]) -> Iterator[tuple[str | int, ...]]:
    for part, round_ in sorted({(part, round_) for part, round_, _ in counts}):
        of: list[Outcome] = list(OUTCOMES)
        found = [counts[part, round_, outcome] for outcome in of]
        yield part, round_, sum(found), *found, counts[part, round_, "examples"]


def _asked(moment: ValuedMoment) -> list[dict[str, str]]:
    return [dict(message) for message in moment.prompt]


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=True, allow_nan=False)
