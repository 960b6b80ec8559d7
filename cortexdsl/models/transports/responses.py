"""What a response means, whichever client received it: its body within bounds, or the failure that it reports."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping

from cortexdsl.models.transports.completions import read_completion
from cortexdsl.models.transports.failures import from_status
from cortexdsl.models.transports.interface import Raw
from cortexdsl.models.transports.rate_headers import note_headers
from cortexdsl.models.transports.streams import is_stream, largest_body, merged_completion, refuse_broken
from cortexdsl.models.transports.wire import refuse_error, refuse_page, refuse_redirect, whole


async def read_body(status: int, headers: Mapping[str, str], parts: AsyncIterator[bytes]) -> bytes:
    """Return the body of a response of any protocol, read up to the largest one that there is.

    Raises
    ------
    Failure
        If the status or the body reports an error, redirects, or is too large, a web page, or a broken stream.
    """
    note_headers(headers)
    refuse_redirect(status, headers)
    body = await whole(parts, headers, largest_body(headers))
    if status >= 400:
        raise from_status(status, body.decode("utf-8", "replace"), headers, time.time())
    refuse_page(body)
    (refuse_broken if is_stream(body) else refuse_error)(body)
    return body


def read_reply(body: bytes, *, seed_refused: bool) -> Raw:
    """Return the reply that a body of the OpenAI protocol holds, streamed or whole.

    Raises
    ------
    Failure
        As `read_completion`.
    """
    completion = merged_completion(body) if is_stream(body) else body
    return read_completion(completion, seed_refused=seed_refused)
