"""Every prompt shows the format of its reply with a placeholder, and an echo of that format is not an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.core import Reading
from cortexdsl.tasks.judging import judge_variables, read_judgement
from cortexdsl.tasks.reading.kinds import KINDS, MIXED_WANT, AnswerKind, kind_named
from cortexdsl.tasks.reading.reader import AnswerReader, answer_format
from cortexdsl.templates.templates import Templates
from tests.templates.test_golden_prompts import CASES, QUESTION, made_up

ROOT = Path(__file__).resolve().parents[2]
LABELS = {
    "answer": "Answer", "review": "Score", "verdict": "Verdict", "selection": "Selected", "choice": "Choice",
    "similarity": "Similarity",
}  # fmt: skip
FORM = re.compile(r"^([A-Z][a-z]+): <([^<>\n]+)>$", re.MULTILINE)
OPTIONS = (("A", "the label"), ("B", "nothing else"), ("C", "14"), ("D", "one"))
FEVER = ("supports", "refutes", "not enough info")


def kinds() -> Iterator[AnswerKind]:
    for name in KINDS:
        yield kind_named(name, OPTIONS if name == "choice" else (), FEVER if name == "labels" else ())


def requests(case: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what each asked step of a case reads, and the last paragraph of its prompt: the request."""
    method, debate, prompts = made_up(case)
    for turn, messages in zip(debate.turns, prompts, strict=True):
        step = method.steps[turn.step]
        reads = tuple(what for what in (step.reads, *step.beside) if what in LABELS)
        if reads and turn.text != messages[-1]["content"]:  # else nobody is asked: the text is said as it is written
            yield reads, messages[-1]["content"].rpartition("\n\n")[2]


def echoes(request: str) -> Iterator[str]:
    """Yield the ways in which a model copies a format: line by line, without brackets, in marks, all of it."""
    forms = [match[0] for match in FORM.finditer(request)]
    for said in (*forms, "\n".join(forms)):
        yield from (said, re.sub("[<>]", "", said), f"`{said}`", re.sub(r"(?m)^(\w+):", r"**\1:**", said))
    yield f"Here is my reply.\n\n{said}"
    yield request


@pytest.mark.parametrize("case", CASES)
def test_a_prompt_asks_for_what_its_step_reads_on_a_line_with_a_placeholder(case: str) -> None:
    """Each label once; no value stands where the placeholder does, so that a copied line cannot be mistaken for one."""
    for reads, request in requests(case):
        labels = [label for label, _ in FORM.findall(request)]
        for what in reads:
            assert labels.count(LABELS[what]) == 1, (what, request)
        for label in LABELS.values():
            assert len(re.findall(rf"{label}:", request)) == labels.count(label), request


@pytest.mark.parametrize("case", CASES)
def test_an_echo_of_a_prompts_format_is_unparsed(case: str) -> None:
    """Not an answer, a score, a verdict, a selection, a choice, a similarity or a confidence, for any kind."""
    for reads, request in dict.fromkeys(requests(case)):
        for kind in kinds():
            asked = request.replace("<a number>", f"<{kind.want}>")
            for what in reads:
                for echo in echoes(asked):
                    if kind.name in ("free", "instructions") and what == "answer" and not FORM.fullmatch(echo):
                        continue  # any text is an answer of these kinds
                    found = AnswerReader(kind).read(what, echo)  # type: ignore[arg-type]
                    assert (found.value, found.confidence) == (None, None), (kind.name, what, echo)
                    assert found.unparsed


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.name)
@pytest.mark.parametrize("reading", ["lenient", "strict"])
def test_an_echo_of_the_answer_format_is_unparsed(kind: AnswerKind, reading: str) -> None:
    """The kind's own form and the form of datasets that mix kinds, in both readings."""
    for want in (kind.want, MIXED_WANT):
        for echo in (f"Answer: <{want}>", answer_format(want).partition("\n")[2]):
            found = AnswerReader(kind, reading).read("answer", echo)  # type: ignore[arg-type]
            assert (found.value, found.confidence) == (None, None), echo


def test_an_echo_of_the_judges_format_is_not_a_judgement() -> None:
    """Nor is a score read of an echo of the verifier's."""
    agent = {"name": "judge", "number": 1, "persona": None}
    (judge,) = Templates().render("common/judge.j2", {"agent": agent, **judge_variables(QUESTION, ["14"], "14")})
    view = {"agent": agent, "question": QUESTION, "text": "x", "answer": "14"}
    (verify,) = Templates().render("common/verify.j2", view)
    for echo in echoes(judge["content"].rpartition("\n\n")[2]):
        assert read_judgement(echo) is None, echo
    reader = AnswerReader(kind_named("number"))
    for echo in echoes(verify["content"].rpartition("\n\n")[2]):
        assert reader.read("review", echo).confidence is None, echo


