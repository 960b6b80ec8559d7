"""Similarities are cosines; embedding calls are logged and replayed."""

from __future__ import annotations

import asyncio
import json
import sys
import types
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Floats, Limits, Model, Price
from cortexdsl.errors import InputError, ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.similarity import embeddings
from cortexdsl.models.similarity.embedding_log import EmbeddingCalls
from cortexdsl.models.similarity.embeddings import GRAMS, WORDS, Embedder, cosines, ngram_vector, unit_vector
from cortexdsl.models.spending import spent_so_far
from tests.models.kit import Time
from tests.models.stub import Stub, serving


def ngram(*texts: str) -> Floats:
    return asyncio.run(Embedder()("ngram", texts))


def test_a_vector_is_what_its_description_says() -> None:
    """`ab ab`: the word ab twice and the pair once; bytes of ` ab ab `: ' ab' and 'ab ' twice, 'b a' once."""
    words = np.zeros(WORDS)
    for unit, hits in ((b"ab", 2), (b"ab ab", 1)):
        words[zlib.crc32(unit) % WORDS] += hits
    grams = np.zeros(GRAMS)
    for gram, hits in ((b" ab", 2), (b"ab ", 2), (b"b a", 1)):
        grams[(int.from_bytes(gram, "big") * 2654435761) % 2**32 >> 21] += hits
    halves = [np.log1p(half) / np.linalg.norm(np.log1p(half)) for half in (words, grams)]
    np.testing.assert_allclose(ngram_vector("Ab \n ab"), np.concatenate(halves) / np.sqrt(2), rtol=1e-12)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_cosines_are_symmetric_bounded_and_one_for_equal_texts(texts: list[str]) -> None:
    """Exactly 1.0 where texts are equal, 0 where one holds nothing; the same whatever else is compared."""

    async def scene() -> tuple[Floats, dict[tuple[int, int], float]]:
        embedder, places = Embedder(), range(len(texts))
        alone = {(i, j): (await embedder("ngram", [texts[i], texts[j]]))[0, 1] for i in places for j in places}
        return await embedder("ngram", texts), alone

    found, alone = asyncio.run(scene())
    assert found.shape == (len(texts), len(texts))
    assert np.array_equal(found, found.T)
    assert (np.abs(found) <= 1).all()
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            if not one.strip() or not other.strip():
                assert found[i, j] == 0
            elif one == other:
                assert found[i, j] == 1
            assert found[i, j] == alone[i, j]


def test_texts_that_share_more_are_closer() -> None:
    near = ngram("The answer is 14, since 3*4 is 12.", "The answer is 14, because 3*4 = 12.")[0, 1]
    far = ngram("The answer is 14, since 3*4 is 12.", "Otters hunt in rivers at night")[0, 1]
    assert near > 0.5 > 0.2 > far


MODEL = Model("emb", "openai/embedder", api_base="env:BASE", price=Price(1e-3, 0.0))


async def embed(folder: Path, stub: Stub, texts: list[str], own: str = "own.jsonl", offline: bool = False) -> Floats:
    async with (
        serving(stub) as base,
        open_client(
            None if offline else folder / own, folder=folder, offline=offline, runtime=Time().runtime(BASE=base)
        ) as client,
    ):
        embedder = Embedder(client, {"emb": MODEL})
        return await embedder("emb", texts)


def test_a_models_cosines_are_those_of_its_vectors(tmp_path: Path) -> None:
    """The stub embeds `aaa` as (3.1, 3.3, 0.7) and `ee` as (2.1, 0.3, 2.7), kept as 32-bit floats."""
    found = asyncio.run(embed(tmp_path, Stub(), ["aaa", "ee", "aaa"]))
    a, b = (np.array(v, dtype="<f4").astype(float) for v in ([3.1, 3.3, 0.7], [2.1, 0.3, 2.7]))
    assert found[0, 1] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)
    assert found[0, 2] == 1.0


def test_each_text_is_asked_once_and_a_replay_asks_nothing(tmp_path: Path) -> None:
    stub = Stub()
    first = asyncio.run(embed(tmp_path, stub, ["aaa", "ee", "aaa", " "]))
    assert stub.texts == ["aaa", "ee"]
    asyncio.run(embed(tmp_path, stub, ["ee", "new"]))
    assert stub.texts == ["aaa", "ee", "new"]
    again = asyncio.run(embed(tmp_path, stub, ["aaa", "ee", "aaa", " "], offline=True))
    assert np.array_equal(again, first)
    assert stub.texts == ["aaa", "ee", "new"]
    with pytest.raises(ModelError, match=r"offline: 1 embeddings of openai/embedder"):
        asyncio.run(embed(tmp_path, stub, ["never"], offline=True))


