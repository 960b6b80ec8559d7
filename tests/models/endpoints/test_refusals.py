"""Parameters that a model refuses: learned from one request for all jobs, said before a run, left out by `drop`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Call, Limits, Model
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.refusals import REFUSALS_FILE
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.plan.compiler import compile_spec
from tests.models.kit import Time, call_of


class Reasoner:
    """A transport to a model that takes neither a seed nor `max_tokens`."""

    def __init__(self) -> None:
        self.sent: list[Call] = []

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        self.sent.append(call)
        for name in ("seed", "max_tokens"):
            if name not in call.model.refused:
                failure = Failure(FailureKind.BAD_REQUEST, f"Unsupported parameter: {name}")
                failure.refused = name
                raise failure
        return Raw("Answer: 4", "stop", TokenCounts(10, 5), seed_refused=True)

    async def close(self) -> None:
        pass


def asked(folder: Path, job: str, reasoner: Reasoner) -> None:
    """Ask four calls in a job of its own, as a process of its own would."""

    async def scene() -> None:
        async with open_client(
            folder / "calls" / f"{job}.jsonl", folder=folder / job, limits=Limits(connections=1),
            ledgers=folder / "spent", job=job, transports={"fake": reasoner}, runtime=Time().runtime(),
        ) as client:  # fmt: skip
            for seed in range(4):
                await client(call_of(seed=seed))

    asyncio.run(scene())


def test_what_a_model_refuses_is_learned_once_for_all_jobs(tmp_path: Path) -> None:
    """Two refused requests, one for each parameter, and one request for each of eight calls of two jobs."""
    reasoner = Reasoner()
    asked(tmp_path, "one", reasoner)
    assert len(reasoner.sent) == 2 + 4
    assert (tmp_path / "spent" / REFUSALS_FILE).is_file()
    asked(tmp_path, "two", reasoner)
    assert len(reasoner.sent) == 2 + 8


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"fake/model at the provider\'s own address": 3}', b"\xff"])
def test_a_damaged_file_costs_one_more_refusal(tmp_path: Path, content: bytes) -> None:
    reasoner = Reasoner()
    (tmp_path / "spent").mkdir()
    (tmp_path / "spent" / REFUSALS_FILE).write_bytes(content)
    asked(tmp_path, "one", reasoner)
    assert len(reasoner.sent) == 2 + 4


SPEC = """\
title: Reasoning
dataset: {name: arithmetic, size: 2}
models: {o: {model: openai/o3-mini, temperature: 0.7, max_tokens: 900, options: {top_p: 0.9}ENTRY}}
agents: [{name: a, model: o}]
methods: {vote: {protocol: voting}}
limits: {dollars: 1}
"""


def checked(
    entry: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, Any]:
    monkeypatch.chdir(folder)
    Path("x.yaml").write_text(SPEC.replace("ENTRY", entry))
    return main(["check", "x.yaml"]), capsys.readouterr()


def test_check_says_what_a_provider_does_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """o3-mini takes no temperature but 1, and no top_p; its limit of a reply litellm sends by the newer name."""
    status, said = checked("", tmp_path, monkeypatch, capsys)
    assert status == 2
    assert "x.yaml:3:13: o (openai/o3-mini) does not take temperature: O-series models don't support" in said.err
    assert "or leave it out by drop: [temperature] in the entry of o" in said.err
    assert "does not take top_p\n" in said.err
    assert "max_tokens" not in said.err
    status, said = checked(", drop: [temperature, top_p]", tmp_path, monkeypatch, capsys)
    assert status == 0


def test_what_is_dropped_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is as if it had not been written, also where a grid writes it; without a seed, calls differ all the same."""
    checked(", drop: [temperature, seed]", tmp_path, monkeypatch, capsys)
    (model,) = compile_spec("x.yaml").cells[0].debate.models
    assert isinstance(model, Model)
    assert (dict(model.options), model.refused) == ({"top_p": 0.9, "max_tokens": 900}, ("seed",))


def test_a_parameter_that_is_not_set_cannot_be_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = checked(", drop: [temprature]", tmp_path, monkeypatch, capsys)
    assert status == 2
    assert "drop: this entry sets no temprature" in said.err
