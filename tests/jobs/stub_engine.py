"""A program that answers files of requests, and fails on order: stub_engine.py ORDERS -i REQUESTS -o REPLIES.

ORDERS is a file with one order a line. Each run takes the first one; without any it answers all. It appends the ids of
the requests that it is given to ORDERS.asked, one run a line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import zlib
from pathlib import Path
from typing import Any

TWO_METHODS = """\
seed: 5
dataset: {name: arithmetic, size: 4}
models: {small: {model: openai/small, engine: stub}}
agents: [{name: a, model: small}, {name: b, model: small}]
methods:
  vote: {protocol: voting}
  full: {protocol: multi-llm, rounds: 1}
"""
"""A spec whose model is asked by this engine; a test adds its command."""


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion that depends on the request alone."""
    drawn = zlib.crc32(json.dumps([body["messages"], body["seed"]]).encode())
    text = f"Let me see.\nAnswer: {drawn % 3 + 10}\nConfidence: 0.{drawn % 5 + 4}"
    if "Judgement:" in body["messages"][-1]["content"]:
        text = f"Judgement: {'incorrect' if drawn % 2 else 'correct'}"
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": drawn % 100 + 50, "completion_tokens": drawn % 7 + 9},
    }


def line(request: dict[str, Any]) -> str:
    """Return the line of a reply."""
    response = {"status_code": 200, "request_id": "r", "body": completion(request["body"])}
    return json.dumps({"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}) + "\n"


def failed(request: dict[str, Any], status: int, message: str) -> str:
    """Return the line of a request that failed, as vLLM writes it."""
    error = {"message": message, "type": "error", "code": status}
    response = {"status_code": status, "request_id": "r", "body": None}
    return json.dumps({"id": "x", "custom_id": request["custom_id"], "response": response, "error": error}) + "\n"


def empty(request: dict[str, Any]) -> str:
    """Return the line of a reply without text."""
    body = {"choices": [{"message": {"role": "assistant", "content": " "}, "finish_reason": "stop"}]}
    return json.dumps({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}) + "\n"


def main() -> int:
    orders, requests, replies = Path(sys.argv[1]), Path(sys.argv[3]), Path(sys.argv[5])
    order, _, rest = orders.read_text(encoding="utf-8").partition("\n")
    orders.write_text(rest, encoding="utf-8")
    asked = [json.loads(text) for text in requests.read_text(encoding="utf-8").splitlines()]
    with orders.with_suffix(".asked").open("a", encoding="utf-8") as log:
        log.write(" ".join(request["custom_id"] for request in asked) + "\n")
    lines = [line(request) for request in asked]
    half = len(lines) // 2
    match order:
        case "shuffled":
            lines.reverse()
        case "twice":
            lines = [text for text in lines for _ in range(2)]
        case "missing":
            lines = lines[1:]
        case "error":
            lines[0] = failed(asked[0], 500, "the engine stumbled")
        case "empty":
            lines[0] = empty(asked[0])
        case "stubborn":  # the same request in every file
            victim = orders.with_suffix(".victim")
            if not victim.exists():
                victim.write_text(asked[0]["custom_id"], encoding="utf-8")
            refused = victim.read_text(encoding="utf-8")
            lines = [empty(each) if each["custom_id"] == refused else line(each) for each in asked]
        case "torn":
            lines[-1] = lines[-1][:40]
        case "long":
            lines[0] = failed(asked[0], 400, "This model's maximum context length is 8 tokens")
        case "no model":
            lines = [failed(request, 404, "The model `small` does not exist.") for request in asked]
        case "silent":
            lines = []
        case "foreign":
            lines = [f"{k},reply\n" for k in range(len(lines))]
        case "half" | "killed":
            lines = lines[:half]
    if order != "nothing":
        replies.write_text("".join(lines), encoding="utf-8")
    if order == "killed":
        os.kill(os.getppid(), signal.SIGKILL)
    if order in ("half", "silent", "nothing"):
        print("loading the model\nRuntimeError: CUDA out of memory", file=sys.stderr)
        return order != "nothing"
    return 0


if __name__ == "__main__":
    sys.exit(main())
