"""Answers calls from the replies of earlier rounds, and collects the calls that have none."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from cortexdsl.core import NO_USAGE, Call, Model, Usage
from cortexdsl.errors import ModelError
from cortexdsl.models.budget import Budget
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.retry import AttemptResult, Retries, RetriesExhausted, Runtime
from cortexdsl.models.rounds.lines import BatchResponse, request_line
from cortexdsl.models.rounds.replies import ReplyFiles
from cortexdsl.models.rounds.requests import RequestSpool
from cortexdsl.models.sender import check_reply, cost_of_failure, lost_usage
from cortexdsl.models.transports.anthropic_messages import speaks_messages
from cortexdsl.models.transports.completions import read_completion
from cortexdsl.models.transports.direct import body_of
from cortexdsl.models.transports.failures import Failure, from_status
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.prices import estimated_dollars
from cortexdsl.models.transports.request_parts import SEED, refused_parameters, sent_parameters
from cortexdsl.models.transports.responses import refuse_error

_LENGTHS = ("max_tokens", "max_completion_tokens")


def outside_rounds(model: Model) -> ModelError:
    """Return the error of a call to an engine that no round of files can answer."""
    what = f"model {model.name} ({model.model}): the engine {model.engine} answers debates and judges alone"
    return ModelError(f"{what}\n    give the model an api_base, and remove engine")


class RoundSender:
    """Answers the calls of all debates of one round.

    Parameters
    ----------
    replies : ReplyFiles
        Of the rounds before.
    requests : RequestSpool
        Gets the requests of the next round.
    runtime, secrets
        Of the clients.

    Attributes
    ----------
    booked : Usage
        What the requests of the next round may cost.
    last_failure : str
        Of a call that is asked again.
    missing : Counter of model entry
        The calls that have no reply.
    """

    def __init__(self, replies: ReplyFiles, requests: RequestSpool, runtime: Runtime, secrets: Secrets) -> None:
        self._replies, self._requests, self._runtime, self._secrets = replies, requests, runtime, secrets
        self.booked, self.last_failure = NO_USAGE, ""
        self.missing: Counter[str] = Counter()

    async def send(
        self, key: str, call: Call, budget: Budget, prompt_tokens: int, cost: Callable[[Raw], Usage]
    ) -> AttemptResult[Raw]:
        """Return the reply to a call, as the ordinary way would have; or never, if no round has brought one yet.

        Raises
        ------
        RetriesExhausted
            The call has failed as often as a call is sent.
        """
        model, retries, spent = call.model, Retries(self._runtime), NO_USAGE
        for outcome in self._replies.outcomes(key):
            sent = _as_sent(call, budget)
            try:
                if not isinstance(outcome, BatchResponse):
                    raise outcome
                raw = check_reply(_read(sent, outcome), self._secrets)
            except Failure as failure:
                budget.refusals.learn(model, None, failure)
                spent += cost_of_failure(model, failure, prompt_tokens)
                if retries.pause_after(failure) is None:
                    budget.spend(spent)
                    raise RetriesExhausted(failure, retries) from None
                retries.note(failure, lost_usage(model, failure))
                self.last_failure = str(failure)
            else:
                budget.spend(spent + cost(raw))
                return AttemptResult(raw, retries, 0.0)
        assert model.engine is not None
        self._requests.add(model.engine, key, request_line(key, body_of(_as_sent(call, budget))))
        self.missing[model.name] += 1
        tokens, dollars = booking_of(budget, model, prompt_tokens)
        self.booked += Usage(attempts=1, input_tokens=tokens, dollars=dollars)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("no one answers a call of the next round")


def _as_sent(call: Call, budget: Budget) -> Call:
    """Return a call without what its model is known to refuse, such as a seed that its provider does not take."""
    sent = budget.refusals.applied(call, None)
    model = sent.model
    if not (model.is_billed and speaks_messages(model)):
        return sent
    return replace(sent, model=replace(model, refused=(*{*model.refused, SEED},)))


def _read(call: Call, response: BatchResponse) -> Raw:
    """Return the reply that a response holds, as `direct` reads it.

    Raises
    ------
    Failure
    """
    parameters = sent_parameters(call)
    with refused_parameters(call, parameters):
        if response.status >= 400:
            raise from_status(response.status, response.body.decode("utf-8", "replace"), {}, 0.0)
        refuse_error(response.body)
        return read_completion(response.body, seed_refused=SEED not in parameters)


def booking_of(budget: Budget, model: Model, prompt_tokens: int) -> tuple[int, float]:
    """Return the tokens and dollars to book for a call: with `max_tokens`, else the mean of earlier calls."""
    longest = next((model.options[name] for name in _LENGTHS if isinstance(model.options.get(name), int)), None)
    if longest is not None:
        return prompt_tokens + longest, estimated_dollars(model, prompt_tokens, longest)
    total = budget.total
    calls = max(1, total.attempts)
    dollars = estimated_dollars(model, prompt_tokens, 0)
    return max(prompt_tokens, total.tokens // calls), max(dollars, total.dollars / calls)
