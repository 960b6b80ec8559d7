"""Parse a prompt for the built-in solver, from the text alone, as a model would.

The parser finds the question, the replies of others (blocks under a line such as `[Agent 2, trust 0.41]`), the
solver's own last answer (`[Your last answer]`, or `[Agent 1]` if the last paragraph says `You are Agent 1.`), numbered
passages, and, in the last paragraph, the lines that the reply should end with. If these lines have no paragraph of
their own, the parser takes the last form anywhere in the prompt (`Score: <1 to 10>`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cortexdsl.core import Message

_WORDS = {
    "Verdict": "verdict", "Selected": "selection", "Summary": "summary", "Score": "review",
    "Similarity": "similarity", "Judgement": "judgement", "Choice": "choice", "Ranking": "ranking",
    "Answer": "answer", "Belief": "belief", "Label": "label",
}  # fmt: skip
"""The kinds of lines by their words, the most telling first."""
_WORD = rf"\b({'|'.join(_WORDS)}|Confidence)\W{{0,3}}:"
_HEADER = re.compile(r"^\[([^\]\n]{1,80})\]$", re.MULTILINE)
_QUESTION = re.compile(r"^Question:[^\S\n]*", re.MULTILINE)
_ANSWER = re.compile(r"^[^\w\n]{0,4}Answer\W{0,4}:[^\S\n]*([^\s<\[{.…][^\n]*)", re.MULTILINE | re.IGNORECASE)
_SHOULD_BE = re.compile(r"result should be ([^\n]+?)\.(?:\s|$)")
_WANTED = re.compile(_WORD, re.IGNORECASE)
_ASKED = re.compile(rf"{_WORD}[^\S\n]*[`*]{{0,2}}(?:<[^>\n]+>|agree\W+or\b)", re.IGNORECASE)
"""A form as it is asked for, and never as it is filled in."""
_FORM = re.compile(r"\bAnswer\W{0,3}:\s*<([^>\n]*)>", re.IGNORECASE)
_OPTION = re.compile(r"^\(([A-Z])\)[^\S\n]*(.*)$", re.MULTILINE)
_PASSAGE = re.compile(r"^(\d{1,3})\. (.+)$", re.MULTILINE)
_TRUST = re.compile(r"(?:trust|confidence) (\d+(?:\.\d+)?)")
_SUPPORT = re.compile(r"\((\d{1,3}) agents?\)")
_REFERENCES = re.compile(r"^Reference answers[^\n]*:\n((?:- [^\n]*(?:\n|\Z))+)", re.MULTILINE)
_TO_JUDGE = re.compile(r"^Answer to be judged:\n(.*?)(?=\n\nRules:\n|\Z)", re.MULTILINE | re.DOTALL)
_TO_LABEL = re.compile(r"^Turn to be labelled:\n(.*?)(?=\n\nRules:\n|\Z)", re.MULTILINE | re.DOTALL)
_VALUES = re.compile(r"\bLabel:\s*<([^>\n]+)>")
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_NUMBERED = re.compile(r"(?:Agent|Turn) (\d+)")
_CHOOSE = re.compile(r"\bChoice\W{0,3}:\s*<[^>\n\d]*(\d{1,3})|\bchoose the best (\d{1,3})\b", re.IGNORECASE)
_NUMBER_FORM = re.compile(
    r"^(?!score\b|similarity\b|confidence\b|choice\b)([A-Za-z][\w ]{0,40}):[^\S\n]*<[^>\n]*\d[^>\n]*>",
    re.IGNORECASE | re.MULTILINE,
)
_TO_QUOTE = re.compile(r"^Passage:\n([^.\n]+\.)(?=.*<quote>)", re.MULTILINE | re.DOTALL)
_RANKS_AGENTS = re.compile(r"\bRanking\W{0,3}:\s*<[^>\n]*\b(?:agent|turn)", re.IGNORECASE)
_ME = re.compile(r"^You are (Agent \d+)\.", re.MULTILINE)
_TARGET = re.compile(r"^Argue for this answer:[^\S\n]*(\S[^\n]*)$", re.MULTILINE)
_SHORT = 60
SOUND = "Your steps are sound; I find no mistake in them."
"""The solver's comment on a solution that it agrees with: a short line alone, and no answer."""


