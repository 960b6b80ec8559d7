"""The small models that come with the package: whole, light, as skilled as their cards say, and able to debate."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from cortexdsl.core import Call, Model
from cortexdsl_tiny.folder import DIGESTS, SHIPPED, find, names
from cortexdsl_tiny.running import TinyTransport
from cortexdsl_tiny.zoo.exams import answer_of
from cortexdsl_tiny.zoo.packaging import MOST_BYTES, card_text
from cortexdsl_tiny.zoo.questions import World, arithmetic_rows, choice_rows, world_rows
from cortexdsl_tiny.zoo.recipes import FILE, read_book

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "specs" / "data"
ASKED = """\
Question: {}

Solve this on your own. Think step by step and explain how you get to your answer.
End your reply with exactly these two lines:
Answer: <the number alone, without units>
Confidence: <how sure you are of this answer, a number from 0 to 1>"""


def test_five_ship_as_the_recipes_say_and_weigh_at_most_eight_megabytes() -> None:
    recipes = read_book(FILE)["models"]
    assert names() == sorted(recipes)
    assert len(recipes) == 5
    for name, said in recipes.items():
        folder = find(f"tiny/{name}")
        assert folder.digest == json.loads((SHIPPED / DIGESTS).read_text())[name]
        assert (folder.config.width, folder.config.layers, folder.config.heads) == (
            said["width"], said["layers"], said["heads"],
        )  # fmt: skip
        assert folder.card["parameters"] == folder.config.parameters
        assert folder.card["tokens"] >= said["tokens"] + said.get("practice", 0)
        assert (folder.path / "README.md").read_text(encoding="utf-8") == card_text(folder, folder.card)
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= MOST_BYTES


def test_parameters_and_tokens_rise_together() -> None:
    """Else credibility, which is worked out from both, would order them otherwise than either."""
    cards = sorted((find(f"tiny/{name}").card for name in names()), key=lambda card: card["parameters"])
    assert [card["tokens"] for card in cards] == sorted(card["tokens"] for card in cards)


def test_the_best_is_right_nine_times_in_ten_alone_and_the_worst_less_than_six() -> None:
    """As their marks say: on questions that no lesson has."""
    right = [find(f"tiny/{name}").card["marks"]["right"] for name in names()]
    assert max(right) > 0.9
    assert min(right) < 0.6


def test_the_best_computes() -> None:
    """It takes the likeliest token: nine of ten sums are right, in the format that is asked for."""
    best = max(names(), key=lambda name: find(f"tiny/{name}").card["marks"]["right"])
    rows = [json.loads(line) for line in (DATA / "sums.jsonl").read_text().splitlines()[:40]]
    model = Model(best, f"tiny/{best}", options={"max_tokens": 160, "temperature": 0})
    calls = [Call(model, ({"role": "user", "content": ASKED.format(row["question"])},), 1) for row in rows]

    async def asked() -> list[str]:
        transport = TinyTransport()
        try:
            return [raw.text for raw in await asyncio.gather(*(transport.send(call, None, None) for call in calls))]
        finally:
            await transport.close()

    replies = asyncio.run(asked())
    right = sum(answer_of(reply) == row["answer"] for reply, row in zip(replies, rows, strict=True))
    assert right >= 34
    assert all(re.search(r"^Confidence: \d\.\d+$", reply, re.MULTILINE) for reply in replies)


def test_the_questions_of_the_spec_are_those_that_the_seed_gives() -> None:
    world = World.made(1).with_strangers(1)
    for name, rows in (
        ("sums", arithmetic_rows(1, 300)),
        ("choice", choice_rows(1, 300)),
        ("world", world_rows(world, 1, 300)),
        ("corpus", world.passages()),
    ):
        assert [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()] == list(rows)
