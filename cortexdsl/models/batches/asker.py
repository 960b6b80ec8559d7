"""Answers a file of requests by batches of a provider, one after the other.

A log next to the file of replies holds what was sent: the mark of a batch is on disk before the provider hears of it,
and the batch's id before anything waits for it. So the same command, given again, takes up the batch. Replies are
written when a batch is over, and the log is removed when every request was asked.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias, TypeVar

from cortexdsl.errors import InputError
from cortexdsl.files import append, open_to_write, sync
from cortexdsl.models.batches.protocols import BatchProtocol, BatchStatus, belongs_to, custom_id_of, name_of
from cortexdsl.models.call_log.append_log import SCHEMA_VERSION, AppendLog, parse, whole_lines
from cortexdsl.models.call_log.records import CHARACTERS_PER_TOKEN
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.retry import Retries, Runtime
from cortexdsl.models.rounds.lines import BatchResponse, Outcome, compact, reply_line
from cortexdsl.models.rounds.replies import read_replies
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.typed_json import json_at, parse_json

T = TypeVar("T")
Body: TypeAlias = Mapping[str, Any]
SUFFIX = ".batch"
"""What the log of a file of replies adds to its name."""
PATIENCE = 3_600.0
"""Seconds for which a request about a batch is sent again."""
SETTLED = 60.0
"""Seconds after which a provider lists a batch that it has made."""
FIRST_REFUSED, LONGEST_REFUSED, MOST_REFUSED = 60.0, 1800.0, 20
"""Seconds before a batch is sent again that found the provider's queue full, at first and at most; and how often."""
FIRST_POLL, LONGEST_POLL, SLOWER = 5.0, 60.0, 1.5
"""Seconds between two looks at a batch: at first, at most, and by which factor they grow."""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch that was sent, or was about to be.

    Attributes
    ----------
    mark : str
        Made here; part of what the provider is sent.
    size : int
        The number of its requests.
    at : float
        Of the last step before it was made, in seconds since the epoch.
    file, batch : str or None
        Ids at the provider.
    """

    mark: str
    size: int
    at: float
    file: str | None = None
    batch: str | None = None


class BatchAsker:
    """Asks one file of requests.

    Parameters
    ----------
    protocol : BatchProtocol
    replies : Path
        The file of replies. Requests that it answers already are not asked.
    secrets : Secrets
        Taken out of what is written.
    tokens : int or None
        The most tokens of prompts in a batch, estimated.
    runtime : Runtime or None
    say : callable
        Gets a line about each change of a batch.

    Raises
    ------
    RecordError
        Another process asks for this file.
    """

    def __init__(
        self,
        protocol: BatchProtocol,
        replies: Path,
        secrets: Secrets,
        *,
        tokens: int | None = None,
        runtime: Runtime | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self._protocol, self._replies, self._secrets, self._tokens = protocol, replies, secrets, tokens
        self._runtime, self._say = runtime or Runtime(), say
        self._path = replies.with_name(replies.name + SUFFIX)
        self._log = AppendLog(self._path)
        self._open: dict[str, Body] = {}  # the requests that have no reply, by custom id
        self._is_cancelled = False

    async def answer(self, requests: Path) -> None:
        """Ask the requests of a file, and write the replies that come: the others can be asked again.

        Raises
        ------
        Failure
            Batches cannot be sent or read, or one was cancelled at the provider.
        InputError
            The file is not in OpenAI's batch format.
        """
        bodies = read_requests(requests)
        answered = read_replies(self._replies, bodies)
        self._open = {name: body for name, body in bodies.items() if name not in answered}
        if self._open and (sent := self._sent()) is not None:
            await self._take_up(sent)
        while self._open and not self._is_cancelled:
            await self._ask(self._next_part())
        self._path.unlink()
        if self._is_cancelled:  # perhaps to stop what it costs: nothing is sent before the next command
            raise Failure(FailureKind.TRANSIENT, "the batch was cancelled at the provider", is_certain=True)

    async def close(self) -> None:
        """Close connections and log. A batch that is not over stays at the provider."""
        await self._protocol.close()
        self._log.close()

    def _next_part(self) -> list[str]:
        """Return the names of the requests that the next batch takes."""
        names: list[str] = []
        size = tokens = 0
        for name, body in self._open.items():
            line = len(self._protocol.line(custom_id_of(name, "0" * 16), body)) + 1
            prompt = len(str(body["messages"])) // CHARACTERS_PER_TOKEN
            size, tokens = size + line, tokens + prompt
            is_full = len(names) >= self._protocol.most_requests or size > self._protocol.most_bytes
            if names and (is_full or (self._tokens is not None and tokens > self._tokens)):
                break
            names.append(name)
        return names

    # ------------------------------------------------------------ what was sent
    def _sent(self) -> SentBatch | None:
        """Return the batch that an earlier start has sent; None if none is on its way."""
        events = [event for _, line in whole_lines(self._path) if (event := parse(line)) is not None]
        fields = SentBatch.__dataclass_fields__
        last = {name: events[-1].get(name) for name in fields} if events else {}
        return SentBatch(**last) if last.get("mark") else None  # type: ignore[arg-type]

    def _note(self, sent: SentBatch | None) -> None:
        """Write down what was sent, before anything follows from it; None if nothing is on its way."""
        record = {"schema_version": SCHEMA_VERSION, "key": self._path.name, **(asdict(sent) if sent else {})}
        self._log.append(record)
        self._log.sync()

    # ------------------------------------------------------------ a batch
    async def _ask(self, names: Sequence[str]) -> None:
        """Ask requests in one batch, which is sent again if the provider's queue was full."""
        pause = FIRST_REFUSED
        for left in range(MOST_REFUSED, 0, -1):
            sent = await self._send(names)
            refusal = await self._collected(sent, names)
            if refusal is None:
                return
            if refusal.kind is not FailureKind.RATE_LIMIT or left == 1:
                raise refusal
            self._say(f"{sent.batch}: {refusal.what}; again in {pause:.0f} s")
            await self._runtime.sleep(pause)
            pause = min(LONGEST_REFUSED, 2 * pause)

    async def _send(self, names: Sequence[str]) -> SentBatch:
        protocol, retries, is_unsure = self._protocol, self._retries(), False
        sent = SentBatch(token_hex(8), len(names), self._runtime.now())
        self._note(sent)
        lines = [protocol.line(custom_id_of(name, sent.mark), self._open[name]) for name in names]
        while True:
            try:
                if protocol.has_files and sent.file is None:
                    file = await protocol.upload(sent.mark, lines)
                    sent = replace(sent, file=file, at=self._runtime.now())
                    self._note(sent)
                if is_unsure:
                    sent = await self._found(sent)
                if sent.batch is None:
                    is_unsure = True
                    sent = replace(sent, batch=await protocol.create(sent.mark, lines, sent.file))
                    self._note(sent)
                self._say(f"{sent.batch}: {len(names):,} requests are sent")
                return sent
            except Failure as failure:
                # An answer that says no leaves no batch; without an answer there may be one.
                is_unsure = is_unsure and failure.kind.is_outage
                if not await self._is_tried_again(failure, retries):
                    if not is_unsure:
                        self._note(None)
                    raise

    async def _take_up(self, sent: SentBatch) -> None:
        """Write the replies of the batch that an earlier start has sent."""
        if sent.batch is None and (sent.file is not None or not self._protocol.has_files):
            # The program may have been stopped after the batch was made and before that was written down.
            sent = await self._patiently(partial(self._found, sent))
        if sent.batch is not None:
            self._say(f"{sent.batch}: an earlier start has sent it")
            await self._collected(sent, ())

    async def _found(self, sent: SentBatch) -> SentBatch:
        """Look for a batch at the provider until it would be listed, and return it with its id if it is there."""
        runtime = self._runtime
        while True:
            is_last = runtime.now() - sent.at >= SETTLED
            for batch in await self._candidates(sent):
                if await self._is_of(batch, sent.mark):
                    sent = replace(sent, batch=batch)
                    self._note(sent)
                    return sent
            if is_last:
                return sent
            await runtime.sleep(max(1.0, SETTLED - (runtime.now() - sent.at)))

    async def _candidates(self, sent: SentBatch) -> list[str]:
        try:
            return await self._protocol.candidates(sent.mark, sent.file, sent.size, sent.at)
        except Failure as failure:
            if failure.kind is not FailureKind.NOT_FOUND:
                raise
            self._say("the server lists no batches; one may have been made and lost")
            return []

    async def _is_of(self, batch: str, mark: str) -> bool:
        """Return whether a batch has a mark; if only its results can tell, wait until they are there."""
        if self._protocol.has_files:  # the list itself names the mark
            return True
        status = await self._until_over(SentBatch(mark, 0, 0.0, batch=batch))
        return belongs_to([name async for name, _ in self._protocol.results(status)], mark)

    async def _until_over(self, sent: SentBatch) -> BatchStatus:
        assert sent.batch is not None
        batch, pause, shown = sent.batch, FIRST_POLL, ""
        while True:
            status = await self._patiently(partial(self._protocol.status, batch))
            if shown != (shown := f"{batch}: {status.word}, {status.done:,} of {sent.size:,} are done"):
                self._say(shown)
            if status.is_over:
                return status
            await self._runtime.sleep(pause)
            pause = min(LONGEST_POLL, SLOWER * pause)

    # ------------------------------------------------------------ results
    async def _collected(self, sent: SentBatch, names: Collection[str]) -> Failure | None:
        """Write the replies of a batch when it is over; its requests are not asked again by this start.

        Parameters
        ----------
        sent : SentBatch
        names : collection of str
            Of the requests in it, if they are known; those with a result are.

        Returns
        -------
        Failure or None
            Why the provider has taken none of its requests.
        """
        try:
            status = await self._until_over(sent)
            outcomes = {} if status.refusal else await self._patiently(partial(self._results, sent, status))
        except Failure as failure:
            if failure.kind is not FailureKind.NOT_FOUND:
                raise
            what = f"batch {sent.batch}, whose replies are paid for, is not there; if the key is the same as before"
            remedy = f"delete {self._path} to pay for its requests again"
            raise Failure(FailureKind.NOT_FOUND, f"{what}, {remedy} ({failure.what})") from None
        if status.refusal is not None:
            self._note(None)
            return status.refusal
        lines: list[tuple[str, BatchResponse]] = []
        for name, outcome in outcomes.items():
            if name in self._open and (read := self._read(outcome)) is not None:
                lines.append((name, read))
        self._write(lines)
        for name in {*outcomes, *names}:
            self._open.pop(name, None)
        self._note(None)
        return None

    def _read(self, outcome: Outcome) -> BatchResponse | None:
        """Return what is written of an outcome; None for nothing, so that the request counts as not answered."""
        if isinstance(outcome, BatchResponse):
            return outcome
        self._is_cancelled |= outcome.is_certain and outcome.kind is FailureKind.TRANSIENT
        is_passing = outcome.kind is FailureKind.TRANSIENT and not outcome.is_certain
        error = {"error": {"type": "server_error", "message": outcome.what}}
        return BatchResponse(500, compact(error)) if is_passing else None

    async def _results(self, sent: SentBatch, status: BatchStatus) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        async for name, outcome in self._protocol.results(status):
            outcomes.setdefault(name_of(name, sent.mark), outcome)
        if len(outcomes) < status.done:
            # A download may end early without an error. The other replies are there, and paid for.
            what = f"the results of batch {sent.batch} end after {len(outcomes)} of {status.done}"
            raise Failure(FailureKind.TRANSIENT, what)
        return outcomes

    def _write(self, replies: Iterable[tuple[str, BatchResponse]]) -> None:
        lines = [self._secrets.hide(reply_line(name, reply).decode()).encode() + b"\n" for name, reply in replies]
        file = open_to_write(self._replies, append=True)
        try:
            end = os.fstat(file).st_size
            if end and os.pread(file, 1, end - 1) != b"\n":  # an earlier start was killed while it wrote
                lines.insert(0, b"\n")
            append(file, b"".join(lines), end)
            sync(file)
        finally:
            os.close(file)

    # ------------------------------------------------------------ requests
    def _retries(self) -> Retries:
        return Retries(self._runtime, PATIENCE, has_most_attempts=False)

    async def _is_tried_again(self, failure: Failure, retries: Retries) -> bool:
        pause = retries.pause_after(failure)
        if pause is not None:
            await self._runtime.sleep(pause)
        return pause is not None

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask something that may be asked again, until an hour is over."""
        retries = self._retries()
        while True:
            try:
                return await ask()
            except Failure as failure:
                if not await self._is_tried_again(failure, retries):
                    raise


def read_requests(path: Path) -> dict[str, Body]:
    """Return the bodies of the requests of a file by their custom ids.

    Raises
    ------
    InputError
        A line is not a request.
    """
    bodies: dict[str, Body] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            request = parse_json(line)
            name, body = (json_at(request, word) for word in ("custom_id", "body"))
            if not isinstance(name, str) or not isinstance(body, dict) or not {"messages", "model"} <= body.keys():
                raise InputError(
                    f"{path}, line {number}: this is not a request in OpenAI's batch format\n"
                    "    a line has custom_id and body, and the body has model and messages"
                )
            bodies[name] = body
    return bodies
