"""Warnings before a run: words without effect, replies that no step can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Model
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.plan.compiler import compile_spec, validate_experiment
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.warnings import unreadable_replies, words_without_effect
from cortexdsl.plan.rehearsal import conditions
from cortexdsl.plan.rehearsal.conditions import without_effect
from cortexdsl.plan.rehearsal.explain import explain
from tests.engine.stage import agents

SPECS = Path(__file__).parents[2] / "specs"
HEAD = """\
dataset: {name: arithmetic, size: 3}
models: {small: {model: builtin/solver, skill: 0.5}}
agents: [{name: a, model: small}, {name: b, model: small}, {name: c, model: small}, {name: d, model: small},
         {name: e, model: small}]
teams: {five: everyone, one: [a]}
protocols:
  own:
"""
GATE = """\
    settings: {sure: 0.75}
    roles: {debater: everyone, solo: first}
    debaters: debater
    steps:
      answer: {role: solo, prompt: common/answer.j2}
      revise: {role: debater, hears: {role: solo}, prompt: multi-llm/revise.j2}
    schedule: [answer, {repeat: 2, unless: any(confidence >= $sure), do: [revise]}]
    decide: majority
methods: {own: {protocol: own}}
grid: {own: {sure: [0.05, 1.1]}}
"""
TALK = """\
    roles: {debater: everyone, judge: {model_of: first}}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: debater, hears: everyone, prompt: multi-llm/revise.j2}
      judge: {role: judge, hears: {role: debater}, reads: [answer, verdict], prompt: mad-judge/judge.j2}
    schedule: SCHEDULE
    decide: {last: judge}
methods: {own: {protocol: own}}
"""
ALONE = """\
    settings: {weight: confidence, keep: mean}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: debater, hears: HEARS, prompt: multi-llm/revise.j2}
    schedule: SCHEDULE
    decide: majority
methods: {own: {protocol: own}}
"""
POINTS = """\
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      point: {role: debater, hears: everyone, each: edge, reads: comment, prompt: acc/comment.j2}
      revise: {role: debater, hears: everyone, tells: [LATEST, {step: point, about: me}], own: LATEST,
               prompt: multi-llm/revise.j2}
    schedule: [answer, point, revise]
    decide: majority
methods: {own: {protocol: own}}
"""


def told(folder: Path, text: str, head: str = HEAD) -> list[str]:
    """Return what is reported of a spec, as `line: what | remedy`."""
    path = folder / "own.yaml"
    path.write_text(head + text, encoding="utf-8")
    judged = validate_experiment(str(path))
    assert not judged.problems, "\n".join(map(str, judged.problems))
    return [
        f"{problem.where.split('.yaml:')[1].partition(':')[0]}: {problem.what} | {problem.remedy}"
        for problem in words_without_effect(judged)
    ]


def alone(schedule: str, hears: str = "everyone") -> str:
    settings = "" if "$" in schedule + hears else "    settings: {weight: confidence, keep: mean}\n"
    return ALONE.replace(settings, "").replace("SCHEDULE", schedule).replace("HEARS", hears)


def test_a_gate_that_no_debater_s_answer_can_open_is_reported_at_every_threshold(tmp_path: Path) -> None:
    """The role that answers first is no debater's, so that no confidence is there to compare."""
    found = told(tmp_path, GATE)
    assert [line.partition(" was never")[0] for line in found] == [
        "8: methods.own: unless any(confidence >= 0.75)",
        "17: methods.own[sure=0.05]: unless any(confidence >= 0.05)",
        "17: methods.own[sure=1.1]: unless any(confidence >= 1.1)",
    ]
    assert all("no debater (debater) had answered by then" in line for line in found)
    assert all("{choose: ROLE, from: debater, where: ...}" in line for line in found)


def test_the_remedy_of_such_a_gate_works_and_leaves_the_threshold_that_is_out_of_reach(tmp_path: Path) -> None:
    chosen = GATE.replace("[answer,", "[{choose: solo, from: debater, where: place == 1}, answer,")
    (found,) = told(tmp_path, chosen)
    assert found.startswith("17: methods.own[sure=1.1]: unless any(confidence >= 1.1) was never true")
    assert "confidence was 0 to 0.99" in found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("[answer, {repeat: 3, until: agreed, do: [revise]}, judge]", "no verdict had been read by then"),
        ("[answer, {repeat: 3, until: round == 1, do: [revise]}, judge]", "round was 2 to 4, and round is the round"),
        ("[answer, {repeat: 3, until: agreement > 1, do: [revise]}, judge]", "agreement was 0.2 to 1 | compare"),
    ],
)
def test_a_loop_that_never_ends_early_is_reported(tmp_path: Path, schedule: str, expected: str) -> None:
    (found,) = told(tmp_path, TALK.replace("SCHEDULE", schedule))
    assert "was never true" in found
    assert "so the loop always runs to its end" in found
    assert expected in found


