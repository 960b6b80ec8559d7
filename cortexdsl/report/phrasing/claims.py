"""Claims in plain sentences: what was claimed, what was estimated, and what its p means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cortexdsl.claims.meaning import estimate_form
from cortexdsl.claims.parser import known_claim
from cortexdsl.claims.values import (
    OTHERS,
    All,
    Claim,
    Comparison,
    Front,
    Quantity,
    Simple,
    Slice,
    Trend,
)
from cortexdsl.core import by_key
from cortexdsl.numbers import THIN, Kind, difference, estimate, interval, number, p_clause
from cortexdsl.plan.persistence.journal import Journal
from cortexdsl.report.phrasing.ledger import runs_in_words
from cortexdsl.report.phrasing.names import wording
from cortexdsl.stats.inference.phrases import deciding_comparison, is_deciding_part, is_detail
from cortexdsl.stats.tables.rows import ClaimRow

MARKS = {"supported": "\u2713", "contradicted": "\u2717", "undecided": "?"}
BY_STEPS = ("decided by the later steps", "the interval widened for all")  # which is shown only beside an adjusted p
_LONG = 8  # words; a note of several claims that is as long is printed once for all of them
_SIDE = {">": "above", ">=": "at least", "<": "below", "<=": "at most", "==": "about"}
_THAN = {">": "higher", "<": "lower"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A claim and its verdict, as the report says them.

    `words` is the claim as an English sentence; `runs` says in how many runs the verdict was this one (empty for a
    claim that was judged once); `estimate` is in the units of the claim, and `interval` is that of this claim alone.
    `finding` has estimate, p, and the interval that belongs to this p (widened for all claims together if p is
    adjusted). `summary` says on which side an undecided estimate lies and how many questions would decide; `notes` are
    clauses on what limits this verdict, `details` on how its estimate is made up. `is_exploratory`: not declared before
    the run.
    """

    claim: str
    words: str
    verdict: str
    runs: str
    mark: str
    estimate: str
    interval: str
    finding: str
    summary: str
    notes: tuple[str, ...]
    details: tuple[str, ...]
    is_exploratory: bool

    @property
    def remarks(self) -> str:
        """The summary and the notes as sentences."""
        return " ".join(_sentence(clause) for clause in (self.summary, *self.notes) if clause)


def answer(row: ClaimRow, journal: Journal | None = None) -> Answer:
    """Say a row of hypotheses.csv in words; the ledger, if there is one, says of how many runs it is."""
    claim = known_claim(row.claim)
    words = claim_in_words(claim) if claim else row.claim
    shown, between = _shown(claim, row)
    adjusted = "adjusted p" if row.p_adjusted is not None and row.p_adjusted != row.p else "p"
    p = row.p if row.p_adjusted is None else row.p_adjusted
    widened = adjusted_interval(row) if adjusted != "p" else ""
    estimated = " ".join(filter(None, [shown, widened or between]))
    finding = ", ".join(filter(None, [estimated, p_clause(p, adjusted) if p is not None else ""]))
    runs = runs_in_words(journal, row.claim, row.verdict) if journal else ""
    mark = MARKS.get(row.verdict, "?")
    summary = "; ".join(filter(None, [row.leans, _needed(row)]))
    clauses = [part.strip().rstrip(".") for part in row.note.split("; ") if part.strip()]
    details = tuple(note for note in clauses if is_detail(note) or (not widened and note.startswith(BY_STEPS)))
    notes = tuple(note for note in clauses if note not in details)
    return Answer(
        row.claim, words, row.verdict, runs, mark, shown, between, finding, summary, notes, details, row.exploratory
    )


def with_shared_notes(answers: Sequence[Answer]) -> tuple[list[Answer], list[str]]:
    """Return claims without the long notes that several have, and each of these notes once, with its claims."""
    places = _claims_by_note([said.notes for said in answers])
    shared = {note: numbers for note, numbers in places.items() if len(numbers) > 1 and len(note.split()) >= _LONG}
    own = [replace(said, notes=tuple(note for note in said.notes if note not in shared)) for said in answers]
    return own, list(_of_claims(shared))


