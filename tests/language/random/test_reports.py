"""Random protocols from their spec to the report: the jobs that the workflow runs, and counterfactuals, in one go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from tests.language.random.test_protocols import CHOOSY, ECHO, NAMES, TALK, method_of, protocols

SEEN: list[int] = []


def accepted(protocol: dict[str, Any]) -> bool:
    try:
        method_of(protocol)
    except SpecError:
        return False
    return True


def spec_of(drawn: list[dict[str, Any]]) -> dict[str, Any]:
    names = [f"p{k}" for k in range(len(drawn))]
    return {
        "dataset": {"name": "arithmetic", "size": 3},
        "models": {"small": {"model": "builtin/solver", "skill": 0.6, "parameters": 7e9, "tokens": 1e12}},
        "agents": [{"name": name, "model": "small"} for name in NAMES],
        "tools": {"sums": {"tool": "calculator"}},
        "protocols": dict(zip(names, drawn, strict=True)),
        "methods": {"vote": {"protocol": "voting"}, **{name: {"protocol": name} for name in names}},
        "analysis": {"families": {"all": {"compare": names, "to": "vote"}}},
        "whatif": {name: ["agent=dee"] for name in names[:1]},
    }


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(protocols().filter(accepted), min_size=6, max_size=6))
def test_what_check_accepts_comes_to_a_report(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, Any]]
) -> None:
    here = tmp_path_factory.mktemp("drawn")
    for name, text in {"talk.j2": TALK, "choosy.j2": CHOOSY, "echo.j2": ECHO}.items():
        (here / "prompts").mkdir(exist_ok=True)
        (here / "prompts" / name).write_text(text)
    (here / "specs").mkdir()
    with pytest.MonkeyPatch.context() as moved:
        moved.chdir(here)
        Path("specs/x.yaml").write_text(json.dumps(spec_of(drawn)))
        plan = compile_spec("x")
        jobs = [["plan", "x", "--declare"], ["plan", "x", "--out", "results/x/plan.json"]]
        for cell in plan.cells:
            at = ["x", "--dataset", "arithmetic", "--cell", cell.slug]
            out = f"results/x/debates/arithmetic/{cell.slug}/r1-s01.jsonl"
            jobs += [["debate", *at, "--shard", "r1-s01", "--out", out], ["score", *at]]
        for job in [*jobs, ["whatif", "x"], ["verdict", "results/x"]]:
            assert main(job) == 0, job
        assert main(["report", "results/x", "--no-figures"]) == 0
        assert main(["replay", "x"]) == 0
        assert Path("results/x/report.html").stat().st_size > 10_000
        SEEN.append(len(plan.cells))


def test_several_protocols_stood_in_a_report() -> None:
    if not SEEN:
        pytest.skip("the reports were made in another process")
    assert min(SEEN) >= 4