def test_of_large_teams_only_what_no_reply_could_change_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large team few debates are simulated, and too few to judge conditions on replies.

    25 agents with a tenth of the usual limit are as many debates as 80 agents with the limit that users have.
    """
    monkeypatch.setattr(conditions, "MOST_SHOWN", conditions.MOST_SHOWN // 10)
    names = ", ".join(f"{{name: x{k}, model: small}}" for k in range(20))
    head = HEAD.replace("{name: e, model: small}]", f"{{name: e, model: small}}, {names}]")
    loop = "[answer, {repeat: 3, until: CONDITION, do: [revise]}, judge]"
    unsure = TALK.replace("SCHEDULE", loop.replace("CONDITION", "agreement > 1"))
    assert told(tmp_path, unsure, head) == []
    (found,) = told(tmp_path, TALK.replace("SCHEDULE", loop.replace("CONDITION", "round == 1")), head)
    assert "until round == 1 was never true" in found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("[answer, {repeat: 3, until: round >= 1, do: [revise]}, judge]", "so the loop ends after its first pass"),
        ("[answer, {repeat: 1, unless: agreement >= 0, do: [revise]}, judge]", "so its steps never run"),
    ],
)
def test_a_condition_that_is_always_true_is_reported(tmp_path: Path, schedule: str, expected: str) -> None:
    (found,) = told(tmp_path, TALK.replace("SCHEDULE", schedule))
    assert "was always true" in found
    assert expected in found


@pytest.mark.parametrize(
    "schedule",
    [
        "[answer, {repeat: 3, until: agreed, do: [revise, judge]}]",
        "[answer, {repeat: 3, until: round == 3, do: [revise, judge]}]",
        "[answer, {repeat: 3, until: consensus and round > 2, do: [revise]}, judge]",
        "[answer, {repeat: 2, unless: all(confidence > 0.9), until: not any(changed), do: [revise]}, judge]",
        "[answer, {repeat: 1, until: agreement > 1, do: [revise]}, judge]",  # nothing is left to end
        "[answer, {repeat: 1, unless: n_agents == 1, do: [revise]}, judge]",  # for a team of one
    ],
)
def test_conditions_that_can_change_are_not_reported(tmp_path: Path, schedule: str) -> None:
    assert told(tmp_path, TALK.replace("SCHEDULE", schedule)) == []


def test_a_choice_that_may_leave_nobody_to_debate_is_reported(tmp_path: Path) -> None:
    (found,) = told(tmp_path, alone("[answer, {choose: debater, where: confidence >= 0.99}, revise]"))
    assert "choose debater left nobody to debate in" in found
    assert "such a debate has no answer | keep a number of agents: keep: {top: 1}" in found
    kept = "[answer, {choose: debater, weight: confidence, keep: {top: 1}}, revise]"
    assert told(tmp_path, alone(kept)) == []
    floor = "[answer, {choose: debater, weight: confidence - 0.99, keep: {top: 1, above: 0}}, revise]"
    assert "left nobody to debate" in told(tmp_path, alone(floor))[0]


def test_latest_that_shows_a_comment_is_reported_and_its_remedy_shows_the_answer(tmp_path: Path) -> None:
    found = told(tmp_path, POINTS.replace("LATEST", "latest"))
    assert [line.partition(" |")[0] for line in found] == [
        "11: methods.own: step revise: tells: latest shows the comment of step point, and not the answer of the same"
        " agent before it",
        "11: methods.own: step revise: own: latest shows the comment of step point, and not the speaker's own answer"
        " before it",
    ]
    assert all(line.endswith("write {step: [answer, revise]} for the latest answer") for line in found)
    assert told(tmp_path, POINTS.replace("LATEST", "{step: [answer, revise]}")) == []


def test_a_count_that_ends_in_a_tie_at_zero_is_reported_and_its_remedy_keeps_none(tmp_path: Path) -> None:
    """Five, of whom one differs from all: by `not differs` it would hear the four others."""
    hears = "{sparse: {weight: not differs, keep: {top: 1}}}"
    (found,) = told(tmp_path, alone("[answer, revise]", hears))
    assert "keep: {top: 1} kept more than its number" in found
    assert "write keep: {top: 1, above: 0}" in found
    assert told(tmp_path, alone("[answer, revise]", hears.replace("{top: 1}", "{top: 1, above: 0}"))) == []


def test_a_weight_that_tells_no_candidates_apart_is_reported(tmp_path: Path) -> None:
    """All agents are of one model."""
    sized = HEAD.replace("skill: 0.5", "skill: 0.5, parameters: 7e9, tokens: 2e12")
    (found,) = told(tmp_path, alone("[answer, revise]", "{sparse: {weight: credibility, keep: mean}}"), sized)
    assert "weight credibility was the same for all candidates" in found


def test_what_another_team_of_the_spec_gives_an_effect_is_not_reported(tmp_path: Path) -> None:
    """A team of one has nobody to differ from."""
    text = TALK.replace("SCHEDULE", "[answer, {repeat: 1, unless: agreement == 1, do: [judge]}, judge]")
    text = text.replace("      revise: {role: debater, hears: everyone, prompt: multi-llm/revise.j2}\n", "")
    assert told(tmp_path, text.replace("{protocol: own}}", "{protocol: own}, solo: {protocol: own, team: one}}")) == []
    (found,) = told(tmp_path, text.replace("{protocol: own}}", "{protocol: own, team: one}}"))
    assert "unless agreement == 1 was always true" in found


def test_a_condition_in_a_setting_of_a_built_in_protocol_is_reported_at_the_setting(tmp_path: Path) -> None:
    spec = HEAD.replace("protocols:\n  own:\n", "methods: {team: {protocol: dylan, until: agreement > 1}}\n")
    found = told(tmp_path, "", spec)
    assert found
    assert all("agreement > 1 was never true" in line and line.startswith("6: methods.team") for line in found)


def test_check_warns_and_explain_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` does not say either that the loop may end early."""
    told(tmp_path, TALK.replace("SCHEDULE", "[answer, {repeat: 3, until: agreed, do: [revise]}, judge]"))
    assert main(["check", str(tmp_path / "own.yaml")]) == 0
    assert "warning: " in (said := capsys.readouterr().err)
    assert "until agreed was never true" in said
    assert main(["explain", str(tmp_path / "own.yaml"), "own"]) == 0
    said = capsys.readouterr().out
    assert "until agreed was never true" in said
    assert "ends early" not in said


