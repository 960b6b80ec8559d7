"""Pairs and examples as TRL reads them (conversational preference and prompt-completion formats), with provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cortexdsl.errors import RecordError
from cortexdsl.train.moments import Judged
from cortexdsl.train.selection import OUTCOMES, Outcome, is_exemplary, selected

COLUMNS = ("part", "round", "moments", *OUTCOMES, "examples")
"""Of the table of what was kept."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a phase learns from: lines of pairs.jsonl and sft.jsonl, and rows of the table of what was kept."""

    pairs: tuple[str, ...]
    examples: tuple[str, ...]
    kept: tuple[tuple[str | int, ...], ...]


def made_of(moments: Iterable[Judged], threshold: float, validation: frozenset[str]) -> Made:
    """Select pairs and examples.

    Parameters
    ----------
    moments : iterable of Judged
        Of a whole phase.
    threshold : float
    validation : frozenset of str
        Ids of the questions whose pairs are kept apart.
    """
    pairs: list[str] = []
    examples: list[str] = []
    counts: Counter[tuple[str, int, str]] = Counter()
    for moment in moments:
        part = "validation" if moment.question in validation else "train"
        whose = {"part": part, "question": moment.question, "round": moment.round}
        pair, outcome = selected(moment, threshold)
        counts[part, moment.round, outcome] += 1
        if pair is not None:
            values = {
                "value_chosen": pair.chosen.value,
                "value_rejected": pair.rejected.value,
                "values": {way: tried.value for way, tried in moment.tried.items()},
            }
            said = {"chosen": _said(pair.chosen.text), "rejected": _said(pair.rejected.text)}
            pairs.append(_line({"prompt": _asked(moment), **said, **whose, "guided": pair.guided, **values}))
        if is_exemplary(moment):
            natural = moment.tried["natural"]
            completion = {"prompt": _asked(moment), "completion": _said(natural.text)}
            examples.append(_line({**completion, **whose, "value": natural.value}))
            counts[part, moment.round, "examples"] += 1
    return Made(tuple(pairs), tuple(examples), tuple(_rows(counts)))


def check_whole(moments: Sequence[Judged], places: Iterable[tuple[str, int]]) -> None:
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


def kept_csv(made: Made) -> list[str]:
    """Return the table of what was kept as lines of CSV."""
    return [",".join(COLUMNS), *(",".join(map(str, row)) for row in made.kept)]


def _rows(counts: Counter[tuple[str, int, str]]) -> Iterator[tuple[str | int, ...]]:
    for part, round_ in sorted({(part, round_) for part, round_, _ in counts}):
        of: list[Outcome] = list(OUTCOMES)
        found = [counts[part, round_, outcome] for outcome in of]
        yield part, round_, sum(found), *found, counts[part, round_, "examples"]


def _asked(moment: Judged) -> list[dict[str, str]]:
    return [dict(message) for message in moment.prompt]


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=True, allow_nan=False)
