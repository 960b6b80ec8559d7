"""Images of a question: read from files, data URIs and bytes, known by what they show, refused where they are none."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.sources import images
from cortexdsl.tasks.task import Task


def png(shade: int = 0) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    head = b"\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"
    pixel = zlib.compress(bytes([0, shade]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def task_of(folder: Path, *rows: dict[str, Any], columns: tuple[str, ...] = ("image",)) -> Task:
    file = folder / "questions.jsonl"
    lines = [json.dumps({"question": "What colour?", "answer": "black", **row}) for row in rows]
    file.write_text("\n".join(lines))
    return load(Dataset("own", path=str(file), fields={"images": columns}))


def test_a_file_a_data_uri_and_a_list_of_both(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(1))
    task = task_of(
        tmp_path,
        *(
            {"id": f"q{k}", "image": value}
            for k, value in enumerate(["a.png", uri(png(2)), [uri(png(3)), "a.png"], None])
        ),
    )
    asked = sorted(task.questions, key=lambda question: question.id)
    shown = [[image.digest for image in question.images] for question in asked]
    one, two, three = (hashlib.sha256(png(shade)).hexdigest() for shade in (1, 2, 3))
    assert shown == [[one], [two], [three, one], []]
    assert asked[0].images[0].source == str(tmp_path / "a.png")
    assert {image.kind for question in task.questions for image in question.images} == {"image/png"}


def test_columns_come_in_their_order_and_empty_ones_hold_nothing(tmp_path: Path) -> None:
    row = {"image_1": uri(png(1)), "image_2": None, "image_3": "", "image_4": uri(png(4))}
    (question,) = task_of(tmp_path, row, columns=tuple(row)).questions
    assert [image.digest for image in question.images] == [hashlib.sha256(png(k)).hexdigest() for k in (1, 4)]


def test_bytes_of_a_parquet_file_as_the_hub_has_them(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow (the extra `parquet`) is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {"question": ["What?"], "answer": ["x"], "image": [{"bytes": png(7), "path": "a.png"}]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "q.parquet")
    (question,) = load(Dataset("own", path=str(tmp_path / "q.parquet"), fields={"images": ("image",)})).questions
    assert question.images[0].source == uri(png(7))


def test_the_same_words_about_another_image_are_another_question(tmp_path: Path) -> None:
    one, two = (task_of(tmp_path, {"image": uri(png(shade))}) for shade in (1, 2))
    assert one.questions[0].id != two.questions[0].id
    assert one.digest != two.digest


def test_the_kind_is_what_the_bytes_say(tmp_path: Path) -> None:
    (question,) = task_of(tmp_path, {"image": uri(b"\xff\xd8\xff\xe0rest", "image/png")}).questions
    assert question.images[0].kind == "image/jpeg"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("gone.png", "cannot be read (No such file or directory)"),
        ("text.png", "neither PNG, JPEG, GIF nor WebP"),
        (".", "cannot be read (Is a directory)"),
        ("https://example.org/a.png", "is not a file"),
        ("data:image/png;base64,###", "not base64"),
        ("data:text/html,<script>", "is not a file"),
        (5, "holds int"),
        ("a\x00b", "cannot be read"),
    ],
)
def test_what_is_no_image_is_named_with_its_row_and_column(tmp_path: Path, value: Any, said: str) -> None:
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(DataError) as wrong:
        task_of(tmp_path, {"image": uri(png())}, {"image": value})
    assert "questions.jsonl, row 2: column 'image'" in str(wrong.value)
    assert said in str(wrong.value)


def test_an_image_beyond_the_bound_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "LARGEST_IMAGE", 50)
    (tmp_path / "large.png").write_bytes(png() + b"\x00" * 50)
    for value in ("large.png", uri(png() + b"\x00" * 50)):
        with pytest.raises(DataError, match="more than 16 MiB"):
            task_of(tmp_path, {"image": value})
