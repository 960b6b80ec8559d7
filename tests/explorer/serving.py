"""The explorer's server in a thread, for clients of any kind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from aiohttp import web

from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.explorer.server import Explorer


@contextmanager
def serving(places: Sequence[ResultsFolder], host: str = "127.0.0.1", token: str | None = None) -> Iterator[str]:
    """Serve some experiments whose indexes are up to date, and give the address."""
    explorer = Explorer(places)
    for experiment in explorer.experiments:
        experiment.catch_up()
    loop = asyncio.new_event_loop()
    port = [0]

    async def start() -> web.AppRunner:
        runner = web.AppRunner(explorer.app(host, lambda: port[0], token), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port[0] = runner.addresses[0][1]
        return runner

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield f"http://127.0.0.1:{port[0]}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """Serve a folder as any static host does, and give the address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(30)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
