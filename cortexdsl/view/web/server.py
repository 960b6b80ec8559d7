"""The explorer as a server: pages, data, and the reports, for one person at one machine."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from cortexdsl.view.opened import Opened
from cortexdsl.view.places import Place
from cortexdsl.view.web.guard import REPORT_POLICY, guard

BUILT = Path(__file__).parent.parent / "built"
EVERY = 2.0  # seconds between looks for what is new
ASLEEP = 20.0  # seconds without a question after which nothing is looked for
_MANY = 2_000  # bytes from which an answer is packed

_REPORT = {".html": "text/html", ".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf",
           ".csv": "text/csv", ".md": "text/plain", ".tex": "text/plain"}  # fmt: skip


class Explorer:
    """The server's experiments and its answers.

    Parameters
    ----------
    places : sequence of Place
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self.experiments = [Opened(place) for place in places]
        self._asked = time.monotonic()
        self._is_open = True

    def app(self, host: str, port: Any, token: str | None = None) -> web.Application:
        """Return the application; `port` is a callable that knows the port once the server listens."""
        app = web.Application(middlewares=[guard(host, port, token)])
        app.router.add_get("/", self._page)
        app.router.add_get("/{name:app\\.(?:js|css)}", self._built)
        app.router.add_get("/favicon.ico", self._no_icon)
        app.router.add_get("/data/experiments.json", self._names)
        app.router.add_get("/data/together.json", self._together)
        for path, answer in (
            ("experiment.json", self._overview),
            ("progress.json", self._progress),
            ("table.json", self._table),
            ("search.json", self._search),
            ("question.json", self._question),
            ("debates/{debate:\\d{1,18}}.json", self._debate),
            ("calls/{debate:\\d{1,18}}.json", self._calls),
        ):
            app.router.add_get(f"/data/x/{{number:\\d{{1,6}}}}/{path}", answer)
        app.router.add_get("/report/{path:.+}", self._report)
        app.cleanup_ctx.append(self._keeping_up)
        return app

    async def _keeping_up(self, app: web.Application) -> AsyncIterator[None]:
        """Keep the indexes up with the files while somebody looks."""
        tasks = [asyncio.create_task(self._keep_up(experiment)) for experiment in self.experiments]
        yield
        self._is_open = False
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for experiment in self.experiments:
            experiment.close()

    async def _keep_up(self, experiment: Opened) -> None:
        while True:
            if time.monotonic() - self._asked < ASLEEP or not experiment.is_ready:
                with contextlib.suppress(OSError):  # what cannot be read now is tried again
                    await asyncio.to_thread(experiment.catch_up, lambda: self._is_open)
            await asyncio.sleep(EVERY)

    def _experiment(self, request: web.Request) -> Opened:
        self._asked = time.monotonic()
        number = int(request.match_info["number"])
        if number >= len(self.experiments):
            raise web.HTTPNotFound(text="no such experiment\n")
        return self.experiments[number]

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(BUILT / "index.html")

    async def _built(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(BUILT / request.match_info["name"])

    async def _no_icon(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=204)  # a report asks for none, but browsers do

    async def _names(self, request: web.Request) -> web.StreamResponse:
        names = [experiment.place.name for experiment in self.experiments]
        return _answer(json.dumps({"experiments": names, "is_static": False}).encode())

    async def _together(self, request: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(_pooled, [experiment.place for experiment in self.experiments])
        return _answer(json.dumps(found, default=float).encode())

    async def _overview(self, request: web.Request) -> web.StreamResponse:
        return _answer(await asyncio.to_thread(self._experiment(request).overview))

    async def _progress(self, request: web.Request) -> web.StreamResponse:
        return _answer(await asyncio.to_thread(self._experiment(request).progress))

    async def _table(self, request: web.Request) -> web.StreamResponse:
        _, packed = await asyncio.to_thread(self._experiment(request).table)
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return _answer(await asyncio.to_thread(gzip.decompress, packed))
        return web.Response(body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"})

    async def _search(self, request: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(self._experiment(request).search, request.query.get("text", ""))
        return _answer(json.dumps(found, separators=(",", ":")).encode())

    async def _question(self, request: web.Request) -> web.StreamResponse:
        asked = request.query.get("dataset", ""), request.query.get("question", "")
        return _answer(json.dumps(await asyncio.to_thread(self._experiment(request).question, *asked)).encode())

    async def _debate(self, request: web.Request) -> web.StreamResponse:
        number = int(request.match_info["debate"])
        return _found(await asyncio.to_thread(self._experiment(request).debate, number))

    async def _calls(self, request: web.Request) -> web.StreamResponse:
        number = int(request.match_info["debate"])
        return _found(await asyncio.to_thread(self._experiment(request).calls, number))

    async def _report(self, request: web.Request) -> web.StreamResponse:
        """A report and what lies beside it; where it links to `view.html`, that is the explorer."""
        asked = request.match_info["path"]
        for experiment in self.experiments:
            name = f"{experiment.place.name}/"
            if asked.startswith(name):
                inner = asked.removeprefix(name)
                if inner == "view.html":
                    return await asyncio.to_thread(partial(_page_below, asked.count("/") + 1))
                path = report_file(experiment.place.root, inner)
                if path is not None:
                    kind = {"Content-Type": f"{_REPORT[path.suffix]}; charset=utf-8"} if path.suffix != ".png" else {}
                    return web.FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY, **kind})
        raise web.HTTPNotFound(text="there is no such file of a report\n")


def report_file(root: Path, inner: str) -> Path | None:
    """Return a file of a report by its path beside it; None for everything else that lies in a folder of results."""
    parts = inner.split("/")
    is_of_report = parts[:-1] in ([], ["figures"], ["figures", "column"], ["tables"])
    if not is_of_report or any(part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    path = root.joinpath(*parts)
    if path.suffix not in _REPORT or not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
        return None
    return path


def page_below(depth: int) -> str:
    """Return the explorer's page for a place so many folders below it."""
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    return page.replace("<head>", f'<head><base href="{"../" * depth}">', 1)


def _page_below(depth: int) -> web.Response:
    return web.Response(text=page_below(depth), content_type="text/html")


def _pooled(places: Sequence[Place]) -> dict[str, Any]:
    from cortexdsl.view.pages.together import pooled  # loads what computes statistics, which nothing else here needs

    return pooled(places)


def _found(value: Any) -> web.Response:
    if value is None:
        raise web.HTTPNotFound(text="no such debate; it may have been replaced by a newer one\n")
    return _answer(json.dumps(value, separators=(",", ":")).encode())


def _answer(body: bytes) -> web.Response:
    answer = web.Response(body=body, content_type="application/json")
    if len(body) > _MANY:
        answer.enable_compression()
    return answer
