"""The calls of a debate: how many, their tokens, failures, and kinds of replies that answer nothing.

Tokens are those that servers counted; unknown counts stay unknown. The detectors of refusals, tool calls and other
languages say yes only if there is no doubt, so their counts are lower bounds. In 551 real replies of forty models the
detector of refusals finds 16 that refuse, and one that refuses and then answers, which the reading of answers excludes;
the other detectors find none.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Literal

from cortexdsl.core import (
    CONTENT_FILTER,
    EMPTY_REPLY,
    NO_REPLY,
    OTHERS,
    REASONING_ONLY,
    TOOL_CALLED,
    AnyCall,
    Debate,
    Turn,
)
from cortexdsl.metrics.view import DebateView, by_column

TokenKind = Literal["prompt_tokens", "completion_tokens"]


def calls_of(turns: Iterable[Turn]) -> Iterator[AnyCall]:
    """Yield the calls of some turns: each turn is one, and so is each request, tool, and measure of confidence."""
    for turn in turns:
        yield from turn.calls


def debate_calls(debate: Debate) -> Iterator[AnyCall]:
    """Yield all calls of a debate: those of its turns, and of the turns of all stages."""
    yield from calls_of(debate.all_turns)


def total(turns: Iterable[Turn], kind: TokenKind) -> float | None:
    """Sum the tokens of some turns' calls; None as soon as one count is unknown."""
    return sum_of_tokens(calls_of(turns), kind)


def sum_of_tokens(calls: Iterable[AnyCall], kind: TokenKind) -> float | None:
    """Sum the tokens of some calls.

    None as soon as one count is unknown (a partial sum would look like a saving).
    """
    counts = [call.prompt_tokens if kind == "prompt_tokens" else call.completion_tokens for call in calls]
    return float(sum(c for c in counts if c is not None)) if None not in counts else None


def calls(view: DebateView) -> float:
    """Model calls of the debate, extra roles and measured confidences included."""
    return float(len(list(debate_calls(view.debate))))


def extra_calls(view: DebateView) -> float:
    """Calls of extra roles (judges, summarizers, critics), of the method that a question is handed on to included."""
    return float(len(_extra(view)))


def input_tokens(view: DebateView) -> float | None:
    """Prompt tokens of all calls of the debate, extra roles included; None if a server did not count some."""
    return sum_of_tokens(debate_calls(view.debate), "prompt_tokens")


def output_tokens(view: DebateView) -> float | None:
    """Completion tokens of all calls of the debate, extra roles included."""
    return sum_of_tokens(debate_calls(view.debate), "completion_tokens")


def reasoning_tokens(view: DebateView) -> float | None:
    """Completion tokens of reasoning; None if a model reasoned and its server did not count the tokens."""
    turns = view.debate.all_turns
    if any(turn.reasoning and turn.reasoning_tokens is None for turn in turns):
        return None
    return float(sum(call.reasoning_tokens or 0 for call in debate_calls(view.debate)))


def total_tokens(view: DebateView) -> float | None:
    """Prompt and completion tokens of all calls: GroupDebate's token cost (section 3.2)."""
    prompt, completion = input_tokens(view), output_tokens(view)
    return None if prompt is None or completion is None else prompt + completion


def input_tokens_per_agent(view: DebateView) -> float | None:
    """Prompt tokens of all calls of a debater, averaged over debaters (CortexDebate Tables 4 and 7).

    Extra roles are counted apart (`extra_input_tokens`), or a summarizer would look like a saving.
    """
    return _per_debater(view, "prompt_tokens")


def output_tokens_per_agent(view: DebateView) -> float | None:
    """Completion tokens of all calls of a debater, averaged over debaters."""
    return _per_debater(view, "completion_tokens")


def extra_input_tokens(view: DebateView) -> float | None:
    """Prompt tokens of the calls of extra roles."""
    return sum_of_tokens(_extra(view), "prompt_tokens")


def extra_output_tokens(view: DebateView) -> float | None:
    """Completion tokens of the calls of extra roles."""
    return sum_of_tokens(_extra(view), "completion_tokens")


def _own(view: DebateView) -> list[Turn]:
    debaters = set(view.debaters)
    return [turn for turn in view.debate.turns if turn.speaker in debaters]


def _extra(view: DebateView) -> list[AnyCall]:
    """Return the calls that are not of debaters, with all of the debates that the question was handed on to."""
    debate, debaters = view.debate, set(view.debaters)
    turns = [turn for turn in debate.turns if turn.speaker not in debaters]
    further = [turn for stage in debate.stages[1:] for turn in stage.turns]
    return list(calls_of((*turns, *further)))


def _per_debater(view: DebateView, kind: TokenKind) -> float | None:
    spent = total(_own(view), kind)
    return None if spent is None or not view.debaters else spent / len(view.debaters)


def unparsed(view: DebateView) -> float:
    """Debaters' answers of the last round that could not be read, and so abstained from the vote."""
    return float(sum(turn.answer is None for turn in view.answers[-1]))


def unparsed_turns(view: DebateView) -> float:
    """Turns of the whole debate, of any role and kind, from which what was asked for could not be read."""
    return float(sum(turn.unparsed is not None for turn in view.debate.all_turns))


def unanswered(view: DebateView) -> float:
    """Whether the debate has no answer at all (1 or 0); it then scores 0."""
    return float(view.debate.answer is None)


def failures(view: DebateView) -> float:
    """Calls that brought no words: refused, filtered, beyond the context window."""
    turns = view.debate.all_turns
    measuring = sum((aside.unread or "").startswith(NO_REPLY) for turn in turns for aside in turn.asides)
    return float(sum(turn.text == "" and turn.unparsed is not None for turn in turns) + measuring)


