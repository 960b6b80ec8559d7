"""Removing echoed forms from replies: a format line that was copied from the prompt is not an answer."""

from __future__ import annotations

import re
from collections.abc import Collection

_LABEL = r"(?:score|rating|similarity|confidence|verdict|judge?ment|select(?:ed|ion)s?|choice|answer)"
_BRACKETED = re.compile(
    rf"(?P<label>\b{_LABEL}[^\w\n<]{{0,6}})?<(?P<inner>[^<>\n]{{1,300}})>(?P<after>[^\w\n]*$)?",
    re.IGNORECASE | re.MULTILINE,
)
# What a placeholder says and a value does not: `<agree or disagree>`, `<a whole number from 1 to 10>`, `<0-10>`.
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


def _is_form(line: str) -> bool:
    """Return whether a line is a label with a copied form and nothing else."""
    if len(line) > 300 or not _LABELLED.match(line):
        return False
    return re.search(r"\w", without_forms(line)) is None