def test_a_vector_of_another_jobs_log_is_taken_and_kept(tmp_path: Path) -> None:
    """The second job copies what it used: with its own log alone it can be replayed."""
    stub = Stub()
    first = asyncio.run(embed(tmp_path, stub, ["aaa", "ee"], own="a.jsonl"))
    second = asyncio.run(embed(tmp_path, stub, ["aaa", "ee"], own="b.jsonl"))
    (tmp_path / "embeddings" / "a.jsonl").unlink()
    third = asyncio.run(embed(tmp_path, stub, ["aaa", "ee"], offline=True))
    assert np.array_equal(first, second)
    assert np.array_equal(first, third)
    assert len(stub.texts) == 2


def test_equal_texts_that_are_asked_at_once_are_asked_once(tmp_path: Path) -> None:
    stub = Stub()

    async def scene() -> None:
        async with (
            serving(stub) as base,
            open_client(tmp_path / "own.jsonl", runtime=Time().runtime(BASE=base)) as client,
        ):
            embedder = Embedder(client, {"emb": MODEL})
            await asyncio.gather(*(embedder("emb", ["aaa", f"e{k % 2}"]) for k in range(6)))

    asyncio.run(scene())
    assert sorted(stub.texts) == ["aaa", "e0", "e1"]


def test_embeddings_are_spent_from_the_same_budget(tmp_path: Path) -> None:
    """One batch is a call; the stub counts 4 tokens, at 1e-3 dollars; a restart counts them from the log."""
    stub = Stub()

    async def scene(texts: list[str]) -> tuple[int, int, float]:
        async with (
            serving(stub) as base,
            open_client(
                tmp_path / "calls" / "own.jsonl",
                limits=Limits(calls=9),
                ledgers=tmp_path / "spent",
                runtime=Time().runtime(BASE=base),
            ) as client,
        ):
            await Embedder(client, {"emb": MODEL})("emb", texts)
            total = client.budget.total
            return total.attempts, total.tokens, total.dollars

    assert asyncio.run(scene(["a", "b"])) == (1, 4, 0.004)
    assert asyncio.run(scene(["a", "c"])) == (2, 8, 0.008)


