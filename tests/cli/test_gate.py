"""The gate: its exit status, what it prints and writes, what it refuses, its page and its action."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from cortexdsl.cli.main import main
from cortexdsl.cli.score_sources import read_sources
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import begin_run, end_run
from cortexdsl.report.gate import COLUMNS
from tests.jobs.experiment import NAME, SPEC, call, run_jobs, write_spec
from tests.workflow.bench import Bench

HEAD = "cell,replicate,question_id,score\n"
CLAIM = "accuracy(new) >= accuracy(old) - 0.02"
WORSE, EQUAL, BETTER = [1] * 20 + [0] * 20, [1] * 39 + [0], [1] * 40
"""Replies of `new` where `old` has 39 of 40 right (but for BETTER, where it has 10)."""


def table(path: Path, **cells: list[int]) -> str:
    rows = [f"{cell},1,{k},{score}\n" for cell, scores in cells.items() for k, score in enumerate(scores)]
    path.write_text(HEAD + "".join(rows))
    return str(path)


@pytest.fixture
def worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return table(Path("worse.csv"), old=EQUAL, new=WORSE)


def gate(capsys: pytest.CaptureFixture[str], *command: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["gate", *command])
    out, error = capsys.readouterr()
    return status, " ".join((out + error).split())


def test_a_contradicted_claim_has_status_1(worse: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = gate(capsys, worse, "--require", CLAIM)
    assert status == 1
    assert "✗ The accuracy of new is at most 2 points below that of old. CONTRADICTED: −47.5 points" in text
    assert text.endswith("gate failed: 1 required claim, 1 contradicted")


def test_supported_claims_have_status_0_and_one_that_is_contradicted_fails_all(
    worse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(capsys, worse, "--require", "accuracy(new) < accuracy(old)")[0] == 0
    status, text = gate(capsys, worse, "--require", "accuracy(new) < accuracy(old)", "--require", CLAIM)
    assert (status, text.partition("gate failed: ")[2]) == (1, "2 required claims, 1 contradicted, 1 supported")


@pytest.mark.parametrize(
    ("options", "status", "word"), [([], 3, "undecided"), (["--undecided", "pass"], 0, "passed"),
                                    (["--undecided", "fail"], 1, "failed")],
)  # fmt: skip
def test_an_undecided_claim_has_its_own_status_unless_it_passes_or_fails(
    worse: str, capsys: pytest.CaptureFixture[str], options: list[str], status: int, word: str
) -> None:
    found, text = gate(capsys, worse, "--require", "accuracy(new) > 0.45", *options)
    assert found == status
    assert f"gate {word}: 1 required claim, 1 undecided" in text
    assert "questions would decide it. These scores have 40" in text
    assert "for an effect of the estimated size, found in 80 % of experiments." in text


def test_an_estimate_against_the_claim_also_says_what_would_decide_it(
    worse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both directions are tested, so as many questions contradict `> 0.55` as support `< 0.55`."""
    against, favours = (
        gate(capsys, worse, "--require", f"accuracy(new) {operator} 0.55", "--json", "g.json")[1]
        for operator in (">", "<")
    )
    needed = json.loads(Path("g.json").read_text())["claims"][0]["questions_needed"]
    assert 300 < needed < 1200
    assert (
        "".join(re.findall(r"; about [\d,]+ questions", against + favours))
        == 2 * f"; about {round(needed, -1)} questions"
    )
    on_the_bound = gate(capsys, worse, "--require", "accuracy(new) > 0.5")[1]
    assert "How many questions would decide it cannot be estimated from these scores." in on_the_bound