@dataclass(frozen=True, slots=True)
class OtherReply:
    """An answer that was heard: as the solver writes answers, how much it should count, and its author's number."""

    answer: str
    weight: float = 1.0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt that the solver uses.

    Attributes
    ----------
    question : str
    options : mapping of str to float or None
        Labels of a multiple-choice question, each with the one number in its text (None: none, or several).
    form : str
        What the prompt says an answer is (`<a number>`, `<yes or no>`); may be empty.
    heard : tuple of OtherReply
    silent : int
        Number of blocks of others without an answer.
    own : str or None
        Its own last answer.
    passages : tuple of (int, str)
        Numbered passages.
    references : tuple of str
        Answers that are right by definition, for a judge.
    to_judge : str
        The answer that is to be judged.
    labels : tuple of str
        The labels that a turn may get.
    has_new_number : bool
        Whether the turn that is to be labelled has a number that nothing above it has.
    wanted : str
        The kind of reply that is asked for.
    beside : tuple of str
        Other kinds of lines that the same reply should have.
    wants_answer : bool
        Whether a line with an answer is asked for.
    choose : int
        How many agents are to be chosen.
    numbers : tuple of str
        The names of further numbers that the reply should state.
    quote : str
        The first sentence of the passage, if quotes are asked for.
    ranks_agents : bool
        Whether a ranking is one of agents, and not of answers.
    target : str
        The answer to argue for, named before the question; may be empty.
    """

    question: str
    options: Mapping[str, float | None]
    form: str
    heard: tuple[OtherReply, ...]
    silent: int
    own: str | None
    passages: tuple[tuple[int, str], ...]
    references: tuple[str, ...]
    to_judge: str
    wanted: str
    wants_answer: bool
    choose: int = 1
    numbers: tuple[str, ...] = ()
    quote: str = ""
    ranks_agents: bool = False
    target: str = ""
    beside: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    has_new_number: bool = False

    @property
    def stem(self) -> str:
        """The question without its options."""
        first = _OPTION.search(self.question)
        return self.question[: first.start()] if first else self.question


def read_prompt(messages: Sequence[Message]) -> Prompt:
    """Read the last message of the user."""
    text = next((m["content"] for m in reversed(messages) if m["role"] == "user"), messages[-1]["content"])
    body, request = _parted(text.strip())
    headers = list(_HEADER.finditer(body))
    opening = body[: headers[0].start()] if headers else (body or request)
    question = _question(opening)
    options = {label: _value(words) for label, words in _OPTION.findall(question)}
    me = _ME.search(request)
    form = _FORM.search(request)
    heard: list[OtherReply] = []
    own, silent = None, 0
    ends = [*(header.start() for header in headers[1:]), len(body)][: len(headers)]
    for header, end in zip(headers, ends, strict=True):
        replies = _said(body[header.end() : end].strip(), _weight(header[1]), options)
        name = header[1].removeprefix("Solution of ").partition(",")[0]
        if (me and name == me[1]) or (name.lower().startswith("your") and "group" not in name.lower()):
            own = replies[-1].answer if replies else own
        else:
            author = _NUMBERED.match(name)
            heard += [replace(each, number=int(author[1]) if author else 0) for each in replies]
            silent += not replies
    if not headers:
        heard += _said_in_lines(opening[opening.find(question) + len(question) :], 1.0, options)
    wanted, *beside = _wanted(request, bool(headers or heard))
    choose = _CHOOSE.search(request)
    references, to_judge = _REFERENCES.search(body), _TO_JUDGE.search(body)
    target = _TARGET.search(opening[: starts[-1].start()]) if (starts := list(_QUESTION.finditer(opening))) else None
    return Prompt(
        question=question,
        options=options,
        form=form[1].strip() if form else "",
        heard=tuple(heard),
        silent=silent,
        own=own,
        passages=tuple((int(n), replies) for n, replies in _PASSAGE.findall(body)) if wanted == "selection" else (),
        references=tuple(line[2:].strip() for line in references[1].splitlines()) if references else (),
        to_judge=to_judge[1].strip() if to_judge else "",
        wanted=wanted,
        wants_answer="answer" in (wanted, *beside),
        numbers=tuple(dict.fromkeys(_NUMBER_FORM.findall(request))),
        quote=quoted[1] if (quoted := _TO_QUOTE.search(text)) else "",
        ranks_agents=_RANKS_AGENTS.search(request) is not None,
        choose=int(choose[1] or choose[2]) if choose else 1,
        target=as_answer(target[1], options) if target else "",
        beside=tuple(kind for kind in beside if kind != "answer"),
        labels=tuple(values[-1].split(" or ")) if (values := _VALUES.findall(text)) else (),
        has_new_number=_has_new_number(text),
    )


def _has_new_number(text: str) -> bool:
    turn = _TO_LABEL.search(text)
    return turn is not None and bool({*_NUMBER.findall(turn[1])} - {*_NUMBER.findall(text[: turn.start()])})


def _parted(text: str) -> tuple[str, str]:
    """Part what a prompt tells from what it asks for: the last paragraph, or the last forms and what follows them."""
    body, _, request = text.rpartition("\n\n")
    is_alone = not _HEADER.search(request) and not (body and _QUESTION.search(request))
    requests = list(_ASKED.finditer(text))
    if not requests or (is_alone and _WANTED.search(request)):
        return body, request
    # The forms that end a prompt stand together; an earlier paragraph may show the prompts of others.
    first = next(one for one in requests if "\n\n" not in text[one.start() : requests[-1].start()])
    start = text.rfind("\n", 0, first.start()) + 1
    return text[:start].rstrip(), text[start:]


def _question(opening: str) -> str:
    """Return the last question of the opening, with its options; or the whole opening if no question is marked."""
    starts = [match.end() for match in _QUESTION.finditer(opening)]
    if not starts:
        return opening.strip()
    return opening[starts[-1] :].partition("\n\n")[0].strip()


def _wanted(request: str, hears: bool) -> list[str]:
    """Return what a request asks for: the main thing first, then what it asks for in the same reply."""
    words = {word.capitalize() for word in _WANTED.findall(request)}
    return [kind for word, kind in _WORDS.items() if word in words] or ["comment" if hears else "answer"]


def _weight(header: str) -> float:
    trust = _TRUST.search(header)
    return float(trust[1]) if trust else 1.0


def _said(block: str, weight: float, options: Mapping[str, float | None]) -> list[OtherReply]:
    """Return the answers in a block; a short line alone is an answer itself."""
    found = _said_in_lines(block, weight, options)
    is_short = 0 < len(block) <= _SHORT and "\n" not in block and not block.startswith("(")
    if not found and is_short and block != SOUND:
        found = [OtherReply(as_answer(block, options), weight)]
    return found


def _said_in_lines(block: str, weight: float, options: Mapping[str, float | None]) -> list[OtherReply]:
    found = []
    for line in [*_ANSWER.findall(block), *_SHOULD_BE.findall(block)]:
        support = _SUPPORT.search(line)
        answer = as_answer(line[: support.start()] if support else line, options)
        found.append(OtherReply(answer, weight * (int(support[1]) if support else 1)))
    return found


def as_answer(text: str, options: Mapping[str, float | None]) -> str:
    """Return an answer as the solver writes it, so that equal answers are equal: a label, a number, or the words."""
    text = text.strip().strip("*_`")
    if options:
        label, value = re.search(rf"\b([{''.join(options)}])\b", text), _value(text)
        equal = [] if value is None else [one for one, number in options.items() if number == value]
        return label[1] if label else (equal or [text])[0]
    number = _NUMBER.search(text)
    return number[0].replace(",", "").replace("−", "-") if number else text.rstrip(". ")


def _value(words: str) -> float | None:
    """Return the one number in a text."""
    numbers = _NUMBER.findall(words)
    return float(numbers[0].replace(",", "").replace("−", "-")) if len(numbers) == 1 else None
