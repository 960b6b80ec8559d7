"""The word `confidence` of a method: what it means, what it costs, and what is told of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import STATED, Measure
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.forecast.warnings import models_of
from tests.language.sheets import SMALL, load_cells, place, problems
from tests.plan.specs import SPEC, plan

REMOTE = SMALL.replace(
    "agents:",
    "  far: {model: openai/m, api_base: env:BASE, parameters: 1.0e9, tokens: 1.0e12, temperature: 0.5}\n"
    "  sure: {model: openai/n, api_base: env:BASE, parameters: 1.0e9, tokens: 1.0e12, options: {logprobs: false}}\n"
    "agents:",
)


def grid(text: str, values: str) -> str:
    return f"{text}grid: {{full: {{confidence: {values}}}}}\n"


def test_each_value_is_a_point_of_a_grid_and_the_default_is_the_method_itself(tmp_path: Path) -> None:
    found = load_cells(tmp_path, grid(SMALL, "[stated, consistency(5), consistency(3), verifier, verifier(small)]"))
    by_name = {arm.name: arm.debate for arm in found}
    assert by_name["full[confidence=stated]"] == by_name["full"]
    measures = {name: debate.confidence for name, debate in by_name.items()}
    small = by_name["full"].role_agents["debater"][0].model
    assert measures == {
        "sparse": STATED,
        "full": STATED,
        "full[confidence=stated]": STATED,
        "full[confidence=consistency-5]": Measure("consistency", 5),
        "full[confidence=consistency-3]": Measure("consistency", 3),
        "full[confidence=verifier]": Measure("verifier", prompt="common/verify.j2"),
        "full[confidence=verifier-small]": Measure("verifier", verifier=small, prompt="common/verify.j2"),
    }


def test_logprobs_are_asked_of_those_who_answer(tmp_path: Path) -> None:
    text = REMOTE.replace("model: small}", "model: far}").replace(
        "full: {", "full: {confidence: logprob, "
    )  # fmt: skip
    full = load_cells(tmp_path, text)[1].debate
    assert {agent.model.options["logprobs"] for agent in full.role_agents["debater"]} == {True}
    assert "logprobs" not in load_cells(tmp_path, text)[0].debate.role_agents["debater"][0].model.options


def test_an_entry_that_asks_for_logprobs_itself_shares_its_calls_with_all_points(tmp_path: Path) -> None:
    text = REMOTE.replace("temperature: 0.5", "options: {logprobs: true}").replace("model: small}", "model: far}")
    *_, stated, logprob = load_cells(tmp_path, grid(text, "[stated, logprob]"))
    assert stated.debate.role_agents == logprob.debate.role_agents


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (grid(SMALL, "[logprob]"), "ann is builtin/solver, which has no probabilities", "use consistency(5)"),
        (grid(SMALL, "[guess]"), "'guess' is not a source of confidence", "stated, logprob, verifier"),
        (grid(SMALL, "[consistency]"), "'consistency' is not a source", "consistency(5) with 1 to 100 replies"),
        (grid(SMALL, "[consistency(0)]"), "'consistency(0)' is not a source", "1 to 100 replies"),
        (grid(SMALL, "[verifier(smal)]"), "there is no model smal", "did you mean small?"),
        (grid(REMOTE.replace("model: small}", "model: sure}"), "[logprob]"), "says logprobs: false", "remove that"),
        (
            SMALL.replace("full: {", "full: {confidence: {consistency: 3}, "),
            "confidence",
            "write confidence: consistency(3)",
        ),
    ],
)
def test_a_wrong_value_is_told_where_it_stands(tmp_path: Path, text: str, what: str, remedy: str) -> None:
    (problem,) = problems(tmp_path, text)
    assert what in problem.what
    assert remedy in problem.remedy
    line = place(problem).partition(":")[0]
    assert int(line) == next(n for n, row in enumerate(text.splitlines(), 1) if "confidence:" in row)


def test_no_protocol_may_call_a_setting_so(tmp_path: Path) -> None:
    own = (
        "protocols: {own: {settings: {confidence: 1}, steps: {answer: {role: debater, prompt: common/answer.j2}}, "
        "schedule: [answer], decide: majority}}\n"
    )
    text = SMALL.replace("full: {protocol: multi-llm, rounds: 2}", "full: {protocol: own}") + own
    assert any("a method says this itself" in problem.what for problem in problems(tmp_path, text))


def test_what_measures_is_planned_and_counted_and_its_model_is_known(tmp_path: Path) -> None:
    """`full` asks 3 agents in 2 rounds of 6 questions, twice: 72. Two samples each are 144 more, a verifier 72 more."""
    text = SPEC.replace(
        "agents:\n", "  judge: {model: direct/j, api_base: env:J, price: {input: 0, output: 0}}\nagents:\n"
    )
    text = text.replace("grid:\n", "grid:\n  full:\n    confidence: [consistency(2), verifier(judge)]\n")
    found = plan(tmp_path, text)
    _, by_cell = rehearse_plan(found)
    assert by_cell["full"].calls == 72
    assert by_cell["full[confidence=consistency-2]"].calls == 72 * 3
    assert by_cell["full[confidence=verifier-judge]"].calls == 72 * 2
    assert [model.name for model in models_of(found)] == ["judge"]


def test_a_verifiers_prompt_is_part_of_its_cells_digest_and_of_no_other(tmp_path: Path) -> None:
    text = SPEC.replace("grid:\n", "grid:\n  full:\n    confidence: [verifier]\n")
    before = {cell.name: cell.digest for cell in plan(tmp_path, text).cells}
    mine = tmp_path / "prompts" / "common" / "verify.j2"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("{{ question.text }}\n{{ text }}\nScore: <0 to 10>")
    after = {cell.name: cell.digest for cell in plan(tmp_path, text).cells}
    assert {name for name in before if before[name] != after[name]} == {"full[confidence=verifier]"}


def test_how_much_a_model_thinks_and_what_only_its_server_takes_are_axes(tmp_path: Path) -> None:
    axes = (
        "{models.far.options.reasoning_effort: [low, high], "
        "models.far.options.extra_body.chat_template_kwargs.enable_thinking: [true, false]}"
    )
    text = REMOTE.replace("model: small}", "model: far}") + f"grid: {{full: {axes}}}\n"
    found = load_cells(tmp_path, text)[2:]
    options = [arm.debate.role_agents["debater"][0].model.options for arm in found]
    assert [
        (o["reasoning_effort"], o["extra_body"]["chat_template_kwargs"]["enable_thinking"], o["temperature"])
        for o in options
    ] == [("low", True, 0.5), ("low", False, 0.5), ("high", True, 0.5), ("high", False, 0.5)]
    assert len({arm.slug for arm in found}) == 4
