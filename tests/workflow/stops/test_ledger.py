"""The ledger over whole runs: what an edited spec and removed files leave behind, in tables and in the report."""

from __future__ import annotations

import pytest

from cortexdsl.cli.main import main
from cortexdsl.report.text import terminal_report
from tests.workflow.bench import TWO_ALONE, Bench

ADDED = TWO_ALONE + "  - input_tokens(high) > input_tokens(low)\n"


@pytest.mark.workflow
def test_what_changed_after_the_first_call_stands_beside_the_verdicts(fresh: Bench) -> None:
    """A run; another with alpha, seed and claims changed; ledger and declaration removed."""
    results = fresh.results("late")

    def run(spec: str) -> tuple[list[dict[str, str]], str]:
        fresh.write("specs/late.yaml", spec)
        found = fresh.snakemake()
        assert found.status == 0, found.text
        return fresh.rows("late", "hypotheses.csv"), " ".join(terminal_report(results).split())

    rows, text = run(TWO_ALONE)
    assert [(row["declared"], row["changed"], row["exploratory"], row["runs"]) for row in rows] == [
        ("before the first call", "", "False", "1: seed 3")
    ]
    assert "Nothing changed after the first call." in text

    late = ADDED.replace("seed: 3", "seed: 4\nanalysis: {alpha: 0.2}")
    rows, text = run(late)
    changed = "seed: 3, then 4; alpha: 0.05, then 0.2"
    assert [(row["declared"], row["changed"], row["exploratory"], row["runs"]) for row in rows] == [
        ("before the first call", changed, "True", "2: seed 3, 4"),
        ("after the first call", changed, "True", "2: seed 3, 4"),
    ]
    said = "alpha: 0.05, then 0.2; claim added: input_tokens(high) > input_tokens(low)"
    assert said in text
    assert said.replace(">", "&gt;") in (results / "report.html").read_text(encoding="utf-8")
    assert "2. seed 4, a replication" in text

    assert main(["export", str(results), "--out", str(fresh.folder / "scores.jsonl")]) == 0
    assert (fresh.folder / "scores.ledger.jsonl").read_bytes() == (results / "ledger.jsonl").read_bytes()

    for name in ("ledger.jsonl", "declared.json"):
        (results / name).unlink()
    text = " ".join(terminal_report(results).split())
    assert "The record is broken: the ledger is missing, though calls were made" in text
    assert "Every verdict is exploratory." in text
    assert main(["verdict", str(results)]) == 0
    rows = fresh.rows("late", "hypotheses.csv")
    assert {row["declared"] for row in rows} == {"nothing was declared before the first call"}
    assert {row["exploratory"] for row in rows} == {"True"}
    assert "calls existed before this ledger" in " ".join(terminal_report(results).split())
