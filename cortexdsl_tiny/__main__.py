"""`python -m cortexdsl_tiny run-batch -i REQUESTS -o REPLIES`: answer a file in OpenAI's batch format (docs/files.md).

All requests go through their models together. A reply is written as soon as it is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from cortexdsl.core import Call, Model
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl_tiny.running import TinyTransport


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m cortexdsl_tiny", description=__doc__.partition(":")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    batch = verbs.add_parser("run-batch", help="answer a file of requests")
    batch.add_argument("-i", "--requests", type=Path, required=True, help="the file to read")
    batch.add_argument("-o", "--replies", type=Path, required=True, help="the file to write")
    args = parser.parse_args()
    asyncio.run(run_batch(args.requests, args.replies))
    return 0


async def run_batch(requests: Path, replies: Path) -> None:
    """Answer a file of requests."""
    transport = TinyTransport()
    with requests.open(encoding="utf-8") as lines, replies.open("w", encoding="utf-8") as out:
        asked = [json.loads(line) for line in lines if line.strip()]
        await asyncio.gather(*(_answer(transport, request, out) for request in asked))
    await transport.close()


async def _answer(transport: TinyTransport, request: dict[str, Any], out: TextIO) -> None:
    """Write the line of one request."""
    body = dict(request["body"])
    messages, model, seed = body.pop("messages"), body.pop("model"), body.pop("seed", 0)
    call = Call(Model(model, model, options=MappingProxyType(body)), tuple(messages), seed)
    try:
        raw = await transport.send(call, None, None)
    except Failure as failure:
        status, content = _failed(failure)
    else:
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": raw.text}}
        status, content = 200, {"choices": [{**choice, "finish_reason": raw.finish_reason}], "usage": _usage(raw.usage)}
    line = {"custom_id": request["custom_id"], "response": {"status_code": status, "body": content}, "error": None}
    out.write(json.dumps(line) + "\n")
    out.flush()


def _failed(failure: Failure) -> tuple[int, dict[str, Any]]:
    if failure.kind is FailureKind.MALFORMED:  # an empty reply
        message = {"role": "assistant", "content": ""}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": _usage(failure.usage)}
    code = "context_length_exceeded" if failure.kind is FailureKind.CONTEXT_WINDOW else "invalid_request_error"
    return 400, {"error": {"message": failure.what, "code": code}}


def _usage(counts: Any) -> dict[str, int | None]:
    return {"prompt_tokens": counts.prompt_tokens, "completion_tokens": counts.completion_tokens}


if __name__ == "__main__":
    sys.exit(main())
