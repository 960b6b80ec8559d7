"""The built-in solver: a stand-in for a language model that costs nothing. Its name is always `builtin/solver`.

It reads the rendered prompt and nothing else, and its reply is a pure function of (messages, seed, parameters).
What it does and how its parameters act is told and measured in `docs/solver.md`.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cortexdsl.models.solver.mind import Mind, make_up_mind
from cortexdsl.models.solver.prompt import Prompt, read_prompt
from cortexdsl.models.solver.settings import SolverSettings, solver_settings
from cortexdsl.models.solver.voice import malform, speak
from cortexdsl.terms import Message

NAME = "builtin/solver"
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Solved:
    """A reply of the built-in solver, with its token counts."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


def solve(messages: Sequence[Message], seed: int, options: Mapping[str, Any]) -> Solved:
    """Reply to messages.

    Parameters
    ----------
    messages : sequence of mappings role, content
    seed : int
    options : mapping
        skill, overconfidence, stubbornness, malformed; each from 0 to 1.

    Raises
    ------
    InputError
        If an option is unknown or out of range.
    """
    settings = solver_settings(options)
    rng = random.Random(_seed(messages, seed, settings))
    prompt: Prompt = read_prompt(messages)
    mind: Mind = make_up_mind(prompt, settings, rng)
    text, finish_reason = speak(prompt, mind, settings, rng), "stop"
    if rng.random() < settings.malformed:
        text, finish_reason = malform(text, rng)
    return Solved(text, finish_reason, sum(count_tokens(m["content"]) for m in messages), count_tokens(text))


def count_tokens(text: str) -> int:
    """Count tokens the solver's way: every word or number is one, and every other mark that is no space."""
    return len(_PIECE.findall(text))


def _seed(messages: Sequence[Message], seed: int, settings: SolverSettings) -> int:
    digest = hashlib.sha256(repr((seed, settings)).encode())
    for message in messages:
        said = f"\0{message['role']}\0{message['content']}"
        digest.update(said.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "big")
