"""A digest changes when, and only when, what it stands for can change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cortexdsl.core import Agent, Bin, Model
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.plan import digests
from cortexdsl.plan.digests import COVERED, Coverage, digest
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest, score_digest
from tests.plan.specs import PROMPT, SPEC, plan

FIRST = {
    "cortexdebate": "1cbf9d743d9e6789", "group": "5f4a64ec1850860e", "madke": "398d68084fa41786",
    "reconcile": "8f799e6d380120fc", "acc": "32337c6c663c5cef", "chateval": "b723aa5e3746cd9d",
    "peer-review": "94ac28bd926bfc0a", "self-consistency": "c8363ece207133b5",
}  # fmt: skip
"""Digests of methods as before the later words of the language; `group` counts its rounds in its schedule now."""


@pytest.mark.parametrize("protocol", FIRST)
def test_later_words_leave_finished_cells_finished(protocol: str) -> None:
    model = Model("m", "fake/m", parameters=7e9, tokens=1e12)
    team = tuple(Agent(f"a{k}", model) for k in range(4))
    method = resolve(load_protocol(protocol), MethodChoice("methods.x", parse("{}", "x.yaml"), team))
    assert digest(method) == FIRST[protocol]


@pytest.mark.parametrize(("until", "depends"), [("dollars > 0.01", True), ("tokens > 100", False)])
def test_prices_belong_to_debates_that_count_dollars_alone(tmp_path: Path, until: str, depends: bool) -> None:
    """A price that a provider changes costs no debate again, unless the debate ends by what it has cost."""
    first, second = (
        plan(
            tmp_path,
            f"""\
seed: 5
dataset: {{name: arithmetic, size: 4}}
models: {{m: {{model: builtin/solver, price: {{input: 1, output: {output}}}}}}}
agents: [{{name: a, model: m}}, {{name: b, model: m}}]
methods: {{full: {{protocol: debate, until: {until}}}}}
limits: {{dollars: 5}}
""",
        )
        .cells[0]
        .digest
        for output in (2, 3)
    )
    assert (first != second) == depends


REWRITTEN = """\
seed: 5
dataset: {name: arithmetic, size: 60}
models:
  m: {model: builtin/solver, parameters: 1e9, tokens: 1e12}
agents: [{name: a, model: m}, {name: b, model: m}, {name: c, model: m}]
teams: {pair: [a, b], three: [a, a, b]}
methods:
  full: {protocol: multi-llm, rounds: 2, memory: last}
  pair: {extends: full, agents: pair}
  calls: {protocol: self-consistency, agents: [a], budget: calls(full)}
  grown: {protocol: moa, budget: compute(full), grow: layers}
  modes: {protocol: eot, topology: relay}
