"""Sizes of open models: found by the names that people write, unknown otherwise, and used where credibility weighs."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest
import yaml

from cortexdsl.errors import SpecError
from cortexdsl.models.known_models import KnownModel, known_model
from cortexdsl.plan.compiler import compile_spec

LLAMA = "llama-3.1-8b"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("hosted_vllm/meta-llama/Llama-3.1-8B-Instruct", LLAMA),
        ("openai/meta-llama/Meta-Llama-3.1-8B", LLAMA),
        ("ollama/llama3.1:8b", LLAMA),
        ("ollama_chat/llama3.1:8b-instruct-q4_K_M", LLAMA),
        ("ollama/hf.co/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q5_K_M", LLAMA),
        ("together_ai/meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", LLAMA),
        ("groq/llama-3.1-8b-instant", LLAMA),
        ("fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct", LLAMA),
        ("bedrock/us.meta.llama3-1-8b-instruct-v1:0", LLAMA),
        ("vertex_ai/meta/llama-3.1-8b-instruct-maas", LLAMA),
        ("direct/models/Llama-3.1-8B-Instruct/", LLAMA),
        ("hosted_vllm/Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b"),
        ("hosted_vllm/Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b"),
        ("hosted_vllm/mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b"),
        ("openrouter/deepseek/deepseek-r1:free", "deepseek-r1"),
        ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"),
        ("hosted_vllm/allenai/OLMo-2-1124-7B-Instruct", "olmo-2-7b"),
        ("bedrock/openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
    ],
)
def test_names_are_matched_as_people_write_them(written: str, name: str) -> None:
    known = known_model(written)
    assert known is not None
    assert known.name == name


@pytest.mark.parametrize(
    "written",
    [
        "openai/gpt-4o", "deepseek/deepseek-chat", "ollama/llama3.1", "hosted_vllm/me/Llama-3.1-8B-legal",
        "hosted_vllm/Qwen/Qwen2.5-Coder-7B-Instruct", "mistral/mistral-large-latest", "openai/qwen", "openai/", "",
        "hosted_vllm/allenai/OLMo-7B-0424", "hosted_vllm/Qwen/Qwen2-57B", "trained/acc/actor",
    ],
)  # fmt: skip
def test_a_name_that_may_be_another_model_is_unknown(written: str) -> None:
    """A size left out, a date or a word more: other weights, or weights that change under the name."""
    assert known_model(written) is None


def test_figures_are_those_of_the_sources() -> None:
    """Llama 3.1 405B saw 15.6T tokens (arXiv 2407.21783); Mixtral has 46.7B parameters, 12.9B for a token."""
    assert known_model("llama-3.1-405b") == KnownModel(
        "llama-3.1-405b", 405.85e9, 405.85e9, 15.6e12,
        "Meta, model card of Llama 3.1 (15T+ tokens), and arXiv 2407.21783 for 405B; parameters counted in the weights",
    )  # fmt: skip
    mixtral = known_model("mistralai/Mixtral-8x7B-Instruct-v0.1")
    assert mixtral is not None
    assert (mixtral.parameters, mixtral.active_parameters, mixtral.tokens) == (46.7e9, 12.9e9, None)


def test_the_table_is_sound() -> None:
    """Each name stands once, figures lie in their ranges, and a size in a name is about that of the figure."""
    families = yaml.safe_load(resources.files("cortexdsl.models").joinpath("known_models.yaml").read_text("utf-8"))
    seen: dict[str, KnownModel] = {}
    for family in families:
        assert {*family} <= {"title", "source", "tokens", "models"}
        for name, sizes in family["models"].items():
            assert {*sizes} <= {"parameters", "active", "tokens", "also"}, name
            for each in (name, *sizes.get("also", ())):
                known = known_model(each)
                assert known is not None
                assert known.name == name, f"{each} stands twice"
                assert each not in seen
                seen[each] = known
            assert 0 < sizes.get("active", 0.1) <= sizes["parameters"], name
            size = re.search(r"-(\d+(?:\.\d+)?)(b|m)(?:-|$)", name)
            if size:
                billions = float(size[1]) * (1 if size[2] == "b" else 1e-3)
                assert sizes["parameters"] == pytest.approx(billions, rel=0.35), name
    assert len(seen) > 100


SPEC = """\
title: Who is heard
dataset: {name: arithmetic, size: 2}
models:
  llama: {model: hosted_vllm/meta-llama/Llama-3.1-8B-Instruct, api_base: http://127.0.0.1:1/v1}
  qwen: {model: hosted_vllm/Qwen/Qwen2.5-7B-Instruct, api_base: http://127.0.0.1:1/v1, tokens: 1.0e12}
  other: {model: hosted_vllm/Qwen/Qwen2.5-3B-Instruct, api_base: http://127.0.0.1:1/v1}
agents: [{name: a, model: llama}, {name: b, model: qwen}, {name: c, model: llama}]
methods:
  sparse: {protocol: cortexdebate, rounds: 1}
  vote: {protocol: voting}
limits: {calls: 100}
"""


def test_credibility_needs_no_look_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec's own figure wins, and cells that do not weigh by size are as they were: their records name none."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(SPEC)
    sparse, vote = compile_spec("x.yaml").cells
    assert [(model.name, model.parameters, model.tokens) for model in sparse.debate.models] == [
        ("llama", 8.03e9, 15e12), ("qwen", 7.61e9, 1e12),
    ]  # fmt: skip
    assert {(model.parameters, model.tokens) for model in vote.debate.models} == {(None, None), (None, 1e12)}


def test_a_figure_that_is_not_published_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistral 7B: its parameters are known, its tokens are not."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(
        SPEC.replace("Qwen/Qwen2.5-7B-Instruct", "mistralai/Mistral-7B-v0.1").replace(", tokens: 1.0e12", "")
    )
    with pytest.raises(SpecError, match=r"credibility needs the tokens of model qwen") as caught:
        compile_spec("x.yaml")
    assert "write models: {qwen: {tokens: NUMBER}}" in str(caught.value)
