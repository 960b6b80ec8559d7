"""Ways to cheat with a finished experiment, each done for real: what the verbs then say.

The experiment runs once, job by job (`tests.jobs.experiment`); each case gets a copy of its folder. A case changes what
a person could change, runs the jobs again if the cheat needs that, and names what `report --text` and `ledger` must
say, or the file that every reader must refuse.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import cortexdsl as cx
from cortexdsl.checksums import with_checksum
from cortexdsl.cli.main import main
from cortexdsl.errors import DataError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.jobs.damaged_outputs import repair_results
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.controls import pause
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files
from tests.jobs.experiment import NAME, SPEC, run_jobs, write_spec

CLAIM = "accuracy(high) > accuracy(low)"
RESULTS = Path("results", NAME)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the experiment run to its end."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_jobs(write_spec())
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the working directory."""
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def run_edited(*edits: tuple[str, str]) -> None:
    """Edit the spec and run its jobs again."""
    text = SPEC
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    run_jobs(write_spec(text))


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The status of a verb and everything that it printed, on one line."""
    capsys.readouterr()
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, " ".join((out + err).split())


def edit_lines(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")


# ------------------------------------------------------------ after the results, in the spec
EDITED_SPECS = {
    "alpha": ([("analysis:", "analysis:\n  alpha: 0.2")], "alpha: 0.05, then 0.2"),
    "margin": ([(CLAIM, f"{CLAIM} - 0.1")], f"claim added: {CLAIM} - 0.1; claim withdrawn: {CLAIM}"),
    "metric of a claim": ([(CLAIM, "total_tokens(high) > total_tokens(low)")], "claim added: total_tokens"),
    "size": ([("size: 20", "size: 15")], "dataset arithmetic: 20 questions, then 15"),
    "replicates": ([("seed: 3", "seed: 3\nreplicates: 2")], "replicates: 1, then 2"),
    "reader": ([("size: 20", "size: 20, strict: true")], "dataset arithmetic: read or graded otherwise"),
}


@pytest.mark.parametrize("cheat", EDITED_SPECS)
def test_what_a_verdict_depends_on_is_edited_after_the_results(
    cheat: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict is exploratory, and report and ledger name the change."""
    edits, change = EDITED_SPECS[cheat]
    run_edited(*edits)
    status, report = said(capsys, "report", NAME, "--text")
    assert status == 0
    assert "(exploratory)" in report
    assert f"After the first call: {change}" in report
    status, listed = said(capsys, "ledger", NAME)
    assert f"changed after the first call: {change}" in listed
    assert status == 0  # an honest record of a change is in order


