"""The explorer as a server: pages, data and reports, for one person on one machine; and who may read and label."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from cortexdsl.errors import InputError, RecordError
from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.models.transports.addresses import is_loopback

COOKIE = "cortexdsl-explorer"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
NO_TOKEN = (
    "this explorer asks for a token, because other users of the machine can reach it, too\n"
    "    open the address that `cortexdsl view` printed, with its `?token=`; each start has a new one, so an address\n"
    "    or a page of an earlier start no longer opens\n"
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Policy of reports, which have inline styles and no scripts."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def guard(host: str, port: Callable[[], int], token: str | None) -> Middleware:
    """Return a middleware that refuses requests of other machines and other sites.

    Parameters
    ----------
    host : str
        The address of the server.
    port : callable
        Returns the port once the server listens.
    token : str or None
        What a browser must send once, as `?token=`: other users of this machine can connect, too. None: nothing.
    """

    def names() -> set[str]:
        own = {"127.0.0.1", "localhost", "[::1]"} | ({host} if not is_any(host) else set())
        return {f"{name}:{port()}" for name in own} | (own if port() == 80 else set())

    def why_not(request: web.Request) -> str | None:
        host_header = request.headers.get("Host", "")
        if not is_any(host) and host_header not in names():
            # A foreign name that resolves to this address (DNS rebinding).
            return f"this explorer is not called {host_header[:100]!r}"
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{host_header}":
            return "another site may not ask"
        if request.path.startswith("/data/") and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            return "another site may not ask"
        return None

    def why_no_label(request: web.Request) -> str | None:
        if not may_label(host, token):
            return "labels are written only by an explorer that no other machine reaches, with a token"
        if (
            request.headers.get("Origin") is None
            or request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin"
        ):
            return "only the explorer's own pages write labels"
        return None if request.content_type == "application/json" else "a label is written as JSON"

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        refused = why_not(request)
        if refused is not None:
            return with_headers(web.Response(status=403, text=f"{refused}\n"))
        is_label = request.method == "POST" and LABEL.fullmatch(request.path) is not None
        if request.method not in ("GET", "HEAD") and not is_label:
            return with_headers(web.Response(status=405, text="only human labels can be written\n"))
        if is_label and (why := why_no_label(request)):
            return with_headers(web.Response(status=403, text=f"{why}\n"))
        if token is not None:
            given = request.query.get("token", "")
            if is_same_token(given, token) and not is_label:
                # Redirect to the address without the token; browsers keep the fragment.
                answer = web.Response(status=303, headers={"Location": "/" + request.rel_url.raw_path.lstrip("/")})
                answer.set_cookie(f"{COOKIE}-{port()}", token, httponly=True, samesite="Strict", path="/")
                return with_headers(answer)
            if not is_same_token(request.cookies.get(f"{COOKIE}-{port()}", ""), token):
                return with_headers(web.Response(status=401, text=NO_TOKEN))
        try:
            return with_headers(await handler(request))
        except web.HTTPException as answer:
            with_headers(answer)
            raise

    return middleware


def may_label(host: str, token: str | None) -> bool:
    """Return whether an explorer writes human labels: only its own user can reach it."""
    return token is not None and is_loopback(host)


def is_any(host: str) -> bool:
    """Return whether an address means all addresses of the machine."""
    return host in ("0.0.0.0", "::", "[::]")


def is_same_token(given: str, token: str) -> bool:
    """Compare tokens in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def with_headers(answer: web.StreamResponse) -> web.StreamResponse:
    """Add the headers that every response has, unless it sets them itself."""
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


BUILT = Path(__file__).parent / "built"
LABEL = re.compile(r"/data/x/\d{1,6}/label\.json")
MOST_OF_A_LABEL = 10_000  # bytes
EVERY = 2.0  # seconds between updates of the index
ASLEEP = 20.0  # seconds without a request after which updates pause
_MANY = 2_000  # bytes from which a response is compressed

_REPORT = {".html": "text/html", ".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf",
           ".csv": "text/csv", ".md": "text/plain", ".tex": "text/plain"}  # fmt: skip


_DEBATE = "{debate:\\d{1,18}}.json"
_PAGES: Mapping[str, Callable[[OpenExperiment, web.Request], Any]] = {
    "experiment.json": lambda experiment, request: experiment.overview(),
    "progress.json": lambda experiment, request: experiment.progress(),
    "search.json": lambda experiment, request: experiment.search(request.query.get("text", "")),
    "question.json": lambda experiment, request: json.dumps(
        experiment.question(request.query.get("dataset", ""), request.query.get("question", ""))
    ).encode(),
    f"debates/{_DEBATE}": lambda experiment, request: experiment.debate(int(request.match_info["debate"])),
    f"calls/{_DEBATE}": lambda experiment, request: experiment.calls(int(request.match_info["debate"])),
}
"""What an experiment answers, by the end of the address; None if there is no such debate."""


