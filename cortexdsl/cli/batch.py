"""Verb `batch`: answer a file of requests by batches of a provider, at half the price (docs/files.md)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from cortexdsl.core import BATCH_PROVIDERS, Model
from cortexdsl.errors import ModelError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.transports.failures import Failure


def add_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("provider", "whose batches answer the file", choices=BATCH_PROVIDERS)
    parser.add("requests", "a file of requests in OpenAI's batch format", type=Path)
    parser.add("replies", "the file of replies to write; what it has already is not asked again", type=Path)
    parser.add("--api-base", "the address of another server with the same batches, or env:NAME", metavar="ADDRESS")
    parser.add("--api-key-env", "the environment variable that holds the key", metavar="NAME")
    parser.add("--tokens", "the most tokens of prompts at the provider (default: no limit)", type=int, metavar="N")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    secrets = Secrets()
    model = Model("batch", f"{args.provider}/NAME", api_base=args.api_base, api_key_env=args.api_key_env)
    access = secrets.address(model), secrets.key(model)
    try:
        asyncio.run(_answer(args, access, secrets))
    except Failure as failure:
        raise ModelError(f"{secrets.clean(str(failure))}\n    {failure.kind.remedy}") from None
    except KeyboardInterrupt:
        print("stopped; what was sent stays at the provider, and the same command takes it up", file=sys.stderr)
        raise
    return 0


async def _answer(args: argparse.Namespace, access: tuple[str | None, str | None], secrets: Secrets) -> None:
    from cortexdsl.models.batches.asker import BatchAsker  # litellm takes seconds
    from cortexdsl.models.batches.wording import AsWritten, ByLitellm

    address, key = access
    is_plain = address is not None and args.provider == "openai"
    wording = AsWritten(address or "", key) if is_plain else ByLitellm(args.provider, address, key)
    asker = BatchAsker(wording, args.replies, secrets, tokens=args.tokens, say=lambda line: print(line, flush=True))
    try:
        await asker.answer(args.requests)
    finally:
        await asker.close()
