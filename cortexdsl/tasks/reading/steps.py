"""What steps other than answering read: reviews, verdicts, selections, choices, summaries and comments."""

from __future__ import annotations

import re

from cortexdsl.terms import Reading

_SCORE = re.compile(
    r"\b(?:score|rating|confidence)\W{0,6}(?:is |of )?(\d{1,3}(?:\.\d{1,4})?)\s?(?:(?:/|out of)\s?(\d{1,3})|(%))?", re.I
)
_SIMILARITY = re.compile(
    r"\bsimilarity(?: score)?\W{0,6}(?:is |of )?(\d{1,3}(?:\.\d{1,4})?)\s?(?:(?:/|out of)\s?(\d{1,3})|(%))?", re.I
)
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
        score as text; `confidence` is the score over 10 (`Score: 8` and `8/10` are 0.8, `80%` is 0.8).
        Unparsed without a score.
    """
    scores = list(_SCORE.finditer(text))
    judged = list(_JUDGED.finditer(text))
    if not scores:
        return Reading(None, "no score" if text.strip() else "empty reply")
    last = scores[-1]
    scale = 100.0 if last[3] else float(last[2] or 10) or 10.0
    value = ("incorrect" if judged[-1][1].lower() in _WRONG else "correct") if judged else last[1]
    return Reading(value, None, float(last[1]) / scale)


def read_similarity(text: str) -> Reading:
    """Read how alike two texts are said to be, from the last `Similarity: x`.

    Returns
    -------
    Reading
        `confidence` is the similarity in units of 1 (`0.7`, `70%`, `7/10`), as stated; `value` the number as written.
    """
    said = list(_SIMILARITY.finditer(text))
    if not said:
        return Reading(None, "no similarity" if text.strip() else "empty reply")
    scale = 100.0 if said[-1][3] else float(said[-1][2] or 1) or 1.0
    return Reading(said[-1][1], None, float(said[-1][1]) / scale)


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
