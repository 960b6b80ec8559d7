"""The case study of docs/worth.md: its pages have a place for each claim of its spec, and each place is filled."""

from __future__ import annotations

from benchmarks.models.worth import BLOCK, BLOCKS, EQUAL, PAGES, sections
from cortexdsl.plan.compiler import compile_spec


def test_each_claim_is_a_question_under_a_heading() -> None:
    """The page takes headings and questions from comments of the spec."""
    listed = [(claim, question) for _, claims in sections() for claim, question in claims]
    assert [claim for claim, _ in listed] == list(compile_spec("specs/worth.yaml").hypotheses)
    assert all(question.endswith("?") for _, question in listed)
    assert EQUAL in dict(listed)


def test_each_block_of_the_pages_is_made() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert sorted(name for _, name, _ in BLOCK.findall(text)) == sorted(BLOCKS)
