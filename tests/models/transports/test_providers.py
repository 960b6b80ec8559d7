"""Debates through litellm with the wire format of each provider: answers, tokens, what the cache saved, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.models.transports.prices import listed_price
from tests.models.transports.wires import CACHED, COMPLETION, PROMPT, WIRES, Served, serving

KEY = "sk-of-the-provider-0123456789"
SPEC = """\
title: Three agents
dataset: {{name: arithmetic, size: 2}}
models: {{m: {{model: {model}, api_base: env:THE_URL, api_key_env: THE_KEY{options}, parameters: 1e9, tokens: 1e12}}}}
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
    for name, value in {"THE_URL": served.base, "THE_KEY": KEY}.items():
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
    # A reasoning model refuses the seed of the six calls that are in flight at first, and gets no other.
    assert served.statuses.count(400) == (6 if provider == "reasoning" else 0)


def test_bedrock_signs_with_the_keys_of_the_environment_at_an_address_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address gets no other service's key: a signature holds none, and the bearer token of the provider stays."""
    wire = replace(WIRES["bedrock"], key=lambda headers, _: headers.get("authorization", ""))
    environment = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret-of-the-provider",
                   "AWS_REGION_NAME": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "bearer-of-the-provider"}  # fmt: skip
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with serving(wire) as served:
        assert debated(served, monkeypatch, tmp_path, **{", api_key_env: THE_KEY": ""}) == 0
    assert served.keys
    assert all(key.startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/") for key in served.keys)
    kept = calls()
    assert {line["usage"]["cached_tokens"] for line in kept} == {CACHED}
    assert sum(line["dollars"] for line in kept) == pytest.approx(bill(wire.model, kept, CACHED, wire.written))


@pytest.mark.parametrize("model", ["openai/gpt-4o", "direct/gpt-4o"])
@pytest.mark.parametrize(
    ("status", "words", "remedy"),
    [
        (401, "Incorrect API key provided", "export THE_KEY=... with a key that is valid there"),
        (400, "temperature must be at most 2", "correct the model entry of the spec"),
        (404, "The model does not exist", "correct `model` or `api_base`"),
    ],
)
def test_what_every_call_would_be_refused_for_ends_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: int, words: str,
    remedy: str, model: str,
) -> None:  # fmt: skip
    """Six calls are ready at once, and the job ends with one message that names the remedy."""
    wire = WIRES["openrouter"]
    with serving(replace(wire, model=model, options="")) as served:
        served.before = lambda _: (status, {"error": {"message": words}})
        assert debated(served, monkeypatch, tmp_path) == 1
    assert 1 <= len(served.bodies) <= 6
    said = capsys.readouterr().err
    assert said.count(words) == 1
    assert remedy in said
    tally = json.loads(next(Path().rglob("spent/*.json")).read_text())
    assert 1 <= tally["calls"]["retried"] <= 6


def test_a_call_that_is_refused_after_others_were_answered_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first call was accepted for, others may be accepted for, too."""
    with serving(replace(WIRES["openrouter"], model="openai/gpt-4o")) as served:
        served.before = lambda number: (400, {"error": {"message": "odd words"}}) if number == 3 else None
        assert debated(served, monkeypatch, tmp_path) == 1
    assert len(calls()) == len(served.bodies) - 1 >= 3


@pytest.mark.parametrize(("words", "kind"), [("overloaded", "transient"), ("Rate limit exceeded", "rate_limit")])
def test_an_error_with_status_200_is_retried_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, kind: str
) -> None:
    with serving(WIRES["openrouter"]) as served:
        served.before = lambda number: (200, {"error": {"message": words}}) if number == 0 else None
        assert debated(served, monkeypatch, tmp_path) == 0
    assert [line["retries"] for line in calls() if line["retries"]] == [{kind: 1}]
    assert {line["error"] for line in calls()} == {None}
