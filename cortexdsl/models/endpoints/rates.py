"""Rates: how many requests and tokens a second, minute, hour or day a key may take, over all runs on this machine.

Each limit is a generic cell rate algorithm (ITU-T I.371, annex A): its state is one time, the moment from which the
next request may be sent. A request moves that moment on by its share of the span. All processes of a user share these
moments through one small file for each key, changed under a record lock. A killed process leaves a moment that passes
by itself. The clock is the machine's monotonic one, so that no change of the time of day matters; after a restart of
the machine it begins again, and a file that was written at a later moment than now is taken for empty.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import os
import socket
import struct
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.core import Model, Rate, RateLimit
from cortexdsl.models.transports.rate_headers import Allowance

FOLDER_VARIABLE = "CORTEXDSL_RATES"
"""The environment variable that names the folder of the files."""
SLACK = 0.01
"""The part of a span that may be made up for after a delay."""
SLACK_OF_A_DAY = 1.0
"""Of a daily limit one half may be used at once; the rest is spread over the day."""
LOOK_EVERY = 0.25
"""Seconds after which a request that waits looks again: others may have given tokens back."""
FIRST_REPLIES = 5
REPLY_TOKENS = 500
KINDS = ("requests", "tokens")
SPARE = 0.005
"""The part of a rate that is left unused: requests arrive later than they are sent, and tokens are estimates first."""
RESTARTED = 60.0
"""Seconds by which the machine's clock stands before the last entry of a file if it was restarted."""
SPANS = (1.0, 60.0, 3600.0, 86_400.0)
_MARK = b"rates 1\0"
_STATE, _CRC = struct.Struct(f"<8s{2 + len(KINDS) * len(SPANS)}d"), struct.Struct("<I")
_LENGTH = _STATE.size + _CRC.size
_say = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RateState:
    """The moments from which limits allow the next request, in seconds of the machine's clock.

    Attributes
    ----------
    due : tuple of float
        By kind (requests, tokens), then span (second, minute, hour, day).
    held_until : float
        Until when the server allows nothing, as it said.
    """

    due: tuple[float, ...] = (0.0,) * (len(KINDS) * len(SPANS))
    held_until: float = 0.0

    def wait(self, rate: Rate, now: float) -> float:
        """Return the seconds until the next request may be sent."""
        until = max((self.due[place] for place, _, _ in _limits(rate)), default=0.0) if rate.has_limits else 0.0
        return max(0.0, max(self.held_until, until) - now)

    def used(self, rate: Rate, now: float, amounts: Mapping[str, float]) -> RateState:
        """Return the state after so many requests and tokens were used, or were given back if they are negative."""
        due = list(self.due)
        for place, limit, kind in _limits(rate):
            slack = slack_of(limit)
            begins = max(due[place], now - slack) if amounts[kind] > 0 else due[place]
            due[place] = begins + amounts[kind] * interval_of(limit)
        return RateState(tuple(due), self.held_until)


def slack_of(limit: RateLimit) -> float:
    """Return the seconds that a limit may make up for; no span of the limit ever has more than its amount.

    A longer time between two requests pays for it: over many spans a rate reaches 98.5 % of its limit.
    """
    return limit.seconds * (SLACK_OF_A_DAY if limit.seconds == SPANS[-1] else SLACK)


def interval_of(limit: RateLimit) -> float:
    """Return the seconds by which one request or token moves the next one on."""
    return (limit.seconds + slack_of(limit)) * (1.0 + SPARE) / limit.amount


def least_seconds(limit: RateLimit, amount: float) -> float:
    """Return the least time in which a limit lets so many requests or tokens pass."""
    return max(0.0, amount * interval_of(limit) - slack_of(limit))


def _limits(rate: Rate) -> Iterator[tuple[int, RateLimit, str]]:
    """Yield the place in the state, the limit, and its kind."""
    for k, (kind, limits) in enumerate(zip(KINDS, (rate.requests, rate.tokens), strict=True)):
        for limit in limits:
            yield k * len(SPANS) + SPANS.index(limit.seconds), limit, kind