RACE = """\
dataset: {name: arithmetic, size: 60}
models: {small: {model: builtin/solver, skill: 0.5}}
agents: [{name: a, model: small}, {name: b, model: small}]
methods:
  vote: {protocol: voting}
  cot: {protocol: cot}
  full: {protocol: multi-llm, rounds: 1}
  matched: {protocol: self-consistency, match: {calls: full}}
analysis: {families: {main: {compare: [vote, cot], to: matched}}}
hypotheses: [accuracy(matched) > accuracy(vote)]
stopping: {rule: racing, fewest: 20, batch: 20}
"""


SCREENED = """\
    roles: {debater: everyone, judge: {model_of: first}}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      screen: {role: judge, hears: {role: debater}, reads: [answer, verdict], prompt: mad-judge/judge.j2}
      review: {role: judge, hears: {role: debater}, reads: [answer, verdict], prompt: mad-judge/judge.j2}
      revise: {role: debater, hears: everyone, prompt: multi-llm/revise.j2}
    schedule: [answer, screen, review,
               {repeat: 1, unless: all(agreed(screen)) == 0 or agreed(review), do: [revise]}]
    decide: majority
methods: {own: {protocol: own}}
"""


def test_conditions_on_the_verdicts_of_two_steps_are_not_reported(tmp_path: Path) -> None:
    """One judge may be content and the next one not: the loop runs for such verdicts alone."""
    assert not told(tmp_path, SCREENED)


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        (
            alone("[revise, answer]"),
            "", "step revise hears others, and nobody has spoken before it",
        ),
        (
            "methods: {own: {protocol: multi-llm, rounds: 0}, two: {protocol: voting}}\n",
            "", "step revise is never spoken, as its loop runs 0 times",
        ),
        (
            "methods: {own: {protocol: voting, prompts: {answer: own.j2}}}\n",
            "What do you think? {{ answer_format }}",
            "step answer reads an answer, and prompts/own.j2 does not show the question",
        ),
    ],
)  # fmt: skip
def test_steps_that_show_nothing_are_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    prompt: str,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompts").mkdir()
    Path("prompts/own.j2").write_text(prompt)
    head = HEAD if text.startswith(" ") else HEAD.replace("protocols:\n  own:\n", "")
    Path("own.yaml").write_text(head + text)
    assert main(["check", "own.yaml"]) == 0
    assert f"warning: own.yaml: methods.own: {expected}" in capsys.readouterr().err