def test_embeddings_cost_the_list_price_and_an_estimate_where_nothing_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stub counts 4 tokens: at 0.02 dollars a million 8e-8; 40 uncounted characters are 10 tokens: 2e-7."""
    model = Model("emb", "openai/text-embedding-3-small", api_base="env:BASE")

    async def uncounted(*_: object) -> tuple[list[Floats], int | None]:
        return [np.ones(3)], None

    async def scene() -> list[float]:
        spent = []
        async with (
            serving(Stub()) as base,
            open_client(
                tmp_path / "own.jsonl", ledgers=tmp_path / "spent", runtime=Time().runtime(BASE=base)
            ) as client,
        ):
            calls = EmbeddingCalls(client)
            await calls.embed(model, ["a"])
            spent.append(client.budget.total.dollars)
            monkeypatch.setattr(calls, "_embed", uncounted)
            await calls.embed(model, ["a" * 40])
            return [*spent, client.budget.total.dollars]

    assert asyncio.run(scene()) == pytest.approx([8e-8, 28e-8])
    lines = map(json.loads, (tmp_path / "embeddings" / "own.jsonl").read_text().splitlines())
    assert [line["dollars"] for line in lines] == [pytest.approx(8e-8), None]


def test_vectors_that_are_on_their_way_when_a_job_fails_are_kept(tmp_path: Path) -> None:
    """They are paid for, and whoever goes on finds them in the log. A job that is stopped waits for nothing."""

    async def scene(name: str, ended: type[BaseException]) -> tuple[list[str], int]:
        sent, gate = asyncio.Event(), asyncio.Event()

        async def slow(model: Model, texts: Sequence[str], *_: object) -> tuple[list[Floats], int | None]:
            sent.set()
            await gate.wait()
            return [np.ones(3) for _ in texts], 4

        async def job() -> None:
            runtime = Time().runtime(BASE="http://127.0.0.1:9/v1")
            async with open_client(
                tmp_path / name / "own.jsonl", ledgers=tmp_path / name / "spent", runtime=runtime
            ) as client:
                asked = asyncio.create_task(EmbeddingCalls(client, slow).embed(MODEL, ["a"]))
                await sent.wait()
                asked.cancel()
                asyncio.get_running_loop().call_later(0.05, gate.set)
                raise ended("something else")

        with pytest.raises(ended):
            await job()
        path = tmp_path / name / "embeddings" / "own.jsonl"
        return path.read_text().splitlines(), spent_so_far(tmp_path / name / "spent").tokens

    failed, tokens = asyncio.run(scene("failed", ModelError))
    assert (len(failed), tokens) == (1, 4)
    assert asyncio.run(scene("stopped", KeyboardInterrupt))[0] == []


def test_corrupt_lines_of_the_embedding_log_are_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stub = Stub()
    asyncio.run(embed(tmp_path, stub, ["aaa"]))
    path = tmp_path / "embeddings" / "own.jsonl"
    path.write_bytes(
        b'{"key": "k", "vector": "***", "calls": 0, "tokens": 0, "dollars": 0}\nhalf\n' + path.read_bytes()
    )
    asyncio.run(embed(tmp_path, stub, ["aaa"]))
    assert caplog.text.count("own.jsonl:1: a corrupt line of the call log is skipped") == 1
    assert caplog.text.count("own.jsonl:2: a corrupt line of the call log is skipped") == 1
    assert stub.texts == ["aaa"]


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"needs the extra `embeddings`.*\n.*similarity: ngram"):
        asyncio.run(Embedder()("sentence-transformers/all-MiniLM-L6-v2", ["a", "b"]))


def test_a_local_model_embeds_each_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Played by a module of the same interface: (length, 1), so that `aa` and `b` have (2*1 + 1) / sqrt(5 * 2)."""
    encoded: list[str] = []

    class SentenceTransformer:
        def __init__(self, name: str, **_: object) -> None:
            if name != "good":
                raise OSError("not found")

        def encode(self, texts: list[str], **_: object) -> Floats:
            encoded.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)

    async def scene() -> Floats:
        embedder = Embedder()
        await embedder("sentence-transformers/good", ["aa", "b"])
        return await embedder("sentence-transformers/good", ["b", "aa", "b"])

    assert asyncio.run(scene())[0, 1] == pytest.approx(3 / 10**0.5)
    assert encoded == ["aa", "b"]
    with pytest.raises(InputError, match=r"cannot be loaded: .*not found"):
        asyncio.run(Embedder()("sentence-transformers/bad", ["a"]))


def test_without_a_client_a_models_similarity_is_an_error() -> None:
    with pytest.raises(ModelError, match="no client"):
        asyncio.run(Embedder()("text-embedding-3-large", ["a", "b"]))


def test_vectors_are_of_length_one_and_zero_where_there_is_nothing() -> None:
    found = asyncio.run(Embedder().embed("ngram", ["a b", " ", "c"]))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 0, 1])


def test_two_texts_have_the_same_cosine_to_the_last_bit_whatever_else_is_compared() -> None:
    """Records are recomputed with other numbers of agents and rounds at hand."""
    draw = np.random.default_rng(5)
    vectors = [unit_vector(draw.normal(size=1537)) for _ in range(23)]
    texts = [f"text {k}" for k in range(23)]
    whole = cosines(vectors, texts)
    for size in (2, 3, 5, 8, 22):
        some = [int(k) for k in draw.permutation(23)[:size]]
        found = cosines([vectors[k] for k in some], [texts[k] for k in some])
        np.testing.assert_array_equal(found, whole[np.ix_(some, some)])


TEXTS = ["the sum is 12", "the sum is 13", "", "the sum is 12", "no idea"]


def test_what_is_kept_is_what_is_computed_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records must not depend on who came first: new, kept and too long to be kept are the same numbers."""
    expected = cosines([ngram_vector(text) if text else None for text in TEXTS], TEXTS)
    for _ in range(2):
        assert np.array_equal(asyncio.run(Embedder()("ngram", TEXTS)), expected)
    monkeypatch.setattr(embeddings, "LONGEST_KEPT", 0)
    assert np.array_equal(asyncio.run(Embedder()("ngram", TEXTS)), expected)


def test_what_is_kept_cannot_be_changed_by_whoever_gets_it() -> None:
    """The next debate gets the same array."""
    with pytest.raises(ValueError, match="read-only"):
        asyncio.run(Embedder()("ngram", TEXTS))[0, 0] = 0.0
