"""What a run cost, which models keep seeds and what was saved, from files that are small enough to add up by hand."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.core import Model
from cortexdsl.models.endpoints.refusals import Refusals
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.plan.record import parse_plan
from cortexdsl.records.tallies import Tallies
from cortexdsl.report.data import read_scores
from cortexdsl.report.tables.spending import RunCost, run_cost
from tests.display.made import said, write

PLAN = parse_plan({"cells": [{"cell": "a", "slug": "a"}, {"cell": "b[keep=mean]", "slug": "b~keep=mean"}]})
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
    assert found.sentence == (
        "100 calls were sent (8,000 tokens in, 800 out) for 1.50 dollars, in 1 min 30 s."
        " 8 further calls (7.4\u202f%) were shared between cells and cost nothing."
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


def test_calls_that_another_cell_had_asked_long_before_are_shared_too(tmp_path: Path) -> None:
    """A job finds them in the other's log: it says that 8 were shared, those asked at one moment; 20 a cell were."""
    (tmp_path / "scores.csv").write_text(f"{SCORES}a,60,5000,d,1,q\nb[keep=mean],60,5000,d,1,q\n")
    write(tmp_path / "spent", said(), said("b~keep=mean"))
    found = cost(tmp_path)
    assert found is not None
    assert [row[2].text for row in found.table.rows] == ["20", "20", "40"]
    assert "40 further calls (33\u202f%) were shared between cells and cost nothing." in found.sentence


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
    assert [sentence for sentence in found.seeds if "seed" in sentence] == [
        f"openai/o1 at {mask_url(None)} takes no seed: its replies were drawn without one, and the same call may bring "
        "another reply."
    ]
