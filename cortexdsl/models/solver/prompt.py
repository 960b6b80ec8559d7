"""How the built-in solver reads a prompt: from the text alone, as a model would.

It looks for the question, for what others said (blocks under a line such as `[Agent 2, trust 0.41]`), for its
own last answer (`[Your last answer]`, or `[Agent 1]` where the last paragraph says `You are Agent 1.`), for numbered
passages, and in the last paragraph for the lines that the reply should end with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cortexdsl.terms import Message

Wanted = Literal["answer", "review", "verdict", "summary", "selection", "similarity", "judgement", "choice", "comment"]

_HEADER = re.compile(r"^\[([^\]\n]{1,80})\]$", re.MULTILINE)
_QUESTION = re.compile(r"^Question:[^\S\n]*", re.MULTILINE)
_ANSWER = re.compile(r"^[^\w\n]{0,4}Answer\W{0,4}:[^\S\n]*([^\s<\[{.…][^\n]*)", re.MULTILINE | re.IGNORECASE)
_SHOULD_BE = re.compile(r"result should be ([^\n]+?)\.(?:\s|$)")
_WANTED = re.compile(
    r"\b(Answer|Confidence|Score|Verdict|Selected|Summary|Similarity|Judgement|Choice)\W{0,3}:", re.IGNORECASE
)
_FORM = re.compile(r"\bAnswer\W{0,3}:\s*<([^>\n]*)>", re.IGNORECASE)
_OPTION = re.compile(r"^\(([A-Z])\)", re.MULTILINE)
_PASSAGE = re.compile(r"^(\d{1,3})\. (.+)$", re.MULTILINE)
_TRUST = re.compile(r"(?:trust|confidence) (\d+(?:\.\d+)?)")
_SUPPORT = re.compile(r"\((\d{1,3}) agents?\)")
_REFERENCES = re.compile(r"^Reference answers[^\n]*:\n((?:- [^\n]*(?:\n|\Z))+)", re.MULTILINE)
_TO_JUDGE = re.compile(r"^Answer to be judged:\n(.*?)(?=\n\nRules:\n|\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_NUMBERED = re.compile(r"Agent (\d+)")
_CHOOSE = re.compile(r"\bChoice\W{0,3}:\s*<[^>\n\d]*(\d{1,3})?", re.IGNORECASE)
_ME = re.compile(r"^You are (Agent \d+)\.", re.MULTILINE)
_TARGET = re.compile(r"^Argue for this answer:[^\S\n]*(\S[^\n]*)$", re.MULTILINE)
_SHORT = 60


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer that was heard: as the solver writes answers, how much it should count, and its author's number."""

    answer: str
    weight: float = 1.0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the solver has understood.

    Attributes
    ----------
    question : str
    options : tuple of str
        Labels of a multiple-choice question.
    form : str
        What the prompt says an answer is (`<a number>`, `<yes or no>`); may be empty.
    heard : tuple of Heard
    silent : int
        Blocks of others in which no answer was found.
    own : str or None
        Its own last answer.
    passages : tuple of (int, str)
        Numbered passages.
    references : tuple of str
        Answers that are right by definition, for one who judges.
    to_judge : str
        The answer that is to be judged.
    wanted : str
        The kind of reply that is asked for.
    wants_answer : bool
        Whether a line with an answer is asked for.
    choose : int
        How many agents are to be chosen.
    target : str
        The answer that it is told to argue for, before the question; empty: none.
    """

    question: str
    options: tuple[str, ...]
    form: str
    heard: tuple[Heard, ...]
    silent: int
    own: str | None
    passages: tuple[tuple[int, str], ...]
    references: tuple[str, ...]
    to_judge: str
    wanted: Wanted
    wants_answer: bool
    choose: int = 1
    target: str = ""


def read_prompt(messages: Sequence[Message]) -> Prompt:
    """Read the last message of the user."""
    text = next((m["content"] for m in reversed(messages) if m["role"] == "user"), messages[-1]["content"])
    body, _, request = text.strip().rpartition("\n\n")
    headers = list(_HEADER.finditer(body))
    opening = body[: headers[0].start()] if headers else (body or request)
    question = _question(opening)
    options = tuple(_OPTION.findall(question))
    me = _ME.search(request)
    form = _FORM.search(request)
    heard: list[Heard] = []
    own, silent = None, 0
    ends = [*(header.start() for header in headers[1:]), len(body)][: len(headers)]
    for header, end in zip(headers, ends, strict=True):
        said = _said(body[header.end() : end].strip(), _weight(header[1]), options)
        name = header[1].removeprefix("Solution of ").partition(",")[0]
        if (me and name == me[1]) or (name.lower().startswith("your") and "group" not in name.lower()):
            own = said[-1].answer if said else own
        else:
            author = _NUMBERED.match(name)
            heard += [replace(each, number=int(author[1]) if author else 0) for each in said]
            silent += not said
    if not headers:
        heard += _said_in_lines(opening[opening.find(question) + len(question) :], 1.0, options)
    wanted, wants_answer = _wanted(request, bool(headers or heard))
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
        passages=tuple((int(n), said) for n, said in _PASSAGE.findall(body)) if wanted == "selection" else (),
        references=tuple(line[2:].strip() for line in references[1].splitlines()) if references else (),
        to_judge=to_judge[1].strip() if to_judge else "",
        wanted=wanted,
        wants_answer=wants_answer,
        choose=int(choose[1]) if choose and choose[1] else 1,
        target=as_answer(target[1], options) if target else "",
    )


def _question(opening: str) -> str:
    """Return the last question of the opening, with its options; the whole opening where none is marked."""
    starts = [match.end() for match in _QUESTION.finditer(opening)]
    if not starts:
        return opening.strip()
    return opening[starts[-1] :].partition("\n\n")[0].strip()


def _wanted(request: str, hears: bool) -> tuple[Wanted, bool]:
    words = {word.lower() for word in _WANTED.findall(request)}
    kinds: tuple[tuple[str, Wanted], ...] = (
        ("verdict", "verdict"), ("selected", "selection"), ("summary", "summary"), ("score", "review"),
        ("similarity", "similarity"), ("judgement", "judgement"), ("choice", "choice"),
    )  # fmt: skip
    for word, kind in kinds:
        if word in words:
            return kind, "answer" in words
    return ("comment", False) if hears and "answer" not in words else ("answer", True)


def _weight(header: str) -> float:
    trust = _TRUST.search(header)
    return float(trust[1]) if trust else 1.0


def _said(block: str, weight: float, options: tuple[str, ...]) -> list[Heard]:
    """Return the answers in a block; a short line alone is an answer itself."""
    found = _said_in_lines(block, weight, options)
    if not found and block and len(block) <= _SHORT and "\n" not in block and not block.startswith("("):
        found = [Heard(as_answer(block, options), weight)]
    return found


def _said_in_lines(block: str, weight: float, options: tuple[str, ...]) -> list[Heard]:
    found = []
    for said in [*_ANSWER.findall(block), *_SHOULD_BE.findall(block)]:
        support = _SUPPORT.search(said)
        answer = as_answer(said[: support.start()] if support else said, options)
        found.append(Heard(answer, weight * (int(support[1]) if support else 1)))
    return found


def as_answer(said: str, options: tuple[str, ...]) -> str:
    """Return an answer as the solver writes it, so that equal answers are equal: a label, a number, or the words."""
    said = said.strip().strip("*_`")
    if options:
        label = re.search(rf"\b([{''.join(options)}])\b", said)
        return label[1] if label else said
    number = _NUMBER.search(said)
    return number[0].replace(",", "").replace("−", "-") if number else said.rstrip(". ")
