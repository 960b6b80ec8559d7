"""What kind of words a reply is, where it is no answer: a refusal, nothing, a call of a tool, another language's.

No detector guesses. Each says yes only to what leaves no doubt, so that its count is a lower bound; what it looks for
stands with it. Of 551 real replies of forty models the one for refusals finds 16 that refuse and one that refuses and
answers after all, which the reading of answers takes out; the others find none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import (
    CONTENT_FILTER,
    EMPTY_REPLY,
    NO_REPLY,
    THOUGHT_ALONE,
    TOOL_CALLED,
    Debate,
    Question,
    Turn,
)

LONGEST_REFUSAL = 600
"""Characters. A longer reply has gone on to say something; the longest refusal among the real replies has 392."""

_REFUSAL = re.compile(
    r"""(?:\b(?:i|we)\b(?:\s(?:am|are|'m|'re|must|will|have\sto|\w{2,12}ly))*\s?
         (?:cannot|can['’]t|can\snot|could\snot|won['’]t|will\snot|(?:am\s|are\s)?(?:not\s)?(?:un)?able\sto|decline\sto
            |(?:do|am|are)(?:\snot|n['’]t)\s(?:qualified|able|allowed|permitted)\sto|refuse\sto)
         \s(?:\w+\s){0,3}?
         (?:answer|help|assist|comply|provide|respond|give|fulfil+|continue|engage|discuss|support|participate))
      | \boutside\s(?:of\s)?my\s(?:scope|expertise|area)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TOOL = re.compile(
    r"\s*(?:```(?:json|tool_call|tool_code)?\s*)?(?:<tool_call>|<function_?calls?>|<function=|<\|python_tag\|>"
    r"|\[TOOL_CALLS\]|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls▁begin｜>)"
)


def refused(view: Graded) -> float:
    """Turns that refuse: withheld by the provider, or short, in English, and saying that they won't or can't.

    A turn from which an answer was read refuses nothing.
    """
    return float(sum(_is_refused(turn) for turn in view.debate.turns))


def empty(view: Graded) -> float:
    """Calls that came back without a word, or with reasoning alone, however often they were tried."""
    return float(sum(any(what in _failed(turn) for what in (EMPTY_REPLY, THOUGHT_ALONE)) for turn in view.debate.turns))


def tool_calls(view: Graded) -> float:
    """Turns that call a tool in place of answering: in the field for it, or by a reply that begins with its mark."""
    return float(sum(TOOL_CALLED in _failed(turn) or calls_tool(turn.text) for turn in view.debate.turns))


def other_language(debate: Debate, question: Question) -> float:
    """Turns in another language than the question's, as far as letters show it (see `is_foreign`)."""
    asked = "\n".join([question.context, question.text, *(text for _, text in question.options)])
    return float(sum(is_foreign(turn.text, asked) for turn in debate.turns))


def _failed(turn: Turn) -> str:
    said = turn.unparsed or ""
    return said if said.startswith(NO_REPLY) else ""


def _is_refused(turn: Turn) -> bool:
    if _failed(turn):
        return _failed(turn).startswith(f"{NO_REPLY}: {CONTENT_FILTER}")
    return turn.answer is None and refuses(turn.text)


def refuses(text: str) -> bool:
    """Say whether a reply is a refusal: short, and its first sentences say that its author won't or can't."""
    return len(text.strip()) <= LONGEST_REFUSAL and _REFUSAL.search(text) is not None


def calls_tool(text: str) -> bool:
    """Say whether a reply begins with the mark by which a family of models calls tools."""
    return _TOOL.match(text) is not None


_SCRIPTS = {
    "LATIN": "latin", "CJK": "han", "HIRAGANA": "han", "KATAKANA": "han", "HANGUL": "hangul", "CYRILLIC": "cyrillic",
    "ARABIC": "arabic", "HEBREW": "hebrew", "THAI": "thai", "DEVANAGARI": "devanagari", "BENGALI": "bengali",
    "TAMIL": "tamil", "TELUGU": "telugu", "ARMENIAN": "armenian", "GEORGIAN": "georgian",
}  # fmt: skip
"""Scripts by the first word of their letters' names. Greek is none of them: in these replies it is mathematics."""
FEWEST_LETTERS, LEAST_SHARE = 10, 0.1
FEWEST_LATIN = 40


def is_foreign(text: str, question: str) -> bool:
    """Say whether a reply is, or slips, into a language that its question is not in, by the scripts of their letters.

    Ten letters or more of another script, and a tenth of all: Chinese or Russian in a reply to an English question.
    Latin letters are everywhere (names, formulas, `Answer:`): to a question in another script they are another language
    where there are 40 of them, and of the question's own less than a tenth. French to an English question is not seen.
    """
    own, asked = _asked(question)
    if own == "latin" and text.isascii():  # which have letters of no other script; by far most
        return False
    letters = _scripts(text)
    total = sum(letters.values())
    if total < FEWEST_LETTERS:
        return False
    if own != "latin" and letters[own] < LEAST_SHARE * total and letters["latin"] >= FEWEST_LATIN:
        return True
    strange = sum(count for script, count in letters.items() if script != "latin" and script not in asked)
    return strange >= max(FEWEST_LETTERS, LEAST_SHARE * total)


@lru_cache(maxsize=1_024)
def _asked(question: str) -> tuple[str, frozenset[str]]:
    """Return the script of most of a question's letters, and all that it has letters of."""
    asked = _scripts(question)
    return asked.most_common(1)[0][0] if asked else "latin", frozenset(asked)


def _scripts(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        script = "latin" if letter.isascii() and letter.isalpha() else _script(letter)
        if script:
            found[script] += count
    return found


@lru_cache(maxsize=65_536)
def _script(letter: str) -> str:
    if not letter.isalpha():
        return ""
    return _SCRIPTS.get(unicodedata.name(letter, "").partition(" ")[0].partition("-")[0], "")
