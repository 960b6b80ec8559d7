"""What a speaker sees: the variables of its prompt, and the turns that they contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cortexdsl.debate.transcript import Transcript, last_execution
from cortexdsl.terms import Agent, Method, Question, Reader, Step, Turn


@dataclass(frozen=True, slots=True)
class Address:
    """One call of a step: who speaks, whom it hears, and what it is about.

    Attributes
    ----------
    speaker : Agent
    hears : tuple of str
        Names, in the agents' order.
    about : str or None
        The agent (or `group 2`) that the turn is for.
    weights : mapping of name to float
        Trust in those heard, where the topology weighs them.
    """

    speaker: Agent
    hears: tuple[str, ...]
    about: str | None = None
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The variables of a prompt, and the turns that it contains: others' and the speaker's own."""

    variables: Mapping[str, Any]
    heard: tuple[int, ...]
    recalled: tuple[int, ...]


def view(
    step: Step,
    address: Address,
    method: Method,
    transcript: Transcript,
    question: Question,
    reader: Reader,
    groups: Sequence[Sequence[str]],
) -> View:
    """Build the view of one speaker from the transcript.

    Variables
    ---------
    question : Question
    agent : mapping name, persona
    about : str or None
    round : int
    heard : list of mappings speaker, round, reads, text, answer, confidence, weight, about, is_own_group
        `text` is the reply without its confidence line, or the answer alone (`passes: answer`).
    by_answer : list of mappings answer, turns (as in `heard`); most supported first
    own : list of mappings, as `heard`
    evidence : list of passages (with `tells: evidence`)
    and what `with:` names.
    """
    me = address.speaker.name
    heard = [turn for turn in _heard(step, address, transcript) if turn.text]
    own = [turn for turn in _own(step, me, transcript) if turn.text]
    mine = next((f"group {k}" for k, group in enumerate(groups, 1) if me in group), None)

    def entry(turn: Turn) -> dict[str, Any]:
        return {
            "speaker": turn.speaker,
            "round": turn.round,
            "reads": turn.reads,
            "text": _passed(turn, method.passes, reader),
            "answer": turn.answer,
            "confidence": turn.confidence,
            "weight": (address.weights or {}).get(turn.speaker),
            "about": turn.about,
            "is_own_group": mine is not None and turn.about == mine,
        }

    entries = [entry(turn) for turn in heard]
    variables: dict[str, Any] = {
        "question": question,
        "agent": {"name": me, "persona": address.speaker.persona},
        "about": address.about,
        "round": transcript.round,
        "heard": entries,
        "by_answer": _by_answer(entries) if "by_answer" in step.tells else [],
        "own": [entry(turn) for turn in own],
        "evidence": _evidence(step, me, method, transcript) if "evidence" in step.tells else [],
        **step.material,
    }
    return View(variables, tuple(t.turn for t in heard), tuple(t.turn for t in own))


def _heard(step: Step, address: Address, transcript: Transcript) -> list[Turn]:
    """Collect the turns that reach a speaker, in the order of those heard.

    `about_me` takes what was said about the speaker (or about whom its call is for) in place of all talk; `history`
    takes all of it in place of the latest; `evidence` alone takes none.
    """
    if set(step.tells) == {"evidence"}:
        return []
    subject = address.about or address.speaker.name
    turns: list[Turn] = []
    for name in address.hears:
        said = transcript.about(name, subject) if "about_me" in step.tells else transcript.talk(name)
        turns += said if "history" in step.tells else last_execution(said)
    return turns


def _own(step: Step, me: str, transcript: Transcript) -> tuple[Turn, ...]:
    if step.own == "none":
        return ()
    return transcript.talk(me) if step.own == "history" else last_execution(transcript.talk(me))


def _passed(turn: Turn, passes: str, reader: Reader) -> str:
    if passes == "answer" and turn.reads == "answer":
        return "(no readable answer)" if turn.answer is None else turn.answer
    return reader.without_confidence(turn.text)


def _by_answer(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    grouped: dict[str | None, list[Mapping[str, Any]]] = {}
    for item in entries:
        grouped.setdefault(item["answer"], []).append(item)
    ordered = sorted(grouped.items(), key=lambda pair: -len(pair[1]))  # stable: first heard first
    return [{"answer": answer, "turns": turns} for answer, turns in ordered]


def _evidence(step: Step, me: str, method: Method, transcript: Transcript) -> list[Any]:
    """Return the passages that the speaker selected last, by number; the step's whole pool where it never selects."""
    selection = transcript.last(me, "selection")
    if selection is None:
        return list(step.material.get("pool", ()))
    pool = method.steps[selection.step].material.get("pool", ())
    numbers = [int(n) for n in (selection.answer or "").split(",") if n.strip().isdecimal()]
    return [pool[n - 1] for n in numbers if 1 <= n <= len(pool)]
