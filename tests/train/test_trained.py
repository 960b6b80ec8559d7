"""Models that are trained here: which one an entry means, what runs again where they change, whose weights speak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import InputError, SpecError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import debate_inputs, trajectory_inputs
from cortexdsl.plan.training import with_trained
from cortexdsl_tiny.folder import Folder
from cortexdsl_train.phases import base_folder
from tests.tiny.made import made
from tests.train.specs import plan

SPEC = """\
title: Learning
seed: 17
dataset: {name: arithmetic, size: 6}
models:
  base: {model: tiny/./base, temperature: 0.5}
  early: {model: trained/acc/actor/1}
  actor: {model: trained/acc/actor, temperature: 0.0}
  critic: {model: trained/acc/critic}
agents:
  - {name: a, model: base}
  - {name: c, model: base}
  - {name: a1, model: early}
  - {name: a2, model: actor}
  - {name: c2, model: critic}
methods:
  untrained: {protocol: acc, rounds: 2, agents: [a, c]}
  trained: {extends: untrained, agents: [a2, c2]}
  halfway: {extends: untrained, agents: [a1, c2]}
train:
  acc:
    method: untrained
    repeats: 2
    questions: {size: 4}
    validation: 2
    optimiser: {rank: 4}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made(tmp_path / "base")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def digests(compiled: Plan) -> dict[str, str]:
    return {cell.name: cell.digest for cell in compiled.cells}


def test_phases_speak_with_what_was_trained_before_them(here: Path) -> None:
    training = plan(here, SPEC).training("acc")
    assert [phase.label for phase in training.phases] == ["1-critic", "1-actor", "2-critic", "2-actor"]
    place = "tiny/./results/learning/train/acc/{}/model"
    speakers = [
        {role: role_agents[0].model.model for role, role_agents in phase.method.role_agents.items()}
        for phase in training.phases
    ]
    assert speakers == [
        {"actor": "tiny/./base", "critic": "tiny/./base"},
        {"actor": "tiny/./base", "critic": place.format("1-critic")},
        {"actor": place.format("1-actor"), "critic": place.format("1-critic")},
        {"actor": place.format("1-actor"), "critic": place.format("2-critic")},
    ]
    assert [base_folder(training, phase).name for phase in training.phases] == ["base", "base", "model", "model"]


def test_entries_mean_the_model_after_their_repeat_with_the_options_of_its_base(here: Path) -> None:
    compiled = plan(here, SPEC)
    models = {
        agent.name: agent.model
        for cell in compiled.cells
        for role_agents in cell.debate.role_agents.values()
        for agent in role_agents
    }
    for agent, phase in {"a1": "1-actor", "a2": "2-actor", "c2": "2-critic"}.items():
        assert models[agent].model == f"tiny/./results/learning/train/acc/{phase}/model"
        assert models[agent].options["weights"] == f"training:{compiled.training('acc').phase(phase).trained_digest}"
    assert models["a1"].options["temperature"] == 0.5
    assert models["a2"].options["temperature"] == 0.0
    slug = compiled.cell_named("trained").slug
    inputs = debate_inputs(compiled, "arithmetic", slug, "r1-s01")
    assert [path.split("/")[4] for path in inputs if path.endswith("model.safetensors")] == ["2-actor", "2-critic"]
    assert trajectory_inputs(compiled, "acc", "1-actor") == [
        "results/learning/train/acc/1-critic/model/model.safetensors"
    ]


@pytest.mark.parametrize(
    ("old", "new", "collects_anew"),
    [
        ("threshold: 0.2", "threshold: 0.4", False),
        ("rank: 4", "rank: 8", False),
        ("samples: 5", "samples: 6", True),
        ("size: 4}", "size: 5}", True),
    ],
)
def test_what_changes_what_is_learned_runs_trained_cells_again_and_no_others(
    here: Path, old: str, new: str, *, collects_anew: bool
) -> None:
    text = SPEC.replace("    repeats: 2\n", "    repeats: 2\n    samples: 5\n    threshold: 0.2\n")
    before, after = plan(here, text), plan(here, text.replace(old, new))
    changed = {name for name, digest in digests(before).items() if digests(after)[name] != digest}
    assert changed == {"trained", "halfway"}
    first = [one.training("acc").phase("1-critic").digest for one in (before, after)]
    assert (first[0] != first[1]) == collects_anew


