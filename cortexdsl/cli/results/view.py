"""`cortexdsl view`: look at debates in a browser, from any number to the sentence that made it."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from pathlib import Path

from aiohttp import web

from cortexdsl.errors import InputError
from cortexdsl.plan.kept.table_seals import check_tables, edited_tables
from cortexdsl.view.places import places_of
from cortexdsl.view.web.guard import is_loopback
from cortexdsl.view.web.server import Explorer

PORT = 8710
_TRIED = 20  # ports after the usual one, where that is taken


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "experiment", nargs="*", help="names, or folders of results; by default all that lie in results/"
    )
    parser.add_argument("--static", type=Path, metavar="DIR", help="write pages that any static host serves, and end")
    parser.add_argument("--port", type=int, help=f"where to listen (default: {PORT}, or the next that is free)")
    parser.add_argument(
        "--host", default="127.0.0.1", help="an address other than this machine's own, which asks for a token"
    )
    parser.add_argument("--open", action="store_true", help="open it in a browser")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    places = places_of(args.experiment)
    if args.static is not None:
        for place in places:
            check_tables(place.layout)
        from cortexdsl.view.web.static import write_static  # loads what computes statistics

        count = write_static(places, args.static)
        print(f"{args.static}/index.html: {count:,} debates; serve the folder: python -m http.server -d {args.static}")
        return 0
    for path in (path for place in places for path in edited_tables(place.layout)):
        print(f"warning: {path} was edited after the experiment wrote it; its numbers are not its own", file=sys.stderr)
    if args.port is not None and not 0 <= args.port < 65536:
        raise InputError(f"--port {args.port}: a port is a number from 0 to 65535")
    try:
        asyncio.run(_serve(Explorer(places), args))
    except KeyboardInterrupt:
        return 0
    return 0


async def _serve(explorer: Explorer, args: argparse.Namespace) -> None:
    token = None if is_loopback(args.host) else secrets.token_urlsafe(24)
    listening = [0]
    runner = web.AppRunner(explorer.app(args.host, lambda: listening[0], token), access_log=None)
    await runner.setup()
    try:
        listening[0] = await _listen(runner, args.host, args.port)
        shown = f"[{args.host}]" if ":" in args.host else args.host
        address = f"http://{shown}:{listening[0]}/" + (f"?token={token}" if token else "")
        print(f"{address}   (Ctrl-C ends it)", flush=True)
        if token:
            print("whoever has this address sees every prompt and reply, unencrypted on the way", file=sys.stderr)
        if args.open:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, address)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int | None) -> int:
    """Listen, and return the port."""
    for tried in [port] if port is not None else range(PORT, PORT + _TRIED):
        site = web.TCPSite(runner, host, tried)
        try:
            await site.start()
        except OSError as error:
            if port is None and tried < PORT + _TRIED - 1:
                continue
            raise InputError(
                f"{host}:{tried}: cannot listen there ({error.strerror})\n    try another --port"
            ) from None
        return int(runner.addresses[-1][1])
    raise AssertionError("the range is not empty")