class Explorer:
    """The experiments of a server, and its responses.

    Parameters
    ----------
    places : sequence of ResultsFolder
    """

    def __init__(self, places: Sequence[ResultsFolder]) -> None:
        self.experiments = [OpenExperiment(place) for place in places]
        self._last_request = time.monotonic()
        self._is_open = True
        self._may_label = False

    def app(self, host: str, port: Any, token: str | None = None) -> web.Application:
        """Return the application; `port` returns the port once the server listens."""
        app = web.Application(middlewares=[guard(host, port, token)], client_max_size=MOST_OF_A_LABEL)
        self._may_label = may_label(host, token)
        app.router.add_get("/", self._page)
        app.router.add_get("/{name:app\\.(?:js|css)}", self._built)
        app.router.add_get("/favicon.ico", self._no_icon)
        app.router.add_get("/data/experiments.json", self._names)
        inside = "/data/x/{number:\\d{1,6}}"
        app.router.add_get(f"{inside}/table.json", self._table)
        for path, of in _PAGES.items():
            app.router.add_get(f"{inside}/{path}", partial(self._data, of))
        app.router.add_post(f"{inside}/label.json", self._label)
        app.router.add_get("/report/{path:.+}", self._report)
        app.cleanup_ctx.append(self._update_indexes)
        return app

    async def _update_indexes(self, app: web.Application) -> AsyncIterator[None]:
        """Update the indexes while pages are open."""
        tasks = [asyncio.create_task(self._update_index(experiment)) for experiment in self.experiments]
        yield
        self._is_open = False
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for experiment in self.experiments:
            experiment.close()

    async def _update_index(self, experiment: OpenExperiment) -> None:
        while True:
            if time.monotonic() - self._last_request < ASLEEP or not experiment.is_ready:
                with contextlib.suppress(OSError):  # unreadable files are tried again
                    await asyncio.to_thread(experiment.catch_up, lambda: self._is_open)
            await asyncio.sleep(EVERY)

    def _experiment(self, request: web.Request) -> OpenExperiment:
        self._last_request = time.monotonic()
        number = int(request.match_info["number"])
        if number >= len(self.experiments):
            raise web.HTTPNotFound(text="no such experiment\n")
        return self.experiments[number]

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(BUILT / "index.html")

    async def _built(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(BUILT / request.match_info["name"])

    async def _no_icon(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=204)  # browsers request one

    async def _names(self, request: web.Request) -> web.StreamResponse:
        names = [experiment.place.name for experiment in self.experiments]
        state = {"experiments": names, "is_static": False, "can_label": self._may_label}
        return _answer(json.dumps(state).encode())

    async def _label(self, request: web.Request) -> web.StreamResponse:
        """Write a human label, and return those of its debate."""
        experiment = self._experiment(request)
        try:
            given = await request.json()
            place = int(given["debate"]), int(given["turn"]), str(given["label"]), str(given["value"])
            labels = await asyncio.to_thread(experiment.human_labels.put, *place)
        except (InputError, RecordError) as error:
            raise web.HTTPConflict(text=f"{error}\n") from None
        except (ValueError, KeyError, TypeError, OverflowError):  # also numbers and characters that no index has
            raise web.HTTPBadRequest(text="a label needs a debate, a turn, a label and a value\n") from None
        return _answer(json.dumps(labels).encode())

    async def _data(self, of: Callable[[OpenExperiment, web.Request], Any], request: web.Request) -> web.StreamResponse:
        value = await asyncio.to_thread(of, self._experiment(request), request)
        if value is None:
            raise web.HTTPNotFound(text="no such debate; it may have been replaced by a newer one\n")
        return _answer(value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())

    async def _table(self, request: web.Request) -> web.StreamResponse:
        _, packed = await asyncio.to_thread(self._experiment(request).table)
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return _answer(await asyncio.to_thread(gzip.decompress, packed))
        return web.Response(body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"})

    async def _report(self, request: web.Request) -> web.StreamResponse:
        """Return a file of a report. Its link to `view.html` is the explorer."""
        address = request.match_info["path"]
        for experiment in self.experiments:
            name = f"{experiment.place.name}/"
            if address.startswith(name):
                inner = address.removeprefix(name)
                if inner == "view.html":
                    return await asyncio.to_thread(partial(_page_below, address.count("/") + 1))
                path = report_file(experiment.place.root, inner)
                if path is None and inner == "report.html":  # a run that stopped before its end
                    path = report_file(experiment.place.root, "stopped.html")
                if path is not None:
                    kind = {"Content-Type": f"{_REPORT[path.suffix]}; charset=utf-8"} if path.suffix != ".png" else {}
                    return web.FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY, **kind})
        raise web.HTTPNotFound(text="there is no such file of a report\n")


def report_file(root: Path, inner: str) -> Path | None:
    """Return a file of a report by its relative path; None for all other files of a folder of results."""
    parts = inner.split("/")
    is_of_report = parts[:-1] in ([], ["figures"], ["figures", "column"], ["tables"])
    if not is_of_report or any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    path = root.joinpath(*parts)
    if path.suffix not in _REPORT or not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
        return None
    return path


def page_below(depth: int) -> str:
    """Return the explorer's page for an address that is so many folders deep."""
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    return page.replace("<head>", f'<head><base href="{"../" * depth}">', 1)


def _page_below(depth: int) -> web.Response:
    return web.Response(text=page_below(depth), content_type="text/html")


def _answer(body: bytes) -> web.Response:
    answer = web.Response(body=body, content_type="application/json")
    if len(body) > _MANY:
        answer.enable_compression()
    return answer
