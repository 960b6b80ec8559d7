"""Verb `batch`: answer a file of requests by batches of a provider, at half the price (docs/files.md)."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from cortexdsl.core import BATCH_PROVIDERS, Model
from cortexdsl.errors import ModelError
from cortexdsl.jobs.options import VerbParser
from cortexdsl.models.batches.asker import BatchAsker
from cortexdsl.models.batches.http import BatchHttp
from cortexdsl.models.batches.protocols import PROTOCOLS
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.endpoints.providers import key_variables, redirected
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
    try:
        asyncio.run(_answer(args, secrets))
    except Failure as failure:
        raise ModelError(f"{secrets.clean(str(failure))}\n    {failure.kind.remedy}") from None
    except KeyboardInterrupt:
        print("stopped; what was sent stays at the provider, and the same command takes it up", file=sys.stderr)
        raise
    return 0


async def _answer(args: argparse.Namespace, secrets: Secrets) -> None:
    written = Model("batch", f"{args.provider}/NAME", api_base=args.api_base, api_key_env=args.api_key_env)
    model = redirected(written, os.environ)
    protocol = PROTOCOLS[args.provider](BatchHttp(), secrets.address(model), _headers(model, secrets))
    asker = BatchAsker(protocol, args.replies, secrets, tokens=args.tokens, say=lambda line: print(line, flush=True))
    try:
        await asker.answer(args.requests)
    finally:
        await asker.close()


def _headers(model: Model, secrets: Secrets) -> dict[str, str]:
    """Return the headers that say who asks: the key, and at OpenAI the organization and project that are set."""
    variable = next((name for name in key_variables(model) if os.environ.get(name, "").strip()), None)
    key = secrets.key(replace(model, api_key_env=model.api_key_env or variable))
    is_openai = model.model.startswith("openai/")
    if key and not is_openai and not (variable or "").endswith("_TOKEN"):
        return {"x-api-key": key}
    set_names = [name for name in _OPENAI if is_openai and model.api_base is None and os.environ.get(name)]
    bearer = {"authorization": f"Bearer {key}"} if key else {}
    return bearer | {_OPENAI[name]: os.environ[name] for name in set_names}


_OPENAI = {"OPENAI_ORG_ID": "openai-organization", "OPENAI_PROJECT_ID": "openai-project"}
"""Variables that OpenAI's own client reads, and the headers that it sends them in."""
