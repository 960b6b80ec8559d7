"""What the experiment found, in sentences: each claim in plain words, with its estimate in the units it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cortexdsl.errors import SpecError
from cortexdsl.report.inputs.results import Contrast, Results, Verdict
from cortexdsl.report.words.numbers import (
    THIN,
    Kind,
    counted,
    difference,
    estimate,
    interval,
    number,
    p_clause,
    wording,
)
from cortexdsl.spec.claims.language import (
    OTHERS,
    All,
    Claim,
    Comparison,
    Interaction,
    Quantity,
    Simple,
    Slice,
    Trend,
    parse_claim,
)

MARKS = {"supported": "\u2713", "contradicted": "\u2717", "undecided": "?"}
_SIDE = {">": "above", ">=": "at least", "<": "below", "<=": "at most", "==": "about"}
_THAN = {">": "higher", "<": "lower"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A claim and its verdict, as the report says them.

    Attributes
    ----------
    claim : str
        As it was written.
    words : str
        The claim as an English sentence.
    verdict : str
        supported, contradicted or undecided.
    mark : str
        The verdict as one sign.
    finding : str
        Estimate, interval, p.
    note : str
        What p tests, which way an undecided claim leans, and what the test says besides; may be empty.
    is_exploratory : bool
        Not declared before the run.
    """

    claim: str
    words: str
    verdict: str
    mark: str
    finding: str
    note: str
    is_exploratory: bool


def answer(row: Verdict) -> Answer:
    """Say a row of hypotheses.csv in words."""
    try:
        claim = parse_claim(row.claim)
    except SpecError:  # from a program with claims of another form: shown as they are
        words, shown = row.claim, f"estimate {number(row.estimate)} {interval(row.low, row.high, 'number')}"
    else:
        words, shown = claim_in_words(claim), _shown(claim, row)
    adjusted = "adjusted p" if row.p_adjusted is not None and row.p_adjusted != row.p else "p"
    p = row.p if row.p_adjusted is None else row.p_adjusted
    finding = ", ".join(part for part in (shown.strip(), p_clause(p, adjusted) if p is not None else "") if part)
    tested = f"p tests {row.null}" if row.null else ""
    widened = adjusted_interval(row)
    beside = f"adjusted as p is, the interval is {widened}" if widened else ""
    note = "; ".join(filter(None, [tested, row.leans, beside, row.note]))
    return Answer(row.claim, words, row.verdict, MARKS.get(row.verdict, "?"), finding, note, row.exploratory)


def adjusted_interval(row: Verdict) -> str:
    """Return the interval that belongs to the adjusted decision; empty if it is that of the claim alone."""
    if row.together_low is None or (row.together_low, row.together_high) == (row.low, row.high):
        return ""
    try:
        shown = _shown(parse_claim(row.claim), replace(row, low=row.together_low, high=row.together_high))
    except SpecError:
        shown = interval(row.together_low, row.together_high, "number")
    return shown[shown.index("[") :] if "[" in shown else ""


def claim_in_words(claim: Claim) -> str:
    """Say a claim as an English sentence.

    Examples
    --------
    >>> claim_in_words(parse_claim("accuracy(a) >= accuracy(b) - 0.02"))
    'The accuracy of a is at most 2 points below that of b.'
    """
    if isinstance(claim, All):
        said = [f"{_claim(part)}{_where(part)}" for part in claim.parts]
        return "; and ".join([said[0], *(text[0].lower() + text[1:] for text in said[1:])]) + "."
    return f"{_claim(claim)}{_where(claim)}."


def _claim(claim: Simple) -> str:
    if isinstance(claim, Comparison) and len(claim.terms) > 2:
        return f"{claim.text.partition(' on ')[0]}"
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
    if isinstance(claim, Interaction):
        first, second = claim.slice.free
        return f"How {first} acts on the {noun} of {method} depends on {second}"
    return f"Of all values of {claim.slice.free[0]}, {claim.value} gives {method} the {claim.extreme} {noun}"


def _comparison(claim: Comparison, noun: str, kind: Kind, verb: str) -> str:
    quantity, those = claim.quantities[0], "those" if verb == "are" else "that"
    per = f" per {quantity.per.removesuffix('s').replace('_', ' ')}" if quantity.per else ""
    subject = f"The {noun}{per} of {_whom(quantity)} {verb}"
    if claim.reference is None and claim.is_ratio:
        return f"{subject} {_SIDE[claim.operator]} {claim.factor:g}"
    if claim.reference is None:
        bound = _size(claim.offset, kind, is_level=True)
        if claim.margin is None:
            return f"{subject} {_SIDE[claim.operator]} {bound}"
        return f"{subject} within {_size(claim.margin or 0, kind)} of {bound}"
    second = claim.quantities[1]
    named = those if second.metric == quantity.metric else f"the {wording(second.metric).noun}"
    other = f"{named} of {_whom(second)}"
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
    return noun.split(" per ")[0].split(" of ")[0].endswith("s") and noun != "consensus"


