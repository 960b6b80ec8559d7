"""What a debate used: calls and tokens, as the servers counted them. Unknown counts stay unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import Aside, Turn

Kind = Literal["prompt_tokens", "completion_tokens"]


def made(turns: Iterable[Turn]) -> Iterator[Turn | Aside]:
    """Yield the calls of some turns: each turn is one, and so is each that measured its confidence."""
    for turn in turns:
        yield turn
        yield from turn.asides


def total(turns: Iterable[Turn], kind: Kind) -> float | None:
    """Sum the tokens of some turns' calls.

    None as soon as one count is unknown (a partial sum would look like a saving).
    """
    counts = [call.prompt_tokens if kind == "prompt_tokens" else call.completion_tokens for call in made(turns)]
    return float(sum(c for c in counts if c is not None)) if None not in counts else None


def calls(view: Graded) -> float:
    """Model calls of the debate, extra roles and measured confidences included."""
    return float(len(list(made(view.debate.turns))))


def extra_calls(view: Graded) -> float:
    """Calls of extra roles: judges, summarizers, critics."""
    return float(len(list(made(_extra(view)))))


def input_tokens(view: Graded) -> float | None:
    """Prompt tokens of all calls of the debate, extra roles included; None where a server did not say."""
    return total(view.debate.turns, "prompt_tokens")


def output_tokens(view: Graded) -> float | None:
    """Completion tokens of all calls of the debate, extra roles included."""
    return total(view.debate.turns, "completion_tokens")


def reasoning_tokens(view: Graded) -> float | None:
    """Completion tokens that were thought and not said; None where a model thought and its server did not count."""
    turns = view.debate.turns
    if any(turn.reasoning and turn.reasoning_tokens is None for turn in turns):
        return None
    return float(sum(call.reasoning_tokens or 0 for call in made(turns)))


def total_tokens(view: Graded) -> float | None:
    """Prompt and completion tokens of all calls: GroupDebate's token cost (section 3.2)."""
    prompt, completion = input_tokens(view), output_tokens(view)
    return None if prompt is None or completion is None else prompt + completion


def input_tokens_per_agent(view: Graded) -> float | None:
    """Prompt tokens of all calls of a debater, averaged over debaters (CortexDebate Tables 4 and 7).

    Extra roles are counted apart (`extra_input_tokens`), or a summarizer would look like a saving.
    """
    return _per_debater(view, "prompt_tokens")


def output_tokens_per_agent(view: Graded) -> float | None:
    """Completion tokens of all calls of a debater, averaged over debaters."""
    return _per_debater(view, "completion_tokens")


def extra_input_tokens(view: Graded) -> float | None:
    """Prompt tokens of the calls of extra roles."""
    return total(_extra(view), "prompt_tokens")


def extra_output_tokens(view: Graded) -> float | None:
    """Completion tokens of the calls of extra roles."""
    return total(_extra(view), "completion_tokens")


def _extra(view: Graded) -> list[Turn]:
    debaters = set(view.debaters)
    return [turn for turn in view.debate.turns if turn.speaker not in debaters]


def _per_debater(view: Graded, kind: Kind) -> float | None:
    debaters = set(view.debaters)
    spent = total((turn for turn in view.debate.turns if turn.speaker in debaters), kind)
    return None if spent is None or not view.debaters else spent / len(view.debaters)
