"""A debate as text for a terminal. Characters that could move the cursor are written as escapes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cortexdsl.core import Debate, Graph, Measured, Model, Placebo, Question, ToolRequest, Turn, by_key
from cortexdsl.numbers import counted
from cortexdsl.plain_text import printable
from cortexdsl.records.debates import Record


def headings(turns: Sequence[Turn]) -> Mapping[int, str]:
    """Return a heading for each execution of a step: `round 1, review`; a repeated one ends with `(time 2)`.

    A round ends with the answers of debaters: several steps, or one step several times, may share a round.
    """
    headings_: dict[int, str] = {}
    times: dict[tuple[int, str], int] = {}
    for turn in turns:
        if turn.execution not in headings_:
            times[turn.round, turn.step] = time = times.get((turn.round, turn.step), 0) + 1
            headings_[turn.execution] = f"round {turn.round}, {turn.step}{f' (time {time})' if time > 1 else ''}"
    return headings_


def graphs_by_execution(debate: Debate) -> Mapping[int, Graph]:
    """Return the graph of each execution that has one; graphs of one step and round are in the order of executions."""
    waiting = by_key(((graph.round, graph.step), graph) for graph in reversed(debate.graphs))
    by_execution: dict[int, Graph] = {}
    for turn in debate.turns:
        if turn.execution not in by_execution and (graphs := waiting.get((turn.round, turn.step))):
            by_execution[turn.execution] = graphs.pop()
    return by_execution


_INDENT = "    "


Prompts: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]] | None]
"""The messages of calls, each with `role` and `content`, by the calls' keys; None: the call is in no log."""


def transcript_text(
    record: Record,
    width: int = 100,
    question: Question | None = None,
    gold: Sequence[str] = (),
    prompts: Prompts | None = None,
) -> str:
    """Return a debate turn by turn: who heard whom, the text, the answer, the confidence.

    Parameters
    ----------
    record : Record
    width : int
        Columns of the head and the rules; replies keep their own lines.
    question : Question or None
        Records do not hold the question; None if it is not known.
    gold : sequence of str
        Its right answers.
    prompts : mapping, optional
        To show the prompt of each turn, too.
    """
    return "\n".join(_lines(record, width, () if question is None else _asked(question, gold), prompts)) + "\n"


def debate_line(record: Record) -> tuple[str, ...]:
    """Return a row for a list of debates: dataset, cell, replicate, question, answer, end."""
    header, debate = record.header, record.debate
    return (
        _word(header.dataset),
        _word(header.cell),
        str(header.replicate),
        _word(debate.question_id),
        "-" if debate.answer is None else _word(debate.answer),
        _end(debate) + (", tied" if debate.was_tied else ""),
    )


def _lines(record: Record, width: int, asked: Iterable[str], prompts: Prompts | None) -> Iterator[str]:
    header, debate = record.header, record.debate
    place = (header.dataset, header.cell, f"replicate {header.replicate}", f"question {debate.question_id}")
    yield " / ".join(map(_word, place)) + (f" / wording {debate.wording}" if debate.wording else "")
    yield from asked
    yield from _stage(debate, width, prompts)
    if debate.deferred is not None:
        stages = debate.stages[1:]
        for rule, stage in zip((each.deferred for each in debate.stages), stages, strict=False):
            yield ""
            yield f"══ {_word(rule.to) if rule else ''} ".ljust(width, "═")
            yield from _stage(stage, width, prompts)


def _stage(debate: Debate, width: int, prompts: Prompts | None) -> Iterator[str]:
    """Yield the lines of a debate, without those that its question was handed on to."""
    names = ", ".join(f"{_word(a.name)} ({_word(a.model.model)})" for a in debate.agents)
    yield from textwrap.wrap(f"agents: {names}", width, subsequent_indent=_INDENT)
    shown, heads, graphs = None, headings(debate.turns), graphs_by_execution(debate)
    models = debate.models_of_steps()
    for turn in debate.turns:
        if turn.execution != shown:
            shown = turn.execution
            yield from _choices(debate, turn.turn)
            yield ""
            yield f"── {_word(heads[turn.execution])} ".ljust(width, "─")
        yield ""
        yield _speaker(turn, models.get(turn.turn)) + _hears(turn, debate, graphs.get(turn.execution))
        if prompts is not None and turn.call:
            yield from _prompt(prompts[turn.call])
        yield _INDENT + _read(turn)
        for placebo in turn.placebos:
            yield _INDENT + _instead(debate.turns[placebo.turn].speaker, placebo)
            yield from (f"{_INDENT}> {line}" for line in printable(placebo.text).split("\n"))
        for request in turn.requests:
            yield from _request(request)
        if turn.reasoning:
            yield from (f"{_INDENT}~ {line}" for line in printable(turn.reasoning).split("\n"))
        yield from (f"{_INDENT}| {line}" for line in printable(turn.text).split("\n"))
    yield from _choices(debate, len(debate.turns))
    yield ""
    yield "─" * width
    votes = ", ".join(f"{_word(answer)}: {weight:g}" for answer, weight in debate.votes.items())
    own = debate.own_answer
    yield f"answer: {'none' if own is None else _word(own)}" + (f"   (votes {votes})" if votes else "")
    yield _end(debate) + ("; the vote was tied" if debate.was_tied else "")
    if debate.confidence is not None:
        yield f"confidence of the debate: {_sureness(debate.confidence)}"
    if debate.deferred is not None:
        rule = debate.deferred
        why = "its condition held" if rule.below is None else f"not sure enough (below {rule.below:g})"
        yield f"{why}: handed on to {_word(rule.to)}"