def _whom(quantity: Quantity) -> str:
    """Whose mean it is: of which cell, agent and round."""
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


def _shown(claim: Claim, row: Verdict) -> str:
    kind = wording(claim.metric).kind
    if isinstance(claim, All):
        return f"estimate {number(row.estimate)} {interval(row.low, row.high, 'number')}"
    if isinstance(claim, Comparison):
        margin = claim.margin or 0.0
        null = (claim.offset - margin, claim.offset + margin)
        if claim.is_ratio:
            return f"ratio {number(row.estimate)} {interval(row.low, row.high, 'number', null=(claim.factor,) * 2)}"
        if len(claim.terms) == 1:
            return f"{estimate(row.estimate, kind)} {interval(row.low, row.high, kind, null=null)}"
        return f"{difference(row.estimate, kind)} {interval(row.low, row.high, kind, signed=True, null=null)}"
    step = " per unit or step" if isinstance(claim, Trend) and not claim.monotone else ""
    return f"{difference(row.estimate, kind)}{step} {interval(row.low, row.high, kind, signed=True)}"


@dataclass(frozen=True, slots=True)
class FamilyAnswer:
    """What a family of comparisons found.

    Attributes
    ----------
    name : str
    how : str
        How many comparisons, with what, and how p-values were adjusted.
    found : mapping of metric (as a noun) to what is significant on it
        On the only dataset, or in the mean over several.
    notes : tuple of str
        What p tests, which interval is which, and what single comparisons must say.
    """

    name: str
    how: str
    found: Mapping[str, str]
    notes: tuple[str, ...]


def families_in_words(results: Results) -> list[FamilyAnswer]:
    """Say every family's significant differences."""
    said = []
    for family in dict.fromkeys(row.family for row in results.contrasts):
        rows = [row for row in results.contrasts if row.family == family]
        shown = [row for row in rows if row.dataset == results.datasets[-1]] or rows
        found = {
            wording(metric).noun: "; ".join(_found(row) for row in shown if row.metric == metric and row.is_significant)
            or "no difference is significant"
            for metric in dict.fromkeys(row.metric for row in shown)
        }
        how = f"{counted(len(rows), 'comparison')} with {references(rows)}, {correction_in_words(rows[0].correction)}"
        said.append(FamilyAnswer(family, how, found, family_notes(rows)))
    return said


def family_notes(rows: Sequence[Contrast]) -> tuple[str, ...]:
    """Say what the p-values of a family test, which interval is which, and what single comparisons must say."""
    nulls = "; ".join(dict.fromkeys(row.null for row in rows if row.null))
    apart = (f"{row.cell}, {wording(row.metric).noun}, {row.dataset}: {row.note}." for row in rows if row.note)
    return (*filter(None, (f"p tests {nulls}." if nulls else "", intervals_in_words(rows))), *apart)


def intervals_in_words(rows: Sequence[Contrast]) -> str:
    """Say which interval of a family is which."""
    if all(row.low_together is None for row in rows):
        return f"Alone: the 95{THIN}% interval of each difference alone, not adjusted."
    together = {
        "none": f"its 95{THIN}% interval, as nothing is corrected for",
        "fdr": f"its interval after selection (of those of significant differences at most 5{THIN}% miss, on average)",
    }
    correction = "fdr" if rows[0].correction in ("bh", "by") else rows[0].correction
    said = together.get(
        correction, f"its simultaneous 95{THIN}% interval (all of the family hold together: Bonferroni)"
    )
    return f"Beside a difference: {said}. Alone: the interval of this difference alone, not adjusted."


def _found(row: Contrast) -> str:
    kind = wording(row.metric).kind
    together = interval(row.low_together, row.high_together, kind, signed=True)
    return f"{row.cell} {difference(row.difference, kind)} {together}".strip()


def references(rows: Sequence[Contrast]) -> str:
    """Name what the cells of a family are compared with."""
    return ", ".join(dict.fromkeys(row.reference for row in rows))


def correction_in_words(correction: str) -> str:
    """Say how p-values were adjusted."""
    known = {
        "holm": "after Holm's correction",
        "hommel": "after Hommel's correction",
        "bh": "with the false discovery rate controlled (Benjamini and Hochberg)",
        "by": "with the false discovery rate controlled (Benjamini and Yekutieli)",
        "none": "without any correction for multiple comparisons",
    }
    return known.get(correction, f"after the correction {correction}")
