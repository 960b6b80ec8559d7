"""`check --online` asks the server of each provider: it answers, its price is known, and what it does with seeds."""

from __future__ import annotations

import asyncio

import pytest

from cortexdsl.core import Model
from cortexdsl.models.endpoints.retry import Runtime
from cortexdsl.models.probe import probe
from cortexdsl.models.shared_state import SharedState
from tests.models.transports.test_provider_replies import AWS, NEEDED
from tests.models.transports.wires import WIRES, serving

REFUSED = ("anthropic", "bedrock", "reasoning")
"""Those that take no seed, or say so in a refusal."""
UNPRICED = ("ollama",)


@pytest.mark.parametrize("provider", WIRES)
def test_a_provider_is_probed(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small question shows the seed refused; else four do, and a server that always replies the same is unclear."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    wire = WIRES[provider]
    options = dict(NEEDED.get(provider, {}))
    model = Model("m", wire.model, api_base="env:BASE", options=options)

    async def scene(base: str) -> None:
        async with SharedState(runtime=Runtime(environment={"BASE": base})) as shared:
            (found,) = await probe([model], shared)
        assert found.problem == ""
        assert found.seed == ("refused" if provider in REFUSED else "unclear")
        assert found.is_priced == (provider not in UNPRICED)

    with serving(wire) as served:
        asyncio.run(scene(served.base))
    answered = [status for status, path in zip(served.statuses, served.paths, strict=True) if path == wire.path]
    assert answered.count(200) == (1 if provider in REFUSED else 4)
