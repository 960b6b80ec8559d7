"""Debates through litellm with the wire format of each provider: answers, tokens, what the cache saved, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.models.transports.prices import listed_price
from tests.models.transports.wires import COMPLETION, PROMPT, WIRES, Served, serving

KEY = "sk-of-the-provider-0123456789"
SPEC = """\
title: Three agents
dataset: {{name: arithmetic, size: 2}}
models: {{m: {{model: {model}, api_base: env:BASE, api_key_env: THE_KEY{options}, parameters: 1e9, tokens: 1e12}}}}
agents: [{{name: a, model: m}}, {{name: b, model: m}}, {{name: c, model: m}}]
methods: {{sparse: {{protocol: cortexdebate, rounds: 2}}}}
limits: {{calls: 100, connections: 6}}
"""
JOB = ["debate", "x", "--dataset", "arithmetic", "--cell", "sparse", "--shard", "r1-s01", "--out", "debates.jsonl"]


def lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def calls(root: Path = Path()) -> list[dict[str, Any]]:
    return [line for log in sorted(root.rglob("calls/**/*.jsonl")) for line in lines(log)]


def debated(served: Served, monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: str) -> int:
    """Run the debates of one shard, and return the status of the job."""
    monkeypatch.chdir(folder)
    for name, value in {"BASE": served.base, "THE_KEY": KEY}.items():
        monkeypatch.setenv(name, value)
    Path("specs").mkdir()
    text = SPEC.format(model=served.wire.model, options=served.wire.options)
    for before, after in changes.items():
        text = text.replace(before, after)
    Path("specs/x.yaml").write_text(text)
    return main(JOB)


def bill(model: str, records: Iterable[dict[str, Any]], cached: int, written: int) -> float:
    """Work out a bill by hand from litellm's list: what the cache had and took is priced by itself."""
    price = listed_price(model)
    if price is None:
        return 0.0
    assert cached == 0 or price.cached is not None
    reads, writes = cached * (price.cached or 0.0), written * (price.cache_write or 0.0)
    return len(list(records)) * ((PROMPT - cached - written) * price.input + reads + writes + COMPLETION * price.output)


@pytest.mark.parametrize("provider", [name for name in WIRES if name != "bedrock"])
def test_a_debate_by_the_wire_format_of_a_provider(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two questions; answers, tokens, cached tokens and dollars are those that the provider's server says."""
    wire = WIRES[provider]
    with serving(wire) as served:
        assert debated(served, monkeypatch, tmp_path) == 0
    assert set(served.paths) == {wire.path}
    assert set(served.keys) == {KEY}
    debates, kept = lines("debates.jsonl"), calls()
    assert [debate["answer"] for debate in debates] == ["4", "4"]
    assert {line["reply"].splitlines()[1] for line in kept} == {"Answer: 4"}
    assert {(line["usage"]["prompt_tokens"], line["usage"]["completion_tokens"]) for line in kept} == {
        (PROMPT, COMPLETION)
    }
    assert {line["usage"].get("cached_tokens") or 0 for line in kept} == {wire.cached}
    assert {line["usage"].get("cache_write_tokens") or 0 for line in kept} == {wire.written}
    dollars = sum(line["dollars"] or 0.0 for line in kept)
    assert dollars == pytest.approx(bill(wire.model, kept, wire.cached, wire.written), abs=1e-12)
    tally = json.loads(next(Path().rglob("spent/*.json")).read_text())
    assert tally["tokens"]["cached"] == wire.cached * len(kept)
    assert (tally["dollars"] or 0.0) == pytest.approx(dollars)
    # A reasoning model refuses the seed, once for all calls in flight.
    assert served.statuses.count(400) == (1 if provider == "reasoning" else 0)