def test_cells_that_a_race_stops_at_once_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`full` stands in no claim, but its budget is that of one that does."""
    path = tmp_path / "own.yaml"
    path.write_text(RACE, encoding="utf-8")
    said = "ule: racing stops 1 of 4 cells at the first look, after 20 questions, since no claim names them: cot; "
    said += "family main compares cot"
    assert main(["check", str(path)]) == 0
    warned = capsys.readouterr().err
    assert f"own.yaml:11:11: r{said}" in warned
    assert "write rule: together" in warned
    assert main(["plan", str(path)]) == 0
    assert f" R{said}." in " ".join(capsys.readouterr().out.split())
    both = "accuracy(matched) > accuracy(vote) and accuracy(matched) > accuracy(cot)"
    path.write_text(RACE.replace("accuracy(matched) > accuracy(vote)", both), "utf-8")
    assert main(["check", str(path)]) == 0
    assert "racing stops" not in capsys.readouterr().err


def test_without_racing_all_cells_stop_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(RACE.replace("rule: racing", "rule: together"), "utf-8")
    assert main(["check", str(path)]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.yaml")) + sorted(SPECS.glob("[!_]*/[!_]*.yaml")), ids=str)
def test_no_spec_that_ships_is_without_effect(path: Path) -> None:
    assert words_without_effect(validate_experiment(str(path))) == []


@pytest.mark.parametrize("name", builtin_names())
def test_no_protocol_that_ships_is_without_effect(name: str) -> None:
    tools = {"library": Model("library", "tool/search")}
    team = agents("a b c d", parameters=7e9, tokens=2e12)
    method = resolve(load_protocol(name), MethodChoice("methods.tried", parse("{}", "tried.yaml"), team, tools=tools))
    assert without_effect(method) == ()
    assert "\nwarnings\n" not in explain(method)


SPEC = """\
title: Tried
seed: 1
replicates: 1
dataset: {name: arithmetic, size: 2}
models:
  own: {model: builtin/solver, malformed: 0.9}
  far: {model: openai/somewhere, api_base: env:NOWHERE}
agents: [{name: a, model: own}, {name: b, model: MODEL}]
methods: {tried: {protocol: tried}}
protocols:
  tried:
    roles: {debater: [a], judge: [b]}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      judge: {role: judge, hears: {role: debater}, reads: READS, prompt: own/judge.j2}
    schedule: [answer, judge]
    decide: majority
"""
JUDGE_HEAD = '{% include "common/question.j2" %}{% include "common/heard.j2" %}\n\n'


def tried(folder: Path, request: str, reads: str = "verdict", model: str = "own") -> Plan:
    for name, text in {
        "specs/s.yaml": SPEC.replace("READS", reads).replace("MODEL", model),
        "prompts/own/judge.j2": JUDGE_HEAD + request,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return compile_spec(str(folder / "specs" / "s.yaml"))


def test_a_form_that_the_solver_does_not_know_is_told_with_one_that_it_knows(tmp_path: Path) -> None:
    """It is asked for a thumb, and comments."""
    (problem,) = unreadable_replies(tried(tmp_path, "Thumb: <up or down>"))
    assert problem.where.endswith("prompts/own/judge.j2")
    assert problem.what.startswith("step judge reads a verdict, and the built-in solver's replies to this template")
    assert "(no verdict); one ends '" in problem.what  # what it said instead shows what it took the request for
    assert "Verdict: <agree or disagree>" in problem.remedy


def test_what_is_read_beside_is_tried_too(tmp_path: Path) -> None:
    """A comment is read from anything; the verdict beside it is never given."""
    (problem,) = unreadable_replies(tried(tmp_path, "Comment on it.", reads="[comment, verdict]"))
    assert "reads a verdict" in problem.what


@pytest.mark.parametrize(
    ("request_", "model"),
    [
        ("Verdict: <agree or disagree>", "own"),
        ("Verdict: <agree or disagree>\n\nThink before you write.", "own"),
        ("Thumb: <up or down>", "far"),
    ],
    ids=["a known form", "not in the last paragraph", "another model, which may understand"],
)
def test_what_can_be_read_or_is_asked_of_other_models_is_no_warning(tmp_path: Path, request_: str, model: str) -> None:
    """Replies that `malformed` spoils on purpose are no fault of the template."""
    assert unreadable_replies(tried(tmp_path, request_, model=model)) == []


@pytest.mark.parametrize("spec", ["quickstart", "examples/five", "examples/more", "examples/six", "examples/madke"])
def test_the_shipped_specs_are_understood(repository: Path, spec: str) -> None:
    assert unreadable_replies(compile_spec(str(repository / f"specs/{spec}.yaml"))) == []
