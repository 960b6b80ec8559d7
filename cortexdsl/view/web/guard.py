"""Who may ask: loopback alone, under a name of this machine, from pages of this server; others with a token."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

COOKIE = "cortexdsl-explorer"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a report: it has its style within and no script."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """Say whether an address is this machine's own, which nobody else can reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def guard(host: str, port: Callable[[], int], token: str | None) -> Middleware:
    """Return a middleware that turns away whoever may not ask.

    Parameters
    ----------
    host : str
        The address that is listened at.
    port : callable
        The port, known once the server listens.
    token : str or None
        What a browser must bring, once, as `?token=`; None: nothing, since only this machine can ask.
    """

    def names() -> set[str]:
        own = {"127.0.0.1", "localhost", "[::1]"} | ({host} if not is_any(host) else set())
        return {f"{name}:{port()}" for name in own} | (own if port() == 80 else set())

    def why_not(request: web.Request) -> str | None:
        asked = request.headers.get("Host", "")
        if not is_any(host) and asked not in names():
            return f"this explorer is not called {asked[:100]!r}"  # a name that was made to point here (DNS rebinding)
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{asked}":
            return "another site may not ask"
        if request.path.startswith("/data/") and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            return "another site may not ask"
        return None

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = why_not(request)
        if refused is not None:
            return with_headers(web.Response(status=403, text=f"{refused}\n"))
        if request.method not in ("GET", "HEAD"):
            return with_headers(web.Response(status=405, text="the explorer only shows\n"))
        if token is not None:
            given = request.query.get("token", "")
            if same(given, token):
                # The token leaves the address; the fragment stays.
                answer = web.Response(status=303, headers={"Location": "/" + request.path.lstrip("/")})
                answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
                return with_headers(answer)
            if not same(request.cookies.get(COOKIE, ""), token):
                return with_headers(web.Response(status=401, text="open the address that was printed, token and all\n"))
        try:
            return with_headers(await handler(request))
        except web.HTTPException as answer:
            with_headers(answer)
            raise

    return middleware


def is_any(host: str) -> bool:
    """Say whether an address means every address of the machine."""
    return host in ("0.0.0.0", "::", "[::]")


def same(given: str, token: str) -> bool:
    """Compare in a time that does not tell how much was right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def with_headers(answer: web.StreamResponse) -> web.StreamResponse:
    """Add what every answer says, where the answer has not said it itself."""
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer
