"""Datasets of the hub: which commit is loaded, and any dataset by its id and columns."""

from __future__ import annotations

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.registry import entry_of, registry
from tests.tasks.hub import fake_hub

OLD, NEW = "0" * 39 + "1", "0" * 39 + "2"
GSM8K = ("openai/gsm8k", "main")
OWN = ("somebody/sums", None)
EARLIER, LATER = (
    [{"question": "1+1?", "answer": "#### 2"}],
    [{"question": "1+2?", "answer": "#### 3"}],
)


def test_an_entry_is_loaded_from_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, the same spec would ask other questions once the hub's dataset changes."""
    pinned = registry()["gsm8k"].hub[0]["revision"]
    asked = fake_hub(monkeypatch, {GSM8K: EARLIER}, {pinned: EARLIER, NEW: LATER})
    task = load(Dataset("gsm8k", "gsm8k"))
    assert [each.revision for each in asked] == [pinned]
    assert task.questions[0].text == "1+1?"
    assert (task.origin.source, task.origin.revision, task.origin.is_pinned) == ("hub: openai/gsm8k", pinned, True)


def test_a_spec_may_name_another_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_hub(monkeypatch, {GSM8K: EARLIER}, {OLD: EARLIER, NEW: LATER})
    task = load(Dataset("gsm8k", "gsm8k", revision=NEW))
    assert task.questions[0].text == "1+2?"
    assert (task.origin.revision, task.origin.is_pinned) == (NEW, True)


@pytest.mark.parametrize("revision", [None, "main"])
def test_a_dataset_without_a_commit_says_which_one_was_loaded(
    monkeypatch: pytest.MonkeyPatch, revision: str | None
) -> None:
    """The name of a branch pins nothing."""
    fake_hub(monkeypatch, {OWN: EARLIER}, {OLD: EARLIER, "main": EARLIER, NEW: LATER}, loaded=NEW)
    task = load(Dataset("sums", hub="somebody/sums", revision=revision, fields={"gold": "hashes"}))
    assert (task.origin.revision, task.origin.is_pinned) == (NEW, False)


def test_another_commit_from_the_cache_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the hub cannot be reached, the library takes the newest table of its cache, whatever was asked for."""
    fake_hub(monkeypatch, {OWN: EARLIER}, {OLD: EARLIER, NEW: LATER}, loaded=OLD)
    with pytest.raises(DataError, match=f"revision {NEW} was asked for, and {OLD} was loaded") as caught:
        load(Dataset("sums", hub="somebody/sums", revision=NEW))
    assert caught.value.word == "revision"


def test_a_commit_that_is_not_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_hub(monkeypatch, {OWN: EARLIER}, {OLD: EARLIER})
    with pytest.raises(DataError, match=f"somebody/sums: RuntimeError: Revision '{NEW}' doesn't exist"):
        load(Dataset("sums", hub="somebody/sums", revision=NEW))


def test_any_dataset_of_the_hub_by_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"ask": "Which?", "opts": ["one", "two"], "right": 1}]
    asked = fake_hub(monkeypatch, {("somebody/sums", "hard"): rows})
    fields = {"question": "ask", "choices": "opts", "answer": "right"}
    task = load(Dataset("sums", hub="somebody/sums", config="hard", split="dev", fields=fields))
    assert (asked[0].name, asked[0].split) == ("hard", "dev")
    (question,) = task.questions
    assert (task.name, task.kind) == ("somebody/sums", "choice")
    assert (question.text, task.gold(question.id)) == ("Which?", ("B",))


def test_a_split_of_the_spec_wins_over_that_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """FEVER's usual split is paper_dev."""
    row = {"id": 1, "claim": "C", "label": "REFUTES"}
    asked = fake_hub(monkeypatch, {("fever/fever", "v1.0"): [row]})
    load(Dataset("fever", "fever", split="labelled_dev"))
    load(Dataset("fever", "fever"))
    assert [each.split for each in asked] == ["labelled_dev", "paper_dev"]


def test_commits_of_the_table_are_commits(capsys: pytest.CaptureFixture[str]) -> None:
    """And `data show` names those entries that have none."""
    with pytest.raises(DataError, match="40 hexadecimal digits"):
        entry_of("new", {"hub": [{"id": "a/b", "revision": "main"}]})
    with pytest.raises(DataError, match="unknown word 'revison' in hub"):
        entry_of("new", {"hub": [{"id": "a/b", "revison": OLD}]})
    for name, entry in registry().items():
        assert main(["data", "show", name]) == 0
        is_unpinned = any("revision" not in each for each in entry.hub)
        assert ("(not pinned to a commit)" in capsys.readouterr().out) is is_unpinned