def test_the_files_have_the_same_verdicts(
    worse: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    Path("step.md").write_text("earlier\n")
    claims = [CLAIM, "accuracy(new) < accuracy(old)", "accuracy(new) > 0.45"]
    options = [word for claim in claims for word in ("--require", claim)]
    files = ["--summary", "s.md", "--junit", "j.xml", "--json", "g.json"]
    assert gate(capsys, worse, *options, *files)[0] == 1
    record = json.loads(Path("g.json").read_text())
    assert set(record) == {
        "version", "outcome", "status", "sources", "alpha", "correction", "claims", "notes", "burn_in",
    }  # fmt: skip
    assert (record["version"], record["outcome"], record["status"]) == (1, "contradicted", 1)
    verdicts = ["contradicted", "supported", "undecided"]
    assert [(one["claim"], one["verdict"]) for one in record["claims"]] == list(zip(claims, verdicts, strict=True))
    assert all(set(one) == {*COLUMNS, "words", "dollars_needed"} for one in record["claims"])
    suite = ElementTree.parse("j.xml").getroot()
    totals = {"tests": "3", "failures": "1", "errors": "1", "skipped": "0"}
    assert totals.items() <= suite.attrib.items()
    assert [(case.get("name"), case[0].tag) for case in suite] == list(
        zip(claims, ["failure", "system-out", "error"], strict=True)
    )
    markdown = Path("s.md").read_text()
    assert markdown.startswith("## ✗ Gate failed: 3 required claims, 1 contradicted, 1 undecided, 1 supported\n")
    assert sum(line.startswith("| ✗ contradicted | The accuracy of new") for line in markdown.splitlines()) == 1
    assert Path("step.md").read_text() == f"earlier\n{markdown}"


@pytest.mark.parametrize(("option", "tag", "count"), [("pass", "skipped", "skipped"), ("fail", "failure", "failures")])
def test_an_undecided_test_case_is_what_the_option_says(
    worse: str, capsys: pytest.CaptureFixture[str], option: str, tag: str, count: str
) -> None:
    gate(capsys, worse, "--require", "accuracy(new) > 0.45", "--undecided", option, "--junit", "j.xml")
    suite = ElementTree.parse("j.xml").getroot()
    assert (suite[0][0].tag, suite.get(count)) == (tag, "1")


def test_names_of_cells_and_files_are_text_in_markdown_and_xml(worse: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "<img src=x>|`\x1b*"
    source = table(Path("a#b.csv"), **{"old": EQUAL, name: WORSE})
    assert gate(capsys, source, "--require", f"accuracy({name}) < accuracy(old)", "--summary", "s.md", "--junit",
                "j.xml")[0] == 0  # fmt: skip
    line = next(line for line in Path("s.md").read_text().splitlines() if "✓ supported" in line)
    assert r"&lt;img src=x>\|\`\\x1b\*" in line
    assert r"<img src=x>|`\x1b*" in str(ElementTree.parse("j.xml").getroot()[0].get("name"))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["worse.csv"], "worse.csv: no claim is required write --require 'accuracy(new) >= accuracy(old) - 0.02'"),
        (["worse.csv", "--require", "accuracy(new) >"], "--require"),
        (["worse.csv", "--require", "accuracy(newer) > accuracy(old)"], "no cell 'newer'; nearest: new"),
        (["worse.csv", "--require", "f1(new) > f1(old)"], "f1"),
        (["none.csv", "--require", CLAIM], "none.csv: there is no such file"),
        (["worse.csv", "--require", CLAIM, "--junit", "none/j.xml"], "none/j.xml: its folder does not exist"),
        (["worse.csv", "--require", CLAIM, "--burn-in", "0"], "--burn-in 0: this is not a number"),
        (["worse.csv", "--require", "accuracy(new) > 0.3", "--burn-in", "9"], "the claims are about new alone"),
    ],
)
def test_bad_input_has_status_2_and_one_sentence(
    worse: str, capsys: pytest.CaptureFixture[str], command: list[str], expected: str
) -> None:
    status, text = gate(capsys, *command)
    assert status == 2
    assert expected in text.partition("error: ")[2]


def test_a_file_that_cannot_be_written_has_status_2(worse: str, capsys: pytest.CaptureFixture[str]) -> None:
    """1 is the status of a contradicted claim alone."""
    Path("folder").mkdir()
    status, text = gate(capsys, worse, "--require", CLAIM, "--json", "folder")
    assert (status, text) == (2, "error: folder: Is a directory")


def test_a_reader_that_has_ended_does_not_change_the_status(worse: str) -> None:
    """With `| head` and `pipefail`, a contradicted claim would pass otherwise."""
    command = [sys.executable, "-m", "cortexdsl", "gate", worse, "--require", CLAIM]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


