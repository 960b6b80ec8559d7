"""The verbs, called as a shell calls them: what they print, what they return, what they load."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.cli.verbs import JOBS, VERBS, command_of
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.records.tallies import Tallies

SPEC = """\
title: Small
seed: 3
dataset: {name: arithmetic, size: 3}
models:
  one: {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
agents:
  - {name: one, model: one}
  - {name: two, model: one}
  - {name: three, model: one}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
  vote:   {protocol: voting}
"""
LIGHT = {"pandas", "scipy", "statsmodels", "matplotlib", "litellm", "aiohttp", "networkx", "math_verify", "snakemake"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one spec."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "x.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def debated(cell: str) -> Path:
    """Run the job of a cell and return its records."""
    out = Path(f"results/x/debates/arithmetic/{cell}/r1-s01.jsonl")
    assert main(["debate", "x", "--dataset", "arithmetic", "--cell", cell, "--shard", "r1-s01", "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` ends with 0, and the verb's module has the two functions that the command line calls."""
    command = command_of(verb)
    assert callable(command.add_arguments)
    assert callable(command.run)
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert f"usage: cortexdsl {verb}" in capsys.readouterr().out


def test_without_a_verb_or_with_an_unknown_one_the_status_is_2() -> None:
    """As for every input that is wrong."""
    for arguments in ([], ["chek"], ["check"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2


def _problems(out: str) -> list[dict[str, str]]:
    """What `check --json` printed besides the datasets that it understood."""
    return [line for line in map(json.loads, out.splitlines()) if line["level"] != "dataset"]


@pytest.mark.parametrize(
    ("rounds", "words"),
    [("[1, 3]", "4 cells (not in the grid: sparse, with its own settings)"), ("[1, 2]", "3 cells")],
)
def test_check_says_which_cell_is_not_in_the_grid(
    rounds: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("specs/x.yaml").write_text(f"{SPEC}grid: {{sparse: {{rounds: {rounds}}}}}\n")
    assert main(["check", "specs/x.yaml"]) == 0
    assert f"specs/x.yaml: {words}, 0 claims; it can run" in capsys.readouterr().out
    assert main(["plan", "specs/x.yaml"]) == 0
    assert f"{words} x 1 replicate" in " ".join(capsys.readouterr().out.split())


def test_check_tells_every_mistake_of_every_spec(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two mistakes in one spec, one spec that is not there, one that can run, one whose data is missing."""
    Path("specs/bad.yaml").write_text(SPEC.replace("seed: 3", "seed: -3\nreplicates: 0"))
    Path("specs/data.yaml").write_text(SPEC.replace("{name: arithmetic, size: 3}", "{file: none.jsonl}"))
    specs = ["specs/bad.yaml", "specs/none.yaml", "specs/x.yaml", "specs/data.yaml"]
    assert main(["check", *specs]) == 2
    said = capsys.readouterr()
    assert "specs/bad.yaml:2:7: seed is -3" in said.err
    assert "specs/bad.yaml:3:13: replicates is 0" in said.err
    assert "there is no spec 'specs/none.yaml'" in said.err
    assert "none.jsonl: no such file" in said.err
    assert said.out.startswith("arithmetic: 3 questions, generated; answers are numbers\n")
    assert said.out.splitlines()[4:] == ["specs/x.yaml: 2 cells, 0 claims; it can run"]
    assert main(["check", "--json", *specs]) == 2
    said = capsys.readouterr()
    problems = _problems(said.out)
    assert [problem["where"].partition(":")[0] for problem in problems] == [
        "specs/bad.yaml", "specs/bad.yaml", "specs/none.yaml", "specs/data.yaml"
    ]  # fmt: skip
    assert all(problem["level"] == "error" and problem["what"] and problem["remedy"] for problem in problems)
    assert said.err == ""


def test_check_warns_of_single_braces_and_of_more_jobs_than_can_be_scheduled(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning leaves the status at 0; 2 cells x 3 shards x 501 replicates are 3,006 jobs."""
    Path("prompts/own").mkdir(parents=True)
    Path("prompts/own/answer.j2").write_text("{question} {{ question.text }} {{ answer_format }}")
    text = SPEC.replace("voting}", "voting, prompts: {answer: own/answer.j2}}")
    Path("specs/x.yaml").write_text(text + "replicates: 501\nshard_size: 1\n")
    assert main(["check", "--json", "x"]) == 0
    braces, jobs = _problems(capsys.readouterr().out)
    assert (braces["level"], braces["where"]) == ("warning", "prompts/own/answer.j2:1:1")
    assert "{question} is sent to the model as it stands" in braces["what"]
    assert (jobs["level"], jobs["what"]) == ("warning", "3,006 debate jobs")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "logprob",
            "confidence: logprob, and 2 of 2 questions of notes ask for free texts: no tokens spell a free text",
        ),
        (
            "consistency(5)",
            "confidence: consistency, and 2 of 2 questions of notes ask for free texts: further replies",
        ),
        ("verifier(tiny)", None),
        ("stated", None),
    ],
)
def test_check_warns_where_the_confidence_of_free_texts_cannot_be_measured(
    here: Path, capsys: pytest.CaptureFixture[str], source: str, said: str | None
) -> None:
    """A free text is the reply as a whole: no part of it spells it, and no other reply is the same."""
    rows = [{"id": f"q{n}", "question": "Sum it up.", "answer": "Much was said."} for n in range(2)]
    Path("specs/notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("specs/x.yaml").write_text(
        "title: Is it short?\ndataset: {file: notes.jsonl, kind: free}\n"
        "models: {tiny: {model: openai/tiny, api_base: 'http://localhost:1/v1'}}\n"
        "agents: [{name: one, model: tiny}]\n"
        f"methods: {{cot: {{protocol: cot, confidence: {source}}}}}\n"
    )
    assert main(["check", "--json", "x"]) == 0
    warnings = [problem["what"] for problem in _problems(capsys.readouterr().out)]
    assert [said in what for what in warnings] == ([True] if said else [])


@pytest.mark.parametrize(("decide", "is_warned"), [("median", True), ("mean", True), ("majority", False)])
def test_check_warns_where_numbers_decide_and_answers_are_none(
    here: Path, capsys: pytest.CaptureFixture[str], decide: str, is_warned: bool
) -> None:
    """Of the two datasets one has options."""
    row = {"question": "Which?", "answer": "A", "choices": ["one", "two"]}
    Path("specs/options.jsonl").write_text("\n".join(json.dumps({"id": f"q{n}", **row}) for n in range(2)))
    Path("specs/x.yaml").write_text(
        "title: Is it a number?\n"
        "datasets: {sums: {name: arithmetic, size: 3}, letters: {file: options.jsonl, choices: choices}}\n"
        "models: {tiny: {model: builtin/solver}}\nagents: [{name: one, model: tiny}]\nmethods: {own: {protocol: own}}\n"
        "protocols:\n  own:\n    steps: {answer: {role: debater, prompt: common/answer.j2}}\n"
        f"    schedule: [answer]\n    decide: {decide}\n"
    )
    assert main(["check", "--json", "x"]) == 0
    warnings = [problem["what"] for problem in _problems(capsys.readouterr().out)]
    about = "own: a median or mean decides, and the answers to 2 of 2 questions of letters are not numbers"
    assert [what.startswith(about) for what in warnings] == ([True] if is_warned else [])


def test_plan_prints_a_table_or_json_and_writes_the_same_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three agents, three questions: 27 calls at most for two rounds, and 9 for the vote, which are its openings."""
    assert main(["plan", "x"]) == 0
    said = capsys.readouterr().out
    assert "2 cells x 1 replicate x questions (3 of arithmetic); 2 debate jobs" in said
    assert "About 27 calls are sent if no debate ends early: 9 are shared between cells" in said
    assert "may stop the run" not in said
    assert main(["plan", "x", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["estimate"]["calls"] == 36
    assert record["estimate"]["shared_calls"] == 9
    assert [cell["cell"] for cell in record["cells"]] == ["sparse", "vote"]
    assert main(["plan", "x", "--out", "plan.json"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(Path("plan.json").read_text()) == record


def test_new_writes_a_spec_that_can_run_and_overwrites_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a folder of its own, too; what to do next is printed and works as printed."""
    assert main(["new", "mine"]) == 0
    said = capsys.readouterr().out
    assert "cortexdsl check specs/mine.yaml, then cortexdsl run mine\n" in said
    assert main(["check", "specs/mine.yaml"]) == 0
    assert main(["new", "papers/mine"]) == 0
    assert "cortexdsl run papers/mine" in capsys.readouterr().out
    assert "$schema=../spec.schema.json" in Path("specs/papers/mine.yaml").read_text()
    assert "title" in json.loads(Path("specs/spec.schema.json").read_text())["properties"]
    before = Path("specs/mine.yaml").read_bytes()
    assert main(["new", "specs/mine.yaml"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert Path("specs/mine.yaml").read_bytes() == before


@pytest.mark.parametrize("name", ["a b", "../up", "", "a{b}", "/etc/x", "_part"])
def test_new_refuses_a_name_that_no_experiment_can_have(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Such a spec would be written, and could then not be run by its name."""
    assert main(["new", name]) == 2
    assert "cannot name an experiment" in capsys.readouterr().err
    assert sorted(path.name for path in here.rglob("*.yaml")) == ["x.yaml"]


def test_replay_says_byte_for_byte_what_differs_and_what_is_missing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the call logs alone: 0 where all is equal, 1 where a record was edited or is not there."""
    records = [debated("sparse"), debated("vote")]
    assert main(["replay", "x"]) == 0
    assert "2 of 2 jobs replayed from their call logs byte for byte" in capsys.readouterr().out
    records[0].write_bytes(records[0].read_bytes().replace(b"Answer", b"answer", 1))
    records[1].unlink()
    assert main(["replay", "x"]) == 1
    said = capsys.readouterr().out
    assert f"differs: {records[0]}" in said
    assert f"missing: {records[1]}" in said
    for log in Path("results/x/calls").rglob("*.jsonl"):
        log.unlink()
    assert main(["replay", "x"]) == 1
    assert "is in none of the call logs" in capsys.readouterr().err


def test_a_job_runs_twice_to_the_same_bytes_and_asks_nothing_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time every call is replayed."""
    before = debated("sparse").read_bytes()
    capsys.readouterr()
    assert debated("sparse").read_bytes() == before
    assert "sparse r1-s01: 0 calls sent" in capsys.readouterr().err


def test_debates_of_an_agent_that_left_the_spec_are_not_decided_anew(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its votes would be lost, and the records written anew without them."""
    out = debated("sparse")
    before = out.read_bytes()
    text = SPEC.replace("  - {name: three, model: one}\n", "").replace("  vote:   {protocol: voting}\n", "")
    Path("specs/x.yaml").write_text(text)
    capsys.readouterr()
    assert main(["regrade", "x"]) == 2
    said = capsys.readouterr().err
    assert "three spoke in the debates of sparse, and is not among its agents now" in said
    assert "run the experiment again first: cortexdsl run specs/x.yaml" in said
    assert out.read_bytes() == before


def test_results_are_named_by_their_experiment_as_a_run_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show x` is `show results/x`; a path that is there means itself."""
    debated("vote")
    capsys.readouterr()
    assert main(["show", "results/x"]) == 0
    said = capsys.readouterr().out
    assert main(["show", "x"]) == 0
    assert capsys.readouterr().out == said
    Path("x").mkdir()
    assert main(["show", "x"]) == 1


def test_status_takes_the_name_and_every_way_to_write_the_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    debated("vote")
    said = set()
    for place in ("x", "results/x", "./results/x/", str(here / "results/x")):
        capsys.readouterr()
        main(["status", place])
        said.add(re.sub(r"[\d.]+ m?s", "", capsys.readouterr().out))
    assert len(said) == 1
    assert main(["status", "/nowhere/results/x"]) == 2
    assert "an experiment of another folder" in capsys.readouterr().err


def test_a_job_counts_the_replies_that_its_steps_could_not_read(here: Path) -> None:
    """Asked for a thumb the solver comments: no judge is read, and every debater is."""
    (here / "prompts").mkdir()
    (here / "prompts/thumb.j2").write_text("{% include 'common/heard.j2' %}\n\nThumb: <up or down>")
    protocol = """\
protocols:
  thumbs:
    roles: {debater: everyone, judge: 1}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      judge: {role: judge, hears: debater, reads: verdict, prompt: thumb.j2}
    schedule: [answer, judge]
    decide: majority
"""
    (here / "specs/x.yaml").write_text(SPEC.replace("protocol: voting", "protocol: thumbs") + protocol)
    debates = len(debated("vote").read_text().splitlines())
    (tally,) = Tallies(here / "results/x/spent").read()
    assert tally.unread == {("answer", "answer"): (0, 3 * debates), ("judge", "verdict"): (debates, debates)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cell", "sprse"], "there is no cell 'sprse'; there are: sparse, vote"),
        (["--dataset", "x"], "there is no dataset 'x'; there are: arithmetic"),
        (["--shard", "r2-s01"], "dataset arithmetic has no shard 'r2-s01'"),
        (["--digest", "0" * 16], "has changed since the workflow started"),
    ],
)
def test_a_job_that_the_spec_does_not_have_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """With status 2, what there is, and nothing written."""
    usual = ["debate", "x", "--dataset", "arithmetic", "--cell", "vote", "--shard", "r1-s01", "--out", "out.jsonl"]
    assert main([*usual, *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    assert not Path("results").exists()


def test_explain_draws_a_matched_method_as_often_as_the_plan_counts(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest debate of `sparse`: three agents answer, and twice again. `samples` is not looked at."""
    matched = "  matched: {protocol: self-consistency, agents: [three], budget: calls(sparse)}\n"
    Path("specs/x.yaml").write_text(SPEC + matched)
    assert main(["explain", "specs/x.yaml", "matched"]) == 0
    said = capsys.readouterr().out
    assert "samples: as the calls of sparse allow, question by question; here for its longest debate\n" in said
    assert "samples: 9}" in said
    assert "calls: 9 at most\n" in said


def test_explain_draws_protocols_and_methods(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A built-in protocol by name with a setting, and a method of a spec."""
    assert main(["explain", "group", "--agents", "4", "--set", "groups=2"]) == 0
    assert "group" in capsys.readouterr().out
    assert main(["explain", "debate", "--set", "topology={groups: 2}"]) == 0
    assert "    hears: {groups: 2}\n" in capsys.readouterr().out
    for spec in ("specs/x.yaml", "x"):
        assert main(["explain", spec, "vote"]) == 0
        assert capsys.readouterr().out.startswith("# vote\nprotocol: voting\n")
    assert main(["explain"]) == 0
    assert "mad-judge              Affirmative, negative and judge\n" in capsys.readouterr().out
    assert main(["explain", "specs/x.yaml", "vot"]) == 2
    assert main(["explain", "group", "--set", "groups"]) == 2
    assert main(["explain", "grup"]) == 2


def test_run_starts_nothing_that_check_refuses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prompts are rendered before Snakemake starts, which would replace this process."""
    Path("prompts").mkdir(exist_ok=True)
    Path("prompts/slip.j2").write_text("{{ qestion.text }} {{ answer_format }}")
    text = SPEC.replace("{protocol: voting}", "{protocol: voting, prompts: {answer: slip.j2}}")
    Path("specs/slip.yaml").write_text(text)
    said = []
    for verb in ("check", "run"):
        assert main([verb, "specs/slip.yaml"]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert "prompts/slip.j2:1:4: there is no variable qestion" in said[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["specs/x.yaml", "vote", "--set", "rounds=2"], "--set is for built-in protocols"),
        (["specs/x.yaml", "vote", "--agents", "3"], "--agents is for built-in protocols"),
        (["group", "vote"], "only a spec has methods"),
    ],
)
def test_explain_ignores_no_argument(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(["explain", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_show_prints_the_prompt_of_each_turn_as_the_call_log_has_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn whose call is in no log says so: logs may be removed or archived."""
    line = debated("vote").read_text().partition("\n")[0]
    record = json.loads(line)
    shown = ["show", "x", "--question", record["question_id"], "--prompts"]
    logs = list(Path("results/x/calls").rglob("*.jsonl"))
    calls = {call["key"]: call for log in logs for call in map(json.loads, log.read_text().splitlines())}
    capsys.readouterr()
    assert main(shown) == 0
    out = capsys.readouterr().out
    assert out.count("    < [user]\n") == len(record["turns"]) == 3
    for turn in record["turns"]:
        for message in calls[turn["call"]]["messages"]:
            assert "\n".join(f"    < {line}".rstrip() for line in message["content"].split("\n")) in out
    assert main(shown[:-1]) == 0
    assert "    < " not in capsys.readouterr().out

    for log in logs:
        log.unlink()
    assert main(shown) == 0
    assert "    (its prompt is in no call log)\n" in capsys.readouterr().out
    Path("alone.jsonl").write_text(f"{line}\n")
    assert main(["show", "alone.jsonl", *shown[2:]]) == 0
    assert "    (its prompt is in no call log)\n" in capsys.readouterr().out
    assert main(["show", "x", "--prompts"]) == 2
    assert "say which: --question ID" in capsys.readouterr().err


def test_show_says_what_was_asked_as_long_as_the_spec_means_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The question and its gold are those of the spec; where it means others by now, a warning says so."""
    debated("vote")
    assert main(["plan", "x", "--out", "results/x/plan.json"]) == 0
    task = compile_spec("x").tasks["arithmetic"]
    first = task.questions[0]
    shown = ["show", "results/x", "--question", first.id]
    capsys.readouterr()
    assert main(shown) == 0
    said = capsys.readouterr()
    assert f"\n    ? {first.text}\nright: {task.gold(first.id)[0]}\n" in said.out
    assert said.err == ""

    Path("specs/x.yaml").write_text(SPEC.replace("seed: 3", "seed: 4"))
    assert main(shown) == 0
    said = capsys.readouterr()
    assert "    ? " not in said.out
    assert (
        said.err
        == "warning: texts of questions are not shown: specs/x.yaml now selects different questions: arithmetic\n"
    )

    Path("results/x/plan.json").write_text('{"schema_ver')
    assert main(shown) == 2
    assert "results/x/plan.json (cut: 12 of" in capsys.readouterr().err


def test_a_file_where_a_folder_must_be_is_one_line_without_a_traceback(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The operating system's words, the path, and status 1."""
    Path("results").write_text("in the way")
    arguments = ["--dataset", "arithmetic", "--cell", "vote", "--shard", "r1-s01", "--out", "results/out.jsonl"]
    assert main(["debate", "x", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "results" in said
    assert said.count("\n") <= 2


@pytest.mark.parametrize(
    ("verb", "heavy"), [("check", LIGHT), ("compile", LIGHT), ("debate", LIGHT), ("score", {"scipy", "statsmodels"})]
)
def test_a_verb_loads_only_what_it_needs(verb: str, heavy: set[str]) -> None:
    """Statistics take two seconds to load and litellm three: jobs and checks of which there are many go without."""
    code = f"import sys; from cortexdsl.cli import main, verbs; verbs.command_of({verb!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert heavy & set(loaded) == set()


def test_the_help_names_every_verb_once_the_daily_ones_first(capsys: pytest.CaptureFixture[str]) -> None:
    """At 80 columns; verbs that only the workflow calls stand at the end, without a line of their own."""
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    listed = [name for name, verb in VERBS.items() if verb.group != JOBS]
    places = [said.index(f"\n  {name} ") for name in listed]
    assert places == sorted(places)
    assert said.index("\n  report ") < said.index("\n  data ") < said.index("called by the workflow")
    assert all(len(line) <= 80 for line in said.splitlines())
    assert all(name in said.split("called by the workflow")[1] for name in VERBS.keys() - set(listed))


def test_without_a_verb_the_help_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "error: name a verb; cortexdsl --help lists all verbs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "hint"), [("chek", "did you mean check?"), ("xyz", "cortexdsl --help lists all verbs")]
)
def test_a_mistyped_verb_is_answered_with_the_nearest_one(
    typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, status 2."""
    with pytest.raises(SystemExit, match="2"):
        main([typed, "specs/x.yaml"])
    assert f"there is no verb '{typed}'; {hint}" in capsys.readouterr().err