def details_in_words(answers: Sequence[Answer]) -> list[str]:
    """Say how the estimates of claims are made up, equal details once."""
    if len(answers) == 1:
        return list(map(_sentence, answers[0].details))
    return list(_of_claims(_claims_by_note([said.details for said in answers])))


def _claims_by_note(notes: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Return the numbers of the claims that have each note."""
    return by_key((note, number_) for number_, own in enumerate(notes, 1) for note in own)


def _of_claims(places: Mapping[str, Sequence[int]]) -> Iterator[str]:
    for note, numbers in places.items():
        first, *others, last = map(str, (numbers[0], *numbers))
        named = f"{first} to {last}" if len(numbers) > 2 and numbers[-1] - numbers[0] < len(numbers) else (
            f"{', '.join(others)} and {last}" if others else last
        )  # fmt: skip
        yield f"Claim{'s' * (len(numbers) > 1)} {named}: {note}."


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def adjusted_interval(row: ClaimRow) -> str:
    """Return the interval that belongs to the adjusted decision; empty if it is that of the claim alone."""
    widened = replace(row, ci_low=row.ci_low_simultaneous, ci_high=row.ci_high_simultaneous)
    if widened.ci_low is None or widened == row:
        return ""
    return _shown(known_claim(row.claim), widened)[1]


def claim_in_words(claim: Claim) -> str:
    """Say a claim as an English sentence.

    Examples
    --------
    >>> claim_in_words(known_claim("accuracy(a) >= accuracy(b) - 0.02"))
    'The accuracy of a is at most 2 points below that of b.'
    """
    if isinstance(claim, All):
        said = [f"{_claim(part)}{_where(part)}" for part in claim.parts]
        return "; and ".join([said[0], *(text[0].lower() + text[1:] for text in said[1:])]) + "."
    return f"{_claim(claim)}{_where(claim)}."


def _claim(claim: Simple) -> str:
    if isinstance(claim, Comparison) and len(claim.terms) > 2:
        return f"{claim.text.partition(' on ')[0]}"
    if isinstance(claim, Front):
        nouns = [wording(metric).noun for metric in claim.metrics]
        return f"No other cell matches {claim.name} on both {' and '.join(nouns)}" if len(nouns) == 2 else (
            f"No other cell matches {claim.name} on all of {', '.join(nouns)}"
        )  # fmt: skip
    noun, kind = wording(claim.metric).noun, wording(claim.metric).kind
    verb = "are" if _is_plural(noun) else "is"
    if isinstance(claim, Comparison):
        return _comparison(claim, noun, kind, verb)
    method = _slice(claim.slice)
    if isinstance(claim, Trend):
        verb = "rise" if claim.direction == "increasing" else "fall"
        plural = "" if _is_plural(noun) else "s"
        steps = " at every step" if claim.monotone else ""
        return f"The {noun} of {method} {verb}{plural}{steps} along {claim.slice.free[0]}"
    return f"Of all values of {claim.slice.free[0]}, {claim.value} gives {method} the {claim.extreme} {noun}"


def _comparison(claim: Comparison, noun: str, kind: Kind, verb: str) -> str:
    quantity, those = claim.quantities[0], "those" if verb == "are" else "that"
    per = f" per {quantity.per.removesuffix('s').replace('_', ' ')}" if quantity.per else ""
    link = "in" if " labelled " in noun else "of"
    subject = f"The {noun}{per} {link} {_whom(quantity)} {verb}"
    if claim.reference is None and claim.is_ratio:
        return f"{subject} {_SIDE[claim.operator]} {claim.factor:g}"
    if claim.reference is None:
        bound = _size(claim.offset, kind, is_level=True)
        if claim.margin is None:
            return f"{subject} {_SIDE[claim.operator]} {bound}"
        return f"{subject} within {_size(claim.margin or 0, kind)} of {bound}"
    second = claim.quantities[1]
    named = those if second.metric == quantity.metric else f"the {wording(second.metric).noun}"
    other = f"{named} {link} {_whom(second)}"
    if claim.factor != 1:
        relation = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}.get(claim.operator, "about")
        return f"{subject} {relation} {claim.factor:g} times {other}"
    if claim.margin is not None:
        centre = f", shifted by {difference(claim.offset, kind)}" if claim.offset else ""
        return f"{subject} within {_size(claim.margin, kind)} of {other}{centre}"
    size = _size(abs(claim.offset), kind)
    upward = claim.operator in (">", ">=")
    if not claim.offset:
        return f"{subject} {_THAN[claim.operator]} than {other}" if claim.operator in _THAN else (
            f"{subject} no {'lower' if upward else 'higher'} than {other}"
        )  # fmt: skip
    if upward == (claim.offset > 0):
        bound = "at least" if claim.operator in (">=", "<=") else "more than"
    else:
        bound = "at most" if claim.operator in (">=", "<=") else "less than"
    return f"{subject} {bound} {size} {'above' if claim.offset > 0 else 'below'} {other}"


def _is_plural(noun: str) -> bool:
    word = re.split(" (?:per|of|over) ", noun)[0]
    return word.endswith("s") and not word.endswith(("ss", "us"))  # correctness, consensus


def _whom(quantity: Quantity) -> str:
    """Name the cell, agent and round of a mean."""
    name = "every other cell" if quantity.name == OTHERS else quantity.name
    agent = f"{quantity.agent} in " if quantity.agent else ""
    when = "" if quantity.round is None else f" after round {quantity.round}" if quantity.round else " at the opening"
    return f"{agent}{name}{when}"


def _slice(part: Slice) -> str:
    return part.method + "".join(f", {axis} = {value}" for axis, value in part.fixed.items())


def _where(claim: Simple) -> str:
    where = "" if claim.dataset is None else f", on {claim.dataset}"
    return where if claim.over is None else f"{where}, over {claim.over} like these"


def _size(value: float, kind: Kind, *, is_level: bool = False) -> str:
    if kind != "share":
        return number(value)
    text = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    return f"{text}{THIN}%" if is_level else f"{text} point{'' if text == '1' else 's'}"


def _shown(claim: Claim | None, row: ClaimRow) -> tuple[str, str]:
    """Return the estimate and the interval of a claim, in its units; of several parts that of the one that decides."""
    if isinstance(claim, All):
        claim = next((part for part in claim.parts if is_deciding_part(part.text, row.note)), None)
    if isinstance(claim, Front):
        claim = known_claim(deciding_comparison(row.note))
    if claim is None or isinstance(claim, All | Front):
        return f"estimate {number(row.estimate)}", interval(row.ci_low, row.ci_high, "number")
    kind = wording(claim.metric).kind
    form, null = estimate_form(claim), _null_values(claim)
    if form == "ratio":
        return f"ratio {number(row.estimate)}", interval(row.ci_low, row.ci_high, "number", null=null)
    if form == "mean":
        return estimate(row.estimate, kind), interval(row.ci_low, row.ci_high, kind, null=null)
    step = " per unit or step" if form == "slope" else ""
    return f"{difference(row.estimate, kind)}{step}", interval(row.ci_low, row.ci_high, kind, signed=True, null=null)


def _null_values(claim: Simple) -> tuple[float | None, float | None]:
    """Return the values with which the ends of a comparison's interval are compared."""
    if not isinstance(claim, Comparison):
        return None, None
    if claim.is_ratio:
        return claim.factor, claim.factor
    margin = claim.margin or 0.0
    return claim.offset - margin, claim.offset + margin


MOST_QUESTIONS = 20_000
"""Beyond it the estimate is so near the tested value that a number would only reflect its error."""


def _needed(row: ClaimRow) -> str:
    """Say what would decide, to two digits: the estimate behind it is not more precise."""
    needed = row.questions_needed
    if row.verdict != "undecided" or needed is None:
        return ""
    if needed > MOST_QUESTIONS:
        return f"more than {number(MOST_QUESTIONS, 1)} questions would be needed to decide it"
    return f"about {number(float(f'{needed:.2g}'), 1)} questions would decide it"
