"""The steps before every reading of a reply: clean-up, sentences, copied forms, stated confidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from cortexdsl.core import separated

# Replies beyond this many characters are read by their head and tail; answers stand at either end.
LONGEST = 60_000
_HEAD = 10_000

# Marks that change no meaning but break patterns: nulls, bidirectional controls, zero-width characters.
_INVISIBLE = dict.fromkeys(
    [0x00, 0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)], None
)
# Full-width ASCII as Chinese and Japanese replies write it, and spaces that are not U+0020.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xA0: 0x20, 0x202F: 0x20}
_TABLE = _INVISIBLE | _PLAIN

_CALCULATOR = re.compile(r"<<[^<>\n]{0,200}>>")
_ABBREVIATED = (
    r"(?<!\bMr.)(?<!\bMrs.)(?<!\bMs.)(?<!\bDr.)(?<!\bSt.)(?<!\bJr.)(?<!\bSr.)(?<!\bvs.)(?<!\bMt.)"
    r"(?<!\bFt.)(?<!\bProf.)(?<!\bGen.)(?<!\bLt.)(?<!\bCol.)(?<!\bCapt.)(?<!\bRev.)(?<!\bInc.)"
    r"(?<!\bLtd.)(?<!\bCo.)(?<!\bVol.)(?<!\bapprox.)"
)
# A single capital before the dot is an initial, as in "J. Smith" or "D.C."
_SENTENCE_END = re.compile(rf"[.!?](?<!\b[A-Z].){_ABBREVIATED}(?=[\s*\"')\]}}]*(?:\s[^a-z]|\Z))|\n|[。！？]")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s?\{([^{}]{0,400})\}")
_WRAPPING = " \t\r\n*_`\"'“”‘’「」"


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Why a reply, or a part of it, gives no answer although it was looked at in full."""

    reason: str


def clean(text: str) -> str:
    """Return a reply without tagged reasoning and invisible marks, full-width ASCII made plain, bounded in length.

    Linear in the reply's length. A reply beyond `LONGEST` characters is reduced to its head and its tail.
    """
    text = separated(text)[0]
    if len(text) > LONGEST:
        text = text[:_HEAD] + "\n" + text[_HEAD - LONGEST :]
    return _CALCULATOR.sub("", text.translate(_TABLE))


def plain_characters(text: str) -> str:
    """Return a text without invisible marks, each character in its one compatible spelling."""
    return unicodedata.normalize("NFKC", text.translate(_INVISIBLE))


def first_sentence(text: str) -> str:
    """Return the text up to its first sentence end or line break."""
    text = text.lstrip()
    end = _SENTENCE_END.search(text)
    return text if end is None else text[: end.start()]


def last_sentence(text: str) -> str:
    """Return the last sentence that holds anything."""
    text = text.rstrip()
    tail = text[-2000:]
    ends = [match.end() for match in _SENTENCE_END.finditer(tail)]
    return tail[next((end for end in reversed(ends) if tail[end:].strip(_WRAPPING)), 0) :].strip()


