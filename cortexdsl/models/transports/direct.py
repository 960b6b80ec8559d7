"""The short way: aiohttp straight to a server that speaks the OpenAI protocol (`direct/NAME`, `transport: direct`).

It says and reads the same as the way through litellm, to the byte of what is asked, at many times its speed. A server
is not trusted: bodies are read up to a bound, also when they are compressed, and no redirect is followed with a prompt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cortexdsl.models.keys import plain
from cortexdsl.models.reach.failures import Failure, Kind, from_status
from cortexdsl.models.transports.bodies import refuse_error, refuse_page, refuse_redirect, whole
from cortexdsl.models.transports.completion import read_completion
from cortexdsl.models.transports.images import messages_of
from cortexdsl.models.transports.transport import Raw, SeedsRefused
from cortexdsl.terms import Call

if TYPE_CHECKING:
    import aiohttp

PREFIXES = ("direct/", "openai/", "hosted_vllm/")
"""What a model's name may begin with; its server knows it without."""
TIMEOUT = 300.0
CONNECT = 15.0


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
            raise Failure(Kind.BAD_REQUEST, "the direct way needs `api_base`, the address of the model's server")
        return await self._seeds.send(call, api_base, lambda seed: self._post(api_base, api_key, body_of(call, seed)))

    async def _post(self, api_base: str, api_key: str | None, body: Mapping[str, Any]) -> Raw:
        said = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        status, content, headers = await self._exchange(f"{api_base.rstrip('/')}/chat/completions", api_key, said)
        refuse_redirect(status, headers)
        if status >= 400:
            raise from_status(status, content.decode("utf-8", "replace"), headers, time.time())
        return read_completion(content, seed_refused="seed" not in body)

    async def _exchange(self, url: str, api_key: str | None, body: bytes) -> tuple[int, bytes, Mapping[str, str]]:
        import aiohttp  # a third of a second, which jobs without such a model should not pay

        if self._session is None:
            # The door bounds what is in flight; a second bound here would only hide it.
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT),
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                },
            )
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        try:
            async with self._session.post(
                url,
                data=aiohttp.BytesPayload(body, content_type="application/json"),
                headers=headers,
                allow_redirects=False,
            ) as response:
                content = await whole(response.content.iter_any(), response.headers)
                if response.status < 300:
                    refuse_page(content)
                    refuse_error(content)
                return response.status, content, response.headers
        except TimeoutError:
            raise Failure(Kind.TRANSIENT, "no reply in time", may_have_cost=True) from None
        except (aiohttp.ClientError, ValueError) as error:  # ValueError: a malformed address
            raise Failure(Kind.TRANSIENT, f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def body_of(call: Call, seed: int | None) -> dict[str, Any]:
    """Return what a chat completion is asked with, in the order in which OpenAI's own client says it.

    What `extra_body` holds is said beside everything else, as that client does; no seed is said where it is None.
    """
    options = plain(call.model.options)
    extra = options.pop("extra_body", {})
    if seed is not None:
        options["seed"] = seed
    name = next(
        (call.model.model.removeprefix(p) for p in PREFIXES if call.model.model.startswith(p)), call.model.model
    )
    return {"messages": messages_of(call), "model": name, **{o: options[o] for o in sorted(options)}, **extra}
