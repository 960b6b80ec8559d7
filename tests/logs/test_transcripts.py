"""Foreign transcripts: the plain import format, made and real, becomes debate records."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Debate, Reading, Reads
from cortexdsl.errors import DataError
from cortexdsl.logs.plain import read_transcripts
from cortexdsl.logs.transcripts import Transcript, debate_of
from cortexdsl.records import debate_to_json, record_from_json
from cortexdsl.records.debates import Header

MAP = {"dataset": "task", "answer": "gold", "choices": "options", "personas": "roles", "models": "model"}


class LastWord:
    """Reads the last word of a reply; nothing from a reply that ends in a question mark."""

    def read(self, reads: Reads, text: str) -> Reading:
        word = text.split()[-1]
        return Reading(None, "a question") if word.endswith("?") else Reading(word)

    def without_confidence(self, text: str) -> str:
        return text


def transcripts(folder: Path, *lines: Any, **fields: str) -> list[Transcript]:
    path = folder / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return list(read_transcripts(path, dataset="sums", cell="imported", fields=fields))


def debate(folder: Path, **line: Any) -> Debate:
    return debate_of(transcripts(folder, line)[0], LastWord())


def test_agents_alone_are_enough(tmp_path: Path) -> None:
    (found,) = transcripts(tmp_path, {"agents": [["I say 7", "still 7"], ["maybe 8"]]})
    assert (found.dataset, found.cell, found.replicate, found.question_id) == ("sums", "imported", 1, "1")
    assert [agent.name for agent in found.agents] == ["agent 1", "agent 2"]
    said = [(message.speaker, message.place, message.text) for message in found.messages]
    assert said == [("agent 1", (0,), "I say 7"), ("agent 2", (0,), "maybe 8"), ("agent 1", (1,), "still 7")]


def test_everyone_hears_everyone_that_was_run_in_the_round_before(tmp_path: Path) -> None:
    # c was not run in round 1, and so is heard by nobody in round 2.
    made = debate(tmp_path, agents={"a": ["1", "2", "2"], "b": ["2", "2", "2"], "c": ["3", None, "2"]})
    assert [(t.speaker, t.round, t.heard) for t in made.turns] == [
        ("a", 0, ()), ("b", 0, ()), ("c", 0, ()),
        ("a", 1, (1, 2)), ("b", 1, (0, 2)),
        ("a", 2, (4,)), ("b", 2, (3,)), ("c", 2, (3, 4)),
    ]  # fmt: skip
    first, second = made.graphs
    assert (first.speakers, first.listeners) == (("a", "b", "c"), ("a", "b"))
    assert first.heard.tolist() == [[False, True], [True, False], [True, True]]
    assert (second.speakers, second.listeners) == (("a", "b"), ("a", "b", "c"))
    assert (made.answer, made.votes, made.rounds, made.stop) == ("2", {"2": 3.0}, 2, "consensus")


def test_a_recorded_graph_is_kept_and_an_absent_speakers_last_reply_is_what_is_heard(tmp_path: Path) -> None:
    made = debate(
        tmp_path, agents={"a": ["1", None, "2"], "b": ["2", "2", "2"]}, heard=[[["a", "b"]], [["a", "b"], ["b", "a"]]]
    )
    assert [(t.speaker, t.round, t.heard) for t in made.turns] == [
        ("a", 0, ()), ("b", 0, ()), ("b", 1, (0,)), ("a", 2, (2,)), ("b", 2, (0,)),
    ]  # fmt: skip


def test_what_nobody_recorded_stays_unknown(tmp_path: Path) -> None:
    made = debate(tmp_path, agents=[["7"], ["8?"]])
    assert [(t.answer, t.unparsed, t.confidence, t.prompt_tokens, t.call) for t in made.turns] == [
        ("7", None, None, None, ""), (None, "a question", None, None, ""),
    ]  # fmt: skip
    assert (made.stop, made.was_tied, made.agents[0].model.model) == ("rounds", False, "unknown")


def test_numbers_beside_the_replies_are_kept(tmp_path: Path) -> None:
    made = debate(
        tmp_path, agents=[["7", "7"], ["8"]], names=["x", "y"], models="gpt-3.5-turbo", personas=["Doctor", "Lawyer"],
        confidence=[[0.9, 1.5], [0.2]], prompt_tokens=[[30, 40], [31]], completion_tokens=[[5], [6]],
    )  # fmt: skip
    assert [(t.confidence_stated, t.confidence, t.prompt_tokens, t.completion_tokens) for t in made.turns] == [
        (0.9, 0.9, 30, 5), (0.2, 0.2, 31, 6), (1.5, 1.0, 40, None),
    ]  # fmt: skip
    assert [(a.name, a.persona, a.model.model) for a in made.agents] == [
        ("x", "Doctor", "gpt-3.5-turbo"), ("y", "Lawyer", "gpt-3.5-turbo"),
    ]  # fmt: skip


def test_a_recorded_final_answer_stands_over_the_majority(tmp_path: Path) -> None:
    made = debate(tmp_path, agents=[["7"], ["7"], ["8"]], final="the judge says 8")
    assert (made.answer, made.votes) == ("8", {})


def test_a_dataset_with_a_slash_is_a_dataset_and_a_group(tmp_path: Path) -> None:
    (found,) = transcripts(
        tmp_path, {"agents": [["A"]], "task": "MMLU/prehistory", "gold": "B"}, dataset="task", answer="gold"
    )
    assert (found.label, found.group, found.task) == ("MMLU", "prehistory", {"answer": "B"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([1], "this line is not an object of JSON"),
        ({"question": "x"}, "agents is missing"),
        ({"agents": [[None], []]}, "nobody said anything"),
        ({"agents": ["one reply"]}, r"agents\[0\] is a string, not a list"),
        ({"agents": [[7]]}, r"agents\[0\]\[0\] is an integer, not a string"),
        ({"agents": [["7"]], "names": ["a", "b"]}, "1 agents need as many different names"),
        ({"agents": [["7"], ["8"]], "names": ["a", "a"]}, "different names"),
        ({"agents": [["7"]], "models": ["m", "n"]}, "models has 2 items for 1 agents"),
        ({"agents": [["7"]], "confidence": [[0.5, 0.5]]}, "confidence has 2 rounds where the agents spoke in 1"),
        ({"agents": [["7"]], "prompt_tokens": [[1.5]]}, r"prompt_tokens\[0\]\[0\] is a number, not an integer"),
        ({"agents": [["7", "7"]], "heard": []}, "heard has 0 rounds; there are 1"),
        ({"agents": [["7", "7"]], "heard": [[["me", "you"]]]}, r"heard\[0\]\[0\] is not a pair"),
        ({"agents": [["7"]], "replicate": "one"}, "replicate is a string"),
        ({"agents": [["7"]], "dataset": ".."}, "cannot name a folder"),
        ({"agents": [["7"]], "cell": "a/b"}, "cannot name a folder"),
    ],
)
def test_what_is_no_transcript_is_named_by_file_and_line(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        transcripts(tmp_path, {"agents": [["7"]]}, line)
    assert str(caught.value).startswith(f"{tmp_path / 'old.jsonl'}:2: ")


def test_a_misspelt_word_a_missing_file_and_a_torn_line_are_clear(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'answer'"):
        transcripts(tmp_path, anwser="gold")
    with pytest.raises(DataError, match="cannot be read"):
        list(read_transcripts(tmp_path / "none.jsonl", dataset="d", cell="c"))
    (tmp_path / "torn.jsonl").write_text('{"agents": [["7"')
    with pytest.raises(DataError, match="is the file cut"):
        list(read_transcripts(tmp_path / "torn.jsonl", dataset="d", cell="c"))


def test_real_debates_come_in_whole(shared_data: Path) -> None:
    # Counted in the file itself: every reply is a turn, in its round, and nothing else is.
    path = shared_data / "recorded_debates.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = list(read_transcripts(path, dataset="d", cell="dylan", fields=MAP))
    assert len(found) == len(lines)
    assert Counter(t.label for t in found) == Counter(line["task"].split("/")[0] for line in lines)
    for transcript, line in zip(found, lines, strict=True):
        made = debate_of(transcript, LastWord())
        texts = [[turn.text for turn in made.turns if turn.speaker == agent.name] for agent in made.agents]
        assert texts == [[text for text in replies if text is not None] for replies in line["agents"]]
        assert made.rounds == max(r for replies in line["agents"] for r, text in enumerate(replies) if text is not None)
        written = debate_to_json(made, Header("old", transcript.label, transcript.cell, 1))
        assert record_from_json(written).debate.turns == made.turns