@dataclass(frozen=True, slots=True)
class RateReservation:
    """A request that was admitted: under which rate, its reserved tokens, and all that was admitted before it."""

    rate: Rate
    tokens: int
    sent: Mapping[str, float]


class RateFile:
    """The state of one key, shared by all processes of this user on this machine.

    Parameters
    ----------
    path : Path or None
        None, or a place that cannot be written, keeps the state to this process.
    clock : callable
        Seconds of the machine's monotonic clock, the same for all processes.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._state, self._clock = RateState(), clock
        self._file = -1
        if path is not None:
            try:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                _say.warning(
                    "%s: cannot be written (%s), so that this process does not share its rate with others\n"
                    "    name a folder of your own: export %s=...",
                    path, error.strerror, FOLDER_VARIABLE,
                )  # fmt: skip

    @contextmanager
    def entry(self) -> Iterator[tuple[float, RateState, Callable[[RateState], None]]]:
        """Hold the lock, and give the time, the state, and the function that replaces it."""
        if self._file < 0:
            yield self._clock(), self._state, self._keep
            return
        with suppress(OSError):  # a file system without locks: rates of several processes hold only nearly
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1)
        try:
            now = self._clock()  # not before the lock is held: entries are in the order of their times
            yield now, self._read(now), lambda state: self._write(state, now)
        finally:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1)

    def look(self) -> tuple[float, RateState]:
        """Return the time and the state without the lock: for those who change nothing."""
        now = self._clock()
        return now, self._state if self._file < 0 else self._read(now)

    def _keep(self, state: RateState) -> None:
        self._state = state

    def _read(self, now: float) -> RateState:
        try:
            content = os.pread(self._file, _LENGTH, 0)
        except OSError:
            return self._state
        line = content[: _STATE.size]
        if len(content) != _LENGTH or _CRC.pack(zlib.crc32(line)) != content[_STATE.size :]:
            return RateState()
        mark, written, held_until, *due = _STATE.unpack(line)
        # A clock that stands well before the last entry began again: the machine was restarted.
        is_old = mark != _MARK or written > now + RESTARTED
        return RateState() if is_old else RateState(tuple(due), held_until)

    def _write(self, state: RateState, now: float) -> None:
        self._state = state
        line = _STATE.pack(_MARK, now, state.held_until, *state.due)
        with suppress(OSError):  # a full disk: the file was long enough before, or the state stays in this process
            os.pwrite(self._file, line + _CRC.pack(zlib.crc32(line)), 0)

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class RateMeter:
    """Admits the requests of one key in order, as its rate allows.

    Parameters
    ----------
    file : RateFile
    sleep : callable

    Attributes
    ----------
    turn : Lock
        Of the request that waits for the rate, and then for a place in flight. All others wait here, in order, so that
        none holds a place while the rate forbids it to be sent.
    """

    def __init__(self, file: RateFile, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._file, self._sleep = file, sleep
        self.turn = asyncio.Lock()
        self._sent = {"requests": 0.0, "tokens": 0.0}
        self._beyond, self._replies = 0, 0

    def expected_tokens(self, model: Model, prompt: int) -> int:
        """Return the tokens to reserve for a call: the estimate of its prompt, and what calls took beyond it so far.

        Before the fifth reply that is all that the reply may have (`max_tokens`), or 500 tokens and the expected
        reasoning. The mean of earlier calls comes after it: reserving every time what no reply takes would leave
        most of the rate unused.
        """
        if self._replies >= FIRST_REPLIES:
            return max(1, prompt + round(self._beyond / self._replies))
        most = model.options.get("max_tokens") or model.options.get("max_completion_tokens")
        return prompt + (int(most) if isinstance(most, int | float) else REPLY_TOKENS + model.reasoning_tokens)

    async def ready(self, rate: Rate, is_stopped: Callable[[], bool]) -> bool:
        """Wait until a request may be sent; False if `is_stopped` says so meanwhile. Nothing is reserved yet."""
        while not is_stopped():
            now, state = self._file.look()
            wait = state.wait(rate, now)
            if wait <= 0.0:
                return True
            await self._sleep(min(wait, LOOK_EVERY))
        return False

    def take(self, rate: Rate, tokens: int) -> RateReservation | None:
        """Reserve one request with so many tokens; None if another process was faster, and it must wait again."""
        if not rate.has_limits:  # nothing to reserve: only a server that said to wait is obeyed
            now, state = self._file.look()
            if state.wait(rate, now) > 0.0:
                return None
        else:
            with self._file.entry() as (now, state, write):
                if state.wait(rate, now) > 0.0:
                    return None
                write(state.used(rate, now, {"requests": 1, "tokens": tokens}))
        self._sent["requests"] += 1
        self._sent["tokens"] += tokens
        return RateReservation(rate, tokens, dict(self._sent))

    async def admit(self, rate: Rate, tokens: int) -> RateReservation:
        """Wait for a request's turn, and reserve it: for those that wait for nothing else."""
        async with self.turn:
            while True:
                await self.ready(rate, lambda: False)
                if (reservation := self.take(rate, tokens)) is not None:
                    return reservation

    def settle(self, reservation: RateReservation, tokens: int, beyond: int | None = None) -> None:
        """Replace the reserved tokens of a request by those that it took.

        Parameters
        ----------
        reservation : RateReservation
        tokens : int
        beyond : int or None
            Those beyond the estimate of the prompt, if there was a reply.
        """
        if beyond is not None:
            self._beyond, self._replies = self._beyond + beyond, self._replies + 1
        if reservation.rate.tokens and tokens != reservation.tokens:
            with self._file.entry() as (now, state, write):
                write(state.used(reservation.rate, now, {"requests": 0, "tokens": tokens - reservation.tokens}))

    def give_back(self, reservation: RateReservation) -> None:
        """Give back the place of a request that is not sent after all."""
        if not reservation.rate.has_limits:
            return
        with self._file.entry() as (now, state, write):
            write(state.used(reservation.rate, now, {"requests": -1, "tokens": -reservation.tokens}))

    def listen(self, said: Sequence[Allowance], reservation: RateReservation, longest: float) -> None:
        """Send nothing until its limits are reset to a server that has no more left than is on its way.

        Parameters
        ----------
        said : sequence of Allowance
            From the headers of the response to the request with this reservation.
        reservation : RateReservation
        longest : float
            A server that asks for more seconds is sent the next call, whose refusal is then an error.
        """
        for allowance in said:
            sent_since = self._sent[allowance.kind] - reservation.sent[allowance.kind]
            if allowance.remaining - sent_since <= 0 and 0 < allowance.reset <= longest:
                self.hold(allowance.reset)

    def hold(self, seconds: float) -> None:
        """Send nothing for so many seconds."""
        with self._file.entry() as (now, state, write):
            if now + seconds > state.held_until:
                write(RateState(state.due, now + seconds))

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()


def rate_path(environment: Mapping[str, str], identity: Sequence[str]) -> Path | None:
    """Return the file of a key's rate; None if no folder can be made.

    The folder is `$CORTEXDSL_RATES`, else in the user's state folder (`$XDG_STATE_HOME`, `~/.local/state`), else in
    the machine's temporary one. Each machine has a folder of its own in it.

    Parameters
    ----------
    environment : mapping
    identity : sequence of str
        Address, key, and perhaps model; the name of the file is a digest of them.
    """
    name = hashlib.blake2b("\0".join(identity).encode(), digest_size=16, person=b"cortexdsl rates").hexdigest()
    home = environment.get("HOME")
    state = environment.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home else "")
    user = os.getuid() if hasattr(os, "getuid") else 0
    places = [
        environment.get(FOLDER_VARIABLE, ""),
        f"{state}/cortexdsl/rates" if state else "",
        f"{tempfile.gettempdir()}/cortexdsl-rates-{user}",
    ]
    for place in filter(None, places):
        folder = Path(place) / socket.gethostname()
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK) and (not hasattr(os, "getuid") or folder.stat().st_uid == user):
                return folder / name
    _say.warning("no folder for rates can be made: this process does not share its rates (%s)", FOLDER_VARIABLE)
    return None
