"""Closed answers: one of the options of a question, one of a set of labels, yes or no."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from cortexdsl.tasks.reading.text import (
    Unparsed,
    first_sentence,
    last_sentence,
    shown,
    unwrapped,
    without_text_commands,
)

_LABEL = r"(?:[A-Z]|\d{1,2})"
_OPENING = r"[^\w(\[]{0,6}(?:(?:option|choice|letter|answer|statement)s?\s{0,2}:?\s{0,2}){0,2}[*_`\"']{0,3}"
# (A), A), [A], A. A: A, A; or A alone at the end, or A followed by what closes emphasis or a quotation
_AT_START = re.compile(
    rf"{_OPENING}(?:[(\[]\s?(?P<inside>{_LABEL})\s?(?:[)\],:.]|$|\s)|(?P<bare>{_LABEL})(?P<after>[).:,;\]*_`\"'}}。-]|\s|$))",
    re.IGNORECASE,
)
_NEXT = re.compile(
    rf"[\s)\].,*]{{0,4}}(?:,|and|or|&|/|\+|,\s?and|,\s?or)\s?[(\[]?(?P<label>{_LABEL})(?=\s?(?:[),.;:\]]|and\b|or\b|&|$))"
)
_NEXT_BRACKETED = re.compile(rf"(?:,|\band|\bor|&)\s{{0,2}}(?:option )?[(\[]\s?(?P<label>{_LABEL})\s?[)\]]")
_REASON = re.compile(
    r"\b(?:because|since|as|rather than|instead|while|whereas|but|unlike|given|although|which|due to|options|choices)\b"
    r"|;"
)
_CHOSEN = re.compile(
    r"(?:\b(?:choose|chose|select|pick|go with|opt for|recommend|suggest|leaving|leaves|it's|"
    r"(?:decision|selection|choice|option):|(?:answer|option|choice|one|statement)(?: that)?"
    r"(?: [\w-]{1,12}){0,4} (?:is|are)|(?:is|be|are):?)\s{1,3}(?:with )?(?:(?:answer|option|choice|letter) )?)"
    rf"[*_`\"']{{0,3}}(?:[(\[](?P<inside>{_LABEL})[)\]]|(?P<bare>[A-Z])(?=[).:,;*_`\"']|\s*$|\s*\n))",
    re.MULTILINE,
)
_JUDGED = re.compile(
    rf"(?:[(\[](?P<inside>{_LABEL})[)\]]|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer) (?P<bare>[A-Z]))(?:[^.\n(\[]{{0,80}})?"
    r" (?:is|appears|seems|would be|must be)(?: to be)?(?: the| thus the| therefore the)?(?: most| best)?"
    r" (?:only )?(?:correct|right|best|likely|appropriate|accurate|answer|true)\b"
    r"|(?<![\w'])(?P<alone>[A-J]) (?:is|would be|seems)(?: the)?(?: most| best)?"
    r" (?:correct|right|best|answer|most likely)\b"
)
_OPTION_AT = re.compile(
    rf"(?:(?<=[\s(\[*,;.-])|^)(?:[Oo]ption |[Cc]hoice )?[(\[*]{{0,3}}(?:(?<=ption |hoice )(?P<named>{_LABEL})\b"
    rf"|(?P<label>{_LABEL})(?:[)\]:]|\.(?=\s)))"
)
_VERDICT = re.compile(
    r"\b(?P<wrong>incorrect|wrong|false|not (?:the )?(?:correct|right|true))\b|\b(?P<right>correct|right|true)\b"
    r"|(?P<cross>[✗✘❌])|(?P<tick>[✓✔✅])",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_BRACKETED = re.compile(rf"[(\[]({_LABEL})[)\]]")
_ALONE = re.compile(rf"[*_`\"'\s]{{0,4}}[(\[]?({_LABEL})[)\].:]{{0,2}}[*_`\"'\s.]{{0,4}}")
_DECLINES = re.compile(
    r"\b(?:not (?:among|in|one of|listed|given|provided|present|available)|none of|n/a\b|cannot be|can't be"
    r"|can not be|unable|impossible|unknown|undetermined|not (?:clear|possible|sure)|no (?:correct|option|answer))\b",
    re.IGNORECASE,
)
_RULED_OUT = re.compile(r"\b(?:not|neither)(?: option| choice)? [(\[]?[A-J]\b")
# words, numbers, and the signs that tell one formula from another; hyphens within words do not count
_WORDS = re.compile(r"\d+(?:\.\d+)?|[^\W_]+|[+*/=<>^√±]|(?<!\w)-")


@dataclass(frozen=True)
class ChoiceKind:
    """The kind `choice`.

    Attributes
    ----------
    options : tuple of (str, str)
        (label, text); empty where only the labels A to J are known.
    """

    options: tuple[tuple[str, str], ...] = ()
    name: str = "choice"

    @property
    def want(self) -> str:
        """Description of an answer line's content, in words for a prompt."""
        labels = [label for label, _ in self.options]
        if not labels:
            return "the letter of the option"
        return f"the label of one option, {labels[0]} to {labels[-1]}, and nothing else"

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset(label for label, _ in self.options) or frozenset(string.ascii_uppercase[:10])

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        """(label, words of the text), longest first; texts that two options share are left out."""
        texts = [(label, _words(text)) for label, text in self.options]
        alone = [(label, text) for label, text in texts if text and sum(text == t for _, t in texts) == 1]
        return sorted(alone, key=lambda pair: len(pair[1]), reverse=True)

    def canonical(self, gold: str) -> str | None:
        """Spell a gold: a label as it is, an option's text as its label."""
        gold = unwrapped(gold).strip("()[]. ")
        for label in (gold, gold.upper()):
            if label in self._labels:
                return label
        return next((label for label, text in self._texts if text == _words(gold)), None)

    def exact(self, fragment: str) -> str | Unparsed:
        """Read an answer line that should be one label, perhaps with its option's text."""
        fragment = without_text_commands(fragment)
        value = self.canonical(fragment)
        if value is None:
            match = re.fullmatch(rf"[(\[]?({_LABEL})[)\].:,]{{1,2}}\s{{0,3}}(.{{1,400}})", unwrapped(fragment))
            if (
                match
                and match[1] in self._labels
                and _words(match[2]) in dict(self.options_by_words()).get(match[1], "")
            ):
                value = match[1]
        return value if value is not None else Unparsed(f"no single option on the answer line: {shown(fragment)!r}")

    def options_by_words(self) -> list[tuple[str, str]]:
        """Return (label, words of its text) of each option."""
        return [(label, _words(text)) for label, text in self.options]

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the option that a statement names by label or by text; several options are not an answer."""
        fragment = without_text_commands(fragment.lstrip()[:1_200])
        if len(fragment) <= 12:  # a line that is nothing but a label may have it in lower case
            alone = self.canonical(fragment)
            if alone is not None:
                return alone
        match = _AT_START.match(fragment)
        label = self._label_of(match, fragment) if match else None
        if match and label:
            more = self._more(fragment, match, label)
            return Unparsed(f"several options: {shown(fragment)!r}") if more else label
        sentence = first_sentence(fragment)
        by_text = self._by_text(sentence, anchored=True) or self._by_text(sentence, anchored=False)
        if by_text:
            return by_text
        if _DECLINES.search(sentence[:80]):
            return Unparsed(f"says that no option is the answer: {shown(sentence)!r}")
        chosen = _CHOSEN.search(sentence)
        return self._known(chosen["inside"] or chosen["bare"]) if chosen else None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that states no answer outright: an option chosen, judged right, or alone on a line."""
        judged = self._judged(text[-3_000:])
        if judged is not None:
            return judged
        lines = [line for line in text[-3_000:].splitlines() if line.strip(" *_`")]
        for line in (lines[-1:] + lines[:1]) if lines else []:
            alone = _ALONE.fullmatch(line)
            if alone and self._known(alone[1]):
                return alone[1]
        opening = _AT_START.match(text.lstrip())
        if opening and len(lines) == 1 and len(text) < 400 and (opening["inside"] or opening["after"] in ").:"):
            label = self._known(opening["inside"] or opening["bare"])
            if label and not self._more(text.lstrip(), opening, label):
                return label
        for pattern in (_CHOSEN, _JUDGED):
            for match in reversed(list(pattern.finditer(text[-3_000:]))):
                groups = match.groupdict()
                label = self._known(groups["inside"] or groups["bare"] or groups.get("alone"))
                if label:
                    return label
        closing = last_sentence(text)
        bracketed = {match[1] for match in _BRACKETED.finditer(closing)} & self._labels
        if len(bracketed) == 1:
            return next(iter(bracketed))
        listed = {label for line in map(_words, lines) for label, option in self._texts if line.endswith(option)}
        for part in (closing, text if len(text) <= 600 else "") if len(listed) <= 1 else ():
            by_text = None if _RULED_OUT.search(part) else self._by_text(part, anchored=False)
            if by_text:
                return by_text
        return Unparsed("no option is named as the answer" if text.strip() else "empty reply")

    def _judged(self, text: str) -> str | Unparsed | None:
        """Read the only right option of a list of verdicts; None if the reply has no such list."""
        starts = [match for match in _OPTION_AT.finditer(text) if self._known(match["named"] or match["label"])]
        right: dict[str, bool] = {}
        for match, following in zip_longest(starts, starts[1:]):
            end = following.start() if following else len(text)
            verdict = _VERDICT.search(text, match.end(), min(end, match.end() + 300))
            if verdict:
                right[match["named"] or match["label"]] = bool(verdict["right"] or verdict["tick"])
        if len(right) < 2:
            return None
        named = [label for label, is_right in right.items() if is_right] or sorted(self._labels - right.keys())
        return named[0] if len(named) == 1 else Unparsed("calls several options right, or none")

    def _known(self, label: str | None) -> str | None:
        return label if label in self._labels else None

    def _label_of(self, match: re.Match[str], fragment: str) -> str | None:
        label = match["inside"] or match["bare"]
        if label not in self._labels:
            label = label.upper() if match["inside"] or match["after"] == ")" else ""
        if label not in self._labels:
            return None
        if match["bare"] and match["after"].isspace():
            # "A politician" may be option D's text, and "I think" no option at all
            if self._by_text(first_sentence(fragment), anchored=True):
                return None
            following = fragment[match.end() :].lstrip()
            if label in "AI" and following and following[0].islower():
                return None
            if label.isdigit() and following and not following.startswith(("(", "-", "–", "because", "since")):
                return None
        return label

    def _more(self, fragment: str, match: re.Match[str], label: str) -> bool:
        """Return whether a statement goes on to name other options after the first."""
        claim = fragment[match.end() - 1 : match.end() + 300].split("\n", 1)[0]
        reason = _REASON.search(claim)
        claim = claim[: reason.start()] if reason else claim
        directly = _NEXT.match(fragment, match.end("inside") if match["inside"] else match.end("bare"))
        others = [directly["label"]] if directly else []
        others += [other["label"] for other in _NEXT_BRACKETED.finditer(first_sentence(claim))]
        return any(other in self._labels and other != label for other in others)

    def _by_text(self, sentence: str, anchored: bool) -> str | None:
        """The one option whose text the sentence holds (as its beginning, if anchored)."""
        said = f" {_words(sentence)} "
        hits: list[tuple[str, str]] = []
        for label, text in self._texts:
            if any(text in longer for _, longer in hits):
                continue  # part of a longer option that was found already
            found = said.startswith(f" {text} ") if anchored else len(text) >= 4 and f" {text} " in said
            if found:
                hits.append((label, text))
        return hits[0][0] if len(hits) == 1 else None


