"""The way to the built-in solver: a function call."""

from __future__ import annotations

from cortexdsl.errors import InputError
from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.solver.solver import NAME, solve
from cortexdsl.models.transports.transport import Raw, wire_seed
from cortexdsl.terms import Call


class BuiltinTransport:
    """Calls the built-in solver."""

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        if call.model.model != NAME:
            raise Failure(Kind.NOT_FOUND, f"there is no built-in model {call.model.model!r}; the only one is {NAME}")
        try:
            solved = solve(call.messages, wire_seed(call.seed), call.model.options)
        except InputError as error:
            raise Failure(Kind.BAD_REQUEST, str(error)) from None
        return Raw(solved.text, solved.finish_reason, solved.prompt_tokens, solved.completion_tokens)

    async def close(self) -> None:
        """Do nothing: a function has no connections."""
