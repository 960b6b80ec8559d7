"""Models as the package holds them: files, cards, digests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import InputError
from cortexdsl_tiny import folder
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.zoo import packaging
from cortexdsl_tiny.zoo.packaging import ship
from tests.tiny.made import made

MARKS = {
    "asked": 90, "right": 0.5,
    "tasks": {"arithmetic": {"asked": 40, "right": 0.25}, "world": {"asked": 50, "right": 0.7}},
    "unread": 0.1, "confidence": 0.44, "calibration_error": 0.06,
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two models, shipped."""
    (tmp_path / "marks").mkdir()
    for seed, name in enumerate(("one", "two")):
        path = made(tmp_path / "models" / name, seed=seed)
        card = {"name": name, "parameters": 5, "tokens": 7, "lessons": {"alone": 3}, "licence": "Apache-2.0"}
        (path / "zoo.json").write_text(json.dumps(card))
        (tmp_path / "marks" / f"{name}.json").write_text(json.dumps(MARKS))
    ship([tmp_path / "models" / "one", tmp_path / "models" / "two"], tmp_path / "marks", tmp_path / "shipped")
    return tmp_path


def test_a_shipped_model_is_the_one_that_was_made_with_its_marks_on_its_card(place: Path) -> None:
    one = Folder(place / "shipped" / "one")
    assert one.digest == Folder(place / "models" / "one").digest
    assert one.card["marks"] == MARKS
    said = (place / "shipped" / "one" / "README.md").read_text()
    assert "| arithmetic | 40 | 25.0% |" in said
    assert "| world | 50 | 70.0% |" in said
    assert "3 lessons `alone`" in said
    assert "prompts of debates" not in said


def test_a_card_says_what_became_of_right_and_wrong_answers_in_debates(place: Path) -> None:
    debating = {"asked": 20, "right": 0.6, "among_right": 0.9, "among_wrong": 0.25}
    (place / "marks" / "one.json").write_text(json.dumps({**MARKS, "debating": debating}))
    ship([place / "models" / "one"], place / "marks", place / "again")
    said = " ".join((place / "again" / "one" / "README.md").read_text().split())
    assert "In 20 prompts of debates of five it was right in 60%: in 90% where most answers" in said
    assert "in 25% where most were not" in said


def test_a_model_that_is_not_the_one_that_shipped_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "SHIPPED", place / "shipped")
    assert folder.names() == ["one", "two"]
    assert folder.find("tiny/one").digest != folder.find("tiny/two").digest
    weights = place / "shipped" / "one" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match=r"tiny/one are not those that shipped.*\n    install the package again"):
        folder.find("tiny/one")
    folder.find("tiny/two")


def test_more_than_a_package_may_weigh_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaging, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="a package holds 1,000 at most"):
        ship([place / "models" / "one"], place / "marks", place / "again")
