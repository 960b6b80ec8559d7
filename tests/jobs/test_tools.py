"""Steps without a model: they speak like agents, are logged, keyed and replayed like calls, and code needs trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.job_files import debate_inputs
from cortexdsl.plan.jobs.compiled_workflow import workflow_text
from cortexdsl.records import read_debates

SPEC = """\
seed: 4
dataset: {name: arithmetic, size: 3}
models: {one: {model: builtin/solver}}
agents: [{name: ann, model: one}, {name: bob, model: one}]
knowledge: {facts: {corpus: facts.jsonl, top: 1}}
tools:
  sums:  {tool: calculator}
  look:  {tool: search(facts)}
  shout: {tool: "own:shout", seconds: 20}
protocols:
  helped:
    settings: {helper: sums}
    roles: {debater: everyone, helper: {tool: $helper}}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      ask:    {role: helper, each: listener, hears: self, prompt: my/ask.j2, reads: summary}
      revise: {role: debater, hears: helper, shows: about_me, memory: last, prompt: my/revise.j2}
    schedule: [answer, ask, revise]
    decide: majority
methods:
  helped: {protocol: helped}
grid: {helped: {helper: [sums, look, shout]}}
"""
FILES = {
    "specs/x.yaml": SPEC,
    "specs/facts.jsonl": '{"id": "1", "title": "Sums", "text": "A sum is what numbers make together."}\n',
    "prompts/my/ask.j2": "Calculate: 6 * 7\nSearch: sum of numbers\n{{ heard[0].text }}\n",
    "prompts/my/revise.j2": "{{ question.text }}\n{% for t in heard %}{{ t.text }}{% endfor %}\n{{ own[0].text }}\n"
    "{{ answer_format }}\n",
    "own.py": "def shout(text):\n    return text.upper()\n",
}
SAID = {"sums": "6 * 7 = 42", "look": "Search: sum of numbers\n1. Sums: A sum", "shout": "CALCULATE: 6 * 7\nSEARCH"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slug(tool: str) -> str:
    return "helped" if tool == "sums" else f"helped~helper={tool}"


def debated(tool: str, *more: str) -> int:
    out = f"results/x/debates/arithmetic/{slug(tool)}/r1-s01.jsonl"
    job = ["debate", "x", "--dataset", "arithmetic", "--cell", slug(tool), "--shard", "r1-s01", "--out", out]
    return main([*job, *more])


@pytest.mark.parametrize("tool", ["sums", "look", "shout"])
def test_a_tool_speaks_for_each_agent_and_is_heard(here: Path, tool: str) -> None:
    assert debated(tool, "--trust", "own:shout") == 0
    (record, *_) = read_debates(Path(f"results/x/debates/arithmetic/{slug(tool)}/r1-s01.jsonl"))
    asked = [turn for turn in record.debate.turns if turn.step == "ask"]
    said = [(turn.speaker, turn.about, turn.heard) for turn in asked]
    assert said == [("helper", "ann", (0,)), ("helper", "bob", (1,))]
    assert all(turn.text.startswith(SAID[tool]) for turn in asked)
    assert [(turn.prompt_tokens, turn.completion_tokens) for turn in asked] == [(0, 0)] * 2
    assert [turn.heard for turn in record.debate.turns if turn.step == "revise"] == [(2,), (3,)]
    kind = {"sums": "calculator", "look": "search", "shout": "python"}[tool]
    assert record.debate.agents[-1].model.model == f"tool/{kind}"


def test_what_tools_said_is_replayed_without_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for tool in SAID:
        assert debated(tool, "--trust", "own:shout") == 0
    capsys.readouterr()
    assert main(["replay", "x"]) == 0
    assert debated("shout", "--trust", "own:shout") == 0
    assert " 0 calls sent" in capsys.readouterr().err


def test_a_tool_that_says_something_else_by_now_is_asked_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An edited function, or another corpus, is another key: no old reply is taken for its."""
    assert debated("shout", "--trust", "own:shout") == 0
    (here / "own.py").write_text("def shout(text):\n    return text.upper() + '!'\n")
    capsys.readouterr()
    assert debated("shout", "--trust", "own:shout") == 0
    assert " 0 calls sent" not in capsys.readouterr().err


