"""Random protocols of the language: whatever `check` accepts runs, is never asked twice, replays, and can be measured.

Roles (one a tool, one that is filled by choices alone), steps, who hears whom, what is told and remembered, order,
draws, schedule and decision are drawn; so are the replies, some of them empty, unreadable or failed. What `check`
refuses is left out, and must not be much.
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cortexdsl.core import AS_WRITTEN, Agent, Call, Debate, Message, Method, Model, Ports, Question, Reply
from cortexdsl.engine.readings import reread_debate
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse
from cortexdsl.metrics.registry import MEASURES
from cortexdsl.metrics.scores import round_rows
from cortexdsl.metrics.tables import debate_tables
from cortexdsl.metrics.view import view_debate
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.transports.tool import CALCULATOR, calculate
from cortexdsl.plan.rehearsal.estimate import Lengths, rehearse
from cortexdsl.plan.rehearsal.explain import explain
from cortexdsl.records import Header, Record, debate_to_json, record_from_json
from cortexdsl.records.rows import debate_rows, edge_rows, turn_rows
from cortexdsl.records.text import transcript_text
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader, answer_format
from cortexdsl.templates.templates import Templates

QUESTION = Question("q1", "What is 6 * 7?")
HEADER = Header("random", "sums", "drawn", 1)
NAMES = ("ann", "bob", "cai", "dee")
TALK = "{% include 'common/question.j2' %}{% include 'common/talk.j2' %}\n\n{{ answer_format }}"
ECHO = "{% if talk %}{{ (talk | last).text }}{% else %}I have heard nothing.{% endif %}\n\nAnswer: 41"
CHOOSY = (
    "{{ question.text }}{% for turn in heard if turn.answer != '42' %}{{ turn.text | truncate(20) }}{% endfor %}"
    "{% for group in by_answer %}{{ group.answer }}{% endfor %}{{ own | length }} {{ agent.name }}"
)

SAID: list[Any] = [
    {"say": "echo.j2"},
    ["talk.j2", {"say": "echo.j2"}],
    {"debater": {"say": "echo.j2"}, "else": "talk.j2"},
    {"1": {"say": "echo.j2"}, "else": "talk.j2"},
]
HEARS = st.one_of(
    st.sampled_from(["nobody", "everyone", "self", {"ring": 1}, {"groups": 2}, {"random": 0.5}]),
    st.sampled_from([{"networkx": "cycle_graph"}, {"edges": [["ann", "bob"], ["bob", "ann"]]}]),
    st.lists(st.sampled_from(["debater", "second", "judge", "helper", "picked"]), min_size=1, max_size=3, unique=True),
    st.builds(
        lambda weight, keep, topology: {"weight": weight, "keep": keep, "topology": topology},
        st.sampled_from(
            [
                "confidence",
                "intimacy * reliability",
                "mean_score",
                "1 / (self_orientation + 1)",
                "before(weight) / 2 + differs",
                "support + mine(stability)",
                "score + random",
                "chosen * (position < mine(position))",
                "chosen(choice) + score(review) / 2",
                "theirs(score) + theirs(mean(differs))",
            ]
        ),
        st.sampled_from(["mean", "median", "all", "mean_of_all", {"top": 1}, {"above": 0.4}]),
        st.sampled_from(["everyone", "everyone", {"ring": 1}, {"groups": 2}]),
    ),
    st.builds(
        lambda where: {"where": where},
        st.sampled_from(
            [
                "differs",
                "answer != before(answer) or not mine(answer) == mine(before(answer))",
                "(mine(position) - position) % n_agents == 1",
                "stability < 1",
            ]
        ),
    ),
)
TOLD = st.fixed_dictionaries(
    {"step": st.sampled_from(["open", "s0", ["open", "s0"]]), "last": st.sampled_from([1, 2, "all"])},
    optional={
        "where": st.sampled_from(["approved", "chosen > 0.5 or mean_score(review) > 0.5", "confidence * round < 1"])
    },
)
SHOWN = st.lists(
    st.one_of(st.sampled_from(["last", "all", "by_answer", "about_me", "evidence", "about_me"]), TOLD),
    min_size=1,
    max_size=3,
)
READS: st.SearchStrategy[Any] = st.sampled_from(
    [
        *("answer", "answer", "answer", "review", "summary", "verdict", "comment", "similarity", "choice"),
        ["answer", "verdict"],
        ["answer", "choice"],
        ["review", "verdict", "choice"],
    ]
)
STEP = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["debater", "debater", "debater", "second", "judge", "helper", "picked"]),
        "hears": HEARS,
        "shows": SHOWN,
        "memory": st.one_of(st.sampled_from(["none", "last", "all"]), TOLD),
        "sequential": st.booleans(),
        "each": st.sampled_from(
            [
                "speaker",
                "speaker",
                "speaker",
                "edge",
                "debater",
                "second",
                "listener",
                "group",
                "pair",
                "match",
            ]
        ),
        "samples": st.sampled_from([1, 1, 2]),
        "reads": READS,
        "prompt": st.sampled_from(
            [
                "talk.j2",
                "choosy.j2",
                {"say": "echo.j2"},
                ["talk.j2", "choosy.j2", {"say": "echo.j2"}],
                {"1": "choosy.j2", "else": "talk.j2"},
                {"debater": {"say": "echo.j2"}, "else": "talk.j2"},
                {"picked": {"say": "echo.j2"}, "1": "choosy.j2", "else": "talk.j2"},
            ]
        ),
    }
)
ENDING = st.sampled_from(
    [
        "never",
        "never",
        "consensus",
        "approved",
        "agreement >= 0.5 and round >= 2",
        "mean(answer != before(answer)) < 0.5",
        "n_agents == 1",
        "all(all(not differs))",
        "any(any(similarity > 0.99))",
        "approved(verdict) and round > 1",
        "all(mean(theirs(score)) >= mean(score))",
    ]
)
CHOOSE = st.builds(
    lambda role, source, rule: {"choose": role, **({"from": source} if source != role else {}), **rule},
    st.sampled_from(["debater", "second", "picked", "picked"]),
    st.sampled_from(["debater", "debater", "second"]),
    st.sampled_from(
        [
            {"where": "any(differs)"},
            {"where": "confidence < 0.5"},
            {"where": "position > 1"},
            {"weight": "position", "keep": {"drop_bottom": 1}},
            {"weight": "chosen + random / 100", "keep": {"top": 1}},
            {"weight": "mean_score + mean(score)", "keep": {"drop_bottom": 1}},
            {"weight": "support * reliability", "keep": "mean"},
            {"weight": "sum(theirs(score) * theirs(mean_score))", "keep": {"top": 2}},
            {"where": "any(theirs(position) < position and differs)"},
            {"weight": "chosen(choice) - mean_score(review)", "keep": {"top": 2}},
        ]
    ),
)
DECIDE = st.sampled_from(
    [
        "majority",
        "weighted",
        "first",
        ["debater", "none"],
        ["judge", "majority"],
        ["second", "weighted"],
        {"vote": "last * (1 + chosen)"},
        {"vote": "(1 + round) * (confidence - abandoned / 2) + (answer != before(answer))"},
        {"vote": "stability - support"},
    ]
)


@st.composite
def protocols(draw: st.DrawFn) -> dict[str, Any]:
    """A protocol as a spec would write it; it opens with answers that hear nobody, as most do."""
    opening = {"role": "debater", "prompt": "talk.j2", "samples": draw(st.sampled_from([1, 1, 2]))}
    steps = {"open": opening} | {f"s{k}": _fitting(draw(STEP)) for k in range(draw(st.integers(1, 4)))}
    seldom = draw(st.sampled_from(["said", "helper", "picked", "picked", ""]))
    if seldom == "said":
        steps["s0"] = {**steps["s0"], "role": "debater", "prompt": draw(st.sampled_from(SAID))}
    elif seldom:
        steps["s0"] = _fitting({**steps["s0"], "role": seldom, "each": draw(st.sampled_from(["speaker", "listener"]))})
    names = list(steps)[1:]
    inner = st.lists(st.one_of(st.sampled_from(names), st.sampled_from(names), CHOOSE), min_size=1, max_size=3)
    loop = st.builds(
        lambda times, until, start, do: {"repeat": times, "if": f"not ({start})", "until": until, "do": do},
        st.integers(0, 2), ENDING, ENDING, inner,
    )  # fmt: skip
    rest = draw(st.lists(st.one_of(st.sampled_from(names), loop, CHOOSE), min_size=1, max_size=4))
    rest = ["s0", *rest] if seldom else rest
    said = {name for item in rest for name in _steps(item)}
    if "picked" in {steps[name]["role"] for name in said}:
        # Somebody, for certain: one who has to be asked for a step to be spoken is left to chance elsewhere.
        rest = [{"choose": "picked", "from": "debater", "weight": "random", "keep": {"top": 1}}, *rest]
    if not (both := draw(st.booleans())):
        rest = [_from_debaters(item) for item in rest]
    chosen = {item[word] for item in _choices(rest) for word in ("choose", "from") if word in item}
    assume(said)
    # What expressions and `tells` lean on is there, mostly: a rating, a choice and a verdict, spoken after the opening.
    wanted = json.dumps([[steps[name] for name in sorted(said)], rest, decide := draw(DECIDE)])
    needed = {name: step for name, (step, words) in NEEDED.items() if any(word in wanted for word in words)}
    if "s0" not in said:
        steps = {name: _without_s0(step) for name, step in steps.items()}
    steps |= needed
    said |= set(needed)
    rest = [*needed, *rest]
    roles = {
        "debater": draw(st.sampled_from(["everyone", ["ann", "bob"], 1])),
        "second": draw(st.sampled_from(["everyone", ["bob", "cai"], ["dee"], "extra"])),
        "judge": "extra",
        "helper": {"tool": "sums"},
        "picked": draw(st.sampled_from(["everyone", 2])),
    }
    spoken = [step for name, step in steps.items() if name == "open" or name in said]
    used = chosen | {step["role"] for step in spoken}
    for step in spoken:  # a role that nobody plays is named by no template
        if isinstance(step["prompt"], dict) and "picked" in step["prompt"] and "picked" not in used:
            step["prompt"] = "talk.j2"
        if step.get("each") in ("debater", "second") and step["each"] not in used:
            step["each"] = "edge"
    if isinstance(decide, list) and decide[0] not in {
        step["role"] for step in spoken if "answer" in step.get("reads", "answer")
    }:
        decide = "majority"
    assume("debater" in used)
    heard = {role for name in said if isinstance(steps[name]["hears"], list) for role in steps[name]["hears"]}
    assume(heard <= used)
    return {
        "roles": {role: who for role, who in roles.items() if role in used},
        "steps": {
            name: {key: value for key, value in step.items() if (key, value) != ("each", "speaker")}
            for name, step in steps.items()
            if name == "open" or name in said
        },
        "schedule": ["open", *rest],
        "decide": decide,
        **({"voters": ["debater", "second"]} if "second" in used and both else {}),
        "recalibration": draw(st.sampled_from(["none", "cortexdebate"])),
        "quote": draw(st.sampled_from(["whole", "answer"])),
    }


NEEDED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    kind: ({"role": "judge", "hears": "debater", "each": each, "reads": kind, "prompt": "talk.j2"}, words)
    for kind, each, words in (
        ("review", "edge", ("score", "about")),
        ("choice", "match", ("chosen",)),
        ("verdict", "speaker", ("approved",)),
    )
}


def _fitting(step: dict[str, Any]) -> dict[str, Any]:
    """A step of a role beside the debaters hears by role: nobody weighs what it says, and it has no neighbours."""
    if step["role"] not in ("helper", "picked"):
        return step
    hears = step["hears"] if isinstance(step["hears"], list) else ["debater"]
    return {**step, "hears": hears, "prompt": "talk.j2"}


def _from_debaters(item: Any) -> Any:
    """The same part of a schedule where the second role debates by choice alone: nobody is chosen from it."""
    if not isinstance(item, dict):
        return item
    if "do" in item:
        return {**item, "do": [_from_debaters(each) for each in item["do"]]}
    return item if item["choose"] == "debater" and "from" not in item else {**item, "from": "debater"}


def _without_s0(step: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(step).replace('"s0"', '"open"'))
    return found


def _steps(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    return [name for each in item.get("do", ()) for name in _steps(each)]


def _choices(items: list[Any]) -> list[dict[str, Any]]:
    found = [item for item in items if isinstance(item, dict) and "choose" in item]
    return found + [each for item in items if isinstance(item, dict) for each in _choices(item.get("do", []))]


def method_of(protocol: dict[str, Any]) -> Method:
    """Check and resolve a protocol as a spec's own is."""
    model = Model("small", "fake/model", parameters=7e9, tokens=1e12)
    team = tuple(Agent(name, model) for name in NAMES)
    found = protocol_of("drawn", parse(json.dumps(protocol), "drawn.yaml"))
    tools = {"sums": Model("sums", CALCULATOR)}
    return resolve(found, MethodChoice("methods.m", parse("{}", "spec.yaml"), team, tools=tools))