grid: {full: [{rounds: [1, 3]}, {agents: [pair, three]}]}
"""
BY_0_2_0 = {
    "full": "448ca4e827c1e933", "full[rounds=1]": "15a1223c323c24cd", "full[rounds=3]": "b147fb2007ebf7a4",
    "full[agents=pair]": "f8f01e62194db4cc", "full[agents=three]": "17ffc712bcf513e1", "calls": "52e10ab3947ef1ee",
    "grown": "10f66733c82b3616", "modes": "c5db05e1a1f6e509",
}  # fmt: skip
"""Digests of the same spec in the words of 0.2.0: `own`, `like`, `team`, `match`, `graph: {where: ...}` and `vary`."""


def test_a_spec_rewritten_word_by_word_keeps_its_digests(tmp_path: Path) -> None:
    assert {cell.name: cell.digest for cell in plan(tmp_path, REWRITTEN).cells} == BY_0_2_0


CELLS = ("sparse", "sparse[keep=top-1]", "full", "near", "matched")


def debates(found: Plan) -> dict[str, str]:
    """Digest of the first debate job of each cell."""
    return {cell.name: debate_digest(found, "arithmetic", cell.slug, "r1-s01") for cell in found.cells}


def changed(before: Plan, after: Plan) -> set[str]:
    one, other = debates(before), debates(after)
    return {cell for cell in one if other.get(cell) != one[cell]}


@pytest.mark.parametrize(
    ("old", "new", "cells"),
    [
        ("title: Small", "title: Large", ()),
        ("accuracy(sparse) > accuracy(full)", "accuracy(full) > accuracy(sparse)", ()),
        ("compare: grid, to: sparse", "compare: grid, to: full", ()),
        ("replicates: 2", "replicates: 3", ()),
        ("hypotheses:", "limits: {calls: 10, connections: 3}\nhypotheses:", ()),
        ("7.0e9,", "7_000_000_000,", ()),
        ("tokens: 15e12}", "tokens: 15e12, price: {input: 1, output: 2}}", ()),
        ("rounds: 2}", "rounds: 3}", ("sparse", "sparse[keep=top-1]")),
        ("full:    {protocol: multi-llm, rounds: 1}", "full:    {protocol: multi-llm, rounds: 2}", ("full", "matched")),
        ("budget: calls(full)", "budget: tokens(full)", ("matched",)),
        ("skill: 0.7", "skill: 0.71", CELLS),
        ("skill: 0.4", "skill: 0.41", CELLS),
        ("7.0e9", "7.1e9", CELLS),
        ("name: one, model: weak", "name: one, model: weak, persona: bold", CELLS),
        ("seed: 3", "seed: 4", CELLS),
        ("size: 6", "size: 7", CELLS),
    ],
)  # fmt: skip
def test_an_edit_changes_the_digests_of_the_debates_that_it_can_change(
    small: Plan, tmp_path: Path, old: str, new: str, cells: tuple[str, ...]
) -> None:
    """Worked out from what each cell is made of; `matched` draws on `full`, and a third agent is in every cell."""
    assert old in SPEC
    assert changed(small, plan(tmp_path, SPEC.replace(old, new))) == set(cells)


def test_a_model_entry_may_not_be_renamed_unseen(small: Plan, tmp_path: Path) -> None:
    """Its name stands in every record."""
    renamed = SPEC.replace("strong", "mighty")
    assert changed(small, plan(tmp_path, renamed)) == set(CELLS)


def test_a_prompt_counts_with_what_it_includes_in_the_cells_that_use_it(small: Plan, tmp_path: Path) -> None:
    """`near` alone has a prompt of its own, which includes a part."""
    before = small
    assert changed(before, plan(tmp_path, prompt=PROMPT + "!")) == {"near"}
    assert changed(before, plan(tmp_path, part="Think twice.")) == {"near"}


def test_a_model_that_only_embeds_counts_for_the_cells_that_compare_by_it(tmp_path: Path) -> None:
    """The similarity of `sparse` and its grid point is asked of the entry `other`."""
    text = SPEC.replace("agents:", "  other: {model: openai/embed, api_base: env:HERE}\nagents:", 1)
    text = text.replace("rounds: 2}", "rounds: 2, similarity: other}") + "limits: {calls: 1}\n"
    after = plan(tmp_path, text.replace("openai/embed", "openai/embed-2"))
    assert changed(plan(tmp_path, text), after) == {"sparse", "sparse[keep=top-1]"}


def test_scores_look_at_no_word_that_is_for_readers(small: Plan, tmp_path: Path) -> None:
    """Neither title nor claims nor families; but at replicates, whose rows would be missing or too many."""
    before = small
    for old, new in (("title: Small", "title: B"), ("> accuracy(full)", "> accuracy(near)"), ("to: full", "to: near")):
        after = plan(tmp_path, SPEC.replace(old, new).replace("compare: [sparse, near, matched], to: near",
                                                              "compare: [sparse, matched], to: near"))  # fmt: skip
        assert after.digest != before.digest
        assert score_digest(after, "arithmetic", "full") == score_digest(before, "arithmetic", "full")
    fewer = plan(tmp_path, SPEC.replace("replicates: 2", "replicates: 1"))
    assert score_digest(fewer, "arithmetic", "full") != score_digest(before, "arithmetic", "full")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hypotheses:", "limits: {calls: 10}\nhypotheses:"),
        ("tokens: 15e12}", "tokens: 15e12, price: {input: 1, output: 2}}"),
        ("title: Small", "title: Large"),
        ("size: 6", "size: 5"),
    ],
)
def test_the_plan_is_written_anew_whenever_anything_in_it_changes(
    small: Plan, tmp_path: Path, old: str, new: str
) -> None:
    """Limits, prices and assumptions of the estimate stand in plan.json, too."""
    assert plan(tmp_path, SPEC.replace(old, new)).digest != small.digest


def test_the_digest_of_a_value_is_that_of_its_meaning() -> None:
    """The order of a mapping's keys says nothing, the order of a list does; 16 hexadecimal digits."""
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) != digest([2, 1])
    assert digest("1") != digest(1)
    assert len(digest(None)) == 16
    with pytest.raises(TypeError, match="set has no digest"):
        digest({1})


@dataclass(frozen=True)
class Renamed:
    """`Bin` under another name, with one field renamed and one more."""

    low: float
    high: float
    becomes: float | None
    low_open: bool = False
    high_closed: bool = False
    more: int = 0


def test_a_renamed_class_and_field_keep_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = Coverage("Bin", "low high value=becomes low_open high_closed", later="more")
    monkeypatch.setattr(digests, "COVERED", {**COVERED, Renamed: coverage})
    assert digest(Renamed(0.1, 0.2, 0.3)) == digest(Bin(0.1, 0.2, 0.3))
    assert digest(Renamed(0.1, 0.2, 0.3, more=1)) != digest(Bin(0.1, 0.2, 0.3))


@pytest.mark.parametrize("always", ["low high value=becomes low_open", "low high value=becomes low_open low_open"])
def test_a_field_that_no_coverage_names_is_an_error(monkeypatch: pytest.MonkeyPatch, always: str) -> None:
    """A field that is forgotten would leave finished debates finished although they mean something else."""
    monkeypatch.setattr(digests, "COVERED", {Renamed: Coverage("Bin", always, later="more")})
    digests._covered_fields.cache_clear()
    with pytest.raises(TypeError, match="does not name each field of Renamed once"):
        digest(Renamed(0.1, 0.2, 0.3))


def test_every_covered_class_names_its_fields() -> None:
    for kind in COVERED:
        digests._covered_fields(kind)