def _words(text: str) -> str:
    """Return lower-case words, numbers and signs of a text, for comparing options with statements."""
    return " ".join(_WORDS.findall(_THOUSANDS.sub("", text.lower()).replace("−", "-").replace("×", "*")))


# Other ways to say a label, if a dataset's own labels are among the keys.
_SYNONYMS = {
    "supports": ("support", "supported", "true"),
    "refutes": ("refute", "refuted", "false"),
    "not enough info": ("not enough information", "nei", "not enough evidence", "insufficient information"),
}


@dataclass(frozen=True)
class LabelsKind:
    """The kind `labels`.

    Attributes
    ----------
    labels : tuple of str
        The set, spelled as the dataset spells it.
    """

    labels: tuple[str, ...]
    name: str = "labels"

    @property
    def want(self) -> str:
        """Description of an answer line's content, in words for a prompt."""
        return "one of: " + ", ".join(self.labels)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        spellings = {label.lower(): label for label in self.labels}
        for label in self.labels:
            for other in _SYNONYMS.get(label.lower(), ()):
                spellings.setdefault(other, label)
        return spellings

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._spellings, key=len, reverse=True)
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?!\w)", re.IGNORECASE)

    def _found(self, text: str) -> list[str]:
        return [self._spellings[spelling.lower()] for spelling in self._pattern.findall(text)]

    def canonical(self, gold: str) -> str | None:
        """Spell a gold as the label set does."""
        return self._spellings.get(" ".join(unwrapped(gold).replace("_", " ").rstrip(".").lower().split()))

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be one label."""
        value = self.canonical(fragment.strip(" ()[]."))
        return value if value is not None else Unparsed(f"no label on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the one label that a statement names."""
        found = self._found(first_sentence(without_text_commands(fragment))[:300])
        if len(set(found)) > 1 and re.search(r"\b(?:and|or)\b|[/&,]", fragment[:300]):
            return Unparsed(f"several labels: {shown(fragment)!r}")
        return found[0] if found else None

    def search(self, text: str) -> str | Unparsed:
        """Read the one label of a short reply, or of the last sentence."""
        for part in (text if len(text) <= 60 else "", last_sentence(text)):
            found = set(self._found(part))
            if len(found) == 1:
                return found.pop()
        return Unparsed("no single label in the reply's last sentence")


