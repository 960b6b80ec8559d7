"""Addresses of servers: whether they are valid, which of them are one, and how they may be printed."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit


@lru_cache(maxsize=256)
def is_address(text: str) -> bool:
    """Say whether a text is the address of a server: http or https, a host, and a port that there is, if any."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:  # an unfinished [ of an IPv6 address, a port that is not a number or too large
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address, which other machines cannot reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=256)  # asked for each call, of a few addresses
def place_of(address: str) -> str:
    """Return the normal form of an address: `HTTP://Host/v1/` is `http://host/v1`."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), parts.query, ""))


@lru_cache(maxsize=256)
def mask_url(address: str | None) -> str:
    """Return an address as it may be printed: without name, password, query and fragment."""
    if address is None:
        return "the provider's own address"
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