def test_a_claim_is_withdrawn_after_the_results(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_edited((CLAIM, "accuracy(low) > 0.1"))
    report = said(capsys, "report", NAME, "--text")[1]
    assert f"claim withdrawn: {CLAIM}" in report
    assert "(exploratory)" in report


def test_seeds_are_tried_until_one_supports_the_claim(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The headline says in how many runs, and in which. (The gap is 35, 40 and 75 points with these seeds.)"""
    for seed in (8, 9, 4):
        run_edited(("seed: 3", f"seed: {seed}"), (CLAIM, f"{CLAIM} + 0.2"))
    headline = "in 1 of 3 runs (with seed 4; undecided with seeds 8 and 9)"
    report = said(capsys, "report", NAME, "--text")[1]
    assert f"SUPPORTED {headline}" in report
    assert "run again with seed 4 after results existed" in report
    assert main(["report", NAME, "--no-figures"]) == 0
    assert headline in (RESULTS / "report.html").read_text(encoding="utf-8")
    runs = pd.read_csv(RESULTS / "hypotheses.csv")["runs"][0]
    assert runs == "3: seed 8 undecided, seed 9 undecided, seed 4 supported"


def test_families_and_metrics_are_invented_after_the_results(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are marked in the list of significant differences, in the tables and in comparisons.csv; others are not."""
    run_edited(
        ("    main: {compare: [high], to: low}", "    main: {compare: [high], to: low}\n"
         "    late: {compare: [high], to: low}\n  metrics: [accuracy, total_tokens]"),
    )  # fmt: skip
    rows = pd.read_csv(RESULTS / "comparisons.csv")
    marked = dict(zip(zip(rows["family"], rows["metric"], strict=True), rows["exploratory"], strict=True))
    assert list(rows.columns)[-1] == "exploratory"
    assert marked == {
        ("main", "accuracy"): False, ("main", "total_tokens"): True,
        ("late", "accuracy"): True, ("late", "total_tokens"): True,
    }  # fmt: skip
    report = said(capsys, "report", NAME, "--text")[1]
    differences = report.partition("Significant differences:")[2]
    assert "late (exploratory): 2 comparisons" in differences
    assert "main: 2 comparisons" in differences
    late = "Exploratory (high, tokens per question; late): not declared before the first call as it now is."
    assert late in " ".join(differences.split())
    assert main(["report", NAME, "--no-figures"]) == 0
    assert 'late <span class="tag">exploratory</span>' in (RESULTS / "report.html").read_text(encoding="utf-8")
    assert "Family late (exploratory)" in (RESULTS / "tables" / "comparisons-late.md").read_text(encoding="utf-8")


# ------------------------------------------------------------ files edited by hand
def replace_in(name: str, old: str, new: str) -> None:
    path = RESULTS / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def right_everywhere(name: str) -> None:
    """Every answer of the weaker cell counts as right."""
    table = pd.read_csv(RESULTS / name)
    table.loc[table["cell"].eq("low"), "score"] = 1
    table.to_csv(RESULTS / name, index=False)


NOT_AS_WRITTEN = "): not as the experiment wrote it (its digest differs from the one in results/small/manifest.jsonl)"
EDITED_TABLES: dict[str, Callable[[], None]] = {
    "hypotheses.csv": lambda: replace_in("hypotheses.csv", "supported", "contradicted"),
    "scores.csv": lambda: right_everywhere("scores.csv"),
    "metrics.csv": lambda: replace_in("metrics.csv", ",0.75,", ",0.99,"),
    "comparisons.csv": lambda: replace_in("comparisons.csv", "Tango", "another test"),
    "rounds.csv": lambda: edit_lines(RESULTS / "rounds.csv", lambda lines: lines[:-1]),
    "agents.csv": lambda: edit_lines(RESULTS / "agents.csv", lambda lines: lines[:-1]),
}


@pytest.mark.parametrize("table", EDITED_TABLES)
def test_a_table_is_edited_by_hand(table: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Report and ledger name the file, the report with the remedy; the job that writes it makes it whole again."""
    EDITED_TABLES[table]()
    for verb in (["report", NAME, "--text"], ["report", NAME, "--no-figures"]):
        status, text = said(capsys, *verb)
        assert status == 2
        assert f"results/small/{table} (c" in text  # changed, or cut
        assert NOT_AS_WRITTEN in text
        assert "run the same command again, which makes it again: cortexdsl run specs/small.yaml" in text
    status, text = said(capsys, "ledger", NAME)
    assert (status, f"results/small/{table} was edited after it was written" in text) == (1, True)
    (RESULTS / table).unlink()
    run_jobs("specs/small.yaml")
    assert said(capsys, "report", NAME, "--text")[0] == 0
    assert said(capsys, "ledger", NAME)[0] == 0


def test_edited_scores_are_neither_judged_nor_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No verdict enters the ledger; the same table elsewhere is accepted: it is another program's."""
    before = read_journal(Layout(str(RESULTS))).entries
    right_everywhere("scores.csv")
    for arguments in (["compare", str(RESULTS), "--to", "low"],
                      ["compare", str(RESULTS / "scores.csv"), "--to", "low"],
                      ["export", str(RESULTS), "--out", "out.csv"], ["view", NAME, "--static", "site"]):  # fmt: skip
        status, text = said(capsys, *arguments)
        assert status == 2
        assert f"results/small/scores.csv (changed{NOT_AS_WRITTEN}" in text
    assert read_journal(Layout(str(RESULTS))).entries == before
    foreign = Path("foreign.csv")
    shutil.copy(RESULTS / "scores.csv", foreign)
    assert said(capsys, "compare", str(foreign), "--to", "low")[0] == 0


def test_the_verdicts_are_deleted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the table a report would say that the spec states no claims."""
    (RESULTS / "hypotheses.csv").unlink()
    status, text = said(capsys, "report", NAME, "--text")
    assert (status, "results/small/hypotheses.csv: deleted after the experiment wrote it" in text) == (2, True)


def test_a_part_of_the_scores_is_edited(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scores are made of parts, one a cell: the job that joins and judges them refuses one that was edited."""
    part = "parts/arithmetic/low/scores.csv"
    right_everywhere(part)
    status, text = said(capsys, "verdict", str(RESULTS))
    assert (status, f"results/small/{part} (changed{NOT_AS_WRITTEN}" in text) == (2, True)


def test_a_debate_is_edited(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next((RESULTS / "debates").rglob("*.jsonl"))
    edit_lines(path, lambda lines: [lines[0].replace('"answer":', '"answer ":', 1), *lines[1:]])
    status, text = said(capsys, "show", str(RESULTS))
    assert status != 0
    assert path.name in text


# ------------------------------------------------------------ the ledger and the declaration
def test_a_line_of_the_ledger_is_removed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_lines(RESULTS / "ledger.jsonl", lambda lines: [lines[0], *lines[2:]])
    assert "The record is broken: line 2 of the ledger does not continue" in said(capsys, "report", NAME, "--text")[1]
    status, text = said(capsys, "ledger", NAME)
    assert (status, "NOT IN ORDER: line 2 of the ledger does not continue" in text) == (1, True)


def test_the_ledger_is_deleted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And again after the jobs wrote a new one: nothing is known to have been declared before the first call."""
    (RESULTS / "ledger.jsonl").unlink()
    assert "the ledger is missing, though calls were made" in said(capsys, "report", NAME, "--text")[1]
    (RESULTS / "declared.json").unlink()
    run_jobs("specs/small.yaml")
    text = said(capsys, "report", NAME, "--text")[1]
    assert "Nothing is known to have been declared before the first call" in text
    assert "(exploratory)" in text


def forge(old: str, new: str) -> None:
    """Rewrite a ledger and make its chain whole again, as its documentation says that a person can."""
    seal, lines = "", []
    for line in (RESULTS / "ledger.jsonl").read_text().replace(old, new).splitlines():
        record = json.loads(line) | {"before": seal}
        sealed = {key: value for key, value in record.items() if key not in ("seal", "at")}
        record["seal"] = seal = sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()[:32]
        lines.append(json.dumps(record))
    (RESULTS / "ledger.jsonl").write_text("\n".join(lines) + "\n")
    declared = RESULTS / "declared.json"
    declared.write_text(json.dumps(json.loads(declared.read_text()) | {"ledger": json.loads(lines[0])["seal"]}))


def test_the_whole_chain_is_forged(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing within the folder can notice it; a seal that was published before does."""
    text = said(capsys, "ledger", NAME)[1]
    seal = text.partition("--verify ")[2].split()[-1]
    published = text[text.index("experiment small") :]
    assert all(part in published for part in ("declared", "seed 3", f"seal {seal}", "cortexdsl ledger small --verify"))
    assert said(capsys, "ledger", NAME, "--verify", seal) == (
        0, f"The ledger holds the entry of this seal, and its chain continues from there ("
        f"{read_journal(Layout(str(RESULTS))).entries[0].at}). What it declares has not changed since.",
    )  # fmt: skip
    forge('"alpha": 0.05', '"alpha": 0.2')
    assert read_journal(Layout(str(RESULTS))).chain_faults == ()
    status, text = said(capsys, "ledger", NAME, "--verify", seal)
    assert (status, "the ledger was rewritten after the seal was published" in text) == (1, True)


def test_calls_are_deleted_and_made_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same seed they are the same calls; a claim of afterwards stays one of afterwards."""
    for stage in ("calls", "debates"):
        shutil.rmtree(RESULTS / stage)
    run_edited((CLAIM, "accuracy(low) < accuracy(high)"))
    text = said(capsys, "report", NAME, "--text")[1]
    assert "After the first call: claim added: accuracy(low) < accuracy(high)" in text


@pytest.mark.parametrize("edit", [(CLAIM, "accuracy(low) > accuracy(high)"), ("analysis:", "analysis:\n  alpha: 0.2")])
def test_results_are_moved_and_the_spec_edited(
    edit: tuple[str, str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Before anything runs again, the report does not show the old verdicts as those of the new spec."""
    other = tmp_path / "moved"
    other.mkdir()
    shutil.move(place / "results", other / "results")
    monkeypatch.chdir(other)
    write_spec(SPEC.replace(*edit))
    change = "claim added: accuracy(low) > accuracy(high)" if edit[0] == CLAIM else "alpha: 0.05, then 0.2"
    status, text = said(capsys, "report", NAME, "--text")
    assert status == 0
    assert f"The spec, or something that it uses, has changed since these results were made ({change}" in text
    assert text.index("has changed since") < text.index("SUPPORTED")
    assert main(["report", NAME, "--no-figures"]) == 0
    assert "has changed since these results were made" in (RESULTS / "report.html").read_text(encoding="utf-8")
    assert f"has changed since: {change}" in said(capsys, "ledger", NAME)[1]


def test_a_plan_is_replaced(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every reader refuses it; if its digest was replaced, too, the ledger still knows the declared plan."""
    replace_in("plan.json", CLAIM, "accuracy(low) > accuracy(high)")
    for verb in (["report", NAME, "--text"], ["show", NAME], ["export", NAME, "--table", "turns", "--out", "t.csv"]):
        status, text = said(capsys, *verb)
        assert (status, f"results/small/plan.json (changed{NOT_AS_WRITTEN}" in text) == (2, True), verb
    record_files(Layout(str(RESULTS)), [RESULTS / "plan.json"])
    text = said(capsys, "report", NAME, "--text")[1]
    assert "The record is broken: the plan here is not the last one in the ledger" in text


def faulty(capsys: pytest.CaptureFixture[str], fault: str) -> None:
    """`ledger`, `verify` and the report say it."""
    status, text = said(capsys, "ledger", NAME)
    assert (status, fault in text) == (1, True), text
    status, text = said(capsys, "verify", NAME)
    assert (status, fault in text) == (1, True), text


MISSING = "entries at the end of the ledger are missing: manifest.jsonl names one"


def cut_ledger() -> None:
    edit_lines(RESULTS / "ledger.jsonl", lambda lines: lines[:1])


def test_entries_at_the_end_of_the_ledger_are_removed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With hypotheses.csv, which names the last entry; a run does not heal it, as the ledger keeps that it was so."""
    cut_ledger()
    assert MISSING in said(capsys, "report", NAME, "--text")[1]
    (RESULTS / "hypotheses.csv").unlink()
    faulty(capsys, MISSING)
    (RESULTS / "plan.json").unlink()
    run_jobs("specs/small.yaml")
    faulty(capsys, MISSING)
    text = said(capsys, "report", NAME, "--text")[1]
    assert MISSING in text
    assert "(exploratory)" in text


def test_an_earlier_ledger_is_put_back(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    earlier = (RESULTS / "ledger.jsonl").read_bytes()
    run_edited((CLAIM, "accuracy(low) > 0.1"))
    (RESULTS / "ledger.jsonl").write_bytes(earlier)
    faulty(capsys, MISSING)
    assert MISSING in said(capsys, "report", NAME, "--text")[1]


def test_a_pause_is_cut_from_the_end_of_the_ledger(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing seals files after it, but the manifest names it."""
    earlier = (RESULTS / "ledger.jsonl").read_bytes()
    pause(Layout(str(RESULTS)), "to think")
    assert said(capsys, "ledger", NAME)[0] == 0
    (RESULTS / "ledger.jsonl").write_bytes(earlier)
    faulty(capsys, MISSING)
    assert MISSING in said(capsys, "report", NAME, "--text")[1]


@pytest.mark.parametrize("lines", [0, 3])
def test_scores_are_edited_and_the_manifest_removed_or_cut(
    lines: int, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right_everywhere("scores.csv")
    if lines:
        edit_lines(RESULTS / "manifest.jsonl", lambda all_lines: all_lines[:lines])
    else:
        (RESULTS / "manifest.jsonl").unlink()
    for verb in (["report", NAME, "--text"], ["export", str(RESULTS), "--out", "out.csv"],
                 ["compare", str(RESULTS), "--to", "low"], ["view", NAME, "--static", "site"]):  # fmt: skip
        status, text = said(capsys, *verb)
        assert (status, "(manifest.jsonl has no digest of it)" in text) == (2, True), text
    with pytest.raises(DataError, match="no digest of it"):
        _ = cx.open(RESULTS).scores
    faulty(capsys, "it is missing, cut or has no seal")


def test_a_claim_of_compare_that_was_not_declared_is_exploratory(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for claim, is_exploratory in ((CLAIM, False), (f"{CLAIM} + 0.1", True)):
        arguments = ["compare", str(RESULTS), "--to", "low", "--claim", claim, "--draws", "100"]
        assert ("exploratory" in said(capsys, *arguments)[1]) is is_exploratory
        text = said(capsys, *arguments, "--json")[1]
        assert ('"exploratory":true' in text, '"exploratory":false' in text) == (is_exploratory, not is_exploratory)


def test_a_reply_is_edited_with_a_checksum_of_its_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Or a log removed, to draw its cell again. A run makes the debates from what is there; the ledger tells of it."""
    logs = sorted((RESULTS / "calls").rglob("*.jsonl"))
    lines = logs[0].read_text().splitlines()
    record = json.loads(lines[-1])
    del record["checksum"]
    logs[0].write_text("\n".join([*lines[:-1], with_checksum(json.dumps(record | {"reply": "42"}))]) + "\n")
    logs[1].unlink()
    compiled = compile_spec("specs/small.yaml")
    repair_results(compiled)
    repair_results(compiled)
    for log, what in ((logs[0], "c"), (logs[1], "missing when a run began")):
        sentence = f"{log.relative_to(RESULTS).as_posix()}: {what}"
        for verb in ("ledger", "verify"):
            assert sentence in " ".join(said(capsys, verb, NAME)[1].split())
        assert sentence in " ".join(said(capsys, "report", NAME, "--text")[1].split())
    assert len(read_journal(Layout(str(RESULTS))).lost_logs) == 2


# ------------------------------------------------------------ honest uses
def test_results_without_digests_still_open(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Earlier versions wrote no entries about tables; a note says that edits would not be noticed."""
    forge("", "")
    lines = [json.loads(line) for line in (RESULTS / "ledger.jsonl").read_text().splitlines()]
    kept = [json.dumps(line) for line in lines if line["kind"] != "manifest"]
    (RESULTS / "manifest.jsonl").unlink()
    (RESULTS / "ledger.jsonl").write_text("\n".join(kept) + "\n")
    forge("", "")
    status, text = said(capsys, "report", NAME, "--text")
    assert status == 0
    assert "An earlier version wrote these tables and kept no digests of them" in text


def test_a_run_that_is_repeated_writes_nothing_new(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (RESULTS / "ledger.jsonl").read_bytes()
    run_jobs("specs/small.yaml")
    assert (RESULTS / "ledger.jsonl").read_bytes() == before
    assert said(capsys, "ledger", NAME)[0] == 0


def test_a_seal_can_be_published_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = write_spec()
    assert main(["plan", spec, "--declare"]) == 0
    status, text = said(capsys, "ledger", NAME)
    seal = text.split()[-1]
    assert status == 0
    run_jobs(spec)
    assert said(capsys, "ledger", NAME, "--verify", seal)[0] == 0


def test_there_is_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = said(capsys, "ledger", "nothing")
    assert (status, "there is no ledger" in text) == (2, True)