def test_code_runs_only_where_its_user_permits_it(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "own.py").write_text("open('ran', 'w')\ndef shout(text):\n    return 'x'\n")
    assert main(["check", "x"]) == 0
    assert "run the Python function own:shout of " in capsys.readouterr().out
    assert debated("shout") == 2
    assert "--trust own:shout" in capsys.readouterr().err
    assert debated("shout", "--trust", "own:other") == 2
    assert not (here / "ran").exists()
    assert debated("sums") == 2  # one question for the spec, whichever cell is debated first
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    assert main(["trust", "x"]) == 0
    assert debated("sums") == 0
    (here / "own.py").write_text("def shout(text):\n    return 'other code'\n")
    assert debated("sums") == 2


def test_a_failing_function_is_data_until_it_fails_too_often(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "own.py").write_text("def shout(text):\n    raise ValueError('broken')\n")
    assert debated("shout", "--trust", "own:shout") == 1
    assert "the tool failed: own:shout: ValueError: broken" in capsys.readouterr().err
    (here / "specs/x.yaml").write_text(SPEC + "limits: {failed: 100%}\n")
    assert debated("shout", "--trust", "own:shout") == 0
    (record, *_) = read_debates(Path("results/x/debates/arithmetic/helped~helper=shout/r1-s01.jsonl"))
    asked = [turn for turn in record.debate.turns if turn.step == "ask"]
    assert {turn.unparsed for turn in asked} == {"no reply: the tool failed: own:shout: ValueError: broken"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{tool: calculator}", "{tool: calculator, seconds: 3}", "7:29: tools.sums: seconds does not go with tool"),
        ("search(facts)", "search(fact)", "there is no knowledge entry fact"),
        ("search(facts)", "search", "a search tool needs a source"),
        ('"own:shout"', '"own.shout"', "a function is written as package.module:function"),
        ('"own:shout"', '"nowhere:shout"', "there is no module nowhere"),
        ("helper: sums}", "helper: sum}", "there is no tool sum\n    did you mean sums?"),
        ("[sums, look", "[smus, look", "there is no tool smus"),
    ],
)
def test_mistakes_are_told_at_their_place(here: Path, old: str, new: str, said: str) -> None:
    assert old in SPEC
    (here / "specs/x.yaml").write_text(SPEC.replace(old, new))
    with pytest.raises(SpecError) as refused:
        compile_spec("x")
    assert "specs/x.yaml:" in str(refused.value)
    assert said.partition(": ")[2 if said[0].isdigit() else 0] in str(refused.value)


def test_what_tools_read_is_an_input_and_part_of_the_meaning(here: Path) -> None:
    plan = compile_spec("x")
    assert "specs/facts.jsonl" in debate_inputs(plan, "arithmetic", slug("look"), "r1-s01")
    assert any(path.endswith("own.py") for path in debate_inputs(plan, "arithmetic", slug("shout"), "r1-s01"))
    (here / "specs/x.yaml").write_text(SPEC.replace("top: 1}", "top: 9}"))
    changed = compile_spec("x")
    same = {tool: changed.cell(slug(tool)).digest == plan.cell(slug(tool)).digest for tool in SAID}
    assert same == {"sums": True, "look": False, "shout": True}
    assert "{**config, " in workflow_text(plan)  # so that `--config trust=...` reaches the rules


def test_counterfactuals_and_plans_know_of_tools(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step without the tool is one call less, and costs nothing but the revisions."""
    trust = ["--trust", "own:shout"]
    assert debated("sums", "--trust", "own:shout") == 0
    assert main(["plan", "x", "--out", "results/x/plan.json"]) == 0
    capsys.readouterr()
    (here / "specs/x.yaml").write_text(SPEC + "whatif: {helped: agent=helper}\n")
    assert main(["whatif", "x", "--json", *trust]) == 2
    assert "step revise hears nobody but step ask" in capsys.readouterr().err
    (here / "specs/x.yaml").write_text(SPEC + "whatif: {helped: agent=ann}\n")
    assert main(["whatif", "x", "--json", *trust]) == 0
    assert json.loads(capsys.readouterr().out)["without"] == "agent=ann"
