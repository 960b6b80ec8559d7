"""A spec's methods and the points of their grids, as cells."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.core import Keep, Match, NetworkX, Sparse
from tests.language.sheets import SMALL, load_cells, problems


def test_methods_in_their_order_each_before_its_points(tmp_path: Path) -> None:
    found = load_cells(tmp_path, SMALL + "grid: {sparse: {keep: [mean, {top: 1}], recalibration: [none]}}\n")
    assert [arm.name for arm in found] == [
        "sparse",
        "sparse[keep=mean, recalibration=none]",
        "sparse[keep=top-1, recalibration=none]",
        "full",
    ]
    assert [arm.slug for arm in found][2] == "sparse~keep=top-1~recalibration=none"
    assert found[2].axes == {"keep": {"top": 1}, "recalibration": "none"}
    assert found[2].settings["keep"] == {"top": 1}
    assert found[2].settings["rounds"] == 2
    assert found[2].debate.recalibration == ()


def test_a_point_that_repeats_the_defaults_is_the_same_debate(tmp_path: Path) -> None:
    base, point, _ = load_cells(tmp_path, SMALL + "grid: {sparse: {keep: [mean]}}\n")
    assert base.debate == point.debate


def test_a_list_of_grids(tmp_path: Path) -> None:
    text = "grid: {full: [{rounds: [1, 2]}, {rounds: [2, 3], memory: [last]}]}\n"
    names = [arm.name for arm in load_cells(tmp_path, SMALL + text)]
    assert names == [
        "sparse", "full", "full[rounds=1]", "full[rounds=2]", "full[rounds=2, memory=last]",
        "full[rounds=3, memory=last]",
    ]  # fmt: skip


def test_teams_models_prompts_and_roles_as_axes(tmp_path: Path) -> None:
    text = SMALL + (
        "teams: {pair: [ann, ann]}\n"
        "grid: {full: {agents: [pair, everyone], models.small.skill: [0.9], prompts.revise: [my/r.j2],"
        " roles.debater: [everyone, [bob, cai]]}}\n"
    )
    pair, bob, everyone, _ = load_cells(tmp_path, text)[2:]
    assert [agent.name for agent in pair.agents] == ["ann", "ann-2"]
    assert [agent.name for agent in everyone.debate.role_agents["debater"]] == ["ann", "bob", "cai", "dee"]
    assert {agent.model.options["skill"] for agent in pair.debate.role_agents["debater"]} == {0.9}
    assert pair.debate.steps["revise"].prompt == "my/r.j2"
    assert [agent.name for agent in bob.debate.role_agents["debater"]] == ["bob", "cai"]


def test_two_words_of_one_model_vary_together(tmp_path: Path) -> None:
    text = (
        SMALL.replace("builtin/solver, skill: 0.55", "openai/x")
        + "grid: {full: {models.small.temperature: [0.9], models.small.options: [{top_p: 0.1, x: 1}]}}\n"
    )
    options = load_cells(tmp_path, text)[2].debate.role_agents["debater"][0].model.options
    assert options == {"temperature": 0.9, "top_p": 0.1, "x": 1}


def test_nested_axes_reach_into_a_setting(tmp_path: Path) -> None:
    """`keep.top` over the word `mean` makes the form; within a mapping it sets one key."""
    protocol = (
        "protocols:\n  mine:\n    settings: {keep: mean, graph: {networkx: watts_strogatz_graph, k: 2, p: 0.1}}\n"
        "    steps:\n      a: {role: debater, prompt: common/answer.j2, hears: $graph}\n"
        "      b: {role: debater, prompt: common/answer.j2, hears: {weight: confidence, keep: $keep}}\n"
        "    schedule: [a, b]\n    decide: majority\n"
    )
    text = SMALL + "  own: {protocol: mine}\n" + protocol + "grid: {own: {keep.top: [1], graph.p: [0.5]}}\n"
    point = load_cells(tmp_path, text)[-1]
    assert point.name == "own[keep.top=1, graph.p=0.5]"
    assert point.debate.steps["b"].hears == Sparse("confidence", Keep("top", 1))
    assert point.debate.steps["a"].hears == NetworkX("watts_strogatz_graph", {"k": 2, "p": 0.5})


def test_matches_name_the_cell_they_mean(tmp_path: Path) -> None:
    text = SMALL + (
        "  vote: {protocol: self-consistency, budget: 'tokens(sparse[keep={top: 1}])'}\n"
        "grid: {sparse: {keep: [{top: 1}]}}\n"
    )
    assert load_cells(tmp_path, text)[-1].match == Match("tokens", "sparse[keep=top-1]")


def test_a_match_or_claim_of_a_point_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    text = SMALL + (
        "  vote: {protocol: self-consistency, budget: 'calls(sparse[keep=top-2])'}\n"
        "grid: {sparse: {keep: [{top: 1}]}}\nhypotheses: ['accuracy(sparse[keep=top-3]) > 0.5']\n"
    )
    told = problems(tmp_path, text)
    assert sorted(problem.what.split(": ")[0] for problem in told) == ["hypotheses[1]", "methods.vote.budget"]
    assert all("sparse[keep=top-1]" in problem.remedy for problem in told)


def test_a_wrong_value_of_an_axis_is_told_once_whatever_it_is_combined_with(tmp_path: Path) -> None:
    text = SMALL + "grid: {sparse: {keep: [{top: 0}], recalibration: [none, cortexdebate], rounds: [1, 2, 3]}}\n"
    assert len(problems(tmp_path, text)) == 1


def test_pools_are_knowledge_entries(tmp_path: Path) -> None:
    text = SMALL + "  rag: {protocol: rag, pool: [wiki, web]}\nknowledge: {wiki: {corpus: a.jsonl}}\n"
    (told,) = problems(tmp_path, text)
    assert "there is no knowledge entry web" in told.what
    assert told.where.endswith(":15:30")


def test_slugs_that_differ_in_case_alone_are_kept_apart(tmp_path: Path) -> None:
    text = SMALL + "grid: {full: {prompts.revise: [my/A.j2, my/a.j2]}}\n"
    slugs = [arm.slug.casefold() for arm in load_cells(tmp_path, text)]
    assert len(set(slugs)) == len(slugs)


def test_methods_that_begin_alike_share_their_opening(tmp_path: Path) -> None:
    """Arms of a grid share calls only where their opening steps are equal."""
    text = SMALL + "  vote: {protocol: voting}\n  ring: {protocol: neighbor}\n"
    openings = {
        (arm.debate.steps["answer"].prompt, arm.debate.steps["answer"].hears) for arm in load_cells(tmp_path, text)
    }
    assert len(openings) == 1


def test_a_count_that_binds_in_one_arm_or_that_a_shipped_protocol_writes_is_an_upper_bound(tmp_path: Path) -> None:
    """Two of three others are kept, and the one of a pair; three are drawn from a pool of two."""
    text = SMALL.replace("cortexdebate, rounds: 2", "cortexdebate, rounds: 2, keep: {top: 2}").replace(
        "multi-llm, rounds: 2", "heter-mad, agents: pair"
    )
    text += "teams: {pair: [ann, bob]}\ngrid: {sparse: {agents: [pair, everyone]}}\n"
    assert [arm.method for arm in load_cells(tmp_path, text)] == ["sparse", "sparse", "sparse", "full"]
