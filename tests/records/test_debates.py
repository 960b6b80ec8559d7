"""Debate records: byte for byte the same, read back whole, and clear about what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.checksums import with_checksum
from cortexdsl.core import Agent, Debate, Graph, Measured, Model, Placebo, ProbeCall, Turn
from cortexdsl.errors import RecordError
from cortexdsl.records import Header, Record, debate_to_json, read_debates, record_from_json, write_debates

HEADER = Header("quickstart", "arithmetic", "sparse[keep=median]", 2)
CONTRACT = ["experiment", "dataset", "cell", "replicate", "question_id", "agents", "turns", "graphs", "answer",
            "votes", "was_tied", "rounds", "stop"]  # fmt: skip
TURN = ["turn", "round", "step", "speaker", "about", "heard", "text", "answer", "unparsed", "confidence_stated",
        "confidence", "prompt_tokens", "completion_tokens", "call"]  # fmt: skip


def turn(number: int, speaker: str, **changes: Any) -> Turn:
    values: dict[str, Any] = {
        "turn": number, "execution": 0, "round": 0, "step": "answer", "reads": "answer", "speaker": speaker,
        "about": None, "heard": (), "recalled": (), "text": "Answer: 7", "answer": "7", "unparsed": None,
        "confidence_stated": 0.95, "confidence": 0.8, "prompt_tokens": 40, "completion_tokens": 9, "call": "c0",
    }  # fmt: skip
    return Turn(**(values | changes))


def debate(**changes: Any) -> Debate:
    model = Model("small", "builtin/solver", parameters=5e8, tokens=1e12)
    weight = np.array([[np.nan, 0.1 + 0.2], [1 / 3, np.nan]])
    graph = Graph(1, "revise", ("a", "b"), ("a", "b"), weight, np.array([[False, True], [False, False]]),
                  {"similarity": np.array([[1.0, 0.5], [0.5, 1.0]]), "credibility": np.array([0.2, 0.3])})  # fmt: skip
    values: dict[str, Any] = {
        "question_id": "q1", "agents": (Agent("a", model), Agent("b", model, "checks twice")),
        "turns": (turn(0, "a"), turn(1, "b"),
                  turn(2, "b", execution=1, round=1, step="revise", heard=(0,), recalled=(1,), answer=None,
                       unparsed="no number", confidence_stated=None, confidence=None, prompt_tokens=None)),
        "graphs": (graph,), "answer": "7", "votes": {"7": 2.0}, "was_tied": False, "rounds": 1, "stop": "rounds",
    }  # fmt: skip
    return Debate(**(values | changes))


def test_a_line_has_the_contracts_keys_in_the_contracts_order() -> None:
    line = json.loads(debate_to_json(debate(), HEADER))
    assert [key for key in line if key in CONTRACT] == CONTRACT
    assert [key for key in line["turns"][0] if key in TURN] == TURN
    assert set(line) - set(CONTRACT) == {"schema_version", "guided", "checksum"}
    assert set(line["turns"][0]) - set(TURN) == {"execution", "reads", "recalled"}


def test_a_measured_confidence_says_where_it_comes_from_and_is_read_back() -> None:
    asides = (ProbeCall("c1", "7", None, 40, 9), ProbeCall("c2", None, "no number", 40, None, 3))
    sampled = turn(0, "a", confidence=0.5, measured=Measured("consistency", 0.5, None, asides))
    lost = turn(1, "b", confidence=None, measured=Measured("consistency", None, "no further reply came"))
    whole = debate(turns=(sampled, lost), graphs=())
    line = debate_to_json(whole, HEADER)
    said = json.loads(line)
    assert said["schema_version"] == 5
    assert said["turns"][0]["measured"] == {
        "source": "consistency",
        "confidence": 0.5,
        "unmeasured": None,
        "calls": [
            {"call": "c1", "said": "7", "unread": None, "prompt_tokens": 40, "completion_tokens": 9,
             "reasoning_tokens": None},
            {"call": "c2", "said": None, "unread": "no number", "prompt_tokens": 40, "completion_tokens": None,
             "reasoning_tokens": 3},
        ],
    }  # fmt: skip
    assert record_from_json(line).debate.turns == whole.turns
    broken = with_checksum(json.dumps({**said, "checksum": None}).replace('"consistency"', '"guess"').replace(
        ', "checksum": null', ""
    ))  # fmt: skip
    with pytest.raises(RecordError, match=r"turns\[0\].measured.source is 'guess', not one of stated, logprob"):
        record_from_json(broken)


def test_what_few_turns_have_stands_only_in_those_and_is_read_back(tmp_path: Path) -> None:
    thought = turn(0, "a", reasoning="2+2\u202e", reasoning_tokens=4, ended="length")
    line = debate_to_json(debate(turns=(thought, turn(1, "b"))), HEADER)
    first, second = json.loads(line)["turns"]
    assert (first["reasoning"], first["reasoning_tokens"], first["ended"]) == ("2+2\u202e", 4, "length")
    assert not {"reasoning", "reasoning_tokens", "ended"} & set(second)
    assert record_from_json(line, "here").debate.turns == (thought, turn(1, "b"))


def test_digests_of_images_are_kept_where_there_are_any() -> None:
    line = debate_to_json(debate(images=("ab", "cd")), HEADER)
    assert record_from_json(line, "here").debate.images == ("ab", "cd")
    assert "images" not in json.loads(debate_to_json(debate(), HEADER))


@pytest.mark.parametrize("change", [{"reasoning": 5}, {"reasoning_tokens": "4"}, {"ended": True}], ids=str)
def test_a_wrong_type_in_what_few_turns_have_is_named(change: dict[str, Any]) -> None:
    line = json.loads(debate_to_json(debate(turns=(turn(0, "a"),), graphs=()), HEADER))
    del line["checksum"]
    line["turns"][0] |= change
    with pytest.raises(RecordError, match=rf"turns\[0\].{next(iter(change))} is "):
        record_from_json(with_checksum(json.dumps(line)), "here")


def test_numbers_are_written_as_the_shortest_text_that_gives_them_back_and_absent_weights_as_null() -> None:
    text = debate_to_json(debate(), HEADER)
    assert '"weight":[[null,0.30000000000000004],[0.3333333333333333,null]]' in text
    assert '"heard":[[false,true],[false,false]]' in text
    assert "NaN" not in text


def test_equal_debates_are_equal_bytes_however_their_mappings_are_ordered() -> None:
    one = debate_to_json(debate(votes={"7": 1.0, "8": 1.0}), HEADER)
    two = debate_to_json(debate(votes={"8": 1.0, "7": 1.0}), HEADER)
    assert one == two


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "debates" / "r1-s01.jsonl"
    write_debates(path, [Record(HEADER, debate()), Record(HEADER, debate(question_id="q2"))])
    first, second = read_debates(path)
    assert (first.header, second.debate.question_id) == (HEADER, "q2")
    read, made = first.debate, debate()
    assert read.turns == made.turns
    assert read.agents == made.agents
    graph, original = read.graphs[0], made.graphs[0]
    assert graph.weight is not None
    assert original.weight is not None
    np.testing.assert_array_equal(graph.weight, original.weight)
    np.testing.assert_array_equal(graph.heard, original.heard)
    np.testing.assert_array_equal(graph.factors["credibility"], original.factors["credibility"])
    assert [child.name for child in path.parent.iterdir()] == ["r1-s01.jsonl"]  # no temporary file is left


@given(text=st.text(st.characters(exclude_categories=())), answer=st.none() | st.text())
def test_hostile_text_survives_and_a_record_is_always_one_line_of_ascii(text: str, answer: str | None) -> None:
    # A high and a low surrogate in a row are the escape of one character, in JSON as elsewhere.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    line = debate_to_json(debate(turns=(turn(0, "a", text=text, answer=answer),), graphs=()), HEADER)
    assert line.isascii()
    assert "\n" not in line
    read = record_from_json(line).debate
    assert (read.turns[0].text, read.turns[0].answer) == (text, answer)
    assert debate_to_json(read, HEADER) == line


@given(st.lists(st.floats(allow_infinity=False), min_size=4, max_size=4))
def test_every_finite_weight_is_read_back_to_the_last_bit(values: list[float]) -> None:
    weight = np.array(values).reshape(2, 2)
    graph = Graph(1, "revise", ("a", "b"), ("a", "b"), weight, np.ones((2, 2), dtype=bool), {})
    read = record_from_json(debate_to_json(debate(graphs=(graph,)), HEADER)).debate.graphs[0].weight
    assert read is not None
    np.testing.assert_array_equal(read, weight)


def test_a_stated_confidence_beyond_all_floats_becomes_null_and_an_infinite_weight_is_refused() -> None:
    record = record_from_json(debate_to_json(debate(turns=(turn(0, "a", confidence_stated=float("inf")),)), HEADER))
    assert record.debate.turns[0].confidence_stated is None
    endless = Graph(1, "revise", ("a",), ("b",), np.array([[np.inf]]), np.array([[True]]), {})
    with pytest.raises(RecordError, match="round 1, step 'revise': weight is infinite"):
        debate_to_json(debate(graphs=(endless,)), HEADER)


def changed(**fields: Any) -> str:
    return resealed(json.loads(debate_to_json(debate(), HEADER)) | fields)


def resealed(line: dict[str, Any]) -> str:
    """A line that was written so: its checksum fits."""
    return with_checksum(json.dumps({key: value for key, value in line.items() if key != "checksum"}))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (changed()[:100], "not a line of JSON"),
        ("[1]", "the line is a list, not an object"),
        ('{"question": "x"}', "schema_version is missing"),
        (changed(schema_version=99), "newer cortexdsl"),
        (changed(schema_version=True), "schema_version is a bool"),
        (changed(rounds="1"), "rounds is a string, not an integer"),
        (changed(stop="tired"), "stop is 'tired', not one of consensus, agreed, condition, rounds"),
        (changed(turns=[{"turn": 0}]), r"turns\[0\].execution is missing"),
        (changed(votes={"7": "many"}), "votes.7 is a string, not a number"),
        (changed(votes={"7": 10**400}), "votes.7 is beyond every float"),
        ('{"schema_version": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "not a line of JSON"),
    ],
)
def test_a_broken_line_is_named_by_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "r1-s01.jsonl"
    path.write_text(debate_to_json(debate(), HEADER) + "\n" + line + "\n")
    with pytest.raises(RecordError, match=message) as caught:
        list(read_debates(path))
    assert str(caught.value).startswith(f"{path}:2: ")


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("turns", 1, "turn"), 5, r"turns\[1\].turn is 5"),
        (("turns", 2, "heard"), [2], "not spoken before it"),
        (("graphs", 0, "heard"), [[True], [False, True]], "2 speakers by 2 listeners"),
        (("graphs", 0, "heard"), [[1, 0], [0, 0]], "not a list of true and false"),
        (("graphs", 0, "weight"), [[0.1, None]], "2 speakers by 2 listeners"),
        (("graphs", 0, "weight"), [[0.1], [0.1, 0.2]], "not a rectangle"),
        (("graphs", 0, "factors"), {"credibility": [0.1, 0.2, 0.3]}, "one number a speaker, or one a pair"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(where: tuple[Any, ...], value: Any, message: str) -> None:
    line = json.loads(debate_to_json(debate(), HEADER))
    part = line
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    with pytest.raises(RecordError, match=message):
        record_from_json(resealed(line))


def test_a_changed_byte_is_found_and_named_with_what_to_do(tmp_path: Path) -> None:
    """Any change of one bit in a line of version 2: the answer, the version, the checksum itself."""
    line = debate_to_json(debate(), HEADER).encode("ascii")
    damaged = [
        line[:at] + bytes([line[at] ^ (1 << bit)]) + line[at + 1 :] for at in range(0, len(line), 7) for bit in (0, 3)
    ]
    for other in damaged:
        with pytest.raises(RecordError, match=r"remove the file and run again|newer"):
            record_from_json(other)
    path = tmp_path / "r1-s01.jsonl"
    path.write_bytes(line + b"\n" + damaged[0] + b"\n")
    with pytest.raises(RecordError, match="remove the file and run again") as caught:
        list(read_debates(path))
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_record_of_version_1_has_no_checksum_and_is_read() -> None:
    old = json.loads(debate_to_json(debate(), HEADER)) | {"schema_version": 1}
    del old["checksum"]
    assert debate_to_json(record_from_json(json.dumps(old)).debate, HEADER) == debate_to_json(debate(), HEADER)


def test_a_missing_file_is_a_record_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        list(read_debates(tmp_path / "none.jsonl"))


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "r1-s01.jsonl"
    write_debates(path, [Record(HEADER, debate())])
    before = path.read_bytes()
    endless = Graph(1, "revise", ("a",), ("b",), np.array([[np.inf]]), np.array([[True]]), {})
    with pytest.raises(RecordError, match="weight is infinite and cannot be recorded"):
        write_debates(path, [Record(HEADER, debate()), Record(HEADER, debate(graphs=(endless,)))])
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_numbers_of_agents_are_written_only_where_there_are_any() -> None:
    model = Model("small", "builtin/solver", parameters=5e8, tokens=1e12)
    some = debate(agents=(Agent("a", model), Agent("b", model, None, {"trust": 0.1, "luck": 2.0})))
    line = debate_to_json(some, HEADER)
    assert ["given" in agent for agent in json.loads(line)["agents"]] == [False, True]
    assert record_from_json(line, "here").debate.agents == some.agents


def test_what_a_placebo_showed_comes_back() -> None:
    """A record with placebos has a version of its own, so that an older program refuses it."""
    placebos = (
        Placebo(0, "other_question", "Answer: 3", "3", 0.4, "c9", "q8"),
        Placebo(1, "own", "\u2028\x00", None, None, "c1"),
    )
    turns = (turn(0, "a"), turn(1, "b"), turn(2, "a", execution=1, round=1, heard=(0, 1), placebos=placebos))
    line = debate_to_json(debate(turns=turns), HEADER)
    assert json.loads(line)["schema_version"] == 6
    assert record_from_json(line).debate.turns == turns
    assert turns[2].replaced == {0, 1}
    wrong = with_checksum(json.dumps({k: v for k, v in json.loads(line).items() if k != "checksum"}).replace(
        '"heard": [0, 1]', '"heard": [0]'
    ))  # fmt: skip
    with pytest.raises(RecordError, match="replace a turn that it neither heard nor recalled"):
        record_from_json(wrong)


def test_models_of_steps_are_recorded_only_where_steps_have_their_own() -> None:
    """Turns of such a step were spoken by its model, others by that of their agent; the file is read back whole."""
    large = Model("large", "openai/large", parameters=7e10)
    whole = debate(step_models={"revise": large})
    line = debate_to_json(whole, HEADER)
    said = json.loads(line)
    assert said["schema_version"] == 6
    assert said["step_models"] == {
        "revise": {"model": "openai/large", "model_entry": "large", "parameters": 7e10, "tokens": None}
    }
    again = record_from_json(line).debate
    assert [model.model for model in again.models_of_turns().values()] == [
        "builtin/solver", "builtin/solver", "openai/large"
    ]  # fmt: skip
    assert debate_to_json(again, HEADER) == line
    assert "step_models" not in json.loads(debate_to_json(debate(), HEADER))


def test_a_tool_stays_a_tool_in_a_step_with_a_model() -> None:
    tools = tuple(Agent(name, Model(name, "tool/calculator")) for name in "ab")
    whole = debate(agents=tools, step_models={"revise": Model("large", "openai/large")})
    model = whole.models_of_turns()[whole.turns[2].turn]
    assert model is not None
    assert model.is_tool
