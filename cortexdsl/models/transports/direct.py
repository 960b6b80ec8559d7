"""The short way: aiohttp straight to an OpenAI-compatible address, for models named `direct/NAME`.

It asks the same and keeps the same as the way through litellm, at many times its speed. A server is not trusted:
bodies are read up to a bound, also when they are compressed, and no redirect is followed with a prompt.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cortexdsl.models.keys import plain
from cortexdsl.models.reach.failures import NO_COMPLETION, TOO_LARGE, Failure, Kind, from_status
from cortexdsl.models.reach.secrets import shown
from cortexdsl.models.transports.transport import LARGEST_REPLY, MOST_TOKENS, Raw, SeedsRefused
from cortexdsl.terms import Call

if TYPE_CHECKING:
    import aiohttp

PREFIX = "direct/"
TIMEOUT = 300.0
CONNECT = 15.0
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")


class DirectTransport:
    """Posts to `<api_base>/chat/completions`.

    Parameters
    ----------
    timeout : float
        Seconds that one attempt may take.
    """

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._seeds = SeedsRefused()

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once."""
        if api_base is None:
            raise Failure(Kind.BAD_REQUEST, "a model named direct/... needs `api_base`, the address of its server")
        body = {
            **plain(call.model.options),
            "model": call.model.model.removeprefix(PREFIX),
            "messages": [dict(message) for message in call.messages],
        }
        return await self._seeds.send(call, api_base, lambda seed: self._post(api_base, api_key, body, seed))

    async def _post(self, api_base: str, api_key: str | None, body: Mapping[str, Any], seed: int | None) -> Raw:
        said = dict(body) if seed is None else {**body, "seed": seed}
        status, text, headers = await self._exchange(f"{api_base.rstrip('/')}/chat/completions", api_key, said)
        if 300 <= status < 400:
            where = shown(headers.get("Location", "nowhere"))
            raise Failure(Kind.NOT_FOUND, f"HTTP {status}: it redirects to {where}, and redirects are not followed")
        if status >= 400:
            raise from_status(status, text, headers, time.time())
        return read_completion(text, seed_refused=seed is None)

    async def _exchange(
        self, url: str, api_key: str | None, body: Mapping[str, Any]
    ) -> tuple[int, str, Mapping[str, str]]:
        import aiohttp  # a third of a second, which jobs without such a model should not pay

        if self._session is None:
            # The door bounds what is in flight; a second bound here would only hide it.
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT),
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
                headers={"Accept-Encoding": "identity"},
            )
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        try:
            async with self._session.post(url, json=body, headers=headers, allow_redirects=False) as response:
                content = await _body(response)
                return response.status, content.decode("utf-8", "replace"), response.headers
        except TimeoutError:
            raise Failure(Kind.TRANSIENT, "no reply in time", may_have_cost=True) from None
        except (aiohttp.ClientError, ValueError) as error:  # ValueError: a malformed address
            raise Failure(Kind.TRANSIENT, f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """Read a body up to the largest reply that there is.

    Raises
    ------
    Failure
        Malformed where it is longer, or compressed in a way that was not asked for and is not known.
    """
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > LARGEST_REPLY:
            response.close()
            raise Failure(Kind.MALFORMED, TOO_LARGE, is_certain=True)
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    return bytes(body) if encoding in ("", "identity") else _unpacked(bytes(body), encoding)


def _unpacked(body: bytes, encoding: str) -> bytes:
    bits = {"gzip": 31, "x-gzip": 31, "deflate": 15}.get(encoding)
    if bits is None:
        raise Failure(Kind.MALFORMED, f"the body is compressed by {encoding[:20]!r}, which was not asked for")
    try:
        text = zlib.decompressobj(bits).decompress(body, LARGEST_REPLY + 1)
    except zlib.error:
        raise Failure(Kind.MALFORMED, f"the body says that it is {encoding}, and is not") from None
    if len(text) > LARGEST_REPLY:
        raise Failure(Kind.MALFORMED, TOO_LARGE, is_certain=True)
    return text


def read_completion(text: str, *, seed_refused: bool) -> Raw:
    """Read the body of a chat completion.

    Raises
    ------
    Failure
        Malformed where it is no JSON or no chat completion; foreign where it is a page of the web; content filter
        where the model's refusal is all that it holds.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise Failure(Kind.FOREIGN, "a web page came in place of a chat completion")
    try:
        said = json.loads(text)
        choice = said["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        usage = said.get("usage") or {}
        counted = usage.get("prompt_tokens"), usage.get("completion_tokens")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Failure(Kind.MALFORMED, NO_COMPLETION) from None
    return completion(content, refusal, choice.get("finish_reason"), counted, seed_refused=seed_refused)


def completion(content: Any, refusal: Any, finish_reason: Any, counted: tuple[Any, Any], *, seed_refused: bool) -> Raw:
    """Return what a chat completion says, by whatever client it was read.

    A finish reason that is no word is `other`, one that is no text is none; a count of tokens that is no whole number
    up to 10**12 is unknown.

    Raises
    ------
    Failure
        Malformed where the content is no text; content filter where there is a refusal in its place.
    """
    if content is None and refusal:
        raise Failure(Kind.CONTENT_FILTER, f"the model refused: {refusal}")
    if content is not None and not isinstance(content, str):
        raise Failure(Kind.MALFORMED, "the content of the reply is no text")
    prompt, reply = (
        n if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MOST_TOKENS else None for n in counted
    )
    reason = finish_reason if isinstance(finish_reason, str) else None
    if reason is not None and not _WORD.fullmatch(reason):
        reason = "other"
    return Raw(content or "", reason, prompt, reply, seed_refused=seed_refused)
