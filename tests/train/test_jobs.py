"""The jobs of a phase: through the client, resumable, and with records that are not results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.verbs import run
from cortexdsl.engine.trajectories import role_turns
from cortexdsl.errors import RecordError
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.records import read_debates
from tests.train.specs import SPEC, plan

PHASE = Path("results/learning/train/acc/1-critic")
JOB = ["trajectories", "learning.yaml", "--training", "acc", "--phase", "1-critic", "--shard", "r1-s01"]
PAIRS = ["pairs", "learning.yaml", "--training", "acc", "--phase", "1-critic"]
LOG = Path("results/learning/train/calls/r1-s01/acc~1-critic.jsonl")
MOMENTS = PHASE / "trajectories/r1-s01.jsonl"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked() -> list[str]:
    """The keys of all calls that were asked, in their order."""
    return [line["key"] for line in lines(LOG) if "key" in line]


def test_a_job_asks_no_more_than_the_plan_says_and_nothing_twice(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = plan(here)
    assert run(JOB) == 0
    keys = asked()
    assert len(keys) == len(set(keys))
    assert f"{len(keys)} calls sent" in capsys.readouterr().err
    _, by_cell = rehearse_plan(compiled)
    # Of each of six questions: two turns, two guided ones and three roll-outs from each of three replies, of which the
    # first from the natural reply is the debate's own next turn; the debate's last turn is that.
    assert by_cell["(train: acc)"].calls == 6 * (3 + 2 + 9 - 1)
    assert 0 < len(keys) <= by_cell["(train: acc)"].calls
    before = MOMENTS.read_bytes()
    assert run(JOB) == 0
    assert asked() == keys
    assert MOMENTS.read_bytes() == before


def test_trainings_of_a_grid_that_debate_alike_ask_each_call_once(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(here, SPEC + "grid:\n  untrained: {train.acc.threshold: [0.5]}\n")
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    capsys.readouterr()
    strict = [each.replace("acc", "acc~threshold=0.5") if each == "acc" else each for each in (*JOB, *PAIRS)]
    assert run(strict[: len(JOB)]) == 0
    assert " 0 calls sent" in capsys.readouterr().err
    assert run(strict[len(JOB) :]) == 0
    some, fewer = (lines(PHASE.parents[1] / name / PHASE.name / "pairs.jsonl") for name in ("acc", strict[3]))
    kept = [pair for pair in some if pair["value_chosen"] - pair["value_rejected"] > 0.5]
    assert 0 < len(fewer) < len(some)
    assert [pair["prompt"] for pair in kept if pair["guided"] == "right"] == [
        pair["prompt"] for pair in fewer if pair["guided"] == "right"
    ]


def test_a_job_that_a_limit_stopped_goes_on_where_it_was(here: Path) -> None:
    plan(here)
    assert run(JOB) == 0
    whole, keys = MOMENTS.read_bytes(), set(asked())
    for path in (MOMENTS, *LOG.parent.iterdir(), *Path("results/learning/spent").iterdir()):
        path.unlink()
    plan(here, SPEC + "limits: {calls: 20}\n")
    assert run(JOB) == 1
    assert not MOMENTS.exists()
    assert 0 < len(asked()) <= 20
    plan(here)
    assert run(JOB) == 0
    assert MOMENTS.read_bytes() == whole
    assert sorted(asked()) == sorted(keys)  # each once, over both runs


def test_a_killed_job_leaves_the_same_bytes_when_it_is_started_again(here: Path) -> None:
    text = SPEC.replace("{size: 4}", "{size: 60}").replace("validation: 2", "validation: 20")
    plan(here, text)
    command = [sys.executable, "-m", "cortexdsl", *JOB]
    job = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "CORTEXDSL_WORKER": ""})
    until = time.monotonic() + 120
    while not (LOG.exists() and LOG.stat().st_size > 20_000) and job.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert not MOMENTS.exists(), "it was done before it could be killed"
    assert LOG.stat().st_size > 0
    assert run(JOB) == 0
    resumed, keys = MOMENTS.read_bytes(), asked()
    assert len(keys) == len(set(keys))
    for path in (MOMENTS, *LOG.parent.iterdir()):
        path.unlink()
    assert run(JOB) == 0
    assert MOMENTS.read_bytes() == resumed


CUT = """\
import os, signal, sys
from pathlib import Path
from cortexdsl.cli.verbs import run

whole = os.replace

def cut(part, target, **options):
    if Path(target).name == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(part, target, **options)

