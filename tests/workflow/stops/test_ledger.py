"""The ledger over whole runs: what edited specs, edited tables and removed files leave behind."""

from __future__ import annotations

import pytest

from cortexdsl.cli.main import main
from cortexdsl.report.terminal import terminal_report
from tests.workflow.bench import TWO_ALONE, Bench

ADDED = TWO_ALONE + "  - input_tokens(high) > input_tokens(low)\n"


@pytest.mark.workflow
def test_what_changed_after_the_first_call_stands_beside_the_verdicts(
    fresh: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run; another with alpha, seed and claims changed; ledger and declaration removed."""
    results = fresh.results("late")

    def run(spec: str) -> tuple[list[dict[str, str]], str]:
        fresh.write("specs/late.yaml", spec)
        found = fresh.snakemake()
        assert found.status == 0, found.text
        return fresh.rows("late", "hypotheses.csv"), " ".join(terminal_report(results).split())

    rows, text = run(TWO_ALONE)
    assert [(row["declared"], row["changed"], row["exploratory"], row["runs"]) for row in rows] == [
        ("before the first call", "", "False", "1: seed 3 supported")
    ]
    assert "Claims and comparisons were declared before the first call, and have not changed since." in text

    late = ADDED.replace("seed: 3", "seed: 4\nanalysis: {alpha: 0.2}")
    rows, text = run(late)
    changed = "seed: 3, then 4; alpha: 0.05, then 0.2"
    assert [(row["declared"], row["changed"], row["exploratory"], row["runs"]) for row in rows] == [
        ("before the first call", changed, "True", "2: seed 3 supported, seed 4 supported"),
        ("after the first call", changed, "True", "1: seed 4 undecided"),
    ]
    said = "alpha: 0.05, then 0.2; claim added: input_tokens(high) > input_tokens(low)"
    assert said in text
    assert said.replace(">", "&gt;") in (results / "report.html").read_text(encoding="utf-8")
    assert "run again with seed 4 after results existed" in text

    assert main(["export", str(results), "--out", str(fresh.folder / "scores.jsonl")]) == 0
    assert (fresh.folder / "scores.ledger.jsonl").read_bytes() == (results / "ledger.jsonl").read_bytes()

    for name in ("ledger.jsonl", "declared.json"):
        (results / name).unlink()
    text = " ".join(terminal_report(results).split())
    assert "The record is broken: the ledger is missing, though calls were made" in text
    assert "Every verdict is exploratory." in text
    monkeypatch.chdir(fresh.folder)
    assert main(["verdict", "results/late"]) == 0
    rows = fresh.rows("late", "hypotheses.csv")
    (declared,) = {row["declared"] for row in rows}
    assert declared.startswith("entries at the end of the ledger are missing: hypotheses.csv names one")
    assert {row["exploratory"] for row in rows} == {"True"}
    assert "entries at the end of the ledger are missing" in " ".join(terminal_report(results).split())


@pytest.mark.workflow
def test_edited_scores_are_made_again_by_a_run(fresh: Bench) -> None:
    """No verdict on them enters the ledger; the run says what it found, and gives the same bytes as before the edit."""
    results = fresh.results("edited")
    fresh.write("specs/edited.yaml", TWO_ALONE)
    assert fresh.snakemake().status == 0
    scores, ledger = results / "scores.csv", (results / "ledger.jsonl").read_bytes()
    whole = scores.read_bytes()
    scores.write_bytes(whole.replace(b",0.0,", b",1.0,").replace(b",0,", b",1,"))
    assert scores.read_bytes() != whole
    run = fresh.snakemake()
    assert run.status == 0
    assert "not as it was written, and made again: results/edited/scores.csv" in run.text
    assert (scores.read_bytes(), (results / "ledger.jsonl").read_bytes()) == (whole, ledger)
