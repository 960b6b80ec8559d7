"""Longer specs, as people write them: every section of the language in use."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.core import Keep, Match, Sparse
from cortexdsl.language.methods.resolved_cells import resolve_cells
from cortexdsl.language.spec import load_spec
from tests.language.sheets import load

BACKBONES = """\
models:
  qwen: &served {model: openai/qwen, api_base: env:QWEN_URL, parameters: 7.6e9, tokens: 18e12}
  llama: {<<: *served, model: openai/llama}
  mistral: {<<: *served, model: openai/mistral}
agents: [{name: qwen, model: qwen}, {name: llama, model: llama}, {name: mistral, model: mistral}]
"""

ABLATIONS = """\
extends: _backbones.yaml
title: What makes CortexDebate work?
seed: 11
replicates: 3
datasets:
  math: {name: math, size: 100, stratify: subject}
  mmlu: {name: mmlu, size: 100, stratify: subject}
methods:
  full:              {protocol: multi-llm, rounds: 5}
  full+mdm:          {extends: sparse+mdm, keep: all}
  sparse+mdm:        {protocol: cortexdebate, rounds: 5}
  sparse+self:       {extends: sparse+mdm, weight: confidence, keep: mean_of_all}
  sparse+peers:      {protocol: cortexdebate-peers}
  sparse-without-IS: {extends: sparse+mdm, weight: credibility * reliability}
  matched:           {protocol: self-consistency, budget: calls(sparse+mdm)}
teams: {three: everyone, five: [qwen, qwen, llama, llama, mistral]}
grid:
  sparse+mdm:
    - {keep: [mean, median, {top: 1}, {drop_bottom: 1}]}
    - {recalibration: [none, {0: 0.2, 0.2: keep, 0.7: 0.7, 0.9: 0.9}, {0: 0.3, 0.3: keep, 0.6: 0.6, 0.9: 0.9}]}
    - {agents: [three, five], rounds: [1, 2, 3]}
analysis:
  metrics: [accuracy, input_tokens, consensus, dvc, cvr]
  families:
    components: {compare: [full, full+mdm, sparse+self, sparse+peers, sparse-without-IS, matched], to: sparse+mdm}
    keep:       {compare: grid.keep, to: "sparse+mdm[keep=mean]"}
hypotheses:
  - accuracy(sparse+mdm) > accuracy(full)
  - cvr(sparse+mdm) > cvr(sparse-without-IS) on math
  - best keep of sparse+mdm is mean
  - accuracy(sparse+mdm[rounds]) increasing
limits: {dollars: 20}
"""

OWN = """\
title: Does hearing only the most confident help on my exam questions?
seed: 1
replicates: 2
dataset: {file: exam.csv, question: Question, answer: Key, choices: [A, B, C, D], kind: choice}
models:
  local: {model: openai/qwen, api_base: env:QWEN_URL, temperature: 0.8, parameters: 7.6e9, tokens: 18e12}
agents:
  - {name: plain, model: local}
  - {name: sceptic, model: local, persona: doubts first answers}
  - {name: teacher, model: local, persona: explains every step}
protocols:
  loudest:
    settings: {rounds: 2}
    steps:
      answer: {role: debater, hears: nobody, prompt: common/answer.j2}
      revise: {role: debater, hears: {weight: confidence, keep: {top: 1}}, prompt: my/revise.j2}
    schedule: [answer, {repeat: $rounds, until: consensus, do: [revise]}]
    decide: weighted
methods:
  loudest: {protocol: loudest}
  everyone: {protocol: multi-llm, rounds: 2}
hypotheses:
  [accuracy(loudest) == accuracy(everyone) +- 0.05, input_tokens(loudest) <= 0.6 * input_tokens(everyone)]
"""

KNOWLEDGE = """\
title: Knowledge in debate
seed: 5
dataset: {name: hotpotqa, size: 500}
models:
  debater: {model: openai/large, api_base: env:VLLM_URL, temperature: 0.5}
  cheap: {model: openai/small, api_base: env:VLLM2_URL}
agents: [{name: one, model: debater}, {name: two, model: debater}]
knowledge:
  wiki: {index: data/wikipedia, embedding: ngram, top: 5}
  web:  {api_key_env: SERPER_API_KEY, top: 5}
methods:
  madke:      {protocol: madke, pool: [wiki, web], roles: {judge: {model: cheap}, summarizer: {model: cheap}}}
  madke-wiki: {extends: madke, pool: [wiki]}
  rag:        {protocol: rag, pool: [wiki, web], agents: [one]}
  mad:        {protocol: multi-llm, rounds: 3}
analysis: {metrics: [f1, judged, co2, cons, output_tokens], judge: cheap}
hypotheses: [f1(madke) > f1(mad), co2(madke) > co2(mad)]
"""


def test_ablations_by_like_and_grids(tmp_path: Path) -> None:
    """7 methods, and 4 + 3 + 2 * 3 points of the grids of one."""
    spec = load(tmp_path, ABLATIONS, _backbones=BACKBONES)
    found = {arm.name: arm for arm in resolve_cells(spec)}
    assert len(found) == 7 + 4 + 3 + 6
    assert found["full+mdm"].debate.steps["revise"].hears == Sparse(
        "credibility * reliability * intimacy / (self_orientation + 1)", Keep("all")
    )
    assert found["matched"].match == Match("calls", "sparse+mdm")
    assert found["sparse+mdm[keep=mean]"].debate == found["sparse+mdm"].debate
    assert [agent.name for agent in found["sparse+mdm[agents=five, rounds=1]"].agents] == [
        "qwen", "qwen-2", "llama", "llama-2", "mistral",
    ]  # fmt: skip
    assert spec.models["llama"].parameters == 7.6e9


def test_a_protocol_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    loudest, _ = resolve_cells(load_spec(tmp_path / "own.yaml"))
    assert loudest.debate.steps["revise"].hears == Sparse("confidence", Keep("top", 1))
    assert loudest.debate.decide.rule == "weighted"


def test_roles_with_models_of_their_own_and_pools(tmp_path: Path) -> None:
    (tmp_path / "k.yaml").write_text(KNOWLEDGE)
    found = {arm.name: arm.debate for arm in resolve_cells(load_spec(tmp_path / "k.yaml"))}
    role_agents = found["madke"].role_agents
    assert {role: [(agent.name, agent.model.name) for agent in agents] for role, agents in role_agents.items()} == {
        "debater": [("one", "debater"), ("two", "debater")],
        "judge": [("judge", "cheap")],
        "summarizer": [("summarizer", "cheap")],
    }
    assert found["madke-wiki"].steps["speak"].material["pool"] == ["wiki"]