def _request(request: ToolRequest) -> Iterator[str]:
    """Yield what a model said when it asked for tools, and what it asked each of them and was told."""
    if request.text.strip():
        yield from (f"{_INDENT}| {line}" for line in printable(request.text).split("\n"))
    for use in request.uses:
        argument, *more = printable(use.argument).split("\n")
        yield f"{_INDENT}> {_word(use.tool)}: {argument}".rstrip()
        yield from (f"{_INDENT}>   {line}" for line in more)
        mark = "=" if use.error is None else "!"
        yield from (f"{_INDENT}{mark} {line}" for line in printable(use.told).split("\n"))


def _prompt(messages: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    if messages is None:
        yield f"{_INDENT}(its prompt is in no call log)"
        return
    for message in messages:
        yield f"{_INDENT}< [{_word(message['role'])}]"
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        texts = [message["content"], *(f"{call['name']}({call['arguments']})" for call in calls)]
        for text in filter(None, texts):
            yield from (f"{_INDENT}< {line}".rstrip() for line in printable(text).split("\n"))


def _sureness(measured: Measured) -> str:
    if measured.confidence is None:
        return f"unknown ({_word(measured.unmeasured or '')})"
    return f"{measured.confidence:.2f} by {_SOURCES.get(measured.source, measured.source)}"


_SOURCES = {
    "weighted": "recalibrated confidences", "linear": "a linear pool", "log_odds": "a pool of log odds",
    "verifier": "a verifier",
}  # fmt: skip


def _asked(question: Question, gold: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a question, and the right answers."""
    texts = [question.context, question.text, *(f"{label}. {text}" for label, text in question.options)]
    for text in filter(None, texts):
        yield from (f"{_INDENT}? {line}" for line in printable(text).split("\n"))
    if gold:
        yield f"right: {', or '.join(map(_word, gold))}"


def _choices(debate: Debate, turn: int) -> Iterator[str]:
    """Yield the choices before a turn: the chosen agents and the candidates."""
    for choice in debate.choices:
        if choice.turn == turn:
            weights = ", ".join(f"{_word(c)} ({w:.3g})" for c, w in zip(choice.candidates, choice.weight, strict=True))
            yield ""
            yield f"{_word(choice.role)}: {', '.join(map(_word, choice.chosen)) or 'nobody'}, of {weights or 'nobody'}"


def _speaker(turn: Turn, model: Model | None) -> str:
    """Return who speaks, with the model of a step that has its own, and about whom."""
    name = _word(turn.speaker) + ("" if model is None else f" (model {_word(model.name)})")
    return name + (f" about {_word(turn.about)}" if turn.about is not None else "")


def _hears(turn: Turn, debate: Debate, graph: Graph | None) -> str:
    heard = [debate.turns[number] for number in turn.heard]
    parts = [_word(t.speaker) + _weight(t.speaker, turn.speaker, graph) for t in heard]
    return f", hearing {', '.join(parts)}" if parts else ""


def _instead(speaker: str, placebo: Placebo) -> str:
    """Return the line above a placebo: its kind, and whose words it stands for."""
    about = f", about question {_word(placebo.question)}" if placebo.question else ""
    return f"shown instead of {_word(speaker)}'s words (placebo: {placebo.kind}{about})"


def _weight(speaker: str, listener: str, graph: Graph | None) -> str:
    if graph is None or graph.weight is None or speaker not in graph.speakers or listener not in graph.listeners:
        return ""
    return f" ({graph.weight[graph.speakers.index(speaker), graph.listeners.index(listener)]:.3g})"


def _read(turn: Turn) -> str:
    if turn.unparsed is not None:
        read = f"{turn.reads}: unreadable ({_word(turn.unparsed)})"
    else:
        read = turn.reads if turn.answer is None else f"{turn.reads}: {_word(turn.answer)}"
    if turn.ended == "length":
        read += ", cut at its length limit"
    read += "".join(f", {what}: {'unreadable' if said is None else _word(said)}" for what, said in turn.beside.items())
    if turn.confidence_stated is not None:
        read += f", confidence {turn.confidence_stated:g}"
        if turn.confidence is not None and turn.confidence != turn.confidence_stated:
            read += f" taken as {turn.confidence:g}"
    return read


def _end(debate: Debate) -> str:
    """Return after how many rounds a debate ended, and why; of one that was handed on, how the other debate did."""
    if debate.deferred is not None:
        return f"handed on to {debate.deferred.to}: {_end(debate.deferred.debate)}"
    rounds = counted(debate.rounds, "round")
    ends = {
        "consensus": "consensus",
        "agreed": "the judge's verdict",
        "rounds": "the end of its schedule",
        "condition": "its condition",
    }
    return f"{rounds}, {ends[debate.stop]}"


def _word(text: str) -> str:
    return " ".join(printable(text).split())