def without_text_commands(text: str) -> str:
    r"""Return a text with `\\text{B}` and its like replaced by what they hold."""
    return _TEXT_COMMAND.sub(r"\1", text) if "\\" in text else text


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Return whether a text contains one of some words."""
    return any(map(text.__contains__, words))  # a generator would take twice the time


def repeats(text: str) -> bool:
    """Return whether a reply ends in a loop: its last 400 characters repeat a period of at most 130."""
    tail = text.rstrip()[-400:]
    opening, period = tail[:270], 0
    while len(tail) == 400 and (period := tail.find(opening, period + 1)) > 0:
        if tail[period:] == tail[:-period]:
            return True
    return False


def unwrapped(text: str) -> str:
    """Return the text without surrounding spaces, quotes and markdown emphasis."""
    return text.strip(_WRAPPING)


def shown(text: str) -> str:
    """Return the beginning of a text for a reason, on one line."""
    flat = " ".join(text[:200].split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


_LABEL = r"(?:score|rating|similarity|confidence|verdict|judge?ment|select(?:ed|ion)s?|choice|answer)"
_BRACKETED = re.compile(
    rf"(?P<label>\b{_LABEL}[^\w\n<]{{0,6}})?<(?P<inner>[^<>\n]{{1,300}})>(?P<after>[^\w\n]*$)?",
    re.IGNORECASE | re.MULTILINE,
)
# Text of placeholders that no value has: `<agree or disagree>`, `<a whole number from 1 to 10>`, `<0-10>`.
_OFFER = re.compile(r"\b(?:or|to|from|if|numbers?)\b|^\s?[01]\s?(?:-|–|\.\.)\s?(?:1|10|100)\s?$", re.IGNORECASE)
_RANGE = re.compile(
    r"\b(?:score|rating|similarity|confidence)\W{1,6}[01](?:\.0)?\s?(?:to|-|–|\.\.)\s?(?:1|10|100)\b(?!\s?[/%])"
    r"(?![)\]]?\W{0,4}:\W{0,4}\d)",  # `Score (1-10): 7` has a value
    re.IGNORECASE,
)
_WORD = r"(?:(?:not |dis)?agree|yes|no|(?:in)?correct|right|wrong)"
_EITHER = re.compile(rf"(?:\b{_LABEL}[^\w\n]{{1,6}})?\b{_WORD}(?:,? or | ?/ ?| ?\| ?){_WORD}\b", re.IGNORECASE)
_OR_NONE = re.compile(r"\bselect(?:ed|ion)s?\W{1,6}[^\n\d]{0,200}\bor none\b", re.IGNORECASE)

_LABELLED = re.compile(rf"[^\w\n]{{0,8}}{_LABEL}[*_`]{{0,3}}\s?[:：=]", re.IGNORECASE)


def without_forms(text: str) -> str:
    """Remove the forms that a reply copied from its prompt, such as `Verdict: <agree or disagree>`.

    Parameters
    ----------
    text : str
        A cleaned reply to a step that reads a score, a verdict, a selection, a choice or a similarity.

    Returns
    -------
    str
        The reply without placeholders, in angle brackets or bare. A label goes with its placeholder unless a value
        follows on the same line. Brackets around a value (`Score: <8>`) stay.
    """
    if "<" in text:
        text = _BRACKETED.sub(_unless_value, text)
    if " or " in text or "/" in text or "|" in text:
        text = _OR_NONE.sub("", _EITHER.sub("", text))
    return _RANGE.sub("", text)


def _unless_value(match: re.Match[str]) -> str:
    """Return what remains of a bracket: all of it if it holds a value, else the label if something follows it."""
    if not _OFFER.search(match["inner"]):
        return match[0]
    return "" if match["after"] is not None else match["label"] or ""


def without_form_lines(text: str, forms: Collection[str] = ()) -> str:
    """Remove the lines of a reply that are nothing but a copied form.

    Parameters
    ----------
    text : str
        A cleaned reply that may hold an answer.
    forms : collection of str
        What the prompt may have put into the answer line, such as `the number alone, without units`. In angle brackets
        they are removed from other lines, too.
    """
    for form in forms:
        if form in text:
            label = r"^[^\w\n]{0,8}(?:answer[^\w\n]{0,8})?"
            text = re.sub(label + re.escape(form) + r"[^\w\n]{0,8}$\n?", "", text, flags=re.IGNORECASE | re.MULTILINE)
            text = text.replace(f"<{form}>", "")
    if "<" not in text and " or " not in text:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if not _is_form(line))


_TITLE = r"(?:(?:the |my )?(?:final |correct |best )?answer)[*_`]{0,3}\s?[:：]"
_FILLED = re.compile(
    rf"^(?P<before>[^\w\n]{{0,8}}{_TITLE}[*_`\s]{{0,5}})<(?P<inner>[^<>\n]{{1,300}})>(?P<after>(?:[^\w<\n][^<\n]*)?)$"
    rf"|^(?P<opening>[^\w<\n]{{0,8}})<(?P<line>{_TITLE}[^<>\n]{{1,300}})>(?P<closing>[^\w\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


def without_brackets(text: str) -> str:
    """Return a reply without the brackets of its form: `Answer: <B>` and `<Answer: B>` become `Answer: B`."""
    return _FILLED.sub(_content, text) if "<" in text else text


def _content(match: re.Match[str]) -> str:
    if match["line"]:
        return f"{match['opening']}{match['line']}{match['closing']}"
    if "," in match["inner"] and not re.search(r"[^\W\d]{2}", match["inner"]):
        return match[0]  # a vector, `<2, 3>`
    return f"{match['before']}{match['inner']}{match['after']}"


def _is_form(line: str) -> bool:
    """Return whether a line is a label with a copied form and nothing else."""
    if len(line) > 300 or not _LABELLED.match(line):
        return False
    return re.search(r"\w", without_forms(line)) is None


_NAME = r"(?:confidence(?:[ _-]?(?:level|score|rating))?|certainty|置信度)"
_WORDS = ("confidence", "certainty", "置信度")
_SCALE = r"(?:\s?[(\[][^()\[\]\n]{0,24}[)\]](?=\W{0,4}:))?"  # `Confidence (0-1): 0.9`: the range is not a value
_MARK = r"(?:[^\w.+−-]|[.+−-](?!\.?\d))"  # any mark but the point or sign of a number
_FORM = r"(?![01](?:\.0)?\s?(?:to|-|–|\.\.)\s?(?:1|10|100)\b)"  # `0 to 1`, copied from a prompt, is not a value
_VALUE = re.compile(
    _NAME
    + _SCALE
    + rf"{_MARK}{{0,6}}(?:(?:is|of|at|in (?:my|this) answer)\b{_MARK}{{0,3}}){{0,2}}"
    + rf"{_FORM}(?P<number>[-+−]?(?:\d{{1,12}}(?:[.,]\d{{1,12}})?|\.\d{{1,12}}))"
    + r"\s{0,3}(?:(?P<percent>%|percent\b|per cent\b)|(?:/|out of)\s{0,3}(?P<scale>\d{1,4}(?:\.0)?)\b)?",
    re.IGNORECASE,
)
_LINE = re.compile(rf"^[^\w\n]{{0,8}}(?:my |overall )?{_NAME}\b{_SCALE}[^\w\n]{{0,8}}[:=：][^\n]*\n?", re.I | re.M)
_INLINE = re.compile(rf"[(\[]\s?(?:my |overall )?{_NAME}\b[^()\[\]\n]{{0,60}}[)\]]", re.IGNORECASE)
_JSON = re.compile(rf"\"{_NAME}\"\s{{0,3}}:\s{{0,3}}(?:\"[^\"\n]{{0,40}}\"|[-+.\d%]{{1,20}})\s{{0,3}},?", re.IGNORECASE)

_SAID = re.compile(
    r"(?:^[^\w\n]{0,8}|[,;]?\s?)(?:\b(?:with|at|and|my|an?|overall)\b,?\s{1,3}){0,4}"
    + _VALUE.pattern
    + r"(?:[^\w\n]{0,4}$)?",
    re.IGNORECASE | re.MULTILINE,
)


def read_confidence(text: str) -> float | None:
    """Read the last stated confidence, in units of 1 and as stated.

    Parameters
    ----------
    text : str
        A cleaned reply.

    Returns
    -------
    float or None
        `0.8`, `80%`, `80 percent`, `8/10`, `8 out of 10` and a bare `80` are all 0.8; whatever words follow
        are ignored. A bare number up to 10 is taken literally, so that `1.5` and `-0.2` stay out of range and
        can be counted. None if no number is stated.
    """
    tail = text[-20_000:]
    if not holds_any(tail.lower(), _WORDS):
        return None
    found = None
    for found in _VALUE.finditer(tail):  # noqa: B007 (the last one counts)
        pass
    if found is None:
        return None
    value = float(found["number"].replace(",", ".").replace("−", "-"))
    if found["percent"]:
        return value / 100
    if found["scale"] and float(found["scale"]):
        return value / float(found["scale"])
    return value / 100 if 10 < value <= 100 else value


def without_confidence(text: str) -> str:
    """Return a reply without its statement of confidence.

    A line or a bracket with nothing but the confidence is removed. If the confidence that would be read is part of a
    sentence, it is removed with the words that introduce it. A reply without a confidence is unchanged.
    """
    if not holds_any(text.lower(), _WORDS):
        return text.rstrip()
    rest = text
    for pattern in (_LINE, _INLINE, _JSON):
        rest = pattern.sub("", rest)
    if rest == text:
        for said in [*_SAID.finditer(rest)][-1:]:
            rest = rest[: said.start()] + rest[said.end() :]
    return rest.rstrip()