# ------------------------------------------------------------ logs and folders of results
def test_logs_are_marked_as_exploratory(worse: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("old", 40), ("new", 10)):
        rows = [
            {"provider": name, "prompt": "{{q}}", "vars": {"q": k}, "testIdx": k, "success": k < right}
            for k in range(40)
        ]
        Path(f"{name}.json").write_text(json.dumps({"results": {"version": 3, "results": rows}}))
    status, text = gate(capsys, "old.json", "new.json", "--score", "pass", "--require", CLAIM)
    assert status == 1
    assert "(exploratory) CONTRADICTED: −75.0 points" in text
    assert "40 questions are in all 2 logs." in text


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_jobs(write_spec(SPEC.replace("e12}", "e12, price: {input: 1, output: 2}}")))
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Path("results", NAME)


def test_the_hypotheses_of_a_folder_are_required_and_its_own_verdicts_count(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = gate(capsys, place.as_posix(), "--json", "g.json")
    rows = json.loads(Path("g.json").read_text())["claims"]
    own = [line.split(",") for line in (place / "hypotheses.csv").read_text().splitlines()]
    at = own[0].index("verdict")
    assert [(row["claim"], row["verdict"]) for row in rows] == [(line[0], line[at]) for line in own[1:]]
    assert status == {"supported": 0, "contradicted": 1, "undecided": 3}[own[1][at]]
    assert "exploratory" not in text


def test_another_claim_of_a_folder_is_exploratory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = gate(capsys, place.as_posix(), "--require", "accuracy(high) > 0.01")
    assert status == 0
    assert "(exploratory) SUPPORTED" in text


def test_an_edited_table_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "hypotheses.csv"
    path.write_text(path.read_text().replace("undecided", "supported").replace("contradicted", "supported") + "\n")
    status, text = gate(capsys, place.as_posix())
    assert status == 2
    assert "not as the experiment wrote it" in text


def test_what_would_decide_has_the_price_that_the_experiment_paid(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = gate(capsys, place.as_posix(), "--require", "accuracy(high) > 0.7", "--json", "g.json")
    assert status == 3
    claim = json.loads(Path("g.json").read_text())["claims"][0]
    tallies = [json.loads(path.read_text()) for path in (place / "spent").glob("*.json")]
    paid = sum(tally["dollars"] for tally in tallies)
    assert paid > 0
    assert claim["dollars_needed"] == pytest.approx(paid * claim["questions_needed"] / 20)
    assert "These scores have 20 questions, and a new run with so many costs about $" in text


def test_a_run_that_ended_early_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tables are of an earlier run, which would pass for a change that was not run."""
    layout = Layout(place.as_posix())
    begin_run(layout, [f"{place}/scores.csv", f"{place}/none.csv"], "")
    end_run(layout, "stopped", "Ctrl-C")
    status, text = gate(capsys, place.as_posix())
    assert status == 2
    assert "Stopped by Ctrl-C" in text
    assert "finish it first: cortexdsl run specs/small.yaml" in text


def test_results_of_a_spec_that_has_changed_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a changed prompt would pass by the results of the earlier one."""
    spec = Path("specs/small.yaml")
    spec.write_text(spec.read_text().replace("size: 20", "size: 15"))
    status, text = gate(capsys, place.as_posix())
    assert status == 2
    assert "its spec has changed since the run (dataset arithmetic: 20 questions, then 15)" in text


def test_an_experiment_that_stops_early_is_tested_by_its_own_hypotheses_alone(
    worse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(SPEC + "stopping: {min_questions: 10, batch: 10}\n")
    plan = compile_spec(spec)
    for cell, shard in ((cell.slug, shard.label) for cell in plan.cells for shard in plan.shards["arithmetic"]):
        out = plan.layout.debates("arithmetic", cell, shard)
        call("debate", spec, "--dataset", "arithmetic", "--cell", cell, "--shard", shard, "--out", out)
    for batch in "12":
        call("look", spec, "--batch", batch)
    run_jobs(spec)
    own = "accuracy(high) > accuracy(low)"
    assert gate(capsys, f"results/{NAME}", "--require", own)[0] in (0, 3)
    for options in (["--require", "accuracy(high) > 0.01"], ["--require", own, "--burn-in", "5"]):
        status, text = gate(capsys, f"results/{NAME}", *options)
        assert status == 2
        assert "stopped when its own hypotheses" in text or "asked questions by what the cells answered" in text


# ------------------------------------------------------------ A against A
def test_exchanged_cells_fail_as_often_as_the_test_says(worse: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Six questions differ, so that the exact test contradicts the claim if all six fall on one side: 1 in 64."""
    source = table(Path("six.csv"), old=[1] * 6 + [1, 0] * 7, new=[0] * 6 + [1, 0] * 7)
    command = [source, "--require", "accuracy(new) > accuracy(old)", "--burn-in", "640", "--json", "g.json"]
    status, text = gate(capsys, *command)
    found = json.loads(Path("g.json").read_text())["burn_in"]
    assert status == 1  # of the scores as they are, which the exchanges do not change
    assert (found["times"], found["cells"], found["nominal"]) == (640, ["new", "old"], 0.025)
    assert found["contradicted"] + found["undecided"] + found["supported"] == 640
    for verdict in ("contradicted", "supported"):
        assert 3 <= found[verdict] <= 20
    assert f"a claim is contradicted {found['contradicted']} times" in text
    assert "the level of the tests allows 2.5%" in text


# ------------------------------------------------------------ the page, and the action
def changed_prompt(path: Path) -> str:
    """The table of the page: 160 of 200 questions right with the prompt of main, 142 with that of the pull request."""
    main_scores = [int(k % 10 < 8) for k in range(200)]
    pull = [int((k % 10 < 8 and k % 7 > 0) or k % 40 == 9) for k in range(200)]
    assert (sum(main_scores), sum(pull)) == (160, 142)
    return table(path, main=main_scores, pull=pull)


def test_the_page_shows_what_the_gate_says(worse: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (repository / "docs/howto/gate-a-pull-request.md").read_text(encoding="utf-8")
    source = changed_prompt(Path("pr.csv"))
    assert main(["gate", source, "--require", "accuracy(pull) >= accuracy(main) - 0.02", "--json", "g.json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "\n".join([*lines[:2], lines[-1]]) in page
    record = json.loads(Path("g.json").read_text())
    keys = {*record, *record["claims"][0]}
    assert keys <= set(re.findall(r"`(\w+)`", page.partition("## The JSON")[2]))


@pytest.mark.parametrize(("undecided", "status"), [("", 3), ("pass", 0)])
def test_the_action_runs_the_gate(worse: str, repository: Path, undecided: str, status: int) -> None:
    """Its script gets the inputs by its environment alone, one claim and one source in each line."""
    action = yaml.safe_load((repository / ".github/actions/gate/action.yml").read_text(encoding="utf-8"))
    (step,) = action["runs"]["steps"]
    assert (action["runs"]["using"], step["shell"]) == ("composite", "bash")
    assert "${{" not in step["run"]
    assert step["env"] == {name.upper(): f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    inputs = {name: str(each.get("default", "")) for name, each in action["inputs"].items()}
    inputs |= {"sources": f"{worse}\n", "undecided": undecided, "junit": "j $(touch x).xml"}
    inputs["require"] = "accuracy(new) < accuracy(old)\n\naccuracy(new) > 0.45"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {name.upper(): value for name, value in inputs.items()} | {"PATH": path, "GITHUB_STEP_SUMMARY": "step.md"}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(script, env=os.environ | given, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert len(ElementTree.parse("j $(touch x).xml").getroot()) == 2
    assert "2 required claims, 1 undecided, 1 supported" in Path("step.md").read_text()
    assert not Path("x").exists()


# ------------------------------------------------------------ a spec
PAID = SPEC.replace("e12}", "e12, price: {input: 1000, output: 2000}}").replace("size: 20", "size: 60")
STOPPING = "stopping: {min_questions: 20, batch: 20}\n"


@pytest.mark.workflow
def test_a_spec_is_run_until_its_claims_are_decided(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("specs/small.yaml", PAID + STOPPING)
    done = bench.cortexdsl("gate", "specs/small.yaml", "--most-dollars", "100000", "--json", "g.json")
    assert done.status == 0, done.text
    assert "gate passed: 1 required claim, 1 supported" in done.text
    assert len((tmp_path / "results/small/scores.csv").read_text().splitlines()) - 1 == 80  # of 2 x 60


@pytest.mark.workflow
def test_a_run_that_reaches_the_limit_is_undecided(tmp_path: Path) -> None:
    """A call costs about 0.1 dollars; of the limit, only calls in flight may exceed it."""
    bench = Bench(tmp_path)
    bench.write("specs/small.yaml", PAID + STOPPING)
    done = bench.cortexdsl("gate", "specs/small.yaml", "--most-dollars", "0.5", "--json", "g.json")
    assert done.status == 3, done.text
    text = " ".join(done.text.split())
    assert "UNDECIDED" in text
    assert "The limit of 0.5 dollars is reached" in text
    assert json.loads((tmp_path / "g.json").read_text())["outcome"] == "undecided"
    assert not (tmp_path / "results/small/scores.csv").exists()


@pytest.mark.workflow
def test_a_spec_runs_its_reference_against_itself(tmp_path: Path) -> None:
    """Each cell of a run has replicates of its own; the claims are tested as those of the spec."""
    bench = Bench(tmp_path)
    bench.write("specs/small.yaml", PAID.replace("seed: 3", "seed: 3\nreplicates: 2"))
    command = ["gate", "specs/small.yaml", "--burn-in", "3", "--most-dollars", "100000", "--json", "g.json"]
    done = bench.cortexdsl(*command, timeout=400)
    assert done.status == 0, done.text
    price = re.search(r"burn-in: low runs against itself 3 times, for at most \$([\d.]+)\n", done.text)
    assert price
    burn_in = json.loads((tmp_path / "g.json").read_text())["burn_in"]
    assert (burn_in["cells"], burn_in["times"], burn_in["nominal"]) == (["low"], 3, 0.025)
    assert burn_in["undecided"] == 3
    assert "(low run against itself, 3 times) a claim is contradicted 0 times (0.0%" in " ".join(done.text.split())
    own = tmp_path / "results/small-burn-in"
    assert [path.name for path in (own / "debates/arithmetic").iterdir()] == ["low"]
    rows = [line.split(",") for line in (own / "parts/arithmetic/low/scores.csv").read_text().splitlines()]
    at = rows[0].index("replicate")
    assert {int(row[at]) for row in rows[1:]} == set(range(1, 3 * 2 * 2 + 1))
    paid = sum(json.loads(path.read_text())["dollars"] for path in (own / "spent").rglob("*.json"))
    assert 0 < paid <= float(price[1])
    again = bench.cortexdsl(*command, timeout=400)
    assert again.status == 0, again.text
    bench.write("specs/small-burn-in.yaml", "title: Mine\n")
    done = bench.cortexdsl(*command, timeout=400)
    assert (done.status, "small-burn-in.yaml: the burn-in writes its spec here" in done.text) == (2, True)


@pytest.mark.workflow
def test_a_burn_in_that_reaches_the_limit_leaves_the_verdicts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("specs/small.yaml", PAID)
    assert bench.cortexdsl("run", "small").status == 0
    spent = bench.folder / "results/small/spent"
    paid = sum(json.loads(path.read_text())["dollars"] for path in spent.rglob("*.json"))
    limits = ["--burn-in", "4", "--most-dollars", f"{paid + 0.5}"]
    done = bench.cortexdsl("gate", "specs/small.yaml", *limits, timeout=400)
    text = " ".join(done.text.split())
    assert done.status == 0, done.text
    assert "The burn-in did not end: the limit of 0.5 dollars is reached (0." in text
    assert "gate passed: 1 required claim, 1 supported" in text


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["--require", "accuracy(high) > 0.1"], "this is not one of its hypotheses"),
        (["--most-dollars", "-1"], "--most-dollars -1.0: this is not a sum of money"),
        (["--burn-in", "0"], "--burn-in 0"),
        (["--score", "f1"], "this experiment has its own scores"),
    ],
)
def test_a_spec_is_refused_before_it_is_run(
    worse: str, capsys: pytest.CaptureFixture[str], command: list[str], expected: str
) -> None:
    spec = write_spec()
    status, text = gate(capsys, spec, *command)
    assert (status, Path("results").exists()) == (2, False)
    assert expected in text
    assert "--most-dollars is for a spec" in gate(capsys, worse, "--require", CLAIM, "--most-dollars", "1")[1]


def test_a_results_folder_comes_with_the_counts_that_its_plan_fixes(place: Path) -> None:
    """They decide claims about counts; a plan that is not the declared one says nothing of them."""
    table = read_sources([place.as_posix()]).table
    assert table.fixed == {"low": {"rounds": 0.0, "calls": 1.0}, "high": {"rounds": 0.0, "calls": 1.0}}
    plan = place / "plan.json"
    plan.write_text(plan.read_text().replace("accuracy(high)", "accuracy(low)"))
    changed = read_sources([place.as_posix()]).table
    assert changed.fixed == {}