def test_a_grid_may_vary_which_training_speaks(here: Path) -> None:
    text = SPEC + "grid:\n  trained: {models.critic.model: [trained/acc/critic/1, trained/acc/critic/2]}\n"
    compiled = plan(here, text)
    models = {cell.name: cell.debate.role_agents["critic"][0].model.model for cell in compiled.cells}
    assert models["trained[models.critic.model=trained/acc/critic/1]"].endswith("/acc/1-critic/model")
    assert models["trained"].endswith("/acc/2-critic/model")
    assert "trained[models.critic.model=trained/acc/critic/2]" in compiled.cell_named("trained").aliases


def test_a_grid_may_vary_how_a_training_learns(here: Path) -> None:
    """Each point has a training of its own, both of whose models speak there; the value of the spec is the spec's."""
    text = SPEC + "grid:\n  trained: {train.acc.threshold: [0.2, 0.4], train.acc.optimiser.rank: [4, 8]}\n"
    compiled = plan(here, text)
    assert [training.name for training in compiled.trainings] == [
        "acc",
        "acc~threshold=0.2~optimiser.rank=8",
        "acc~threshold=0.4~optimiser.rank=4",
        "acc~threshold=0.4~optimiser.rank=8",
    ]
    for training in compiled.trainings:
        said = training.said
        if training.name == "acc":
            cell = compiled.cell_named("trained")
            assert "trained[train.acc.threshold=0.2, train.acc.optimiser.rank=4]" in cell.aliases
        else:
            axes = f"train.acc.threshold={said.threshold}, train.acc.optimiser.rank={said.optimiser.rank}"
            cell = compiled.cell_named(f"trained[{axes}]")
        assert training.name == "acc" or training.name.endswith(
            f"{said.threshold}~optimiser.rank={said.optimiser.rank}"
        )
        for role, model in (("actor", "2-actor"), ("critic", "2-critic")):
            spoken = cell.debate.role_agents[role][0].model
            assert spoken.model == f"tiny/./results/learning/train/{training.name}/{model}/model"
            assert spoken.options["weights"] == f"training:{training.phase(model).trained_digest}"
    assert len({cell.digest for cell in compiled.cells}) == len(compiled.cells) == 3 + 3
    # The critic's first debates do not depend on how it learns from them: each call is asked once.
    assert len({training.phase("1-critic").digest for training in compiled.trainings}) == 1


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("train.ac.threshold: [0.1]", r"the axis train\.ac\.threshold: nothing is called 'ac'"),
        ("train.acc.roles: [[actor]]", r"a grid varies no 'roles' of a training"),
        ("train.acc.treshold: [0.1]", r"a grid varies no 'treshold' of a training\n.*did you mean threshold"),
        ("train.acc.threshold: [2]", r"learning\.yaml:27:35: train\.acc\.threshold"),
        ("train.acc.optimiser.rnk: [2]", r"train\.acc\.optimiser.*rnk"),
    ],
)
def test_what_a_grid_cannot_vary_of_a_training_is_wrong_where_it_is_written(here: Path, axis: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        plan(here, SPEC + f"grid:\n  trained: {{{axis}}}\n")


def test_weights_of_another_training_do_not_speak(here: Path) -> None:
    compiled = plan(here, SPEC)
    cell = compiled.cell_named("trained")
    with pytest.raises(InputError, match="is not a folder"):
        with_trained(cell.debate)
    for phase in ("2-actor", "2-critic"):
        folder = Path(compiled.training("acc").phase(phase).folder)
        folder.parent.mkdir(parents=True)
        made(folder, seed=3)
    with pytest.raises(InputError, match="trained from something else"):
        with_trained(cell.debate)
    for phase in ("2-actor", "2-critic"):
        found = compiled.training("acc").phase(phase)
        (Path(found.folder) / "zoo.json").write_text(json.dumps({"training": found.trained_digest}))
    method = with_trained(cell.debate)
    for role, phase in (("actor", "2-actor"), ("critic", "2-critic")):
        folder = Path(compiled.training("acc").phase(phase).folder)
        assert method.role_agents[role][0].model.options["weights"] == Folder(folder).digest
    untrained = compiled.cell_named("untrained").debate
    assert with_trained(untrained) is untrained


def test_a_server_is_asked_for_a_name_that_ends_in_what_it_was_trained_from(here: Path) -> None:
    served = SPEC.replace("tiny/./base, temperature", "openai/llama, api_base: env:LLAMA_URL, temperature")
    compiled = plan(here, served)
    training = compiled.training("acc")
    names = [phase.trained.model for phase in training.phases if phase.trained]
    assert names[0] == f"openai/acc-1-critic-{training.phases[0].trained_digest[:8]}"
    assert len({name[-8:] for name in names}) == 4
    with pytest.raises(InputError, match="nothing says where the weights of openai/llama are"):
        base_folder(training, training.phases[0])
    weighed = plan(here, served.replace("    repeats: 2\n", "    repeats: 2\n    weights: base\n")).training("acc")
    assert base_folder(weighed, weighed.phases[0]) == here / "base"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("acc/critic}", "acc/judge}", r":8:\d+: models\.critic\.model: acc trains no judge"),
        ("model: trained/acc/critic", "model: trained/ac/critic", r":8:\d+: .*there is no training ac\n.*mean acc"),
        ("actor/1", "actor/3", r":6:\d+: models\.early\.model: acc repeats 2 times at most"),
        ("acc/actor, temperature", "acc, temperature", r":7:\d+: .*and the role that it learned"),
        ("actor, temperature", "actor, api_base: env:X, temperature", r":7:\d+: .*api_base is that of"),
        ("    method: untrained", "    method: trained", r":21:\d+: .*trained has a trained model itself"),
        ("    method: untrained", "    method: untrain", r":21:\d+: .*there is no method untrain"),
        ("    repeats: 2", "    repeats: 2\n    roles: [critic, actor, judge]", r":23:\d+: .*has no role judge"),
        ("    repeats: 2", "    rounds: 2", r":22:\d+: .*rounds.*\n.*the rounds are the method's"),
        ("protocol: acc, rounds: 2", "protocol: multi-llm, rounds: 2", r"not one agent speaks"),
        ("model: tiny/./base, temperature: 0.5", "model: builtin/solver", "without weights to train"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_wrong_where_it_is_written(here: Path, old: str, new: str, said: str) -> None:
    assert old in SPEC
    with pytest.raises(SpecError, match=said):
        plan(here, SPEC.replace(old, new))


OWN = """\
protocols:
  own:
    settings: {rounds: 2}
    roles: {actor: 1, critic: 2}
    steps:
      answer: {role: actor, prompt: common/answer.j2}
      comment: {role: critic, hears: actor, reads: comment, prompt: acc/comment.j2, model: base}
      revise: {role: actor, hears: critic, memory: last, prompt: acc/revise.j2}
    schedule: [answer, {repeat: $rounds - 1, do: [comment, revise]}]
    decide: actor
"""


def test_a_role_whose_step_names_its_model_cannot_learn(here: Path) -> None:
    """What is trained would never speak in the step. The other role can learn, and a temperature is not a model."""
    text = SPEC.replace("protocol: acc,", "protocol: own,") + OWN + "limits: {calls: 5000}\n"
    with pytest.raises(SpecError) as refused:
        plan(here, text)
    (problem,) = refused.value.problems
    assert problem.what == "train.acc.roles: the critic of untrained speaks in comment with a model that the step names"
    assert problem.remedy == "what is trained would never speak there: remove model: from the step"
    plan(here, text.replace("model: base}\n      revise", "temperature: 0.2}\n      revise"))
    alone = text.replace("repeats: 2", "repeats: 1\n    roles: [actor]").replace(", c2]", ", c]")
    plan(
        here,
        alone.replace("  critic: {model: trained/acc/critic}\n", "").replace("  - {name: c2, model: critic}\n", ""),
    )


def test_a_trained_model_speaks_in_steps_verifies_and_answers_handed_on_questions(here: Path) -> None:
    """It is resolved wherever a method names it, its weights are an input of the job, and identify its calls."""
    text = SPEC.replace("train:\n", MEETING + "train:\n")
    compiled = plan(here, text)
    place = "results/learning/train/acc/2-{}/model/model.safetensors"
    expected = {"stepping": ["critic"], "verified": ["actor"], "handing": ["actor", "critic"]}
    for name, roles in expected.items():
        cell = compiled.cell_named(name)
        assert not any(model.model.startswith("trained/") for model in cell.debate.models)
        inputs = debate_inputs(compiled, "arithmetic", cell.slug, "r1-s01")
        assert set(inputs) >= {place.format(role) for role in roles}
        with pytest.raises(InputError, match=r"safetensors|there is no"):
            with_trained(cell.debate)


MEETING = """\
  stepping: {protocol: rethinking, agents: [a]}
  verified: {protocol: cot, agents: [a], confidence: verifier(actor)}
  handing: {protocol: cot, agents: [a], defer: {below: 0.9, to: trained}}
protocols:
  rethinking:
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      again: {role: debater, prompt: common/answer.j2, model: critic}
    schedule: [answer, again]
    decide: majority
"""
