"""Logs are paired question by question, and what could not be paired is named."""

from __future__ import annotations

import re

import pytest

from cortexdsl.errors import CortexError
from cortexdsl.logs.pairing import PairedLogs, pair_logs
from cortexdsl.logs.samples import Log, LoggedSample


def log(model: str, *samples: LoggedSample, source: str = "", dataset: str = "sums") -> Log:
    return Log(source or f"{model}.eval", "Inspect", dataset, model, samples)


def sample(identity: str, score: float | None = 1.0, digest: str = "", epoch: int = 1, **labels: str) -> LoggedSample:
    return LoggedSample(identity, epoch, digest, {"match": score}, {"output_tokens": 3.0}, labels)


def rows(paired: PairedLogs) -> set[tuple[object, ...]]:
    return set(paired.frame[["cell", "replicate", "question_id", "score"]].itertuples(index=False, name=None))


def test_by_what_was_asked_although_the_numbers_differ() -> None:
    paired = pair_logs(
        [log("a", sample("1", 1, "x"), sample("2", 0, "y")), log("b", sample("7", 0, "y"), sample("8", 1, "x"))]
    )
    assert rows(paired) == {("a", 1, "1", 1), ("a", 1, "2", 0), ("b", 1, "2", 0), ("b", 1, "1", 1)}


def test_by_ids_if_a_log_does_not_say_what_was_asked() -> None:
    paired = pair_logs([log("a", sample("1", 1, "x")), log("b", sample("1", 0))])
    assert rows(paired) == {("a", 1, "1", 1), ("b", 1, "1", 0)}


def test_epochs_are_replicates_and_the_same_question_twice_is_two() -> None:
    """Two samples with one text and two ids: then ids pair."""
    a = log("a", sample("1", 1, "x"), sample("1", 0, "x", epoch=2), sample("2", 1, "x"))
    assert rows(pair_logs([a, log("b", sample("1", 0, "x"), sample("2", 0, "x"))])) == {
        ("a", 1, "1", 1), ("a", 2, "1", 0), ("a", 1, "2", 1), ("b", 1, "1", 0), ("b", 1, "2", 0),
    }  # fmt: skip


def test_what_is_in_one_log_alone_is_left_out_and_named() -> None:
    paired = pair_logs([log("a", *(sample(str(k)) for k in range(10))), log("b", sample("3"), sample("99"))])
    assert set(paired.frame.question_id) == {"3"}
    assert paired.notes == (
        "sums: 1 question is in all 2 logs.",
        "Left out of a.eval, because not all logs have them: 9 questions (0, 1, 2, 4, 5 and 4 more).",
        "Left out of b.eval, because not all logs have them: 1 question (99).",
    )


def test_a_sample_without_a_score_stays_as_a_missing_value() -> None:
    frame = pair_logs([log("a", sample("1"), sample("2", None)), log("b", sample("1"), sample("2"))]).frame
    assert frame.set_index(["cell", "question_id"]).score.isna().to_dict()["a", "2"]


def test_cells_are_models_or_files_if_models_are_equal() -> None:
    one, two = log("m", sample("1"), source="before.eval"), log("m", sample("1"), source="after.eval")
    assert set(pair_logs([one, two]).frame.cell) == {"before", "after"}
    assert set(pair_logs([log("a, b (c)", sample("1")), log("d", sample("1"))]).frame.cell) == {"a b c", "d"}


def test_datasets_stay_apart_and_clusters_are_facts_of_samples() -> None:
    logs = [log(m, sample("1", topic="x"), dataset=d) for m in "ab" for d in ("sums", "words")]
    frame = pair_logs(logs, cluster="topic").frame
    assert (set(frame.dataset), set(frame.cluster)) == ({"sums", "words"}, {"x"})


def two(first: dict[str, float], second: dict[str, float] | None = None) -> list[Log]:
    return [log(m, LoggedSample("1", 1, "", {**first, **({} if m == "a" else second or {})})) for m in "ab"]


def test_scores_of_equal_values_need_no_choice_and_others_do() -> None:
    assert pair_logs(two({"match": 1, "includes": 1})).frame.score.tolist() == [1, 1]
    assert pair_logs(two({"match": 1, "f1": 0.5}), "f1").frame.score.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("logs", "options", "said"),
    [
        (two({"match": 1, "f1": 0.5}), {}, "several scores\n    choose one: --score f1 | match"),
        (two({"match": 1}), {"score": "f1"}, "no score 'f1'\n    it has: match"),
        ([log("a", sample("1")), log("b", LoggedSample("1", 1, "", {"f1": 1.0}))], {}, "no score in common"),
        ([log("a", sample("1", 1, "x")), log("b", sample("1", 1, "y"))], {},
         "no question in common (a.eval 1, b.eval 1"),
        ([log("a", sample("1", 1, "x"), sample("2", 1, "x")), log("b", sample("1", 1, "y"), sample("2", 1, "x"))], {},
         "1 of 2 questions of sums differ from those of a.eval with the same id (first: 1)"),
        ([log("a", sample("1"), sample("1")), log("b", sample("1"))], {}, "sample 1 stands twice (epoch 1)"),
        ([log("a", sample("1")), log("a", sample("1"))], {}, "two runs that cannot be told apart"),
        ([log("a", sample("1")), log("b", sample("1"))], {"cluster": "topic"}, "--cluster topic: no sample has it"),
    ],
)  # fmt: skip
def test_what_cannot_be_paired_is_one_sentence(logs: list[Log], options: dict[str, str], said: str) -> None:
    with pytest.raises(CortexError, match=re.escape(said)):
        pair_logs(logs, **options)
