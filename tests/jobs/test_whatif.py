"""`cortexdsl whatif`: debates branch from their own records, only what changes is asked, and no result is touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import RecordError
from cortexdsl.metrics.scores import score_rows
from cortexdsl.records import debate_files, read_debates

SPEC = """\
seed: 3
replicates: 2
dataset: {name: arithmetic, size: 5}
models:
  weak: {model: builtin/solver, skill: 0.3, parameters: 1.0e9, tokens: 2.0e12}
  wise: {model: builtin/solver, skill: 0.9, parameters: 1.0e9, tokens: 2.0e12}
agents: [{name: ann, model: weak}, {name: bob, model: weak}, {name: eve, model: wise}]
methods:
  talk: {protocol: multi-llm, rounds: 2}
whatif:
  talk: [agent=eve]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished experiment, which tests copy."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "specs").mkdir()
    (folder / "specs" / "x.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _run()
    return folder


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished experiment."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run() -> None:
    for replicate in (1, 2):
        shard = f"r{replicate}-s01"
        out = f"results/x/debates/arithmetic/talk/{shard}.jsonl"
        job = ["debate", "x", "--dataset", "arithmetic", "--cell", "talk", "--shard", shard, "--out", out]
        assert main(job) == 0
    assert main(["plan", "x", "--out", "results/x/plan.json"]) == 0


def table(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def leave_out(what: str) -> None:
    """Write into the spec of a finished experiment what is left out."""
    Path("specs/x.yaml").write_text(SPEC.replace("agent=eve", what))


def logged() -> Iterator[str]:
    for path in Path("results/x/calls").rglob("whatif*.jsonl"):
        yield from path.read_text().splitlines()


def test_effects_of_a_finished_experiment(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave_out("agent=eve, round=1")
    capsys.readouterr()
    assert main(["whatif", "x", "--json"]) == 0
    effects = {row["without"]: row for row in table(capsys)}
    assert effects["agent=eve"]["whole"] == effects["round=1"]["whole"]
    eve = effects["agent=eve"]
    assert eve["effect"] == pytest.approx(eve["whole"] - eve["left_out"])
    assert len(pd.read_csv("results/x/whatif/effects.csv")) == 2


def test_only_what_changes_is_asked_and_nothing_twice(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A round less is a debate that the logs hold already; a second run asks nothing, and writes the same bytes."""
    assert main(["whatif", "x"]) == 0
    before = Path("results/x/whatif/effects.csv").read_bytes()
    asked = len(list(logged()))
    records = [record for path in debate_files(Path("results/x")) for record in read_debates(path)]
    keys = {turn.call for record in records for turn in record.debate.turns}
    assert asked
    assert not keys & {json.loads(line).get("key") for line in logged()}
    capsys.readouterr()
    leave_out("agent=eve, round")
    assert main(["whatif", "x"]) == 0
    assert " 0 calls sent" in capsys.readouterr().err
    leave_out("agent=eve")
    assert main(["whatif", "x"]) == 0
    assert Path("results/x/whatif/effects.csv").read_bytes() == before


def test_counterfactual_records_are_no_results(here: Path) -> None:
    """They say what they lack, lie apart from the debates, and are not scored."""
    assert main(["whatif", "x"]) == 0
    (record, *_) = read_debates(next(Path("results/x/whatif/debates").rglob("*.jsonl")))
    assert record.header.cell == "talk"
    assert record.header.without
    others = [record for path in debate_files(Path("results/x")) for record in read_debates(path)]
    assert others
    assert all(not other.header.without for other in others)
    with pytest.raises(RecordError, match="are counterfactual, and no results of the cell"):
        score_rows([record], lambda question, answer: 0.0)


def test_a_run_that_was_killed_goes_on_where_its_log_ends(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "x"]) == 0
    whole = Path("results/x/whatif/effects.csv").read_bytes()
    everything = len(list(logged()))
    for path in Path("results/x/calls").rglob("whatif*.jsonl"):
        kept = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(kept[: len(kept) // 2]) + kept[-1][:20])  # cut off within a line
    left = sum(1 for line in logged() if line.endswith("}"))
    Path("results/x/whatif/effects.csv").unlink()
    capsys.readouterr()
    assert main(["whatif", "x"]) == 0
    assert f" {everything - left} calls sent" in capsys.readouterr().err
    assert Path("results/x/whatif/effects.csv").read_bytes() == whole


def test_a_spec_that_leaves_nothing_out_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs/x.yaml").write_text(SPEC.partition("whatif:")[0])
    assert main(["whatif", "x"]) == 2
    assert "nothing says what to leave out\n    write whatif: {CELL: [agent]}" in capsys.readouterr().err


def test_debates_of_another_meaning_are_not_branched_from(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = Path("specs/x.yaml")
    spec.write_text(SPEC.replace("rounds: 2", "rounds: 3"))
    assert main(["whatif", "x"]) == 2
    assert "talk means something else than when it was run" in capsys.readouterr().err
    spec.write_text(SPEC)
    Path("results/x/debates/arithmetic/talk/r2-s01.jsonl").unlink()
    assert main(["whatif", "x"]) == 2
    assert "the debates of talk are not there" in capsys.readouterr().err


def test_the_debates_replay_as_before(here: Path) -> None:
    """The logs of counterfactuals lie among those of the debates."""
    assert main(["whatif", "x"]) == 0
    assert main(["replay", "x"]) == 0


def test_the_report_tells_of_them_apart_from_results(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the page, in the tables and in the terminal; and nowhere without them."""
    for verb in (["score", "x", "--dataset", "arithmetic", "--cell", "talk"], ["verdict", "results/x"]):
        assert main(verb) == 0
    assert main(["report", "results/x", "--no-figures"]) == 0
    assert 'id="whatif"' not in Path("results/x/report.html").read_text()
    before = Path("results/x/scores.csv").read_bytes()
    leave_out("agent=eve, round=2")
    assert main(["whatif", "x"]) == 0
    assert main(["verdict", "results/x"]) == 0
    assert Path("results/x/scores.csv").read_bytes() == before
    assert main(["report", "results/x", "--no-figures"]) == 0
    page = Path("results/x/report.html").read_text()
    assert 'id="whatif"' in page
    assert "round=2" in page
    capsys.readouterr()
    assert main(["report", "results/x", "--text"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "talk on arithmetic without agent=eve:" in said
    assert (Path("results/x/tables/whatif.csv")).read_text().count("\n") == 3


def test_turns_by_label_and_how_many_change_the_answer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand from the records: a turn changes the answer if its debate without it ends with another one."""
    labels = (
        "labels: {shifted: changed, move: {prompt: my/move.j2, values: [checks, follows]}}\nanalysis: {judge: wise}\n"
    )
    Path("specs/x.yaml").write_text(SPEC.replace("[agent=eve]", "[turn]") + labels)
    Path("prompts/my").mkdir(parents=True)
    template = "{% include 'labels/turn.j2' %}\nHow does it move?\n{% include 'labels/end.j2' %}\n"
    Path("prompts/my/move.j2").write_text(template)
    part = ["--dataset", "arithmetic", "--cell", "talk"]
    assert main(["label", "x", *part, "--out", "results/x/parts/arithmetic/talk/labels.csv"]) == 0
    assert main(["whatif", "x"]) == 0
    labelled = pd.read_csv("results/x/parts/arithmetic/talk/labels.csv")
    causes = pd.read_csv("results/x/whatif/causes.csv").set_index("label")
    assert list(causes.index) == ["shifted", "move_checks", "move_follows"]
    originals = {
        (record.header.replicate, record.debate.question_id): record.debate
        for path in debate_files(Path("results/x"))
        for record in read_debates(path)
    }
    counts = {"yes": [0, 0], "no": [0, 0]}
    for path in Path("results/x/whatif/debates").rglob("*.jsonl"):
        for record in read_debates(path):
            speaker, _, round_ = record.header.without.removeprefix("turn=").rpartition("@")
            key = record.header.replicate, record.debate.question_id
            rows = labelled[(labelled.replicate == key[0]) & (labelled.question_id == key[1])]
            rows = rows[(rows.label == "shifted") & (rows.speaker == speaker) & (rows["round"] == int(round_))]
            for value in rows.value:
                counts[value][0] += 1
                counts[value][1] += record.debate.answer != originals[key].answer
    shifted = causes.loc["shifted"]
    assert [shifted.turns, shifted.changed, shifted.other_turns, shifted.other_changed] == [
        *counts["yes"],
        *counts["no"],
    ]
    assert sum(counts["yes"]) > 0
    assert "how many change the answer when left out" in capsys.readouterr().out


WORDS = SPEC.replace("{name: arithmetic, size: 5}", "{file: words.jsonl, kind: text, metric: f1}").replace(
    "whatif:", "analysis: {metrics: [f1, judged, calls], judge: wise}\nwhatif:"
).replace("replicates: 2", "replicates: 1")  # fmt: skip


def test_effects_on_judged_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metrics are those of the spec; the judge is asked once about each answer, also on a second look."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "x.yaml").write_text(WORDS)
    sums = [{"id": f"q{n}", "question": f"What is the result of {n}+{n}?", "answer": str(2 * n)} for n in range(1, 5)]
    (tmp_path / "specs" / "words.jsonl").write_text("\n".join(map(json.dumps, sums)))
    monkeypatch.chdir(tmp_path)
    job = ["debate", "x", "--dataset", "words", "--cell", "talk", "--shard", "r1-s01"]
    assert main([*job, "--out", "results/x/debates/words/talk/r1-s01.jsonl"]) == 0
    assert main(["plan", "x", "--out", "results/x/plan.json"]) == 0
    capsys.readouterr()
    assert main(["whatif", "x", "--json"]) == 0
    effects = table(capsys)
    assert [row["metric"] for row in effects] == ["f1", "judged", "calls"]
    assert all(0 <= row["whole"] <= 1 for row in effects[:2])
    assert (effects[2]["whole"], effects[2]["left_out"]) == (9, 6)  # three agents, an opening and two rounds
    log = Path("results/x/judgements/words/calls/whatif~talk.jsonl")
    asked = log.read_text().splitlines()
    assert len({json.loads(line)["key"] for line in asked}) == len(asked) > 0
    assert main(["whatif", "x", "--json"]) == 0
    assert table(capsys) == effects
    assert log.read_text().splitlines() == asked


def test_a_method_that_hands_questions_on_says_that_the_other_one_leaves_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    handing_on = "rounds: 2, defer: {below: 0.7, to: alone}}\n  alone: {protocol: cot, agents: [eve]}"
    Path("specs/x.yaml").write_text(SPEC.replace("rounds: 2}", handing_on))
    _run()
    assert main(["whatif", "x"]) == 0
    told = "talk: questions that it hands on to alone are debated there with nothing left out"
    assert told in capsys.readouterr().err.splitlines()
