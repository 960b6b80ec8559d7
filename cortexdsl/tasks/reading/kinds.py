"""The answer kinds: short and free text, and one declaration for each kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeAlias

from cortexdsl.core import separated
from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.choice import ChoiceKind, LabelsKind, YesNoKind
from cortexdsl.tasks.reading.code import Behaviours, CodeKind, ProgramFrame
from cortexdsl.tasks.reading.number import ExpressionKind, Mark, NumberKind
from cortexdsl.tasks.reading.pair import TIE, PairKind
from cortexdsl.tasks.reading.quantity import QuantityKind
from cortexdsl.tasks.reading.statements import answer_block
from cortexdsl.tasks.reading.text import Unparsed, first_sentence, unwrapped, without_confidence, without_form_lines

_ARTICLE = re.compile(r"^(?:the|an|a)\s+(?=\S)", re.IGNORECASE)
_TRAILING = re.compile(r"(?<![.])[.。!?]+$")
_REMARK = re.compile(r", (?:who|whose|which|where|because|since)\b")
_LONGEST_TEXT = 300


def canonical_text(text: str) -> str:
    """Spell a short answer: lower case, single spaces, no quotes, leading article or closing dot.

    Every metric of short text lowers case and drops articles itself, so nothing that is graded gets lost, and
    `The Beatles.` and `the Beatles` are one answer in a vote.
    """
    text = " ".join(unwrapped(text).split())
    if re.search(r"\b[A-Za-z]\.[A-Za-z]\.$", text) is None:  # keep the dot of "Washington D.C."
        text = _TRAILING.sub("", text)
    return _ARTICLE.sub("", unwrapped(text)).lower()


BETWEEN = "; "
"""What separates the texts of one answer of kind `spans`."""


def canonical_spans(text: str) -> str:
    """Spell several short answers, which semicolons or lines separate."""
    return BETWEEN.join(filter(None, map(canonical_text, re.split("[;\n]", text))))


@dataclass(frozen=True, slots=True)
class TextKind:
    """The kind `text`, a name, a date, a phrase; and `spans`, one or several of them."""

    name: str = "text"
    want: str = "a few words, no sentence"
    spell: Callable[[str], str] = canonical_text

    def canonical(self, gold: str) -> str | None:
        """Keep a gold as it is: its metric normalises it."""
        return gold

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line."""
        value = self.spell(fragment)
        if not value:
            return Unparsed("nothing on the answer line")
        return value if len(value) <= _LONGEST_TEXT else Unparsed("the answer line is no short answer")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read a statement's first sentence, up to a clause about the answer."""
        value = self.spell(_REMARK.split(first_sentence(fragment))[0])
        return value if value and len(value) <= _LONGEST_TEXT else None

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that is nothing but a short answer."""
        value = self.spell(text)
        if value and len(value) <= _LONGEST_TEXT and "\n" not in text.strip():
            return value
        return Unparsed("no statement of an answer" if value else "empty reply")


@dataclass(frozen=True, slots=True)
class FreeKind:
    """The kinds `free` and `open`: a summary, code, an essay; read as it stands."""

    name: str = "free"
    want: str = "your full answer, as long as it needs"

    def canonical(self, gold: str) -> str | None:
        """Keep a gold as it is."""
        return gold

    def exact(self, fragment: str) -> str | Unparsed:
        """Take all that follows the answer line's beginning."""
        return fragment.strip() or Unparsed("nothing after the answer line")

    def within(self, fragment: str) -> str | Unparsed | None:
        """Free text states nothing within a sentence."""
        return None

    def search(self, text: str) -> str | Unparsed:
        """Take the whole reply."""
        return text.strip() or Unparsed("empty reply")


@dataclass(frozen=True, slots=True)
class InstructionsKind(FreeKind):
    """The kind `instructions`: a whole reply whose form is checked, so every mark of it stays."""

    name: str = "instructions"
    want: str = "your full reply, in the form that the request asks for"

    def exact(self, fragment: str) -> str | Unparsed:
        """Take all that follows the last answer line's beginning, unless it is a copy of the form."""
        block = answer_block(_own(fragment))
        return Unparsed("no answer line") if block is None else self._unless_form(block)

    def search(self, text: str) -> str | Unparsed:
        """Take the same, or the whole reply if it has no answer line."""
        own = _own(text)
        block = answer_block(own)
        return self._unless_form(own if block is None else block)

    def _unless_form(self, text: str) -> str | Unparsed:
        is_filled = re.search(r"\w", without_form_lines(text, (self.want, MIXED_WANT)))
        return text.strip() if is_filled else Unparsed("nothing but a copy of the form")


def _own(text: str) -> str:
    """Return a reply without its thoughts and its line of confidence."""
    return without_confidence(separated(text)[0])


MIXED_WANT = "the answer alone, in the form that the question asks for"


