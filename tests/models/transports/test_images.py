"""Images reach the server by either way, are known by what they show, and leave no bytes in a log."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from cortexdsl.errors import ModelError
from cortexdsl.models.door import open_door
from cortexdsl.models.keys import call_key
from cortexdsl.terms import Call, Image, Reply
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving
from tests.tasks.test_images import png, uri

WAYS = ("direct", "openai")


def shown(content: bytes, source: str) -> Image:
    return Image(hashlib.sha256(content).hexdigest(), "image/png", source)


def with_images(way: str, *images: Image) -> Call:
    call = call_of("What colour?", 1, f"{way}/name", api_base="env:BASE")
    return Call(call.model, call.messages, call.seed, images)


def ask(stub: Stub, folder: Path, call: Call) -> Reply:
    async def scene() -> Reply:
        async with serving(stub) as base, open_door(folder / "own.jsonl", hooks=Time().hooks(BASE=base)) as door:
            return await door(call)

    return asyncio.run(scene())


@pytest.mark.parametrize("way", WAYS)
def test_a_file_and_a_data_uri_arrive_before_the_text(tmp_path: Path, way: str) -> None:
    (tmp_path / "a.png").write_bytes(png(1))
    stub = Stub()
    stub.reply = "black"
    call = with_images(way, shown(png(1), str(tmp_path / "a.png")), shown(png(2), uri(png(2))))
    assert ask(stub, tmp_path / "calls", call).text == "black"
    first, second, text = stub.bodies[0]["messages"][-1]["content"]
    assert [first["image_url"]["url"], second["image_url"]["url"]] == [uri(png(1)), uri(png(2))]
    assert text == {"type": "text", "text": "What colour?"}
    log = (tmp_path / "calls" / "own.jsonl").read_text()
    assert json.loads(log)["images"] == [image.digest for image in call.images]
    assert "base64" not in log
    assert ask(stub, tmp_path / "calls", call).text == "black"
    assert stub.calls == 1


def test_the_key_is_of_what_an_image_shows_and_not_of_where_it_lies(tmp_path: Path) -> None:
    here, there = shown(png(1), "/here/a.png"), shown(png(1), uri(png(1)))
    assert call_key(with_images("direct", here)) == call_key(with_images("direct", there))
    keys = {call_key(with_images("direct", *images)) for images in ((), (here,), (here, here), (shown(png(2), "b"),))}
    assert len(keys) == 4


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), (png(2), "has changed since the run began")])
def test_an_image_that_is_gone_or_another_ends_the_job_before_anything_is_sent(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file, stub = tmp_path / "a.png", Stub()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match=said):
        ask(stub, tmp_path / "calls", with_images("direct", shown(png(1), str(file))))
    assert stub.calls == 0
