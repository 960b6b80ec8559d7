"""What people write because other tools call it so is refused in one sentence, with its place and the line to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.language.grammar.experiment import json_schema
from cortexdsl.language.grammar.guesses import GUESSES
from tests.language.sheets import load_cells, told_at_mark

SPEC = """\
dataset: {name: arithmetic, size: 5}
models:
  m: {model: builtin/solver}
agents:
  - {name: ann, model: m}
  - {name: bob, model: m}
protocols:
  own:
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: debater, hears: everyone, prompt: multi-llm/revise.j2}
    schedule: [answer, {repeat: 2, until: consensus, do: [revise]}]
    decide: majority
methods:
  debate: {protocol: debate}
  own: {protocol: own}
"""
AGENTS = "  - {name: ann, model: m}\n  - {name: bob, model: m}\n"

# what is replaced, by what (^ where the message points to), what is wrong, what to write
GUESSED = [
    ("until: consensus", "^while: not consensus", "unknown key protocols.own.schedule[2].while", "write "),
    ("until: consensus", "^when: not consensus", "unknown key protocols.own.schedule[2].when", "write "),
    ("protocol: debate", "protocol: debate, ^while: not consensus", "no setting while", "write until: consensus, or"),
    ("protocol: debate", "protocol: debate, ^when: x", "debate has no setting when", "write until: consensus, or"),
    ("protocol: debate", "protocol: debate, ^hears: {ring: 1}", "no setting hears", "topology: {ring: 1}"),
    ("protocol: debate", "protocol: debate, ^metrics: [tau]", "setting metrics", "analysis: {metrics: [...]} at the"),
    ("protocol: debate", "protocol: debate, ^dataset: gsm8k", "setting dataset", "{name: gsm8k, size: 100} at the top"),
    ("protocol: debate", "protocol: debate, ^prompt_template: a", "prompt_template", "write prompts: {STEP: FILE}"),
    ("methods:\n", "^while: x\nmethods:\n", "unknown key while", "{NAME: {protocol: debate, until: consensus}}"),
    ("methods:\n", "^hears: everyone\nmethods:\n", "unknown key hears", "{protocol: debate, topology: everyone}"),
    ("methods:\n", "^prompt_template: a.j2\nmethods:\n", "prompt_template", "prompts: {STEP: a.j2}}}"),
    ("methods:\n", "^provider: openai\nmethods:\n", "unknown key provider", "{NAME: {model: openai/MODEL}}"),
    ("methods:\n", "^aggregator: majority\nmethods:\n", "unknown key aggregator", "decide: majority}}"),
    ("protocol: debate", "protocol: debate, ^n_rounds: 3", "debate has no setting n_rounds", "write rounds: 3"),
    ("protocol: debate", "protocol: debate, ^max_rounds: 3", "debate has no setting max_rounds", "write rounds: 3"),
    ("protocol: debate", "protocol: debate, ^num_agents: 3", "no setting num_agents", "write agents: [NAMES]"),
    ("protocol: debate", "protocol: debate, agents: ^3", "agents are named, not counted", "write agents: [NAMES]"),
    ("protocol: debate", "protocol: debate, ^aggregator: majority", "no setting aggregator", "decide: majority"),
    ("protocol: debate", "protocol: debate, ^graph: {ring: 1}", "no setting graph", "write topology: {ring: 1}"),
    ("protocol: debate", "protocol: debate, topology: ^ring", "ring needs a value", "write {ring: k}"),
    ("protocol: own", "protocol: own, ^graph: {ring: 1}", "no setting graph", "write topology: {ring: 1}"),
    ("decide: majority", "^aggregate: majority", "unknown key protocols.own.aggregate", "write decide: majority"),
    ("decide: majority", "^vote: majority", "unknown key protocols.own.vote", "write decide: majority"),
    ("hears: everyone", "^topology: everyone", "steps.revise.topology", "write hears: everyone"),
    ("prompt: common/answer.j2", "^prompt_template: a.j2", "answer.prompt_template", "write prompt: a.j2"),
    ("{model: builtin/solver}", "{^provider: openai, model: gpt}", "models.m.provider", "model: openai/NAME"),
    ("{model: builtin/solver}", "{^llm: openai/gpt}", "unknown key models.m.llm", "write model: openai/gpt"),
    ("{name: ann, model: m}", "{name: ann, ^llm: m}", "unknown key agents[1].llm", "write model: m"),
    ("{name: ann, model: m}", "{name: ann, model: m, ^system_prompt: hi}", "system_prompt", "write persona: hi"),
    ("{name: arithmetic, size: 5}", "^gsm8k", "dataset is 'gsm8k'", "write {name: gsm8k, size: 100}"),
    (f"agents:\n{AGENTS}", "agents: ^5\n", "agents are listed, each with a name", "[{name: ann, model: NAME}, ...]"),
    (f"agents:\n{AGENTS}", "agents: ^[ann, bob]\n", "agents are listed, each with", "[{name: ann, model: NAME}"),
    (f"agents:\n{AGENTS}", "agents: ^{ann: m}\n", "agents are a list", "write [{name: ann, model: m}]"),
    ("methods:\n", "^metrics: [accuracy]\nmethods:\n", "unknown key metrics", "write analysis: {metrics: [...]}"),
    ("methods:\n", "^num_agents: 5\nmethods:\n", "unknown key num_agents", "one entry for each agent"),
    ("methods:\n", "^rounds: 5\nmethods:\n", "unknown key rounds", "methods: {NAME: {protocol: debate, rounds: 5}}"),
    ("methods:\n", "analysis: {^stop: decided}\nmethods:\n", "unknown key analysis.stop", "write stopping: {min"),
    ("protocol: debate", "protocol: debate, ^judge: m", "no setting judge", "roles: {judge: {model: m}}"),
    ("hears: everyone", "hears: {random: ^1}", "heard with this probability", "write {weight: random, keep: {top: 1}}"),
    ("hears: everyone", "hears: {ring: 1, ^weight: differs}", "hears.weight", "write {topology: {ring: ...}, where"),
    ("hears: everyone", "hears: {ring: 1, ^topology: everyone}", "hears.topology", "write {topology: {ring: ...}, wh"),
    ("hears: everyone", "hears: {^star: ann}", "hears.star", "write {networkx: star_graph, n: 3}, where n counts"),
    ("hears: everyone", "hears: ^star", "there is no role star", "write hears: {networkx: star_graph, n: 3}"),
    ("hears: everyone", "hears: {edges: ^[ann, bob]}", "an edge is a pair of agents", "{edges: [[ann, bob], ...]}"),
    ("until: consensus", "until: ^{consensus: 0.8}", "until is", "write until: agreement >= 0.8"),
    ("decide: majority", "decide: ^{majority: {weight: confidence}}", "decide is", "write decide: weighted"),
    ("decide: majority", "decide: ^{majority: {weight: round}}", "decide is", "write decide: {vote: last * (round)}"),
    ("decide: majority", "decide: ^{weight: confidence}", "decide is", "write decide: {vote: last * (confidence)}"),
    ("decide: majority", "decide: ^{highest: confidence}", "decide is", "write decide: majority, and {choose: debater"),
    ("decide: majority", "decide: ^revise", "there is no role revise", "write decide: debater, the role of this step"),
    ("prompt: common/answer.j2", "^answer: none, prompt: a.j2", "answer.answer", "write reads: comment, if"),
    ("prompt: common/answer.j2", "reads: ^none, prompt: a.j2", "reads is none", "write reads: comment"),
    ("{protocol: own}", "{protocol: ^mad}", "there is no protocol mad", "write protocol: debate"),
    ("{protocol: own}", "{protocol: own}\ngrid: {own: {^temperature: [0]}}", "axis", "write models.NAME.temperature"),
    ("methods:\n", "^temperature: 0.7\nmethods:\n", "unknown key temperature", "models: {NAME: {temperature: 0.7}}"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "what", "remedy"), GUESSED)
def test_a_guess_is_answered_in_one_sentence(old: str, new: str, what: str, remedy: str, tmp_path: Path) -> None:
    assert old in SPEC
    told = told_at_mark(tmp_path, SPEC.replace(old, new, 1))
    assert what in told.what
    assert remedy in told.remedy


def test_no_guess_is_a_word_of_the_language() -> None:
    """A word that exists is never answered as a guess, so the table must not hold it."""
    specs, protocols = json_schema("spec"), json_schema("protocol")
    forms = {**specs["$defs"], **protocols["$defs"], "SpecText": specs, "ProtocolText": protocols}
    for place, guesses in GUESSES.items():
        if place[0].isupper():
            assert not {*guesses} & {*forms[place]["properties"]}, place


GRID = SPEC + "grid: {debate: {topology: [everyone, {edges: [[ann, bob]]}, {random: 0.5}], rounds: [1, 2]}}\n"


@pytest.mark.parametrize("value", ["random-0.5", "random: 0.5", "{random: 0.5}"])
def test_a_claim_names_a_graph_of_a_grid_as_the_spec_writes_it(value: str, tmp_path: Path) -> None:
    claim = f"accuracy(debate[topology={value}, rounds=1]) > accuracy(own)"
    assert load_cells(tmp_path, f"{GRID}hypotheses: ['{claim}']\n")


@pytest.mark.parametrize(
    ("claim", "what", "remedy"),
    [
        ("'accuracy(debate[topology=random, rounds=1]) > 0.5'", "there is no", "write debate[topology=random-0.5, rou"),
        ("'accuracy(debate[rounds=2, topology=random]) > 0.5'", "there is no", "topology=random-0.5, rounds=2]"),
        (
            "'accuracy(debate[topology=everyone]) > 0.5'",
            "no method",
            "rounds=1] or debate[topology=everyone, rounds=2]",
        ),
        (
            "accuracy(debate[topology=random: 0.5]) > 0.5",
            "holds `: `",
            "'accuracy(debate[topology=random: 0.5]) > 0.5'",
        ),
    ],
)
def test_a_claim_about_a_cell_that_is_named_in_part_is_answered(
    claim: str, what: str, remedy: str, tmp_path: Path
) -> None:
    told = told_at_mark(tmp_path, f"{GRID}hypotheses:\n  - ^{claim}\n")
    assert what in told.what
    assert remedy in told.remedy
