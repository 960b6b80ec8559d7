"""The transport `builtin`: the built-in solver, a stand-in for a language model that costs nothing.

Its only model is `builtin/solver`. It reads the rendered prompt and nothing else, and its reply is a pure function of
messages, seed and parameters. `docs/solver.md` says what its parameters do, with measurements.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cortexdsl.core import Call, Message
from cortexdsl.errors import InputError
from cortexdsl.models.solver.prompts import read_prompt
from cortexdsl.models.solver.replies import arithmetic_of, decide, malform, speak
from cortexdsl.models.solver.settings import SolverSettings, solver_settings
from cortexdsl.models.solver.tools import read_tools
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts, TransportType, wire_seed

SOLVER = "builtin/solver"
_PIECE = re.compile(r"\w+|[^\w\s]")


class BuiltinTransport:
    """Calls the built-in solver."""

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        if call.model.model != SOLVER:
            raise Failure(
                FailureKind.NOT_FOUND, f"there is no built-in model {call.model.model!r}; the only one is {SOLVER}"
            )
        try:
            return solve(call.messages, wire_seed(call.seed), call.model.options)
        except InputError as error:
            raise Failure(FailureKind.BAD_REQUEST, str(error)) from None

    async def close(self) -> None:
        """Do nothing: a function has no connections."""


TRANSPORT = TransportType(prefix="builtin", create=BuiltinTransport, is_in_process=True, is_instant=True)


def solve(messages: Sequence[Message], seed: int, options: Mapping[str, Any]) -> Raw:
    """Reply to messages, with counts of tokens.

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
    talk = read_tools(messages)
    prompt = read_prompt(talk.messages)
    expression = arithmetic_of(prompt)
    finish_reason = "stop"
    if talk.tool and expression is not None:
        text = talk.request(expression)
    else:
        decision = decide(prompt, settings, rng, talk.result)
        text = speak(prompt, decision, settings, rng)
        if rng.random() < settings.malformed:
            text, finish_reason = malform(text, rng)
    usage = TokenCounts(sum(count_tokens(message["content"]) for message in messages), count_tokens(text))
    return Raw(text, finish_reason, usage)


def count_tokens(text: str) -> int:
    """Return the number of words and numbers, and of other characters that are not space."""
    return len(_PIECE.findall(text))


def _seed(messages: Sequence[Message], seed: int, settings: SolverSettings) -> int:
    digest = hashlib.sha256(repr((seed, settings)).encode())
    for message in messages:
        text = f"\0{message['role']}\0{message['content']}"
        digest.update(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:8], "big")
