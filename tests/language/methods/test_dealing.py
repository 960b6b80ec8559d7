"""Agents of one role that are asked differently: templates dealt in turn, or by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Step
from cortexdsl.errors import SpecError
from cortexdsl.language.grammar.steps import SayForm
from cortexdsl.language.methods.role_assignment import TemplateDeal, deal_templates
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.records import read_debates

SPEC = """\
dataset: {name: arithmetic, size: 2}
models: {one: {model: builtin/solver}}
agents: [{name: ann, model: one}, {name: bob, model: one}, {name: eve, model: one}]
protocols:
  ways:
    settings: {ways: [common/answer.j2, my/steps.j2]}
    steps:
      answer: {role: debater, prompt: $ways}
    schedule: [answer]
    decide: majority
methods:
  ways: {protocol: ways}
"""
MINE = "Think in steps.\n{{ question.text }}\n{{ answer_format }}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"specs/x.yaml": SPEC, "prompts/my/steps.j2": MINE}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(*edits: tuple[str, str]) -> dict[str, str]:
    text = SPEC
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    Path("specs/x.yaml").write_text(text)
    step = compile_spec("x").cells[0].debate.steps["answer"]
    return {name: step.prompt_of(name) for name in ("ann", "bob", "eve")}


def test_a_list_is_dealt_in_the_agents_order_and_begins_again(here: Path) -> None:
    assert compiled() == {"ann": "common/answer.j2", "bob": "my/steps.j2", "eve": "common/answer.j2"}


def test_a_method_may_name_agents(here: Path) -> None:
    others = "prompts: {answer: {eve: my/steps.j2, else: common/answer.j2}}"
    found = compiled(("{protocol: ways}", f"{{protocol: ways, {others}}}"), ("$ways", "common/answer.j2"),
                     ("    settings: {ways: [common/answer.j2, my/steps.j2]}\n", ""))  # fmt: skip
    assert found == {"ann": "common/answer.j2", "bob": "common/answer.j2", "eve": "my/steps.j2"}


def test_a_grid_may_vary_who_is_asked_how(here: Path) -> None:
    grid = "grid:\n  ways:\n    ways: [[my/steps.j2], [my/steps.j2, common/answer.j2]]\n"
    Path("specs/x.yaml").write_text(SPEC + grid)
    assert len(compile_spec("x").cells) == 3


def test_each_agent_is_asked_with_its_own_template_and_the_log_says_so(here: Path) -> None:
    out = Path("results/x/debates/arithmetic/ways/r1-s01.jsonl")
    job = ["debate", "x", "--dataset", "arithmetic", "--cell", "ways", "--shard", "r1-s01", "--out", str(out)]
    assert main(job) == 0
    text = Path("results/x/calls/arithmetic/r1-s01/ways.jsonl").read_text()
    assert text.count("Think in steps.") == 2  # bob, on two questions
    assert main(["replay", "x"]) == 0


FOLLOWING = SPEC.replace("size: 2", "size: 6").replace("{protocol: ways}", "{protocol: follower, share: 1, rounds: 2}")


def test_what_is_said_as_it_is_written_is_a_turn_that_no_model_was_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everybody follows: after the opening nobody is asked, and all hold the answer that most gave, where there is one.

    Three agents: an answer that two gave is that of most. A follower is shown the turn whose words it takes over.
    """
    Path("specs/x.yaml").write_text(
        FOLLOWING[: FOLLOWING.index("protocols:")] + FOLLOWING[FOLLOWING.index("methods:") :]
    )
    out = Path("results/x/debates/arithmetic/ways/r1-s01.jsonl")
    job = ["debate", "x", "--dataset", "arithmetic", "--cell", "ways", "--shard", "r1-s01", "--out", str(out)]
    assert main(job) == 0
    for record in read_debates(out):
        opening, *rounds = [[t for t in record.debate.turns if t.round == round_] for round_ in range(3)]
        given = [turn.answer for turn in opening]
        most = max(given, key=given.count)
        for turn in (turn for turns in rounds for turn in turns):
            (source,) = (*turn.heard, *turn.recalled)
            assert turn.text == record.debate.turns[source].text.partition("\nConfidence")[0]
            assert (turn.prompt_tokens, turn.completion_tokens, turn.confidence) == (0, 0, None)
            assert turn.answer == (most if given.count(most) > 1 else given[turn.turn % 3])
    assert capsys.readouterr().err.count("54 calls sent") == 1
    assert main(["replay", "x"]) == 0
    assert main(job) == 0
    assert " 0 calls sent" in capsys.readouterr().err


def test_editing_one_of_the_templates_changes_the_cell(here: Path) -> None:
    before = compile_spec("x").cells[0].digest
    (here / "prompts/my/steps.j2").write_text(MINE + "Mind the units.\n")
    assert compile_spec("x").cells[0].digest != before


@pytest.mark.parametrize(
    ("edit", "place", "said"),
    [
        (("my/steps.j2]", "my/stps.j2]"), "6:", "my/stps.j2"),
        (("[common/answer.j2, my/steps.j2]", "[common/answer.j2, my/steps.j2, a.j2, b.j2]"), "6:60",
         "4 templates are dealt to 3 agents"),
        (("[common/answer.j2, my/steps.j2]", "{ann: my/steps.j2}"), "6:", "bob, eve have no template"),
        (("[common/answer.j2, my/steps.j2]", "{an: my/steps.j2, else: common/answer.j2}"), "6:",
         "no agent of the role, and no role, is called an"),
        (("[common/answer.j2, my/steps.j2]", "[]"), "6:", "ways"),
    ],
)  # fmt: skip
def test_templates_that_fit_nobody_are_told(here: Path, edit: tuple[str, str], place: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        compiled(edit)
    assert said in str(refused.value)
    assert f"x.yaml:{place}" in str(refused.value)


def test_templates_are_dealt_by_hand() -> None:
    assert deal_templates(["a", "b"], ["x", "y", "z"]) == TemplateDeal("a", {"y": "b"}, problems=[])
    assert deal_templates({"x": "a", "else": "b"}, ["x", "y"]) == TemplateDeal("b", {"x": "a"}, problems=[])
    assert deal_templates("a", ["x"]) == TemplateDeal("a")
    assert deal_templates(SayForm(say="a"), ["x"]) == TemplateDeal("a", said=("a",))


def test_a_role_stands_for_whoever_plays_it_and_an_agents_own_name_goes_before() -> None:
    ways = deal_templates({"new": SayForm(say="a"), "x": "b", "else": "b"}, ["x", "y"], ["new", "all"])
    assert ways == TemplateDeal("b", {"x": "b"}, {"new": "a"}, said=("a",), problems=[])
    step = Step("s", "all", ways.prompt, by_agent=ways.by_agent, by_role=ways.by_role)
    assert [step.prompt_of(name, {"all", "new"}) for name in "xy"] == ["b", "a"]
    assert step.prompt_of("y", {"all"}) == "b"
