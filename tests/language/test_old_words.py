"""Each word of an earlier version of the language is refused with its place and the line to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import cortexdsl.language.grammar.experiment  # noqa: F401 - imports every class of the grammar
from cortexdsl.expressions.names import NAMES
from cortexdsl.expressions.spellings import FORMER, FORMER_PARTS
from cortexdsl.language.grammar import old_words
from cortexdsl.language.grammar.entries import StrictEntry
from tests.language.sheets import place, problems

SPEC = """\
dataset: {name: arithmetic, size: 9}
models: {small: {model: builtin/solver}}
agents: [{name: ann, model: small}, {name: bob, model: small}]
methods: {talk: {protocol: talk}}
protocols:
  talk:
    roles: {debater: everyone}
    PROTOCOL
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: debater, hears: everyone, STEP prompt: multi-llm/revise.j2}
    schedule: [answer, {repeat: 2, LOOP do: [revise]}]
    DECIDE
"""
WRITTEN = [  # where, what is written there (^ marks the place of the message), the line to write
    ("PROTOCOL", "^passes: answer", "write quote: answer"),
    ("PROTOCOL", "^debaters: debater", "write voters: debater"),
    ("PROTOCOL", "^fallback: none", "write decide: [RULE, none]"),
    ("STEP", "^draws: 3", "write samples: 3"),
    ("STEP", "hears: {^role: debater}", "write hears: debater"),
    ("STEP", "hears: {^sparse: {weight: differs, within: {ring: 1}}}", "write {weight: differs, topology: {ring: 1}}"),
    ("STEP", "hears: {where: differs, ^within: {ring: 1}}", "write topology: {ring: 1}"),
    (
        "STEP",
        "hears: {weight: confidence, keep: {top: 1, ^above: 0.5}}",
        "write where: WEIGHT > 0.5, beside weight and keep",
    ),
    ("STEP", "^placebo: own", "write placebo: {STEP: own} in the method"),
    ("STEP", "model: ^{name: small, temperature: 0.9}", "write temperature: 0.9 in the step, beside model"),
    ("STEP", "model: ^{max_tokens: 9}", "write models: {NAME: {max_tokens: 9}}, and model: NAME"),
    ("PROTOCOL", "^ends: {rounds: 3}", "write repeat: and the rounds after the opening, in the schedule"),
    ("PROTOCOL", "^participation: spoken", "write nothing: participation counts this"),
    ("PROTOCOL", "recalibration: ^{bins: [{from: 0, to: 1, value: keep}]}", "write recalibration: {0: keep}"),
    ("STEP", "with: ^{pool: [wiki]}", "write knowledge: [wiki]"),
    ("STEP", "shows: {step: answer, ^about: me}", "write shows: about_me"),
    ("STEP", "^own: history", "write memory: all"),
    ("STEP", "memory: ^latest", "write memory: last"),
    ("STEP", "^tells: [latest, about_me]", "write shows: [last, about_me]"),
    ("DECIDE", "decide: ^{last: judge, else: majority}", "write decide: [ROLE, majority]"),
    ("DECIDE", "decide: ^{last: debater}", "write decide: debater"),
    ("DECIDE", "decide: ^{pool: linear}", "write decide: weighted, which sums confidences"),
    ("DECIDE", "decide: {vote: last, ^fallback: none}", "write decide: [{vote: EXPRESSION}, none]"),
    ("LOOP", "^unless: agreed", "write if: not (approved)"),
    ("LOOP", "until: ^agreed", "write approved"),
    ("LOOP", "until: ^mean(changes) > 1", old_words.GONE_NAMES["changes"]),
    ("LOOP", "until: ^any(changed and not agreed)", "write any((answer != before(answer)) and not approved)"),
    ("LOOP", "until: ^mean(peer_score(answer)) > 0.5", "write mean(mean_score(answer)) > 0.5"),
]


def _classes(kind: type[StrictEntry] = StrictEntry) -> Iterator[type[StrictEntry]]:
    for below in kind.__subclasses__():
        yield below
        yield from _classes(below)


def test_an_old_key_is_not_accepted_anywhere() -> None:
    by_name = {kind.__name__: kind for kind in _classes()}
    for entry, keys in old_words.KEYS.items():
        if entry[0].isupper():
            assert not set(keys) & {field.alias or name for name, field in by_name[entry].model_fields.items()}, entry


def test_an_old_name_has_a_value_nowhere() -> None:
    """Rules of labels had none before, so that `changed` is new there."""
    old = {*FORMER.values(), *FORMER_PARTS.values(), *old_words.GONE_NAMES}
    assert not old & {name for kind, names in NAMES.items() if kind != "label" for name in names}


@pytest.mark.parametrize(("where", "written", "line"), WRITTEN)
def test_an_old_word_is_answered_at_its_place(tmp_path: Path, where: str, written: str, line: str) -> None:
    spec = SPEC.replace("hears: everyone, ", "") if written.startswith("hears") else SPEC
    text = spec.replace(where, written + ("," if where in ("STEP", "LOOP") else ""))
    text = text.replace("DECIDE", "decide: majority")
    for other in ("    PROTOCOL\n", "STEP ", "LOOP "):
        text = text.replace(other, "")
    before = text.partition("^")[0]
    (problem,) = problems(tmp_path, text.replace("^", ""))
    assert place(problem) == f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert problem.remedy == line
