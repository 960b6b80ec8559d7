"""What steps other than answering read: reviews, verdicts, selections, choices, summaries and comments."""

from __future__ import annotations

import re

from cortexdsl.terms import Reading

_MARK = r"(?:[^\w+−-]|[+−-](?!\.?\d))"  # any mark but the sign of a number
_RANGE = r"(?:\s?[(\[][^()\[\]\n]{0,24}[)\]](?=\W{0,4}:))?"  # `Score (1-10): 7`: the range is not the score
_NUMBER = (
    rf"{_RANGE}{_MARK}{{0,6}}(?:is |of )?"
    r"(?P<number>[-+−]?\d{1,6}(?:\.\d{1,4})?)\s?(?:(?:/|out of)\s?(?P<scale>\d{1,3})|(?P<percent>%))?"
)
_SCORE = re.compile(rf"\b(?P<name>score|rating|confidence){_NUMBER}", re.IGNORECASE)
_SIMILARITY = re.compile(rf"\bsimilarity(?: score)?{_NUMBER}", re.IGNORECASE)
_JUDGED = re.compile(
    r"\b(?:judge?ment|verdict|the (?:answer|solution) is)\W{0,6}"
    r"(in ?correct|not correct|correct|right|wrong|true|false)\b",
    re.IGNORECASE,
)
_WRONG = ("incorrect", "in correct", "not correct", "wrong", "false")
_VERDICT = re.compile(
    r"\bverdict\W{0,6}(?:they |all |is |debaters |agents ){0,3}(not agree|disagree|agree|yes|no)", re.I
)
_AGREE = re.compile(r"\b(not agree|no agreement|disagree\w{0,6}|agree\w{0,6})\b|^\W{0,6}(yes|no)\b", re.IGNORECASE)
_SELECTED = re.compile(r"\bselect(?:ed|ion)s?\W{0,6}(?:are |is |evidence |passages? |items? ){0,3}([^\n]{0,300})", re.I)
_CHOICE = re.compile(r"\bchoice[*_`]{0,3}\s?[:：=]\W{0,6}([^\n]{0,300})", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:none|nobody|no one|neither)\b", re.IGNORECASE)
_NONE = re.compile(r"\b(?:none|nothing|no (?:evidence|passages?|items?))\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[(\d{1,3})\]")


def read_review(text: str) -> Reading:
    """Read a peer review.

    Returns
    -------
    Reading
        `value` is the judgement of the reviewed answer, `correct` or `incorrect`, where one is given, else the
        score as text; `confidence` is the score over 10 (`Score: 8` and `8/10` are 0.8, `80%` is 0.8; a confidence
        of more than 10 is one in percent). Unparsed without a score, and if the score is below 0 or beyond its scale.
    """
    scores = list(_SCORE.finditer(text))
    judged = list(_JUDGED.finditer(text))
    if not scores:
        return Reading(None, "no score" if text.strip() else "empty reply")
    last = scores[-1]
    is_percent = last["name"].lower() == "confidence" and _value(last) > 10
    share = _share(last, 100.0 if is_percent else 10.0)
    if share is None:
        return Reading(None, f"the score {last['number']} is not from 0 to {last['scale'] or 10}")
    value = ("incorrect" if judged[-1][1].lower() in _WRONG else "correct") if judged else last["number"]
    return Reading(value, None, share)


def _value(found: re.Match[str]) -> float:
    return float(found["number"].replace("−", "-"))


def _share(found: re.Match[str], scale: float) -> float | None:
    """Return a number in units of its own scale, else of a given one; None if it is below 0 or beyond the scale."""
    share = _value(found) / (100.0 if found["percent"] else float(found["scale"] or scale) or scale)
    return share if 0 <= share <= 1 else None


def read_similarity(text: str) -> Reading:
    """Read how alike two texts are said to be, from the last `Similarity: x`.

    Returns
    -------
    Reading
        `confidence` is the similarity in units of 1 (`0.7`, `70%`, `7/10`); `value` the number as written. Unparsed
        without a similarity, and if it is below 0 or beyond its scale.
    """
    said = list(_SIMILARITY.finditer(text))
    if not said:
        return Reading(None, "no similarity" if text.strip() else "empty reply")
    last = said[-1]
    share = _share(last, 1.0)
    if share is None:
        return Reading(None, f"the similarity {last['number']} is not from 0 to {last['scale'] or 1}")
    return Reading(last["number"], None, share)


def read_verdict(text: str) -> Reading:
    """Read a judge's verdict: `agree` or `disagree`, from the last `Verdict:` line, else from the last mention."""
    found = list(_VERDICT.finditer(text)) or list(_AGREE.finditer(text))
    if not found:
        return Reading(None, "no verdict" if text.strip() else "empty reply")
    word = next(group for group in found[-1].groups() if group).lower()
    return Reading("disagree" if word.startswith(("not", "no", "disagree")) else "agree")


def read_selection(text: str) -> Reading:
    """Read which numbered items were selected: `1, 3`, or an empty string for none."""
    lines = [match[1] for match in _SELECTED.finditer(text)]
    for line in reversed(lines):
        numbers = list(dict.fromkeys(re.findall(r"(?<![\w.])\d{1,3}(?![\w.]*\d)", line)))
        if numbers:
            return Reading(", ".join(numbers))
        if _NONE.search(line) or not line.strip(" []().*"):
            return Reading("")
    numbers = list(dict.fromkeys(_BRACKETED.findall(text)))
    if numbers:
        return Reading(", ".join(numbers))
    if _NONE.search(text):
        return Reading("")
    return Reading(None, "no selection" if text.strip() else "empty reply")


def read_choice(text: str) -> Reading:
    """Read whom somebody chose among numbered agents, from the last `Choice:` line: `2`, or `1, 3`; empty: nobody."""
    for match in reversed(list(_CHOICE.finditer(text))):
        numbers = list(dict.fromkeys(re.findall(r"(?<![\w.])\d{1,4}(?![\w.]*\d)", match[1])))
        if numbers:
            return Reading(", ".join(numbers))
        if _NOBODY.search(match[1]):
            return Reading("")
    return Reading(None, "no choice" if text.strip() else "empty reply")


def read_text(text: str) -> Reading:
    """Take a summary or comment as it stands; an empty one is unparsed."""
    text = text.strip()
    return Reading(text) if text else Reading(None, "empty reply")