class World:
    """Replies that depend on their call alone; every call is counted, and a replay asks for none that is not known."""

    def __init__(self, seed: int, templates: Templates, known: dict[str, Reply] | None = None) -> None:
        self.seed, self.templates, self.known = seed, templates, known
        self.replies: dict[str, Reply] = {}

    async def ask(self, call: Call) -> Reply:
        key = call_key(call)
        assert key not in self.replies, "the same call was asked twice in a debate"
        if self.known is not None:
            self.replies[key] = self.known[key]
            return self.known[key]
        chance = random.Random(f"{self.seed} {key}")
        if call.model == AS_WRITTEN:
            self.replies[key] = Reply(key, call.messages[-1]["content"], "stop", 0, 0)
            return self.replies[key]
        if call.model.model == CALCULATOR:
            self.replies[key] = Reply(key, calculate(call.messages[-1]["content"]), "stop", 0, 0)
            return self.replies[key]
        words = (
            f"Because {chance.random():.6f}.\nCalculate: 6 * {chance.randint(6, 7)}\n"
            f"Answer: {chance.choice([41, 42, 42])}\nConfidence: {chance.random():.2f}"
        )
        said = chance.choice(
            [
                words,
                words,
                words,
                f"{words}\nVerdict: agree\nScore: 7\nSimilarity: 0.4\nChoice: {chance.randint(1, 4)}",
                "?",
                "",
                "  ",
            ]
        )
        error = "content filter" if chance.random() < 0.05 else None
        self.replies[key] = Reply(key, "" if error else said, "stop", 10, 5, error=error)
        return self.replies[key]

    def render(self, prompt: str, view: Any) -> tuple[Message, ...]:
        return self.templates.render(prompt, {**view, "answer_format": answer_format("a number")})

    def run(self, method: Method, **more: Any) -> Debate:
        ports = Ports(self.ask, self.render, AnswerReader(kind_named("number")), Embedder())
        return asyncio.run(run_debate(method, QUESTION, ports, seed=3, replicate=1, **more))


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    folder: Path = tmp_path_factory.mktemp("prompts")
    (folder / "talk.j2").write_text(TALK)
    (folder / "choosy.j2").write_text(CHOOSY)
    (folder / "echo.j2").write_text(ECHO)
    return Templates((folder,))


