"""What a run cost, what model servers did and what was saved, from files that are small enough to add up by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cortexdsl.core import Model
from cortexdsl.models.endpoints.refusals import Refusals
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.records.tallies import Tallies, read_server_runs, settled_server_runs
from cortexdsl.report.data import read_scores
from cortexdsl.report.tables.spending import RunCost, run_cost, server_sentences, servers_table
from tests.display.made import said, write

PLAN = {"cells": [{"cell": "a", "slug": "a"}, {"cell": "b[keep=mean]", "slug": "b~keep=mean"}]}
SCORES = "cell,calls,input_tokens,dataset,replicate,question_id\n"


def cost(folder: Path) -> RunCost | None:
    """What a run cost, from the files of its folder."""
    return run_cost(folder, PLAN, Tallies(folder / "spent").read(), read_scores(folder))


def test_the_sentence_adds_up_all_jobs_and_times_the_run_by_the_clock(tmp_path: Path) -> None:
    """40 + 60 calls, half a dollar and one; 40 s of work until 1,040 and 60 from 1,030 on: 90 s."""
    times = {"began": 1030.0, "updated": 1090.0, "seconds": 60.0}
    two = said("b~keep=mean", calls={"asked": 60}, dollars=1.0, failures={}, retries={}, **times)
    write(tmp_path / "spent", said(seconds=40.0, updated=1040.0), two)
    found = cost(tmp_path)
    assert found is not None
    assert found.sentence.replace("\u202f", ",") == (
        "100 calls were sent (8,000 tokens in, 800 out) for 1.50 dollars, in 1 min 30 s."
        " 8 calls more (7.4 %) cost nothing: another cell had sent the same call."
        " 1 attempt failed for good (content filter 1). 3 attempts were tried again (rate limit 2, timeout 1)."
    )


def test_idle_time_between_two_runs_does_not_count(tmp_path: Path) -> None:
    """The second job began an hour after the first one had ended: 40 and 20 seconds of work."""
    two = said("b~keep=mean", began=5000.0, updated=5020.0, seconds=20.0)
    write(tmp_path / "spent", said(seconds=40.0, updated=1040.0), two)
    found = cost(tmp_path)
    assert found is not None
    assert ", in 1 min 0 s." in found.sentence


def test_every_cell_has_a_row_and_what_has_no_cell_is_named_so(tmp_path: Path) -> None:
    """A judge is paid for, too; the sum is the last row."""
    write(tmp_path / "spent", said(), said("b~keep=mean", dollars=None), said(job="judge") | {"cell": None})
    found = cost(tmp_path)
    assert found is not None
    rows = {row[0].text: [entry.text.replace("\u202f", ",") for entry in row[1:]] for row in found.table.rows}
    assert list(rows) == ["a", "b[keep=mean]", "other jobs", "all"]
    assert rows["a"] == ["40", "8", "1", "3", "4,000", "400", "0.50", "20 s"]
    assert rows["b[keep=mean]"][-2] == "\u2013"
    assert rows["all"] == ["120", "24", "3", "9", "12,000", "1,200", "1.00 +", "1 min 0 s"]


def test_results_without_tallies_say_nothing_of_cost(tmp_path: Path) -> None:
    """Tables brought from elsewhere were paid for by somebody else."""
    assert cost(tmp_path) is None


def test_what_attempts_failed_of_is_told_by_cell_and_kind(tmp_path: Path) -> None:
    """Each attempt that brought no reply stands in one row: 2 + 1 tried again and 1 lost of a, 4 of b."""
    two = said("b~keep=mean", failures={}, retries={"transient": 4})
    write(tmp_path / "spent", said(), two)
    found = cost(tmp_path)
    assert found is not None
    assert found.attempts is not None
    assert [tuple(entry.text for entry in row) for row in found.attempts.rows] == [
        ("a", "content filter", "0", "1"),
        ("a", "rate limit", "2", "0"),
        ("a", "timeout", "1", "0"),
        ("b[keep=mean]", "transient", "4", "0"),
    ]


def test_a_cell_whose_calls_others_asked_and_paid_for_has_no_price_of_nothing(tmp_path: Path) -> None:
    """`0.00` would say that the method is free."""
    two = said("b~keep=mean", calls={"asked": 0, "shared": 30}, dollars=None, failures={}, retries={})
    write(tmp_path / "spent", said(), two)
    found = cost(tmp_path)
    assert found is not None
    row = next(row for row in found.table.rows if row[0].text == "b[keep=mean]")
    assert row[-2].text == "shared"
    assert "other cells asked, and paid for" in found.table.note


def test_cached_tokens_have_a_column_if_there_are_any(tmp_path: Path) -> None:
    """600 of 4,000 tokens of one cell; the other's provider counts none."""
    two = said("b~keep=mean", tokens={"input": 4000, "output": 400, "cached": 600})
    write(tmp_path / "spent", said(), two)
    found = cost(tmp_path)
    assert found is not None
    column = [head.title for head in found.table.columns].index("Cached")
    assert [row[column].text for row in found.table.rows] == ["0", "600", "600"]
    assert "Cached: tokens of prompts" in found.table.note


