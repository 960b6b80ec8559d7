"""What was declared stays to be seen: each way of changing it after the first call, and of hiding that, by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import Usage
from cortexdsl.jobs.verdict import AFTER, BEFORE, NEVER, with_history
from cortexdsl.models.spending import SpendingLedger
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import binding_changes, changes, declaration_of
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import LATE, declare, record_verdicts
from cortexdsl.plan.record import PlanRecord, parse_plan
from cortexdsl.report.phrasing.ledger import change_of, read_history, runs_in_words
from tests.plan.specs import SPEC, plan

CLAIM, OTHER = "accuracy(a) > accuracy(b)", "accuracy(b) > accuracy(c)"
FIRST: dict[str, Any] = {
    "seed": 1, "replicates": 1, "alpha": 0.05, "correction": "holm", "judge": None, "metrics": ["accuracy"],
    "families": {"main": {"compare": ["a"], "to": "b", "correction": "holm"}},
    "datasets": {"sums": {"name": "arithmetic", "questions": 100, "digest": "x"}},
    "cells": {"a": "1", "b": "2", "c": "3"}, "prompts": {"p.j2": "1"}, "stopping": None, "claims": [CLAIM],
}  # fmt: skip
VERDICT = {"claim": CLAIM, "verdict": "supported", "estimate": 0.1, "p_adjusted": 0.01}


def recorded(changes: Mapping[str, Any]) -> PlanRecord:
    """The plan that declares `FIRST`, changed."""
    families = [{"name": name, **family} for name, family in FIRST["families"].items()]
    first = {word: FIRST[word] for word in ("seed", "replicates", "metrics")}
    return parse_plan({**first, "experiment": "e", "families": families, "hypotheses": [CLAIM], **changes})


def _called(folder: Path) -> Layout:
    """An experiment that declared `FIRST` and has made a call since."""
    layout = Layout(str(folder))
    declare(layout, FIRST)
    _call(folder)
    return layout


def _call(folder: Path) -> None:
    (folder / "calls").mkdir()
    (folder / "calls" / "one.jsonl").write_text("{}\n")


def test_claims_may_change_until_the_first_call(tmp_path: Path) -> None:
    """A plan that was never run binds nobody; both declarations are kept."""
    layout = Layout(str(tmp_path))
    declare(layout, FIRST)
    ledger = declare(layout, {**FIRST, "claims": [OTHER]})
    assert (ledger.claims, ledger.since, len(ledger.entries)) == ((OTHER,), (), 2)
    assert json.loads(Path(layout.declared).read_text())["claims"] == [OTHER]


CASES = {
    "prompt": ({"prompts": {"p.j2": "2"}}, ["prompt changed: p.j2"]),
    "seed": ({"seed": 2}, ["seed: 1, then 2"]),
    "alpha": ({"alpha": 0.25}, ["alpha: 0.05, then 0.25"]),
    "correction": ({"correction": "none"}, ["correction: holm, then none"]),
    "replicates": ({"replicates": 3}, ["replicates: 1, then 3"]),
    "stopping": ({"stopping": {"fewest": 50, "batch": 50}}, ["stopping: none, then fewest 50 batch 50"]),
    "size": (
        {"datasets": {"sums": {"name": "arithmetic", "questions": 60, "digest": "y"}}},
        ["dataset sums: 100 questions, then 60"],
    ),
    "questions": (
        {"datasets": {"sums": {"name": "arithmetic", "questions": 100, "digest": "y"}}},
        ["dataset sums: other questions or golds"],
    ),
    "cell": ({"cells": {"a": "1", "b": "9", "d": "4"}}, ["cell added: d", "cell withdrawn: c", "cell changed: b"]),
    "family": ({"families": {}}, ["family withdrawn: main"]),
    "metric": ({"metrics": ["accuracy", "calls"]}, ["metric added: calls"]),
    "claims": ({"claims": [OTHER]}, [f"claim added: {OTHER}", f"claim withdrawn: {CLAIM}"]),
}


@pytest.mark.parametrize("change", CASES)
def test_what_changes_after_the_first_call_is_named(tmp_path: Path, change: str) -> None:
    """Each in words, once however often it is declared again; what was declared before stays declared."""
    new, said = CASES[change]
    layout = _called(tmp_path)
    ledger = [declare(layout, {**FIRST, **new}) for _ in range(2)][-1]
    assert list(ledger.since) == said
    assert len(ledger.entries) == 2
    assert ledger.entries[1].after_calls
    assert (ledger.claims, ledger.faults) == ((CLAIM,), ())


def test_taking_a_change_back_leaves_both_entries(tmp_path: Path) -> None:
    """Nothing differs now from what was declared, but that it did is kept."""
    layout = _called(tmp_path)
    for alpha in (0.25, 0.05):
        ledger = declare(layout, {**FIRST, "alpha": alpha})
    assert ledger.since == ()
    assert [entry.said for entry in ledger.entries[1:]] == [("alpha: 0.05, then 0.25",), ("alpha: 0.25, then 0.05",)]
    back = "alpha: 0.25, then 0.05. This is again what was declared before the first call"
    assert [change_of(entry, ledger) for entry in ledger.entries[1:]] == ["alpha: 0.05, then 0.25", back]


def test_another_seed_draws_other_questions_and_is_one_change() -> None:
    """A sample depends on the seed, so its digest says nothing new."""
    again = {**FIRST, "seed": 2, "datasets": {"sums": {"name": "arithmetic", "questions": 100, "digest": "z"}}}
    assert changes(FIRST, again) == ["seed: 1, then 2"]


def test_a_verdict_is_bound_by_what_it_depends_on() -> None:
    """Its own cells, error, correction, questions: neither other cells nor metrics, nor the seed."""
    said = ["seed: 1, then 2", "alpha: 0.05, then 0.25", "cell changed: b", "cell changed: c", "cell added: d",
            "metric added: calls", "dataset sums: 100 questions, then 60"]  # fmt: skip
    assert binding_changes(said, ["a", "b"]) == ["alpha: 0.05, then 0.25", "cell changed: b", said[-1]]


@pytest.mark.parametrize("removed", [["ledger"], ["declared"], ["ledger", "declared"]])
def test_nothing_can_be_declared_anew_where_calls_exist(tmp_path: Path, removed: list[str]) -> None:
    """Whoever removes the ledger is left with one that begins by saying that calls were there before it."""
    layout = _called(tmp_path)
    for name in removed:
        Path(getattr(layout, name)).unlink()
    if "ledger" in removed:
        assert "the ledger is missing, though calls were made" in read_journal(layout).faults
    ledger = declare(layout, {**FIRST, "claims": [OTHER]})
    assert OTHER not in ledger.claims
    if "ledger" in removed:
        assert (ledger.entries[0].said, ledger.claims) == ((LATE,), ())
    else:
        assert (ledger.claims, ledger.faults) == ((CLAIM,), ())


def test_nothing_can_be_declared_anew_once_verdicts_were_given(tmp_path: Path) -> None:
    """Calls and debates removed, the claim turned round, the same run again: it once stood as declared before it."""
    layout = _called(tmp_path)
    record_verdicts(layout, 1, [{**VERDICT, "verdict": "contradicted"}], "questions: 100 of sums")
    shutil.rmtree(tmp_path / "calls")
    ledger = declare(layout, {**FIRST, "claims": [OTHER]})
    assert (ledger.claims, ledger.entries[-1].after_calls) == ((CLAIM,), True)
    assert json.loads(Path(layout.declared).read_text())["claims"] == [CLAIM]


def test_calls_that_were_paid_were_made_though_their_logs_are_gone(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path))
    declare(layout, FIRST)
    account = SpendingLedger(Path(layout.spent))
    with account.entry():  # a job that has asked nothing yet binds nobody
        pass
    assert declare(layout, {**FIRST, "claims": [OTHER]}).claims == (OTHER,)
    with account.entry() as book:
        book(Usage(attempts=1))
    account.close()
    assert declare(layout, FIRST).claims == (OTHER,)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: [lines[0].replace("0.05", "0.25"), *lines[1:]], "line 1 of the ledger was edited"),
        (lambda lines: [lines[0], *lines[2:]], "line 2 of the ledger does not continue the line before it"),
        (lambda lines: [*lines[:2], lines[2][:-20]], "line 3 of the ledger is cut off"),
        (lambda lines: ["[1]", *lines[1:]], "line 1 of the ledger is not an entry"),
        (lambda lines: lines[1:], "the ledger lacks the entry that was written before the first call"),
    ],
    ids=["edited", "left out", "cut off", "replaced", "begins later"],
)
def test_a_ledger_that_was_tampered_with_says_where(tmp_path: Path, spoil: object, said: str) -> None:
    """And goes on saying so after the next entry."""
    layout = _called(tmp_path)
    for seed in (2, 3):
        declare(layout, {**FIRST, "seed": seed})
    path = Path(layout.ledger)
    path.write_text("\n".join(spoil(path.read_text().splitlines())) + ("" if "cut off" in said else "\n"))  # type: ignore[operator]
    assert said in read_journal(layout).faults
    assert said.replace("cut off", "not an entry") in declare(layout, {**FIRST, "seed": 4}).faults


def test_entries_cut_from_the_end_are_missed_beside_the_plan_and_the_verdicts(tmp_path: Path) -> None:
    """A chain without its end is whole; what lies beside it is not in it."""
    layout = _called(tmp_path)
    declare(layout, {**FIRST, "alpha": 0.25})
    seal = record_verdicts(layout, 1, [VERDICT], "questions: 100").seal
    Path(layout.hypotheses).write_text(f"claim,ledger\n{CLAIM},{seal}\n")
    record = recorded({"analysis": {"alpha": 0.25, "correction": "holm"}})
    assert not any("broken" in sentence for sentence in read_history(tmp_path, record).said)
    lines = Path(layout.ledger).read_text().splitlines()
    Path(layout.ledger).write_text(lines[0] + "\n")
    said = " ".join(read_history(tmp_path, record).said)
    assert "the plan here is not the last one in the ledger (alpha: 0.05, then 0.25)" in said
    assert "entries at the end of the ledger are missing: hypotheses.csv names one" in said


def test_a_rerun_with_another_seed_is_another_run(tmp_path: Path) -> None:
    """Both runs are kept with their verdicts; verdicts given again on the same are no run."""
    layout = _called(tmp_path)
    for _ in range(2):
        record_verdicts(layout, 1, [VERDICT], "questions: 100 of sums")
    declare(layout, {**FIRST, "seed": 2})
    ledger = record_verdicts(layout, 2, [{**VERDICT, "verdict": "undecided"}], "questions: 100 of sums")
    assert [run.seed for run in ledger.runs] == [1, 2]
    said = read_history(tmp_path, recorded({"seed": 2})).said
    assert said[1] == "After the first call: run again with seed 2 after results existed."
    assert said[2:-1] == (
        "Verdicts were given 2 times, with seeds 1, 2:",
        "1. seed 1: questions: 100 of sums (1 supported).",
        "2. seed 2: questions: 100 of sums (1 undecided).",
    )


def test_the_same_verdict_on_the_same_debates_is_no_replication(tmp_path: Path) -> None:
    """Another claim was added and removed between the verdicts: the seed and the debates stayed."""
    layout = _called(tmp_path)
    for claims in ([VERDICT], [VERDICT, {**VERDICT, "claim": OTHER}], [VERDICT]):
        declare(layout, {**FIRST, "claims": [str(verdict["claim"]) for verdict in claims]})
        ledger = record_verdicts(layout, 1, claims, "questions: 100 of sums")
    assert runs_in_words(ledger, CLAIM, "supported") == ""
    ledger = record_verdicts(layout, 2, [VERDICT], "questions: 100 of sums")
    assert runs_in_words(ledger, CLAIM, "supported") == "in all 2 runs (with seeds 1 and 2)"
    ledger = record_verdicts(layout, 1, [{**VERDICT, "verdict": "undecided"}], "questions: 120 of sums")
    assert runs_in_words(ledger, CLAIM, "undecided").startswith("in 1 of 3 runs")


def test_an_earlier_version_s_declaration_is_taken_over(tmp_path: Path) -> None:
    """Its file held claims alone, made before the run."""
    layout = Layout(str(tmp_path))
    Path(layout.declared).write_text(json.dumps({"schema_version": 1, "claims": [CLAIM], "claims_digest": ""}))
    _call(tmp_path)
    ledger = declare(layout, {**FIRST, "claims": [CLAIM, OTHER]})
    assert (ledger.claims, ledger.since, ledger.faults) == ((CLAIM,), (f"claim added: {OTHER}",), ())
    said = " ".join(read_history(tmp_path, recorded({"hypotheses": [CLAIM, OTHER]})).said)
    assert "Of this the claims alone are sure: an earlier version" in said


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    """Sixteen jobs that declare one of two things at once: a whole chain, in which each entry differs from the last."""
    layout = _called(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: declare(layout, {**FIRST, "alpha": 0.25 if k % 2 else 0.05}), range(16)))
    ledger = read_journal(layout)
    assert ledger.faults == ()
    alphas = [entry.declaration["alpha"] for entry in ledger.entries]
    assert all(a != b for a, b in pairwise(alphas))


def test_hypotheses_say_their_history(tmp_path: Path) -> None:
    """Declared, added later, and what changed for each; a table from elsewhere has empty columns."""
    found = pd.DataFrame({"claim": [CLAIM, OTHER], "verdict": ["supported"] * 2, "exploratory": [False, True]})
    assert with_history(found, read_journal(Layout(str(tmp_path))), ()).iloc[0, 3:].tolist() == [""] * 4
    layout = _called(tmp_path)
    declare(layout, {**FIRST, "claims": [CLAIM, OTHER], "cells": {"a": "1", "b": "2", "c": "9"}})
    arms = cells_of("abc")
    shown = with_history(found, record_verdicts(layout, 1, [VERDICT], ""), arms)
    assert shown["declared"].tolist() == [BEFORE, AFTER]
    assert shown["changed"].tolist() == ["", "cell changed: c"]
    assert shown["exploratory"].tolist() == [False, True]
    assert shown["runs"].tolist() == ["1: seed 1 supported", "0"]
    declare(layout, {**FIRST, "alpha": 0.25})
    assert with_history(found, read_journal(layout), arms)["exploratory"].tolist() == [True, True]
    Path(layout.ledger).unlink()
    Path(layout.declared).unlink()
    assert with_history(found, declare(layout, FIRST), arms)["declared"].tolist() == [NEVER] * 2


def test_a_declaration_holds_what_the_spec_says(tmp_path: Path) -> None:
    """The seed is one change, a setting or prompt changes its cells alone."""
    first = declaration_of(plan(tmp_path))
    assert first["claims"] == ["accuracy(sparse) > accuracy(full)"]
    edits = {
        "seed: 3": ("seed: 4", ["seed: 3, then 4"]),
        "size: 6": ("size: 5", ["dataset arithmetic: 6 questions, then 5"]),
        "multi-llm, rounds: 1": ("multi-llm, rounds: 2", ["cell changed: full", "cell changed: matched"]),
        "replicates: 2": ("replicates: 1", ["replicates: 2, then 1"]),
    }
    for old, (new, said) in edits.items():
        assert changes(first, declaration_of(plan(tmp_path, SPEC.replace(old, new)))) == said
    assert changes(first, declaration_of(plan(tmp_path, part="Think again."))) == [
        "cell changed: near",
        "prompt changed: own/answer.j2",
    ]