@pytest.mark.parametrize(
    ("reads", "text", "value"),
    [
        ("review", "Score: <8>", "8"),
        ("review", "Score: <1 to 10>: 8", "8"),
        ("review", "Score: <a whole number from 1 to 10>\nScore: 3", "3"),
        ("review", "Score: 8 out of 10", "8"),
        ("verdict", "Verdict: <disagree>", "disagree"),
        ("verdict", "Verdict: <agree or disagree> disagree", "disagree"),
        ("selection", "Selected: <1, 3>", "1, 3"),
        ("selection", "Selected: <none>", ""),
        ("choice", "Choice: <2>", "2"),
        ("similarity", "Similarity: <0.7>", "0.7"),
        ("answer", "Answer: <14>", "14"),
        ("answer", "Answer: <the number alone, without units> 14", "14"),
    ],
)
def test_a_value_that_is_put_into_the_placeholder_is_read(reads: str, text: str, value: str) -> None:
    """Models keep the brackets around a value, or write the value behind the copied form."""
    assert AnswerReader(kind_named("number")).read(reads, text).value == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", "14"),
        ("choice", "C"),
        ("yesno", "yes"),
        ("labels", "supports"),
        ("text", "paris"),
        ("expression", "x^2"),
    ],
)
@pytest.mark.parametrize("reading", ["lenient", "strict"])
@pytest.mark.parametrize(
    "line", ["Answer: <{}>", "**Answer:** <{}>", "**Answer: <{}>**", "<Answer: {}>", "Answer: **<{}>**"]
)
def test_an_answer_in_the_brackets_of_its_form_is_read(kind: str, value: str, reading: str, line: str) -> None:
    """For each kind and way of reading: the brackets are the form's, and not part of the answer."""
    options, labels = OPTIONS if kind == "choice" else (), FEVER if kind == "labels" else ()
    reader = AnswerReader(kind_named(kind, options, labels), reading)  # type: ignore[arg-type]
    found = reader.read("answer", f"I think so.\n{line.format(value)}\nConfidence: <0.9>")
    assert found == Reading(value, None, 0.9)


def templates() -> list[Path]:
    """Every template of the project, also those of example specs."""
    return [path for folder in ("prompts", "specs") for path in sorted((ROOT / folder).rglob("*.j2"))]


@pytest.mark.parametrize("path", templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_asks_for_each_form_on_the_last_lines(path: Path) -> None:
    """A form has a line of its own after the words that ask for it, and a placeholder that is not read as a value."""
    source = path.read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line]
    labels = "|".join(label for what, label in LABELS.items() if what != "answer")
    for number, line in enumerate(lines):
        if not re.search(rf"\b(?:{labels}):", line):
            continue
        form = re.fullmatch(rf"({labels}): <[^<>]+>", line)
        assert form, f"not a form: {line}"
        before = lines[number - 1]
        assert before.endswith(":") or FORM.fullmatch(before), f"nothing asks for it: {before}"
        what = next(reads for reads, label in LABELS.items() if label == form[1])
        assert AnswerReader(kind_named("number")).read(what, line).unparsed, line  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["1 to 10", "0-10", "0 to 1", "a number"])
def test_other_spellings_of_a_form_are_not_values_either(form: str) -> None:
    """As templates of users write them."""
    reader = AnswerReader(kind_named("number"))
    for text in (f"Score: <{form}>", f"Score: {form}"):
        assert reader.read("review", text).confidence is None
    for text in (f"Similarity: <{form}>", f"Similarity: {form}"):
        assert reader.read("similarity", text).confidence is None
    for text in (f"Answer: 14\nConfidence: <{form}>", f"Answer: 14\nConfidence: {form}"):
        assert reader.read("answer", text) == Reading("14")


@pytest.mark.parametrize("text", ['<option value="1 to 10">', "if x < 1 or y > 2:", "True or false or both"])
def test_a_free_answer_keeps_lines_that_look_like_a_form(text: str) -> None:
    """Only a line that begins with a label of a reply is a copied form: code and markup are answers."""
    said = f"first\n{text}\nlast"
    assert AnswerReader(kind_named("free")).read("answer", said) == Reading(said)
