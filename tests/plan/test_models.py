"""Weights of models in the process, and models that a plan calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.forecast.warnings import models_of
from cortexdsl_tiny.folder import Folder
from tests.tiny.made import made

SPEC = """\
title: Small ones
dataset: {name: arithmetic, size: 3}
models:
  small: {model: tiny/MODEL, max_tokens: 20, temperature: 1.0PINNED}
agents:
  - {name: a, model: small}
  - {name: b, model: small}
methods:
  vote: {protocol: voting}
"""


def _spec(folder: Path, model: Path, pinned: str = "") -> str:
    path = folder / "small.yaml"
    path.write_text(SPEC.replace("MODEL", str(model)).replace("PINNED", pinned))
    return str(path)


def test_weights_are_part_of_a_cell_and_the_card_says_how_large_a_model_is(tmp_path: Path) -> None:
    model = made(tmp_path / "model")
    spec = _spec(tmp_path, model)
    plan = compile_spec(spec)
    agent = plan.cells[0].debate.role_agents["debater"][0]
    assert agent.model.options["weights"] == Folder(model).digest
    assert agent.model.parameters == Folder(model).config.parameters
    assert agent.model.tokens == 1000
    made(model, seed=2)
    again = compile_spec(spec)
    assert again.cells[0].digest != plan.cells[0].digest
    made(model, seed=1)
    assert compile_spec(spec).cells[0].digest == plan.cells[0].digest


def test_a_missing_folder_is_wrong_where_it_is_named_unless_the_spec_names_the_weights(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"small\.yaml:4:18: .*nowhere is not a folder"):
        compile_spec(_spec(tmp_path, tmp_path / "nowhere"))
    plan = compile_spec(_spec(tmp_path, tmp_path / "nowhere", ", options: {weights: 0123456789abcdef}"))
    assert plan.cells[0].debate.role_agents["debater"][0].model.options["weights"] == "0123456789abcdef"


def test_other_weights_than_the_spec_names_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the spec asks for 0123456789abcdef"):
        compile_spec(_spec(tmp_path, made(tmp_path / "model"), ", options: {weights: 0123456789abcdef}"))


def test_a_tiny_model_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no address, no key"):
        compile_spec(_spec(tmp_path, made(tmp_path / "model"), ", api_base: 'http://127.0.0.1:1/v1'"))


def test_a_grid_over_a_model_keeps_what_its_folder_says(tmp_path: Path) -> None:
    """Its weights, and its size, which CortexDebate's credibility needs and the spec leaves to the card."""
    folders = [made(tmp_path / name, seed=seed) for name, seed in (("one", 1), ("two", 2))]
    path = Path(_spec(tmp_path, folders[0]))
    text = path.read_text() + "  sparse: {protocol: cortexdebate}\n"
    path.write_text(f"{text}grid:\n  vote: {{models.small.temperature: [0.5]}}\n  sparse:\n    models.small.model:\n"
                    f"      - tiny/{folders[0]}\n      - tiny/{folders[1]}\n")  # fmt: skip
    plan = compile_spec(str(path))
    found = {cell.name: cell.debate.models[0] for cell in plan.cells}
    assert len(found) == 4  # the first folder is the method itself
    for name, model in found.items():
        folder = Folder(folders[1] if str(folders[1]) in name else folders[0])
        assert model.options["weights"] == folder.digest
        assert (model.parameters, model.tokens) == (folder.config.parameters, 1000)
    assert len({model.options["weights"] for model in found.values()}) == 2


def test_a_folder_that_a_grid_names_and_that_is_missing_is_wrong_where_it_is_named(tmp_path: Path) -> None:
    path = Path(_spec(tmp_path, made(tmp_path / "model")))
    path.write_text(path.read_text() + f"grid:\n  vote:\n    models.small.model: [tiny/{tmp_path / 'nowhere'}]\n")
    with pytest.raises(SpecError, match=r"small\.yaml:12:26: .*nowhere is not a folder"):
        compile_spec(str(path))


TOOL = """\
title: A tool
dataset: {name: arithmetic, size: 2}
models: {far: {model: openai/far, api_base: "http://127.0.0.1:9"}}
agents: [{name: ann, model: far}]
tools: {sums: {tool: calculator}}
protocols:
  helped:
    roles: {debater: everyone, helper: {tool: sums}}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      ask: {role: helper, hears: nobody, prompt: common/answer.j2, reads: summary}
    schedule: [answer, ask]
    decide: majority
methods: {helped: {protocol: helped}}
"""


def test_tools_are_not_called_as_models(tmp_path: Path) -> None:
    """A tool has neither an address nor a context window: `check --online` asks only the model."""
    (tmp_path / "tool.yaml").write_text(TOOL)
    assert [model.name for model in models_of(compile_spec(str(tmp_path / "tool.yaml")))] == ["far"]
