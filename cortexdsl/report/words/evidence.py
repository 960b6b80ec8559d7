"""One plain sentence for the p of a claim, and how claims and differences were tested, said once for all of them."""

from __future__ import annotations

from collections.abc import Collection

from cortexdsl.numbers import THIN, Kind, difference, number, percent
from cortexdsl.report.inputs.results import Verdict
from cortexdsl.report.words.numbers import wording
from cortexdsl.spec.claims.language import EVERY, NONE, OTHERS, Claim, Comparison, Interaction, Trend

_TOGETHER = (
    f"A difference has its 95{THIN}% interval, widened so that all of its family are right at once in 95{THIN}% of "
    "experiments (Bonferroni)."
)
_FDR = (
    f"In a family with the false discovery rate controlled, the intervals of significant differences are widened so "
    f"that at most 5{THIN}% of them miss, on average."
)
_NONE = f"In a family without correction, a difference has its ordinary 95{THIN}% interval."
ALONE = f"Alone: the ordinary 95{THIN}% interval of one difference."
_ANYTIME = "e-process"  # in the name of every test that may be looked at after each question


def evidence(claim: Claim | None, row: Verdict) -> str:
    """Say how often chance alone would do as much, where the estimate lies, and how many questions would decide.

    Parameters
    ----------
    claim : Claim or None
        None for a claim of another program's form.
    row : Verdict

    Returns
    -------
    str
        Without a full stop; empty if nothing was tested.

    Examples
    --------
    `Were both equally accurate, a gap this large or larger would arise in 62 % of experiments; the estimate points
    against the claim`.
    """
    if row.p is None:
        return ""
    happens = "" if claim is None else _happens(claim, row)
    if happens:
        happens = f"{happens} would arise {chance(row)} of experiments"
    parts = [happens, row.leans, _needed(row)]
    text = "; ".join(filter(None, parts))
    return text[:1].upper() + text[1:]


def chance(row: Verdict) -> str:
    """Write the share of experiments in which chance alone does as much; a bound if looking is allowed at any time."""
    assert row.p is not None
    return f"{'in at most' if _ANYTIME in row.test else 'in'} {percent(row.p)}"


def _needed(row: Verdict) -> str:
    """How many questions would do, to two digits: the estimate that it rests on knows no more."""
    if row.verdict != "undecided" or row.questions_needed is None:
        return ""
    count = number(float(f"{row.questions_needed:.2g}"), 1)
    return f"about {count} questions would decide an effect of the estimated size in 80{THIN}% of experiments"


def _happens(claim: Claim, row: Verdict) -> str:
    """What would have to be true, and what chance would then do; empty if the note says which part decides."""
    if claim.dataset in (EVERY, NONE):
        return ""
    if isinstance(claim, Interaction):
        return "Without any interaction, differences this large or larger"
    if isinstance(claim, Trend):
        return "" if claim.monotone else "Without any trend, a slope this steep or steeper"
    if not isinstance(claim, Comparison) or any(quantity.name == OTHERS for quantity in claim.quantities):
        return ""
    noun, kind = wording(claim.metric).noun, wording(claim.metric).kind
    if claim.margin is not None:
        return _equivalent(claim, row, kind)
    if claim.is_ratio:
        what = "value" if claim.reference is None else "ratio"
        return f"Were the true {what} exactly {claim.factor:g}, an estimate this far from it or farther"
    if len(claim.terms) > 2:
        return "Were both sides of the claim equal, a gap this large or larger"
    if claim.reference is None:
        return f"Were the true value exactly {_level(claim.offset, kind)}, an estimate this far from it or farther"
    if claim.offset:
        bound = difference(claim.offset, kind).replace(".0 points", " points")
        return f"Were the true difference exactly {bound}, an estimate this far from it or farther"
    if len(set(claim.metrics)) > 1:
        return "Were both sides of the claim equal, a gap this large or larger"
    if noun == "accuracy":
        return "Were both equally accurate, a gap this large or larger"
    return f"Were the {noun} equal, a gap this large or larger"


def _equivalent(claim: Comparison, row: Verdict, kind: Kind) -> str:
    margin, centre = claim.margin or 0.0, claim.offset
    inside = row.estimate is not None and abs(row.estimate - centre) < margin
    edge = difference(margin, kind).removeprefix("+").replace(".0 points", " points")
    where = f"{edge} from {_level(centre, kind)}" if claim.reference is None or centre else edge
    if inside:
        return f"Were the true difference as large as {where}, an estimate this far inside"
    return f"Were the true difference within {where}, an estimate this far outside"


def _level(value: float, kind: Kind) -> str:
    return percent(value) if kind == "share" and value > 0 else number(value)


def claims_tested(alpha: str, count: int, correction: str, *, is_anytime: bool = False) -> str:
    """Say once how claims were tested: the error as it is written, how many claims, how p is adjusted over them.

    `is_anytime` is whether the tests may be looked at after every question.
    """
    p = "its p" if count == 1 or correction == "none" else f"its p, adjusted over {count} claims ({correction}),"
    looks = " This holds however often one looked." if is_anytime else ""
    return (
        "How this was tested: every test is paired by question, with replicates averaged within a question first, and "
        f"two-sided, so that each direction has half of the error. A claim is supported if {p} is at most {alpha} and "
        "its estimate is on the claim's side, contradicted if the estimate is on the other side, and undecided "
        f"otherwise.{looks} An interval is at 95{THIN}% and for its claim alone, unless something else is said."
    )


def differences_tested(corrections: Collection[str]) -> str:
    """Say once how the differences of families with some corrections were tested, and which interval is shown."""
    return (
        "How this was tested: every test is paired by question, with replicates averaged within a question first, and "
        "two-sided. p says how often a gap this large or larger would arise if both cells were equal. "
        f"{intervals(corrections)}"
    )


def intervals(corrections: Collection[str]) -> str:
    """Say which interval stands beside a difference, by the corrections of the families."""
    kinds = {_FDR if name in ("bh", "by") else _NONE if name == "none" else _TOGETHER for name in corrections}
    return " ".join(sorted(kinds))