_SELDOM = ("a tool spoke", "who was picked spoke", "somebody was silent", "something was said as it is written")
SEEN = dict.fromkeys(("accepted", "refused", *_SELDOM), 0)


@settings(max_examples=90, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(protocols(), st.integers(0, 10**6))
def test_what_check_accepts_runs_replays_and_is_measured(
    templates: Templates, protocol: dict[str, Any], seed: int
) -> None:
    try:
        method = method_of(protocol)
    except SpecError:
        SEEN["refused"] += 1
        return
    SEEN["accepted"] += 1
    world = World(seed, templates)
    done = world.run(method)
    for what, is_so in _seen(method, done).items():
        SEEN[what] += is_so
    record = Record(HEADER, done)
    line = debate_to_json(done, HEADER)

    assert debate_to_json(World(seed, templates, world.replies).run(method), HEADER) == line
    asked_nobody = World(seed, templates, {})
    assert debate_to_json(asked_nobody.run(method, given=done.turns), HEADER) == line
    assert not asked_nobody.replies
    assert debate_to_json(record_from_json(line).debate, HEADER) == line
    again = reread_debate(done, method, AnswerReader(kind_named("number")), seed=3, replicate=1)
    assert debate_to_json(again, HEADER) == line

    planned = asyncio.run(rehearse(method, [QUESTION], world.render, seed=3, lengths=Lengths(20), seen={}))
    assert len(planned.calls) >= len(world.replies)  # a plan says what there are at most
    assert explain(method)

    for turn in done.turns:
        assert all(number < turn.turn for number in (*turn.heard, *turn.recalled))
        assert not set(turn.heard) & set(turn.recalled)
        assert all(done.turns[number].text.strip() for number in (*turn.heard, *turn.recalled))
    view = view_debate(done, lambda question, answer: float(answer == "42"))
    team = {agent.name for role in method.voters or ("debater",) for agent in method.role_agents[role]}
    assert set(view.debaters) <= team
    for choice in done.choices:
        assert set(choice.chosen) <= set(choice.candidates)
        assert set(choice.candidates) <= team
    left = [c for c in done.choices if c.role == "debater" and method.voters == ()]
    gone = team.difference(*(choice.chosen for choice in left[-1:])) if left else set()
    assert (
        all(turn.speaker not in gone for turn in done.turns[left[-1].turn :] if turn.step == "open") if left else True
    )
    for measure in MEASURES.values():
        value = measure(view)
        assert value is None or value == value  # never NaN
    right = view.worth
    assert len(round_rows([record], lambda question, answer: right(answer))) == done.rounds + 1
    tables = debate_tables([record], lambda question, answer: right(answer))
    assert sorted(tables["agents"]["agent"]) == sorted(view.debaters)
    assert transcript_text(record)
    assert len(list(turn_rows([record]))) == len(done.turns)
    assert list(debate_rows([record]))
    assert sum(row["heard"] for row in edge_rows([record])) == sum(int(graph.heard.sum()) for graph in done.graphs)


def _seen(method: Method, done: Debate) -> dict[str, bool]:
    """What of the rarer words a debate had."""
    speaking = [(turn, method.steps[turn.step].role) for turn in done.turns]
    chosen = [choice for choice in done.choices if choice.role == "picked"]
    return {
        "a tool spoke": any(role == "helper" for _, role in speaking),
        "who was picked spoke": any(turn.turn >= chosen[0].turn for turn, role in speaking if role == "picked")
        if chosen
        else False,
        "somebody was silent": any(set(choice.chosen) < set(choice.candidates) for choice in done.choices),
        "something was said as it is written": any(
            turn.completion_tokens == 0 and role != "helper" for turn, role in speaking
        ),
    }


def test_most_of_what_is_drawn_is_accepted() -> None:
    """A generator whose protocols were all refused, or without the rarer words, would show nothing."""
    if not SEEN["accepted"] + SEEN["refused"]:
        pytest.skip("the protocols were drawn in another process")
    assert SEEN["accepted"] >= 0.4 * (SEEN["accepted"] + SEEN["refused"])
    assert [what for what in _SELDOM if SEEN[what] < 5] == []
