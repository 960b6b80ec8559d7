"""Wordings of prompts: each replicate draws one for all of its debates."""

from __future__ import annotations

from dataclasses import replace

from cortexdsl.core import Question
from cortexdsl.engine.methods import in_wording
from cortexdsl.engine.seeds import drawn_wording
from cortexdsl.plan.digests import method_digest
from cortexdsl.records.debates import Header, Record, debate_to_json, record_from_json
from tests.engine.stage import method, run

PLAIN = method({"answer": {}}, ["answer"], "a b")
STEP = PLAIN.steps["answer"]
WORDED = replace(PLAIN, steps={"answer": replace(STEP, prompt="one.j2", variants=("one.j2", "two.j2", "three.j2"))})


def test_a_method_without_variants_has_the_digest_that_it_had() -> None:
    """The digest is that of the method without the field, as it was written before there was one."""
    named = method_digest(PLAIN, 3, str)
    assert named == method_digest(replace(PLAIN, steps={"answer": replace(STEP, variants=())}), 3, str)
    assert named != method_digest(WORDED, 3, str)


def test_the_text_of_each_variant_changes_the_digest() -> None:
    texts = dict.fromkeys(WORDED.steps["answer"].prompts, "as it was")
    assert WORDED.steps["answer"].prompts == ("one.j2", "two.j2", "three.j2")
    before = method_digest(WORDED, 3, texts.__getitem__)
    assert before != method_digest(WORDED, 3, {**texts, "three.j2": "edited"}.__getitem__)


def test_a_debate_uses_the_wording_of_its_replicate_and_says_which() -> None:
    for replicate in (1, 2, 3):
        wording = drawn_wording(7, replicate, 3)
        assert in_wording(WORDED, wording).steps["answer"].prompt == ("one.j2", "two.j2", "three.j2")[wording]
        debate = run(WORDED, replicate=replicate)
        assert debate.wording == wording + 1
        assert run(WORDED, replicate=replicate, question=Question("q9", "?")).wording == debate.wording
        header = Header("e", "d", "c", replicate)
        line = debate_to_json(debate, header)
        assert record_from_json(line) == Record(header, debate)


def test_a_debate_without_variants_is_written_as_before() -> None:
    assert "wording" not in debate_to_json(run(PLAIN), Header("e", "d", "c", 1))
