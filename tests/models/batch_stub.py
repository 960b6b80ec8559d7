"""A provider that speaks both batch protocols, and the ordinary way to the same replies.

It is a function from a request to a response, so that tests need no network, and it keeps what it knows in a file, so
that it outlives a job that is killed. A batch is over `delay` seconds after it was made, by a clock that tests move.
What a request comes to is decided by words in its prompt: `[expire]`, `[overload]`, `[filter]` ... hold for the first
batch that has it, `[always ...]` for all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx


@dataclass
class Known:
    """What the provider knows: it survives in a file."""

    files: dict[str, str] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    paid: dict[str, int] = field(default_factory=dict)
    """How often each request was answered: by the key in its custom id, or by a digest of its body."""
    tried: dict[str, int] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Codes of errors with which the next batches of files are refused."""


class BatchStub:
    """The provider.

    Parameters
    ----------
    path : Path or None
        The file of what it knows.
    now : callable
        Seconds since the epoch.
    delay : float
        Seconds that a batch takes.
    lag : float
        Seconds after which a batch is listed.
    moment : callable
        Called with `before NAME` and `after NAME` of each request, NAME being file, create, list, status or results.
    """

    def __init__(
        self,
        path: Path | None = None,
        now: Callable[[], float] = lambda: 0.0,
        delay: float = 3600.0,
        moment: Callable[[str], None] = lambda name: None,
        lag: float = 0.0,
    ) -> None:
        self._path, self._now, self._delay, self._moment = path, now, delay, moment
        self.known = Known()
        if path is not None and path.exists():
            self.known = Known(**json.loads(path.read_text()))
        self.has_list, self._lag = True, lag
        self.failing: dict[str, list[int]] = {}
        """HTTP statuses with which the next requests of a kind fail."""

    @property
    def transport(self) -> httpx.MockTransport:
        """The provider in place of the network."""
        return httpx.MockTransport(self.answer)

    @property
    def most_paid(self) -> int:
        """How often the request was answered that was answered most often."""
        return max(self.known.paid.values(), default=0)

    def counts(self) -> Counter[str]:
        """How many requests of each kind came."""
        return Counter(self.known.requests)

    def sizes(self) -> list[int]:
        """How many requests each batch had, in their order."""
        return [len(batch["lines"]) for batch in self.known.batches.values()]

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Return the response to a request."""
        kind = self._kind(request)
        self._moment(f"before {kind}")
        self.known.requests.append(kind)
        failing = self.failing.get(kind)
        if failing:
            return httpx.Response(failing.pop(0), json={"error": {"message": "on order"}})
        response = self._answer(kind, request)
        if self._path is not None:
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(vars(self.known)))
            part.replace(self._path)
        self._moment(f"after {kind}")
        return response

    @staticmethod
    def _kind(request: httpx.Request) -> str:
        path, is_post = request.url.path, request.method == "POST"
        if path.endswith(("/chat/completions", "/v1/messages")):
            return "call"
        if path.endswith(("/content", "/results")):
            return "results"
        if path.endswith("/files"):
            return "file"
        if path.endswith("/batches"):
            return "create" if is_post else "list"
        return "status"

    def _answer(self, kind: str, request: httpx.Request) -> httpx.Response:
        is_anthropic = "/messages" in request.url.path
        name = request.url.path.split("/")[-2 if kind == "results" else -1]
        match kind:
            case "call":
                status, body = self._reply(json.loads(request.content), is_anthropic=is_anthropic)
                return httpx.Response(status, json=body)
            case "file":
                name = f"file-{len(self.known.files)}"
                self.known.files[name] = _uploaded(request)
                return httpx.Response(200, json={"id": name, "object": "file", "purpose": "batch"})
            case "create":
                return self._create(json.loads(request.content), is_anthropic=is_anthropic)
            case "list":
                if not self.has_list:
                    return httpx.Response(404, json={"error": {"message": "no such page"}})
                return httpx.Response(200, json=self._page(request.url.params))
            case "status":
                if name not in self.known.batches:
                    return httpx.Response(404, json={"error": {"message": f"no batch {name}"}})
                return httpx.Response(200, json=self._shown(name))
        batch = name if is_anthropic else name.removeprefix("out-").removeprefix("err-")
        lines = self.known.batches[batch]["results"]
        if not is_anthropic:
            lines = [line for line in lines if (_is_good(line)) == name.startswith("out-")]
        return httpx.Response(200, text="".join(json.dumps(line) + "\n" for line in lines))

    def _create(self, content: dict[str, Any], *, is_anthropic: bool) -> httpx.Response:
        name = f"{'msgbatch' if is_anthropic else 'batch'}_{len(self.known.batches)}"
        if is_anthropic:
            lines = content["requests"]
        else:
            lines = [json.loads(line) for line in self.known.files[content["input_file_id"]].splitlines()]
            assert {line["url"] for line in lines} == {content["endpoint"]}
        custom_ids = [line["custom_id"] for line in lines]
        assert len(set(custom_ids)) == len(lines)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom_id) for custom_id in custom_ids)
        refusal = self.known.refusals.pop(0) if self.known.refusals else None
        run = self._anthropic_result if is_anthropic else self._openai_result
        self.known.batches[name] = {
            "lines": custom_ids,
            "made": self._now(),
            "metadata": content.get("metadata"),
            "input_file_id": content.get("input_file_id"),
            "results": [] if refusal else [run(line) for line in lines],
            "refusal": refusal,
            "is_anthropic": is_anthropic,
        }
        return httpx.Response(200, json=self._shown(name))

    def _openai_result(self, line: dict[str, Any]) -> dict[str, Any]:
        status, body = self._reply(line["body"], line["custom_id"], is_anthropic=False)
        if status in (EXPIRED, CANCELLED):
            error = {"code": "batch_expired" if status == EXPIRED else "batch_cancelled", "message": "too late"}
            return {"custom_id": line["custom_id"], "response": None, "error": error}
        return {"custom_id": line["custom_id"], "response": {"status_code": status, "body": body}, "error": None}

    def _anthropic_result(self, line: dict[str, Any]) -> dict[str, Any]:
        status, body = self._reply(line["params"], line["custom_id"], is_anthropic=True)
        if status == 200:
            result = {"type": "succeeded", "message": body}
        elif status in (EXPIRED, CANCELLED):
            result = {"type": "expired" if status == EXPIRED else "canceled"}
        else:
            result = {"type": "errored", "error": body}
        return {"custom_id": line["custom_id"], "result": result}

    def _shown(self, name: str) -> dict[str, Any]:
        batch = self.known.batches[name]
        is_over, size = self._now() >= batch["made"] + self._delay, len(batch["lines"])
        if batch["is_anthropic"]:
            counts = {"processing": 0 if is_over else size, "succeeded": size if is_over else 0, "errored": 0}
            word = "ended" if is_over else "in_progress"
            return {"id": name, "processing_status": word, "request_counts": counts, "created_at": _date(batch["made"])}
        word = "failed" if batch["refusal"] else "completed" if is_over else "in_progress"
        good = sum(map(_is_good, batch["results"]))
        shown = {"id": name, "status": word, "created_at": batch["made"], "metadata": batch["metadata"],
                 "input_file_id": batch["input_file_id"],
                 "request_counts": {"total": size, "completed": good if is_over else 0, "failed": 0}}  # fmt: skip
        if batch["refusal"]:
            error = {"code": batch["refusal"], "message": f"refused: {batch['refusal']}", "line": None}
            shown["errors"] = {"data": [error]}
        elif is_over:
            shown["output_file_id"] = f"out-{name}" if good else None
            shown["error_file_id"] = f"err-{name}" if good < size else None
        return shown

    def _page(self, params: Any) -> dict[str, Any]:
        listed = [name for name, batch in self.known.batches.items() if self._now() >= batch["made"] + self._lag]
        names = listed[::-1]
        after = params.get("after") or params.get("after_id")
        names = names[names.index(after) + 1 :] if after else names
        return {"data": [self._shown(name) for name in names[:2]], "has_more": len(names) > 2}

    def _reply(self, body: dict[str, Any], name: str = "", *, is_anthropic: bool) -> tuple[int, dict[str, Any]]:
        prompt = json.dumps(body["messages"])
        digest = name.partition("-")[0] or hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.known.tried[digest] = self.known.tried.get(digest, 0) + 1
        is_first = self.known.tried[digest] == 1
        for word, (status, named, text) in FATES.items():
            if f"[always {word}]" in prompt or (f"[{word}]" in prompt and is_first):
                if word == "seed" and "seed" not in body:
                    continue
                kind = "invalid_request_error" if is_anthropic and status == 400 else named
                return status, {"type": "error", "error": {"type": kind, "code": kind, "message": text}}
        self.known.paid[digest] = self.known.paid.get(digest, 0) + 1
        # The seed of a request is no part of what is said, because one protocol has none.
        said = hashlib.sha256(json.dumps(_words(body), sort_keys=True).encode()).hexdigest()
        text = f"Answer: {int(said[:6], 16) % 3}\nConfidence: 0.{int(said[6:12], 16) % 90 + 10}"
        if "[always empty]" in prompt or ("[empty]" in prompt and is_first):
            text = ""
        if is_anthropic:
            return 200, {
                "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 50, "output_tokens": 10, "cache_read_input_tokens": 0,
                          "cache_creation_input_tokens": 0},
            }  # fmt: skip
        return 200, {
            "id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        }  # fmt: skip


EXPIRED, CANCELLED = 1, 2
FATES = {
    "expire": (EXPIRED, "", ""),
    "cancel": (CANCELLED, "", ""),
    "overload": (529, "overloaded_error", "Overloaded"),
    "busy": (429, "rate_limit_error", "slow down"),
    "context": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum context length"),
    "filter": (400, "content_filter", "flagged by our content management policy"),
    "parameter": (400, "invalid_request_error", "temperature: range: 0..1"),
    "key": (401, "authentication_error", "invalid x-api-key"),
    "seed": (400, "invalid_request_error", "Unrecognized request argument supplied: seed"),
}


def _words(body: dict[str, Any]) -> list[str]:
    """The texts of a prompt, which both protocols carry."""
    texts = [body["system"]] if "system" in body else []
    texts += [message["content"] for message in body["messages"]]
    return ["".join(part["text"] for part in text) if isinstance(text, list) else text for text in texts]


def _is_good(line: dict[str, Any]) -> bool:
    return (line.get("response") or {}).get("status_code") == 200


def _date(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _uploaded(request: httpx.Request) -> str:
    """Return the file of a multipart form."""
    boundary = re.search(r"boundary=(\S+)", request.headers["content-type"])
    assert boundary is not None
    for part in request.read().split(f"--{boundary[1]}".encode()):
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return content.removesuffix(b"\r\n").decode()
    raise AssertionError("no file")