COUNTED = {
    "requests": 40, "prompt_tokens": 4000, "completion_tokens": 900, "looked_up_tokens": 4000, "cached_tokens": 1000,
}  # fmt: skip


def start(folder: Path, number: int = 1, **changes: Any) -> None:
    """Write one start of a server."""
    value = {
        "schema_version": 1, "server": "own", "engine": "vLLM 0.32.0", "is_own": True, "seconds": 41.0,
        "models": [{"entry": "small", "model": "openai/one", "seed": "honoured"}], "began": 1000.0 + number,
        "updated": 1100.0, "state": "ended", "counted": COUNTED, "busy": 30.0, "in_work": 3.0, "peak": 8, **changes,
    }  # fmt: skip
    (folder / "servers").mkdir(exist_ok=True)
    (folder / "servers" / f"own~{number}.json").write_text(json.dumps(value))


def shown(folder: Path) -> list[str]:
    """The entries of the only row, as they are read."""
    table = servers_table(read_server_runs(folder))
    assert table is not None
    (row,) = table.rows
    return [entry.whole.replace("\u202f", ",") for entry in row]


def test_two_starts_of_a_server_are_added_up(tmp_path: Path) -> None:
    """900 tokens in 30 s and 900 in 60 s are 20 a second; 3 in work for 30 s and 6 for 60 s are 5 in the mean."""
    start(tmp_path)
    start(tmp_path, 2, busy=60.0, in_work=6.0, peak=9)
    assert shown(tmp_path) == [
        "own", "vLLM 0.32.0", "kept", "41 s", "80", "8,000", "2,000 (25 %)", "1,800", "1 min 30 s", "20",
        "5.0 (at most 9)",
    ]  # fmt: skip
    assert list(server_sentences(read_server_runs(tmp_path))) == [
        "The server own (vLLM 0.32.0) answered after 41 s and wrote 20 tokens a second while it had something to do;"
        " 25 % of its prompt tokens came from its prefix cache."
    ]


def test_a_server_that_counts_nothing_and_keeps_no_seeds_is_told_so(tmp_path: Path) -> None:
    """No number is made up; what cannot be repeated is said, and how it can be."""
    start(tmp_path, counted=None, engine="", models=[{"entry": "small", "model": "openai/one", "seed": "ignored"}])
    assert shown(tmp_path)[4:] == ["\u2013"] * 3 + ["\u2013", "30 s", "\u2013", "3.0 (at most 8)"]
    assert list(server_sentences(read_server_runs(tmp_path))) == [
        "The server own answered after 41 s.",
        "The server own does not keep seeds (small gave two replies to one seed): a run that asks again gets other "
        "replies. This one is repeated exactly from its call logs, and not from the models.",
    ]


