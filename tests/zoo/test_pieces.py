"""Tokens of lessons: figures one by one, prompts in few pieces, and what of a reply is learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cortexdsl_tiny.chat import Chat
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.zoo.encoding import SPECIAL, batches, encode, frequent_phrases, train_pieces
from cortexdsl_tiny.zoo.exams import ExamReply, answer_of, examine, marks, marks_in_debate, own_lessons, steps_right
from cortexdsl_tiny.zoo.questions import Lesson
from tests.tiny.made import made

ASK = "Question: What is 1+2?\n\nSolve this on your own, step by step."
TEXTS = [ASK.replace("1+2", f"{k}+{k}") for k in range(40)] + ["Answer: 77\nConfidence: 0.50"] * 40


def test_every_figure_is_a_piece_and_a_repeated_line_is_one_piece() -> None:
    tokenizer = train_pieces(TEXTS, 340, 4)
    pieces = tokenizer.encode(ASK.replace("1+2", "123+45")).tokens
    assert [piece for piece in pieces if piece.strip("Ġ").isdigit()] == list("12345")
    assert "Solve this on your own, step by step." in pieces
    assert tokenizer.get_vocab_size() <= 340
    assert [tokenizer.id_to_token(k) for k in range(4)] == list(SPECIAL)


def test_the_same_texts_give_the_same_pieces() -> None:
    assert train_pieces(TEXTS, 340, 4).to_str() == train_pieces(TEXTS, 340, 4).to_str()


def test_phrases_are_lines_without_figures_that_save_most() -> None:
    assert frequent_phrases(TEXTS, 2) == ["Solve this on your own, step by step.", "Question: What is "]


def test_a_reply_is_learned_whole_or_its_confidence_and_that_it_ends_there() -> None:
    tokenizer = train_pieces(TEXTS, 340, 4)
    lesson = Lesson(({"role": "user", "content": ASK},), "Answer: 3\nConfidence: 0.75")
    (every,), (words,), (number,) = (list(encode(tokenizer, [lesson], part)) for part in ("all", "words", "number"))

    def learned(tokens: np.ndarray, counts: np.ndarray) -> str:
        return tokenizer.decode(tokens[counts].tolist(), skip_special_tokens=False)

    assert learned(every.tokens, every.counts) == "Answer: 3\nConfidence: 0.50<|end|>"
    assert learned(words.tokens, words.counts).replace(" ", "") == "Answer:3\nConfidence:<|end|>"
    assert learned(number.tokens, number.counts).replace(" ", "") == "0.75<|end|>"


def test_lessons_are_written_as_the_chat_template_writes_them(tmp_path: Path) -> None:
    chat = Chat(Folder(made(tmp_path / "m")))
    messages = ({"role": "system", "content": "You are brief."}, {"role": "user", "content": ASK})
    (found,) = encode(chat._tokenizer, [Lesson(messages, "Answer: 3")])
    prompt = chat.tokens(messages)
    assert found.tokens[: len(prompt)].tolist() == prompt


def test_batches_hold_every_lesson_once_a_turn_and_no_more_than_their_tokens() -> None:
    tokenizer = train_pieces(TEXTS, 340, 4)
    replies = ["Answer: " + "1" * (k % 17) for k in range(60)]
    lessons = list(encode(tokenizer, [Lesson(({"role": "user", "content": ASK},), r) for r in replies]))
    drawn, seen = batches(lessons, 300, np.random.default_rng(1)), []
    while len(seen) < 60:
        batch = next(drawn)
        assert batch.tokens.size <= 300
        assert batch.read <= batch.tokens.size
        seen += [
            tuple(row[: int(np.flatnonzero(count)[-1]) + 1])
            for row, count in zip(batch.tokens, batch.counts, strict=True)
        ]
    assert sorted(seen) == sorted(tuple(lesson.tokens) for lesson in lessons)


def test_confidence_is_the_hit_rate_of_replies_that_were_as_likely() -> None:
    """Twenty replies, the ten that the model found likelier are right: it is taught 0.99 there and 0.01 elsewhere."""
    sat = [
        ExamReply(Lesson((), "Answer: 1\nConfidence: 0.5"), f"Answer: {k}\nConfidence: 0.30", k < 10, -float(k))
        for k in range(20)
    ]
    taught = list(own_lessons(sat))
    assert len(taught) == 20
    for lesson in taught:
        is_right = int(answer_of(lesson.reply) or "0") < 10
        assert lesson.reply.endswith("Confidence: 0.99" if is_right else "Confidence: 0.01")
    said = marks(sat)
    assert said["right"] == 0.5
    assert said["confidence"] == 0.3
    assert said["calibration_error"] == 0.5  # in equal bins of one value: ten bins, stable order, |0.3-1| and |0.3-0|
    assert list(own_lessons([])) == []


def test_in_debates_it_counts_whether_most_of_what_is_heard_is_right() -> None:
    """Two right and one led astray among right answers; one right and two followers among wrong ones or halves."""

    def debating(heard: str, said: str) -> ExamReply:
        blocks = "\n\n".join(f"[Agent {k}]\nAnswer: {answer}" for k, answer in enumerate(heard, 2))
        prompt = f"Question: 1+1?\n\n{blocks}\n\nAnswer again.\nAnswer: <a number>"
        return ExamReply(
            Lesson(({"role": "user", "content": prompt},), "Answer: 2"), f"Answer: {said}", said == "2", -1.0
        )

    opening = debating("", "2")
    sat = [debating(*each) for each in (("225", "2"), ("2", "2"), ("222", "5"), ("25", "2"), ("552", "5"), ("5", "5"))]
    found = {"asked": 6, "right": 0.5, "among_right": 0.6667, "among_wrong": 0.3333}
    assert marks_in_debate([*sat, opening]) == found
    assert marks_in_debate([opening]) == {"asked": 0, "right": 0.0, "among_right": 0.0, "among_wrong": 0.0}


def test_steps_are_marked_by_their_place() -> None:
    """Two replies to 2+3*4+5-6*1: one slips at the third step and goes on from there, one never comes to its steps."""
    asked = Lesson(({"role": "user", "content": "2+3*4+5-6*1"},), "Answer: 13")
    slipped = "3*4=12\n6*1=6\n2+12=15\n15+5=20\n20-0=20\n20-6=14\nAnswer: 14"
    right = "3*4=12\n6*1=6\n2+12=14\n14+5=19\n19-0=19\n19-6=13\nAnswer: 13"
    sat = [ExamReply(asked, reply, reply is right, -1.0) for reply in (slipped, right, "Answer: 13")]
    assert steps_right(sat) == [1, 1, 0.5, 1, 1, 1]
    assert steps_right(sat[2:]) == []
    assert marks(sat)["steps"] == [1, 1, 0.5, 1, 1, 1]


def test_a_reply_in_whose_midst_confidence_is_named_states_none() -> None:
    """What is taught is a line of its own; nothing else would be found in the lesson again."""
    lesson = Lesson((), "Answer: 1\nConfidence: 0.5")
    assert list(own_lessons([ExamReply(lesson, "so Confidence: 9", False, -1.0)])) == []
    (taught,) = own_lessons([ExamReply(lesson, "so Confidence: 9\nAnswer: 1\nConfidence: 4", True, -1.0)])
    assert taught.reply == "so Confidence: 9\nAnswer: 1\nConfidence: 0.99"


def test_who_goes_on_behind_a_confidence_is_marked_by_the_end_and_not_taught_from_it() -> None:
    """A debate reads the last answer of a reply, and so does the exam; a lesson in confidence has one line of it."""
    lesson = Lesson((), "Answer: 9\nConfidence: 0.5")
    for reply in ("Answer: 9\nConfidence: 0.99\nAnswer: 99\nConfidence: 0.99", "Answer: 9\nConfidence: 0.9-0=9"):
        assert list(own_lessons([ExamReply(lesson, reply, False, -1.0)])) == []


def test_an_exam_is_the_same_whenever_it_is_taken(tmp_path: Path) -> None:
    folder = Folder(made(tmp_path / "m"))
    lessons = [Lesson(({"role": "user", "content": text},), "Answer: 3\nConfidence: 0.50") for text in TEXTS[:6]]
    assert examine(folder, lessons, seed=1) == examine(folder, lessons, seed=1)
    assert len(examine(folder, [Lesson(({"role": "user", "content": "1 " * 400},), lessons[0].reply)], seed=1)) == 0