os.replace = cut
run(sys.argv[2:])
"""


@pytest.mark.parametrize("name", ["pairs.jsonl", "sft.jsonl", "kept.csv"])
def test_pairs_that_were_killed_while_they_were_written_are_the_same_in_the_end(here: Path, name: str) -> None:
    plan(here)
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    files = [PHASE / each for each in ("pairs.jsonl", "sft.jsonl", "kept.csv")]
    whole = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    job = subprocess.run([sys.executable, "-c", CUT, name, *PAIRS], stderr=subprocess.DEVNULL, check=False)
    assert job.returncode == -signal.SIGKILL
    there = [path.exists() for path in files]
    assert there == [files.index(path) < files.index(PHASE / name) for path in files]  # whole ones, and no part of one
    assert run(PAIRS) == 0
    assert [path.read_bytes() for path in files] == whole


def test_records_of_guided_debates_are_no_results(here: Path) -> None:
    plan(here)
    assert run(JOB) == 0
    assert {line["guided"] for line in lines(MOMENTS)} == {True}
    with pytest.raises(RecordError):
        list(read_debates(MOMENTS))
    calls = Path("results/learning/calls")  # where debates look for what was asked: no prompt that holds a gold
    assert not calls.exists()
    guided = [line for line in lines(LOG) if "Argue for this answer" in json.dumps(line)]
    assert guided


def test_pairs_say_where_they_come_from_and_none_is_guided_in_its_prompt(here: Path) -> None:
    training = plan(here).training("acc")
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    moments = {(line["question_id"], line["round"]): line for line in lines(MOMENTS)}
    pairs = lines(PHASE / "pairs.jsonl")
    assert pairs
    for pair in pairs:
        moment = moments[pair["question"], pair["round"]]
        value = {way: sum(e["score"] for e in moment[way]["endings"]) / 3 for way in ("natural", "right", "wrong")}
        chosen, rejected = ("right", "natural") if pair["guided"] == "right" else ("natural", "wrong")
        assert pair["prompt"] == moment["prompt"]
        assert "Argue for" not in json.dumps(pair["prompt"])
        assert pair["chosen"] == [{"role": "assistant", "content": moment[chosen]["text"]}]
        assert pair["rejected"] == [{"role": "assistant", "content": moment[rejected]["text"]}]
        assert (pair["value_chosen"], pair["value_rejected"]) == (value[chosen], value[rejected])
        assert pair["values"] == value  # v, v+ and v- of Algorithm 1
        assert pair["value_chosen"] - pair["value_rejected"] >= 0.3
        assert (pair["part"] == "validation") == (pair["question"] in training.validation)
    for example in lines(PHASE / "sft.jsonl"):
        moment = moments[example["question"], example["round"]]
        assert {e["score"] for e in moment["natural"]["endings"]} == {1.0}
        assert example["completion"] == [{"role": "assistant", "content": moment["natural"]["text"]}]


def test_the_table_of_what_was_kept_adds_up(here: Path) -> None:
    training = plan(here).training("acc")
    assert run(JOB) == 0
    assert run(PAIRS) == 0
    header, *rows = [line.split(",") for line in (PHASE / "kept.csv").read_text().splitlines()]
    table = [dict(zip(header, row, strict=True)) for row in rows]
    for row in table:
        outcomes = ("right", "wrong", "natural", "below", "same", "cut", "no_reply")
        assert sum(int(row[name]) for name in outcomes) == int(row["moments"])
    phase = training.phase("1-critic")
    places = role_turns(phase.method, "critic")
    assert sum(int(row["moments"]) for row in table) == len(places) * len(training.task.questions)
    kept = sum(int(row["right"]) + int(row["wrong"]) for row in table)
    assert kept == len(lines(PHASE / "pairs.jsonl"))


def test_trajectories_that_are_not_whole_or_not_of_this_spec_make_no_pairs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(here)
    assert run(JOB) == 0
    whole = MOMENTS.read_text()
    rows = whole.splitlines(keepends=True)
    for text, said in [
        ("".join(rows[1:]), "is missing"),
        (whole + rows[0], "is there twice"),
        (whole.replace('"score":1.0', '"score":0.0', 1), "not a complete moment"),
        (whole + "{}\n", "not a complete moment"),
    ]:
        MOMENTS.write_text(text)
        assert run(PAIRS) == 1
        assert said in capsys.readouterr().err
    MOMENTS.write_text(whole)
    plan(here, SPEC.replace("samples: 3", "samples: 2"))
    assert run(PAIRS) == 1
    assert "another version of the spec" in capsys.readouterr().err
    plan(here, SPEC.replace("threshold: 0.3", "threshold: 1.0"))  # asks nothing anew
    assert run(PAIRS) == 0
    plan(here, SPEC.replace("skill: 0.5", "skill: 0.6"))
    assert run([*JOB, "--digest", "0" * 16]) == 2
    assert "has changed since the workflow started" in capsys.readouterr().err
