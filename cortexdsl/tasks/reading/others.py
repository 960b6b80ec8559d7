"""What a reply says of other agents, which is not the answer of its author."""

from __future__ import annotations

import re
from functools import lru_cache

from cortexdsl.tasks.reading.text import holds_any

_WHO = (
    r"(?:\b(?:agents?|assistants?|solvers?|debaters?|participants?)[ _#-]{0,2}(?:\d{1,3}|[A-Z])\b"
    r"|\b(?:the |an)?(?:first|second|third|fourth|fifth|other|previous) "
    r"(?:agent|assistant|solver|debater|participant|solution|response|student)s?\b"
    r"|\bmy (?:colleague|peer|teammate|opponent)s?\b)"
)
# Without one of these words no other agent is named: looking for a word is faster than for a clause.
_NOUNS = ("agent", "assistant", "solver", "debater", "participant", "colleague", "peer", "teammate", "opponent")
_WORKS = ("solution", "response", "student")
_WHICH = ("first", "second", "third", "fourth", "fifth", "other", "previous")
_SAYS = (
    r"(?:argu|claim|say|said|think|thought|believ|suggest|conclud|stat|answer|propos|maintain|insist|gave|giv|got|get"
    r"|chose|choos|pick|select|arriv|report|wrote|writ|respon)\w{0,4}"
)
_ADVERBS = r"(?: (?:also|still|then|wrongly|incorrectly|rightly|correctly|has|have|had|seems? to)){0,2}"
# An author that agrees with an agent gives the same answer: "I agree with Agent 2 that the answer is C", "the correct
# solution is the first agent's solution, which gives 1".
_SHARES = (
    *("agree with ", "agreed with ", "side with ", "join ", "correct answer is ", "correct answer is the "),
    *("correct solution is ", "correct solution is the "),
)
_NOT_SHARED = "".join(f"(?<!{words})" for words in _SHARES)
_SAID = re.compile(
    rf"(?:,? ?(?:and |but )?not [^,.;\n]{{1,40}}?)?,? ?\b(?:as|like) {_WHO}{_ADVERBS} {_SAYS}\b"
    rf"|{_NOT_SHARED}{_WHO}(?:'s|’s) (?:\w+ )?(?:answer|solution|result|choice|response)\b[^.;\n)]*"
    rf"|{_NOT_SHARED}{_WHO}{_ADVERBS} {_SAYS}\b(?! correctly)[^.;\n)]*",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:agents?|assistants?|solvers?|debaters?)[ _#-]{0,2}\d{1,3}(?:(?:, | and | & )\d{1,3})*\b", re.I
)
_NUMBERED = r"(?:Agent|Assistant|Solver|Debater)[ _#-]{0,2}(?:\d{1,3}|[A-Z])\b"
_ROLES = r"(?:Critic|Judge|Reviewer|Moderator|Verifier|Opponent|Proponent)(?:[ _#-]{0,2}\d{1,3})?\b"
# A line that only announces what another one wrote: "My colleague's final line was:", "The other agents said:". An
# author that is convinced says so, and then gives an answer of its own.
_ANNOUNCED = re.compile(
    rf"^(?![^\w\n]{{0,4}}(?:as|like)\b)(?=[^\n]*(?:{_WHO}|\bothers\b|\bother (?:agents|solvers|debaters)\b"
    r"|\bprevious (?:answer|reply)\b))"
    r"(?![^\n]*\b(?:convinc|persuad|agree|correct|right|change|revis|switch|adopt|now|therefore|so I)\w*)"
    rf"[^\n]*\b(?:{_SAYS}|(?:answer|line|conclusion|result|reply)s? (?:was|is|were|are|reads?)|end(?:ed|s)(?: with)?)"
    r"[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LABELS = ("answer", "final")
"""Names that begin an answer line of the reply itself."""


def without_others(text: str, *, names: bool) -> str:
    """Return a text without the clauses about what other agents say, and without their names unless `names`."""
    lower = text.lower()
    has_works = holds_any(lower, _WORKS) and holds_any(lower, _WHICH)
    if not has_works and not holds_any(lower, _NOUNS):
        return text
    text = _SAID.sub("", text)
    return text if names else _NAMED.sub("", text)


def until_next_agent(text: str, answer_line: re.Pattern[str], agents: tuple[str, ...] = ()) -> str:
    """Cut a reply before the turn of another agent that it invents or quotes after its own answer line.

    A reply that quotes agents before its own answer line is left as it is. The answer itself may be the name of an
    agent, on the line below an empty answer line.

    Parameters
    ----------
    text : str
    answer_line : re.Pattern
        Finds the reply's own answer, with the group `rest`.
    agents : tuple of str
        Names of agents and roles that begin such turns, besides numbered agents and common roles.
    """
    first = answer_line.search(text)
    if first is None:
        return text
    header = _header(agents).search(text)
    if header is not None and not first["rest"].strip(" *_`") and header.start() == _next_line(text, first.end()):
        header = _header(agents).search(text, header.end())
    if header is not None and header.start() >= first.end():
        text = text[: header.start()]
    for announced in _ANNOUNCED.finditer(text, first.end()):
        if answer_line.match(text, _next_line(text, announced.end())):
            return text[: announced.start()]
    return text


def _next_line(text: str, start: int) -> int:
    """Return where the next line that is not empty begins."""
    return start + len(text[start:]) - len(text[start:].lstrip())


@lru_cache(maxsize=256)
def _header(agents: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of lines that begin the turn of an agent."""
    names = ("[-_ ]".join(map(re.escape, re.split("[-_ ]", name))) for name in agents if _is_name(name))
    who = "|".join([_NUMBERED, _ROLES, *(rf"{name}\b" for name in names)])
    return re.compile(rf"^[^\w\n]{{0,6}}(?:{who})[^\w\n]{{0,4}}(?::|\]|$|(?= ?Answer\b))", re.IGNORECASE | re.MULTILINE)


def _is_name(name: str) -> bool:
    """Return whether a name can begin the turn of another agent."""
    return name[-1:].isalnum() and name.lower() not in _LABELS
