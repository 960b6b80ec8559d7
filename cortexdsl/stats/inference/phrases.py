"""Findings in words: the columns `note`, `null` and `leans` of hypotheses.csv, one function for each phrase.

A note is a clause without a full stop and without a semicolon; `joined` puts several into one cell, and the report
makes sentences of them.
"""

from __future__ import annotations

import re

from cortexdsl.stats.inference.outcomes import UNTESTED

_DETAILS = re.compile(
    "mean over datasets|means |change per |corrected for |one more question like that |.* of the variation between "
)
ONE_FAILS = "at least one part does not hold, shown is "

_FRACTIONS = (
    (0.02, "almost none"), (0.15, "a tenth"), (0.29, "a quarter"), (0.42, "a third"), (0.58, "half"),
    (0.71, "two thirds"), (0.84, "three quarters"), (0.97, "nine tenths"), (1.0, "almost all"),
)  # fmt: skip


def joined(*notes: str) -> str:
    """Join notes into one cell, without empty ones."""
    return "; ".join(filter(None, notes))


def is_detail(note: str) -> bool:
    """Return whether a note says how an estimate is made up; all others say what it is of, or how sure it is."""
    return _DETAILS.match(note) is not None


def untested(test: str) -> str:
    """Write why a claim was not tested, by the name of its test; empty if it was."""
    return f"not tested: {test.removeprefix(UNTESTED)}" if test.startswith(UNTESTED) else ""


def leaning(*, supports: bool, even: bool) -> str:
    """Write which side of its bound the estimate of an undecided claim is on."""
    if even:
        return "the estimate lies on the bound"
    return "the estimate favours the claim" if supports else "the estimate points against the claim"


def null_value(what: str, value: float, *, is_margin: bool) -> str:
    """Write what a two-sided p tests: a ratio, mean or difference of some value."""
    return f"{what} {value:g}{' (the margin)' if is_margin else ''}, two-sided"


def null_range(low: float, high: float) -> str:
    """Write what the p of an equivalence tests: being outside a range."""
    return f"{low:g} or less, or {high:g} or more, two one-sided tests"


def weakest_part(text: str, favoured: int, count: int) -> str:
    """Write which part of a claim decides, and how many parts the estimates favour."""
    return f"the part that decides is {text}, and the estimates favour {favoured} of {count} parts"


def is_deciding_part(text: str, note: str) -> bool:
    """Return whether a note names this part of a claim as the one that decides, also in the words of 0.2.0."""
    return f"the part that decides is {text}," in note or f"the weakest is {text}," in note


def dominated(null: str) -> str:
    """Write the null hypothesis of a front, with that of the comparison that decides."""
    return f"another cell is as good on every metric, shown is {null}"


_DECIDES = " decides, and the estimates put the cell ahead of "


def decides(text: str, ahead: int, count: int) -> str:
    """Write which comparison decides whether a cell is on a front, and ahead of how many others it is."""
    return f"{text}{_DECIDES}{ahead} of {count} others on some metric"


def deciding_comparison(note: str) -> str:
    """Return the comparison that decides a claim about a front, from its note; empty if there is none."""
    return next((part.partition(_DECIDES)[0] for part in note.split("; ") if _DECIDES in part), "")


def weakest_dataset(name: str, favoured: int, count: int) -> str:
    """Write which dataset decides a claim about every dataset, or about none."""
    return f"the dataset {name} decides; the comparison holds in the estimates of {favoured} of {count}"


def over_datasets(favoured: int, count: int) -> str:
    """Write on how many datasets the estimate favours a claim about their mean."""
    return f"mean over datasets, the estimate favours the claim on {favoured} of {count}"


def few_units(count: int, what: str, skew: float | None) -> str:
    """Warn of few questions (or clusters), with the skewness of their values if they are skewed."""
    skewed = f" of skewed values (skewness {skew:.1f})" if skew is not None else ""
    return f"with only {count} {what}{skewed} the test may err more often than stated"


def doubtful_answers(missing: int, unparsed: int, verdict: str, best: str, worst: str) -> str:
    """Write whether missing and unreadable answers, which count as wrong, could change a verdict."""
    counts = [f"{missing} missing" * bool(missing), f"{unparsed} unreadable" * bool(unparsed)]
    answers = f"{' and '.join(filter(None, counts))} {'answer counts' if missing + unparsed == 1 else 'answers count'}"
    scored = f"{answers} as wrong: scoring {'it' if missing + unparsed == 1 else 'them'} as right"
    if best == worst == verdict:
        return f"{scored} would not change the verdict"
    return f"{scored} could change the verdict ({best} at best, {worst} at worst)"


def withdrawn(count: int, correction: str) -> str:
    """Write how many claims were declared before the run and are no longer made; empty without any."""
    if not count:
        return ""
    claims = "1 claim that was" if count == 1 else f"{count} claims that were"
    counted = "nothing corrects for this (correction: none)" if correction == "none" else "the correction counts this"
    return f"{claims} declared before the run {'is' if count == 1 else 'are'} no longer made, and {counted}"


def real_variation(share: float) -> str:
    """Write the share of a variation that is not chance: `about half`."""
    words = next(words for most, words in _FRACTIONS if share <= most)
    return words if words.startswith("almost") else f"about {words}"
