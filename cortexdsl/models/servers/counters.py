"""What a model server counts of its own work, from its `/metrics` (the text format of Prometheus).

vLLM and llama.cpp's server (started with `--metrics`) are understood; a server without such a page counts nothing here.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 4_000_000  # bytes of a page that are read
_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{[^}]*\})? (\S+)")
_WORKED_OUT, _FOUND = "llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"
_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "requests": (("vllm:request_success_total",),),
    "prompt_tokens": (("vllm:prompt_tokens_total",), (_WORKED_OUT, _FOUND)),
    "completion_tokens": (("vllm:generation_tokens_total",), ("llamacpp:tokens_predicted_total",)),
    "looked_up_tokens": (("vllm:prefix_cache_queries_total",), (_WORKED_OUT, _FOUND)),
    "cached_tokens": (("vllm:prefix_cache_hits_total",), (_FOUND,)),
    "running": (("vllm:num_requests_running",), ("llamacpp:requests_processing",)),
    "waiting": (("vllm:num_requests_waiting",), ("llamacpp:requests_deferred",)),
}
"""What each server calls them; of several names the sum is meant, and each must be there."""
# Past any proxy, and nowhere else than to the address itself.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Counters:
    """What a server has counted since it was started; None: it does not count that.

    Attributes
    ----------
    requests : int or None
        Answered.
    prompt_tokens, completion_tokens : int or None
        Of prompts all tokens, also those that were found in the cache.
    looked_up_tokens, cached_tokens : int or None
        Prompt tokens for which it looked into its prefix cache, and those of them that it found there.
    running, waiting : int or None
        Requests in work and in its queue at this moment.
    """

    requests: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    looked_up_tokens: int | None = None
    cached_tokens: int | None = None
    running: int | None = None
    waiting: int | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it has something to do."""
        return bool(self.running or self.waiting)


def read_counters(address: str, timeout: float = 2.0) -> Counters | None:
    """Return what a server counts; None where it does not say.

    Parameters
    ----------
    address : str
        As `api_base` has it; the page lies at the root of the server, outside of `/v1`.
    """
    text = _page(f"{_root(address)}/metrics", timeout)
    return parse_counters(text) if text is not None else None


def parse_counters(text: str) -> Counters | None:
    """Read a page of metrics: values of one name are added up; None where none is known."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is not None:
            sums[found[1]] = sums.get(found[1], 0.0) + _number(found[2])
    known = {
        field: int(total)
        for field, ways in _NAMES.items()
        for names in ways
        if all(name in sums for name in names) and 0 <= (total := sum(sums[name] for name in names)) < 10**18
    }
    return Counters(**known) if known else None


def engine_of(address: str, timeout: float = 2.0) -> str:
    """Return which server answers at an address, with its version where it tells; empty where it does not say."""
    root = _root(address)
    for path, key, name in (
        ("/version", "version", "vLLM"),
        ("/api/version", "version", "Ollama"),
        ("/props", "build_info", "llama.cpp"),
    ):
        said = _object(_page(root + path, timeout))
        if isinstance(said.get(key), str):
            return f"{name} {said[key][:60]}"
    return ""


def _root(address: str) -> str:
    return address.rstrip("/").removesuffix("/v1")


def _page(url: str, timeout: float) -> str | None:
    try:
        with _OPENER.open(url, timeout=timeout) as response:
            return str(response.read(_MOST).decode("utf-8", "replace"))
    except (OSError, ValueError, urllib.error.HTTPError):
        return None


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        said = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