_YES_OR_NO = {
    **dict.fromkeys(("yes", "true", "correct", "right", "ja", "oui", "sí", "si", "是", "not false"), "yes"),
    **dict.fromkeys(("no", "false", "incorrect", "wrong", "nein", "non", "否", "not true", "not correct"), "no"),
}
_WORD = re.compile(
    r"\b(?:yes|(?:not )?true|no|(?:not )?false|oui|nein)\b"
    r"(?!\s(?:more|one|longer|evidence|information|way|doubt|such)\b)|^[是否]",
    re.I,
)
_FIRST = re.compile(r"[^\w]{0,6}(yes|no|true|false)\b(?=\s{0,2}(?:[,.;:!*)\]\n-]|$))", re.IGNORECASE)


_CLAIM = re.compile(
    r"(?<!\bif the )(?<!\bwhether the )\b(?:claim|statement|assertion|proposition|hypothesis)"
    r" is(?: (?:therefore|thus|hence|indeed|in fact))? ((?:not )?(?:true|false|correct)|incorrect|wrong)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class YesNoKind:
    """The kind `yesno`."""

    name: str = "yesno"
    want: str = "yes or no"

    def canonical(self, gold: str) -> str | None:
        """Spell a gold."""
        return _YES_OR_NO.get(unwrapped(gold).rstrip(".!").lower())

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line that should be yes or no."""
        value = self.canonical(fragment.strip(" ()[]."))
        return value if value is not None else Unparsed(f"neither yes nor no on the answer line: {shown(fragment)!r}")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read the first yes or no of a statement."""
        sentence = first_sentence(without_text_commands(fragment))[:300]
        alone = self.canonical(sentence.strip(" ()[]."))
        if alone is not None:
            return alone
        if sentence.lstrip().lower().startswith("not "):
            return Unparsed(f"only says what the answer is not: {shown(sentence)!r}")
        found = [_YES_OR_NO[word.lower()] for word in _WORD.findall(sentence)]
        if re.search(r"\byes ?(?:and|or|/) ?no\b|\btrue or false\b", sentence, re.IGNORECASE):
            return Unparsed(f"both answers: {shown(sentence)!r}")
        return found[0] if found else None

    def search(self, text: str) -> str | Unparsed:
        """Read the yes or no that a reply opens with, else that of its last sentence, else of "the claim is ..."."""
        opening = _FIRST.match(text.lstrip())
        if opening:
            return _YES_OR_NO[opening[1].lower()]
        words = _WORD.findall(last_sentence(text)) or _CLAIM.findall(text)
        found = {_YES_OR_NO[word.lower()] for word in words}
        if len(found) == 1:
            return found.pop()
        return Unparsed("no yes or no in the reply" if not found else "both yes and no in the last sentence")