def unmeasured(view: DebateView) -> float:
    """Readable answers whose confidence could not be measured, whatever the reason.

    0 where confidences are stated: then there is nothing to measure.
    """
    found = [turn.measured for turn in view.debate.all_turns if turn.measured is not None and turn.answer is not None]
    return float(sum(measured.confidence is None for measured in found))


def cut(view: DebateView) -> float:
    """Turns whose reply was cut at its length limit, whether an answer stood before the cut or not."""
    return float(sum(turn.ended == "length" for turn in view.debate.all_turns))


def repetitive(view: DebateView) -> float:
    """Turns whose reply says the same over and over, until it was cut or gave up: see `repeats_itself`."""
    return float(sum(repeats_itself(turn.text) for turn in view.debate.all_turns))


REPEATS = 6.0
"""Compression ratio from which a reply counts as a loop. Five of 631 real replies of 200 characters or more reach it,
and all five are loops; the next ones, at 4.8 and less, are not. (Models on BBH, MMLU, GSM8K and other benchmarks.)"""

_SHORTEST = 300


def repeats_itself(text: str) -> bool:
    """Say whether a text of some length compresses so well (DEFLATE) that it is a loop and no argument."""
    written = text.encode("utf-8", "replace")
    return len(written) >= _SHORTEST and len(written) >= REPEATS * len(zlib.compress(written))


def was_tied(view: DebateView) -> float:
    """Whether the final vote was tied before the tie rule (1 or 0)."""
    return float(view.debate.was_tied)


LONGEST_REFUSAL = 600
"""Characters. A longer reply has gone on to say something; the longest refusal among the real replies has 392."""

_REFUSAL = re.compile(
    r"""(?:\b(?:i|we)\b(?:\s(?:am|are|'m|'re|must|will|have\sto|\w{2,12}ly))*\s?
         (?:cannot|can['’]t|can\snot|could\snot|won['’]t|will\snot|(?:am\s|are\s)?(?:not\s)?(?:un)?able\sto|decline\sto
            |(?:do|am|are)(?:\snot|n['’]t)\s(?:qualified|able|allowed|permitted)\sto|refuse\sto)
         \s(?:\w+\s){0,3}?
         (?:answer|help|assist|comply|provide|respond|give|fulfil+|continue|engage|discuss|support|participate))
      | \boutside\s(?:of\s)?my\s(?:scope|expertise|area)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TOOL = re.compile(
    r"\s*(?:```tool [A-Za-z0-9_-]+\n"
    r"|(?:```(?:json|tool_call|tool_code)?\s*)?(?:<tool_call>|<function_?calls?>|<function=|<\|python_tag\|>"
    r"|\[TOOL_CALLS\]|<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls▁begin｜>))"
)


def refused(view: DebateView) -> float:
    """Turns that refuse: withheld by the provider, or short, in English, and saying that they won't or can't.

    A turn from which an answer was read refuses nothing.
    """
    return float(sum(_is_refused(turn) for turn in view.debate.all_turns))


def empty(view: DebateView) -> float:
    """Calls that came back without a word, or with reasoning alone, however often they were tried."""
    return float(
        sum(any(what in _failed(turn) for what in (EMPTY_REPLY, REASONING_ONLY)) for turn in view.debate.all_turns)
    )


def tool_calls(view: DebateView) -> float:
    """Turns that call a tool instead of answering: in the field for it, or by a reply that begins with its mark."""
    return float(sum(TOOL_CALLED in _failed(turn) or calls_tool(turn.text) for turn in view.debate.all_turns))


def tool_uses(view: DebateView) -> float:
    """Uses of tools by agents within their turns, also those that failed."""
    return float(sum(len(turn.uses) for turn in view.debate.all_turns))


def failed_tool_uses(view: DebateView) -> float:
    """Uses of tools without a result: malformed, of an unknown tool, one too many, or the tool failed."""
    return float(sum(use.error is not None for turn in view.debate.all_turns for use in turn.uses))


def rankings(view: DebateView) -> float:
    """Readable rankings."""
    return float(len(_ballots(view)))


def partial_rankings(view: DebateView) -> float:
    """Readable rankings that leave out candidates."""
    return float(sum(ballot.endswith(OTHERS) for ballot in _ballots(view)))


def _ballots(view: DebateView) -> list[str]:
    read = (turn.answer if turn.reads == "ranking" else turn.beside.get("ranking") for turn in view.debate.all_turns)
    return [ballot for ballot in read if ballot is not None]


def _failed(turn: Turn) -> str:
    said = turn.unparsed or ""
    return said if said.startswith(NO_REPLY) else ""


def _is_refused(turn: Turn) -> bool:
    if _failed(turn):
        return _failed(turn).startswith(f"{NO_REPLY}: {CONTENT_FILTER}")
    return turn.answer is None and refuses(turn.text)


def refuses(text: str) -> bool:
    """Say whether a reply is a refusal: short, and its first sentences say that its author won't or can't."""
    return len(text.strip()) <= LONGEST_REFUSAL and _REFUSAL.search(text) is not None


def calls_tool(text: str) -> bool:
    """Say whether a reply begins with the mark by which a family of models calls tools."""
    return _TOOL.match(text) is not None


MEASURES = by_column(
    unparsed, calls, input_tokens, output_tokens, total_tokens, input_tokens_per_agent, output_tokens_per_agent,
    extra_calls, extra_input_tokens, extra_output_tokens, was_tied, unanswered, unparsed_turns, failures, cut,
    repetitive, reasoning_tokens, unmeasured, refused, empty, tool_calls, tool_uses,
    failed_tool_uses, rankings, partial_rankings,
)  # fmt: skip
"""The measures of this module, each of the column that has its name."""
