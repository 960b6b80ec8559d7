"""Small requests to a model server: whether it answers, what it serves, what it counts."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, NamedTuple

from cortexdsl.typed_json import parse_json

_MOST = 4_000_000
"""Bytes of a page that are read."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


# Past any proxy, and nowhere else than to the address itself, because a key may travel with the request.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


class Page(NamedTuple):
    """A response of a server."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """The body of a success; empty otherwise."""
        return self.body.decode("utf-8", "replace") if self.status == 200 else ""

    def object(self) -> Mapping[str, Any]:
        """Return the JSON object that the body of a success holds; an empty one if it holds none."""
        content = parse_json(self.text)
        return content if isinstance(content, dict) else {}


NO_PAGE = Page(0, b"")
"""That of a server that does not answer."""


def read_page(url: str, timeout: float = 2.0, key: str | None = None) -> Page:
    """Return what a server answers to a GET request."""
    try:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
        with _OPENER.open(request, timeout=timeout) as response:
            return Page(response.status, response.read(_MOST))
    except urllib.error.HTTPError as error:
        error.close()
        return Page(error.code, b"")
    except (OSError, ValueError, HTTPException):
        return NO_PAGE


def is_ready(url: str, timeout: float = 2.0) -> bool:
    """Say whether something answers at a URL with a status below 500."""
    return 0 < read_page(url, timeout).status < 500


async def listed_models(address: str | None, key: str | None) -> Mapping[str, Mapping[str, Any]]:
    """Return what a server says of its models (`/models`), by name; nothing if it does not say."""
    if address is None:
        return {}
    page = await asyncio.to_thread(read_page, f"{address.rstrip('/')}/models", 15.0, key)
    entries = page.object().get("data")
    named = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {str(entry["id"]): entry for entry in named if "id" in entry}