def test_files_of_others_and_cut_ones_are_no_starts(tmp_path: Path) -> None:
    """A version to come may say something else; a full disk leaves half a file."""
    start(tmp_path)
    for number, text in enumerate(("{", "[]", '{"server": "own"}', '{"counted": 3}', "[" * 100_000)):
        (tmp_path / "servers" / f"bad~{number}.json").write_text(text)
    assert len(read_server_runs(tmp_path)) == 1


def test_a_report_waits_for_the_look_after_the_last_call(tmp_path: Path) -> None:
    """The job's last word is of second 1020; the server was looked at in second 1010, and then in second 1021."""
    write(tmp_path / "spent", said())
    start(tmp_path, state="running", updated=1010.0, counted=None)

    def later(seconds: float) -> None:
        start(tmp_path, state="running", updated=1021.0)

    (found,) = settled_server_runs(tmp_path, later)
    assert found.counts["requests"] == 40


def test_what_was_not_sent_and_not_worked_out_again_is_one_table(tmp_path: Path) -> None:
    """Debates read 120 calls of 10,000 tokens; 80 of 8,000 were sent (40 and 4,000 a cell); 1,000 were in the cache."""
    (tmp_path / "scores.csv").write_text(f"{SCORES}a,60,5000,d,1,q\nb[keep=mean],60,5000,d,1,q\n")
    write(tmp_path / "spent", said(), said("b~keep=mean"), said(job="judge") | {"cell": None})
    start(tmp_path)
    found = cost(tmp_path)
    assert found is not None
    assert found.savings is not None
    assert [[entry.text.replace("\u202f", ",") for entry in row] for row in found.savings.rows] == [
        ["Read by models in the debates", "120", "10,000", "100 %"],
        ["Asked once for several cells", "40", "2,000", "20 %"],
        ["Found in a server's prefix cache", "\u2013", "1,000", "10 %"],
    ]
    assert [table.name for table in found.tables] == ["spent", "attempts", "savings", "servers"]


def test_calls_that_another_cell_had_asked_long_before_are_shared_too(tmp_path: Path) -> None:
    """A job finds them in the other's log: it says that 8 were shared, those asked at one moment; 20 a cell were."""
    (tmp_path / "scores.csv").write_text(f"{SCORES}a,60,5000,d,1,q\nb[keep=mean],60,5000,d,1,q\n")
    write(tmp_path / "spent", said(), said("b~keep=mean"))
    found = cost(tmp_path)
    assert found is not None
    assert [row[2].text for row in found.table.rows] == ["20", "20", "40"]
    assert "40 calls more (33 %) cost nothing: another cell had sent the same call." in found.sentence


def test_nothing_saved_is_no_table(tmp_path: Path) -> None:
    """Every call was sent, to servers without a prefix cache; and tokens that nobody counted are not guessed."""
    write(tmp_path / "spent", said())
    (tmp_path / "scores.csv").write_text(f"{SCORES}a,40,4000,d,1,q\n")
    found = cost(tmp_path)
    assert found is not None
    assert found.savings is None
    (tmp_path / "scores.csv").write_text(f"{SCORES}a,41,4000,d,1,q\na,1,,d,1,r\n")
    found = cost(tmp_path)
    assert found is not None
    assert found.savings is not None
    assert [entry.text for entry in found.savings.rows[1]] == ["Asked once for several cells", "2", "\u2013", "\u2013"]


def test_a_model_that_takes_no_seed_is_said(tmp_path: Path) -> None:
    """As the client leaves it there: a refused limit of tokens is no matter of the report."""
    write(tmp_path / "spent", said())
    model = Model("m", "openai/o1")
    refusals = Refusals(tmp_path / "spent")
    for name in ("seed", "max_tokens"):
        failure = Failure(FailureKind.BAD_REQUEST, "no")
        failure.refused = name
        refusals.learn(model, None, failure)
    found = cost(tmp_path)
    assert found is not None
    assert [sentence for sentence in found.served if "seed" in sentence] == [
        f"openai/o1 at {mask_url(None)} takes no seed: its replies were drawn without one, and the same call may bring "
        "another reply."
    ]