class AnswerKind(Protocol):
    """Spelling and reading of one kind of answers. Never raises on a reply's content."""

    @property
    def name(self) -> str:
        """The kind's name."""
        ...

    @property
    def want(self) -> str:
        """Description of an answer line's content, in words for a prompt."""
        ...

    def canonical(self, gold: str) -> str | None:
        """Spell a gold in canonical form; None if it is not of this kind."""
        ...

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line, which should be an answer and nothing else."""
        ...

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read what a statement says; None if it states no answer, so that the next statement is read."""
        ...

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that states no answer outright."""
        ...


Options: TypeAlias = tuple[tuple[str, str], ...]
"""(label, text) of each option of a question."""


OPEN = "open"
"""The kind of questions without a right answer."""
LINES = "these two lines:\nAnswer: <{want}>"


@dataclass(frozen=True, slots=True)
class KindEntry:
    """The declaration of an answer kind: everything that differs between kinds, except the reading of replies.

    Attributes
    ----------
    make : callable
        From the options of a question and a set of labels to the kind.
    plural : str
        What a dataset of this kind asks for, such as `numbers`.
    metric : str
        The metric of datasets that name none.
    gold : str
        The gold converter of your own files that name none.
    is_judged : bool
        An LLM judge may grade such answers.
    is_whole : bool
        The whole reply is the answer, and not a line or a statement in it.
    is_raw : bool
        The kind reads the reply as it came.
    is_chosen : bool
        `I would choose ...` states an answer.
    values : tuple of str
        The only possible answers, if they are the same for all questions.
    form : str
        How a prompt asks for the answer.
    """

    make: Callable[[Options, tuple[str, ...]], AnswerKind]
    plural: str
    metric: str = "accuracy"
    gold: str = "plain"
    is_judged: bool = False
    is_whole: bool = False
    is_raw: bool = False
    is_chosen: bool = False
    values: tuple[str, ...] = ()
    form: str = LINES


def _labels(options: Options, labels: tuple[str, ...]) -> AnswerKind:
    if not labels:
        raise DataError("answer kind labels: no label set\n    give the possible labels")
    return LabelsKind(labels)


KINDS: Mapping[str, KindEntry] = {
    "number": KindEntry(lambda options, labels: NumberKind(), "numbers"),
    "choice": KindEntry(
        lambda options, labels: ChoiceKind(options), "one of the choices", gold="label", is_chosen=True
    ),
    "yesno": KindEntry(lambda options, labels: YesNoKind(), "yes or no", gold="boolean", values=("yes", "no")),
    "expression": KindEntry(lambda options, labels: ExpressionKind(), "expressions", metric="math"),
    "quantity": KindEntry(lambda options, labels: QuantityKind(), "quantities"),
    "text": KindEntry(lambda options, labels: TextKind(), "short texts", metric="em", is_judged=True),
    "labels": KindEntry(_labels, "labels"),
    "spans": KindEntry(
        lambda options, labels: TextKind(
            "spans", "the answer in a few words; semicolons between several", canonical_spans
        ),
        "one or several short texts",
        metric="drop_em",
        gold="spans",
        is_judged=True,
    ),
    "free": KindEntry(lambda options, labels: FreeKind(), "free texts", metric="rouge", is_judged=True, is_whole=True),
    "instructions": KindEntry(
        lambda options, labels: InstructionsKind(),
        "texts that follow instructions",
        metric="instructions",
        is_whole=True,
        is_raw=True,
    ),
    OPEN: KindEntry(lambda options, labels: FreeKind(OPEN), "texts, without right answers", is_whole=True),
    "code": KindEntry(
        lambda options, labels: CodeKind(),
        "programs",
        metric="tests",
        gold="tests",
        is_whole=True,
        is_raw=True,
        form="a block with the program, and the line below it:\n```python\n<{want}>\n```",
    ),
    "pair": KindEntry(
        lambda options, labels: PairKind(not options or TIE in dict(options)),
        "the better of two replies",
        metric="agreement",
        gold="preference",
        is_chosen=True,
    ),
}
"""The answer kinds by name. A new kind is a class that implements `AnswerKind`, and an entry here."""


@lru_cache(maxsize=4096)
def kind_named(
    name: str,
    options: Options = (),
    labels: tuple[str, ...] = (),
    decimal: Mark = ".",
    frame: ProgramFrame | None = None,
    behaviours: Behaviours | None = None,
) -> AnswerKind:
    """Return the kind of that name, for a question's options, a label set, a decimal mark, or what programs are for.

    Raises
    ------
    DataError
        There is no such kind, or `labels` has no label set.
    """
    if name not in KINDS:
        raise DataError(f"no answer kind {name!r}\n    answer kinds: {', '.join(KINDS)}")
    kind = KINDS[name].make(options, labels)
    if isinstance(kind, CodeKind):
        return replace(kind, frame=frame or ProgramFrame(), behaviours=behaviours)
    return replace(kind, decimal=decimal) if isinstance(kind, NumberKind) else kind
