"""Reading and removing the confidence that a reply states."""

from __future__ import annotations

import re

_NAME = r"(?:confidence(?:[ _-]?(?:level|score|rating))?|certainty|置信度)"
_WORDS = ("confidence", "certainty", "置信度")
_SCALE = r"(?:\s?[(\[][^()\[\]\n]{0,24}[)\]](?=\W{0,4}:))?"  # `Confidence (0-1): 0.9`: the range is no value
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
        can be counted. None where no number is stated.
    """
    tail = text[-20_000:]
    if not any(word in tail.lower() for word in _WORDS):
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
    """Return a reply without what it says about its own confidence, else unchanged.

    A line or a bracket of its own goes; a confidence that stands in a sentence, and is the one that would be read, goes
    with the words that introduce it.
    """
    if not any(word in text.lower() for word in _WORDS):
        return text.rstrip()
    rest = text
    for pattern in (_LINE, _INLINE, _JSON):
        rest = pattern.sub("", rest)
    if rest == text:
        for said in [*_SAID.finditer(rest)][-1:]:
            rest = rest[: said.start()] + rest[said.end() :]
    return rest.rstrip()
