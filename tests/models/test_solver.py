"""The built-in solver: what it reads, what it says, how its parameters act."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Agent, Model, Question
from cortexdsl.errors import InputError
from cortexdsl.models.solver.arithmetic import find_expression, usual_accuracy, work_out
from cortexdsl.models.solver.prompts import OtherReply, read_prompt
from cortexdsl.models.transports.builtin import count_tokens, solve
from cortexdsl.tasks.reading.statements import read_review, read_selection, read_similarity, read_verdict
from cortexdsl.templates.templates import Templates

FORMAT = "Answer: <a number>\nConfidence: <a number from 0 to 1>"


def user(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


def asked(expression: str, *heard: str, request: str = f"Solve it.\n{FORMAT}") -> tuple[dict[str, str], ...]:
    blocks = "".join(f"\n\n[Agent {k}]\nAnswer: {said}" for k, said in enumerate(heard, 1))
    return user(f"Question: What is the result of {expression}?{blocks}\n\n{request}")


def answer(text: str) -> str:
    found = re.findall(r"^Answer: (.*)$", text, re.MULTILINE)
    return str(found[-1])


# ---------------------------------------------------------------- arithmetic
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("What is the result of 3+5*2+7-1*4?", 16),
        ("Compute (3 + 5) * 2 - -4.", 20),
        ("12 × 3 − 4", 32),
        ("2*(3-(4-5))*-6", -48),
        ("10-3-2", 5),
        ("Work out 100000*100000 please", 10_000_000_000),
    ],
)
def test_without_mistakes_expressions_come_out_by_precedence(text: str, value: int) -> None:
    """Values worked out by hand."""
    expression = find_expression(text)
    assert expression is not None
    assert work_out(expression, 0.0, random.Random(0)).value == value


@given(st.lists(st.integers(0, 99), min_size=2, max_size=8), st.data())
def test_any_flat_expression_agrees_with_fractions_of_python(numbers: list[int], data: st.DataObject) -> None:
    """Sums of products, grouped by hand: the products first, then from left to right."""
    operators = [data.draw(st.sampled_from("+-*")) for _ in numbers[1:]]
    text = str(numbers[0]) + "".join(f"{op}{n}" for op, n in zip(operators, numbers[1:], strict=True))
    terms: list[int] = [numbers[0]]
    for op, n in zip(operators, numbers[1:], strict=True):
        if op == "*":
            terms[-1] *= n
        else:
            terms.append(n if op == "+" else -n)
    expression = find_expression(f"What is {text}?")
    assert expression is not None
    assert work_out(expression, 0.0, random.Random(0)).value == sum(terms)


@pytest.mark.parametrize("text", ["", "no numbers", "42", "x+3", "3+", "v1.2-3.4", "((3+4)", "Agent-7 and 3"])
def test_what_is_no_expression_is_none(text: str) -> None:
    assert find_expression(text) is None


def test_mistakes_are_the_ones_that_people_make() -> None:
    """2+3*4: left to right gives 20; a neighbouring row 11 or 17, or 10, 18; a carry 4 or 24; slips of one or ten."""
    expression = find_expression("2+3*4")
    assert expression is not None
    values = {work_out(expression, 0.3, random.Random(k)).value for k in range(2000)}
    assert 14 in values
    assert 20 in values
    assert values & {11, 17, 10, 18}
    single = {10, 11, 17, 18, 4, 24, 13, 15, 20}
    assert len(values & single) >= 3


# ---------------------------------------------------------------- replies
def test_the_reply_is_a_function_of_messages_seed_and_parameters() -> None:
    first = solve(asked("12+3*4-5"), 7, {"skill": 0.4})
    assert first == solve(asked("12+3*4-5"), 7, {"skill": 0.4})
    others = [
        solve(asked("12+3*4-5"), 8, {"skill": 0.4}),
        solve(asked("12+3*4-5"), 7, {"skill": 0.4, "overconfidence": 0.4}),
        solve(({"role": "system", "content": "be brief"}, *asked("12+3*4-5")), 7, {"skill": 0.4}),
    ]
    assert all(other.text != first.text for other in others)


def test_it_is_the_same_in_every_process(repository: Path) -> None:
    """Python salts its hashes in every process; the solver's replies do not depend on them."""
    spoken = f"solve({asked('12+3*4-5', '19', '20')!r}, 5, {{}}).text"
    code = f"from cortexdsl.models.transports.builtin import solve\nprint({spoken})"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=repository,
            env={"PYTHONHASHSEED": salt},
        ).stdout
        for salt in "12"
    }  # fmt: skip
    assert len(said) == 1


def test_a_perfect_solver_is_always_right() -> None:
    assert all(answer(solve(asked("3+5*2+7-1*4"), seed, {"skill": 1}).text) == "16" for seed in range(100))


@pytest.mark.parametrize("skill", [0.0, 0.3, 0.8])
def test_accuracy_follows_skill(skill: float) -> None:
    """0.08 + 0.92 skill over many expressions of the usual length, within four standard errors of 600 draws."""
    draw, right = random.Random(1), 0
    for seed in range(600):
        a, b, c, d, e, f = (draw.randint(1, 30) for _ in range(6))
        reply = solve(asked(f"{a}+{b}*{c}+{d}-{e}*{f}"), seed, {"skill": skill})
        right += answer(reply.text) == str(a + b * c + d - e * f)
    p = usual_accuracy(skill)
    assert abs(right / 600 - p) < 4 * (p * (1 - p) / 600) ** 0.5


def test_the_seed_alone_does_not_decide_a_hard_question_alike() -> None:
    """Voters differ: over seeds an expression gets several answers, the most frequent wrong one more than others."""
    answers = [answer(solve(asked("17+23*19+28-14*27"), seed, {"skill": 0.3}).text) for seed in range(200)]
    assert len(set(answers)) > 3


def confidence(text: str) -> float:
    return float(re.findall(r"^Confidence: (.*)$", text, re.MULTILINE)[-1])


def test_overconfidence_moves_what_is_stated_towards_one() -> None:
    """The same hope p, stated as p + (1 - p) o: higher for every question, by a known amount on average."""

    def mean(o: float) -> float:
        said = [confidence(solve(asked("17+23*19"), s, {"skill": 0.5, "overconfidence": o}).text) for s in range(300)]
        return sum(said) / len(said)

    low, middle, high = mean(0.0), mean(0.5), mean(1.0)
    assert low < middle < high
    assert middle == pytest.approx(low + (1 - low) / 2, abs=0.03)
    assert high > 0.95


def test_a_unanimous_crowd_persuades_the_docile_and_not_the_stubborn() -> None:
    """Five say 999, which is wrong: with skill 1 both attempts are right and weigh 2, as much as the crowd at most."""
    heard = ["999"] * 5
    docile = [answer(solve(asked("2+3*4", *heard), s, {"skill": 0.1, "stubbornness": 0}).text) for s in range(200)]
    stubborn = [answer(solve(asked("2+3*4", *heard), s, {"skill": 0.1, "stubbornness": 1}).text) for s in range(200)]
    assert docile.count("999") > 120
    assert stubborn.count("999") == 0


def test_trust_shown_next_to_an_answer_counts() -> None:
    """One trusted voice against three distrusted ones."""

    def talk(trusted: str, others: str) -> tuple[dict[str, str], ...]:
        said = [f"[Agent 1, trust 0.900]\nAnswer: {trusted}"]
        said += [f"[Agent {k}, trust 0.010]\nAnswer: {others}" for k in (2, 3, 4)]
        return user("Question: What is the result of 2+3*4?\n\n" + "\n\n".join(said) + f"\n\nSolve.\n{FORMAT}")

    replies = [answer(solve(talk("777", "888"), s, {"skill": 0.1, "stubbornness": 0}).text) for s in range(100)]
    assert replies.count("777") > 60
    assert replies.count("888") < 5


def test_the_share_of_malformed_replies_is_as_set() -> None:
    """At 0.4, of 500: 200, within four standard errors (44); at 0 none, at 1 all."""

    def spoilt(share: float) -> int:
        plain = [solve(asked("2+3*4"), seed, {"skill": 1, "malformed": share}).text for seed in range(500)]
        return sum(not re.fullmatch(r"Working[^#]*\nAnswer: 14\nConfidence: [01]\.\d\d", text) for text in plain)

    assert spoilt(0.0) == 0
    assert abs(spoilt(0.4) - 200) < 44
    assert spoilt(1.0) == 500


def test_tokens_are_words_and_marks() -> None:
    """`It's 3+4.` is It ' s 3 + 4 . : seven."""
    assert count_tokens("It's 3+4.") == 7
    reply = solve(user("It's 3+4."), 1, {})
    assert reply.usage[:2] == (7, count_tokens(reply.text))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"skil": 0.5}, "did you mean skill"),
        ({"temperature": 0.5}, "it has skill, overconfidence, stubbornness, malformed"),
        ({"skill": 1.5}, "from 0 to 1, not 1.5"),
        ({"skill": True}, "from 0 to 1, not True"),
        ({"malformed": "0.5"}, "from 0 to 1, not '0.5'"),
        ({"skill": float("nan")}, "not nan"),
    ],
)
def test_parameters_are_checked(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        solve(user("1+1"), 1, options)


@given(st.text(max_size=300), st.integers(0, 2**31 - 1))
def test_any_prompt_gets_a_reply(text: str, seed: int) -> None:
    assert solve(user(text), seed, {}).text


# ---------------------------------------------------------------- the shipped prompts
QUESTION = Question("q", "What is the result of 2+3*4?")


def turn(text: str, **more: object) -> dict[str, object]:
    return {
        "speaker": "a", "number": 2, "is_mine": False, "round": 0, "reads": "answer", "text": text, "answer": None,
        "confidence": None, "weight": None, "trust": None, "about": None, "is_own_group": False, **more,
    }  # fmt: skip


def view(**more: Any) -> dict[str, object]:
    own = [{**each, "number": 1, "is_mine": True} for each in more.pop("own", ())]
    return {
        "question": QUESTION, "agent": {"name": "me", "number": 1, "persona": None}, "about": None, "round": 1,
        "heard": [], "by_answer": [], "own": own, "talk": [*own, *more.get("heard", ())], "evidence": [],
        "answer_format": FORMAT, "trust": "auto", "keep": "mean", "convincing": {}, "pool": [], "example": None, **more,
    }  # fmt: skip


RIGHT, WRONG = turn("1. 3*4 = 12\n2. 2+12 = 14\nAnswer: 14"), turn("1. 2+3 = 5\n2. 5*4 = 20\nAnswer: 20")


@pytest.mark.parametrize(
    ("prompt", "variables", "heard", "own"),
    [
        ("common/answer.j2", {}, (), None),
        ("multi-llm/revise.j2", {"heard": [RIGHT, WRONG], "own": [WRONG]}, ("14", "20"), "20"),
        ("cortexdebate/revise.j2", {"heard": [RIGHT, WRONG]}, ("14", "20"), None),
        ("group/share.j2", {"heard": [turn("Summary:\nAnswer: 14 (3 agents): steps\nAnswer: 20 (1 agent): x",
                                           is_own_group=True)], "own": [RIGHT]}, ("14", "20"), "14"),
        ("acc/revise.j2", {"heard": [turn("Check the step 5*4 again. I think that the result should be 14.")],
                           "own": [WRONG]}, ("14",), "20"),
        ("chateval/revise.j2", {"heard": [turn("Summary:\nAnswer: 14 (2 agents): steps", reads="summary")]},
         ("14",), None),
        ("reflection/reflect.j2", {"own": [WRONG]}, (), "20"),
        ("reconcile/revise.j2", {"by_answer": [{"answer": "14", "turns": [RIGHT]}, {"answer": None, "turns": [WRONG]}]},
         ("14", "20"), None),
        ("multi-llm/revise.j2", {"heard": [turn("14"), turn("(no readable answer)")]}, ("14",), None),
        ("standard/answer.j2", {"example": {"question": "What is 7+7?", "answer": "14"}}, (), None),
        ("reconcile/answer.j2", {"convincing": [{"question": "1+1?", "explanation": "x", "answer": "2"}]}, (), None),
    ],
)  # fmt: skip
def test_shipped_prompts_are_understood(
    prompt: str, variables: dict[str, object], heard: tuple[str, ...], own: str | None
) -> None:
    """The question is the last one, not an example's; blocks of others and one's own are told apart."""
    read = read_prompt(Templates().render(prompt, view(**variables)))
    assert find_expression(read.question) == find_expression("2+3*4")
    assert tuple(each.answer for each in read.heard) == heard
    assert (read.own, read.wanted) == (own, "answer")
    assert answer(solve(Templates().render(prompt, view(**variables)), 1, {"skill": 1, "stubbornness": 1}).text) == "14"


def test_a_summary_line_counts_for_as_many_as_it_names() -> None:
    read = read_prompt(
        user("Question: 1+1?\n\n[Summary 1]\nAnswer: 14 (3 agents): x\nAnswer: 20: y\n\nAnswer: <a number>")
    )
    assert read.heard == (OtherReply("14", 3.0), OtherReply("20", 1.0))


@pytest.mark.parametrize("prompt", ["peer-review/review.j2", "cortexdebate/review.j2"])
def test_a_review_scores_a_right_solution_high_and_a_wrong_one_low(prompt: str) -> None:
    """With skill 1 the reviewer knows. Where its own answer is asked for too, the score is how sure it is."""

    def score(solution: dict[str, object]) -> float:
        reply = solve(Templates().render(prompt, view(heard=[solution])), 3, {"skill": 1, "stubbornness": 1})
        if prompt.startswith("peer"):
            assert answer(reply.text) == "14"
        said = read_review(reply.text).confidence
        assert said is not None
        return said

    assert score(RIGHT) >= 0.8
    if prompt.startswith("cortexdebate"):
        assert score(WRONG) <= 0.4


@pytest.mark.parametrize(("answer", "verdict"), [("14", "agree"), ("15", "disagree")])
def test_a_judge_of_its_own_answer_works_it_out_again(answer: str, verdict: str) -> None:
    """Nobody else is heard: 2 + 3 * 4 is 14."""
    shown = f"Question: What is 2 + 3 * 4?\n\n[Your last answer]\nAnswer: {answer}"
    text = f"{shown}\n\nEnd with: Verdict: <agree or disagree>"
    said = solve(({"role": "user", "content": text},), 1, {"skill": 1}).text
    assert read_verdict(said).value == verdict


@pytest.mark.parametrize(("second", "verdict"), [(RIGHT, "agree"), (WRONG, "disagree"), (turn("Hm."), "disagree")])
def test_a_judge_sees_whether_all_agree(second: dict[str, object], verdict: str) -> None:
    messages = Templates().render("madke/judge.j2", view(heard=[RIGHT, second]))
    assert read_verdict(solve(messages, 1, {"skill": 1}).text).value == verdict


@pytest.mark.parametrize(("second", "low", "high"), [(RIGHT, 0.7, 0.95), (WRONG, 0.2, 0.5), (turn("Hm."), 0.2, 0.5)])
def test_a_comparer_finds_equal_answers_alike(second: dict[str, object], low: float, high: float) -> None:
    messages = Templates().render("cortexdebate/compare.j2", view(heard=[RIGHT, second]))
    said = read_similarity(solve(messages, 1, {}).text).confidence
    assert said is not None
    assert low <= said <= high


@pytest.mark.parametrize("prompt", ["mad-summary/summarize.j2", "group/summarize.j2", "chateval/summarize.j2"])
def test_a_summary_holds_every_answer_and_its_support(prompt: str) -> None:
    text = solve(Templates().render(prompt, view(heard=[RIGHT, WRONG, RIGHT])), 1, {}).text
    assert text.startswith("Summary:\n")
    assert "Answer: 14 (2 agents)" in text
    assert "Answer: 20 (1 agent)" in text


def test_passages_that_share_words_with_the_question_are_selected() -> None:
    passages = [
        {"title": "Otters", "text": "Otters eat fish in rivers."},
        {"title": "", "text": "Bread is made from flour."},
        {"title": "Rivers", "text": "Fish live in rivers, and otters hunt there."},
    ]
    question = Question("q", "Which fish do otters hunt in rivers?")
    messages = Templates().render("madke/select.j2", view(question=question, pool=passages))
    assert read_selection(solve(messages, 1, {}).text).value == "1, 3"


def test_a_critic_names_a_step_or_confirms() -> None:
    def comment(solution: dict[str, object]) -> str:
        return solve(
            Templates().render("acc/comment.j2", view(heard=[solution])), 1, {"skill": 1, "stubbornness": 1}
        ).text

    assert comment(RIGHT) == "Your steps are sound; I find no mistake in them."
    assert comment(WRONG).endswith("I think that the result should be 14.")


@pytest.mark.parametrize(
    ("question", "form", "possible"),
    [
        (Question("q", "Which?", (("A", "x"), ("B", "y"))), "the letter of the option", {"A", "B"}),
        (Question("q", "Is it so?"), "yes or no", {"yes", "no"}),
        (Question("q", "Claim: x"), "one of: SUPPORTS, REFUTES", {"SUPPORTS", "REFUTES"}),
        (Question("q", "Nothing to count"), "a number", {"0", "1", "2"}),
        (Question("q", "Who wrote Hamlet?"), "a few words", {"wrote", "Hamlet"}),
    ],
)
def test_where_nothing_can_be_worked_out_something_possible_is_said(
    question: Question, form: str, possible: set[str]
) -> None:
    asking = view(question=question, answer_format=f"Answer: <{form}>\nConfidence: <0 to 1>")
    messages = Templates().render("common/answer.j2", asking)
    assert {answer(solve(messages, seed, {}).text) for seed in range(60)} <= possible


# ---------------------------------------------------------------- judging
@pytest.mark.parametrize(
    ("answer_", "golds", "judgement"),
    [
        ("mount everest", ("Everest", "Mt. Everest"), "correct"),
        ("kilimanjaro", ("Everest",), "incorrect"),
        ("ever", ("Everest",), "incorrect"),
        ("yes.", ("Yes",), "correct"),
    ],
)
def test_as_a_judge_it_looks_for_a_reference_answer_word_for_word(
    answer_: str, golds: tuple[str, ...], judgement: str
) -> None:
    """Without mistakes (skill 1); the words of the question and of the rules are no answers."""
    said = {"question": Question("q", "Kilimanjaro or Everest?"), "golds": golds, "answer": answer_}
    agent = Agent("judge", Model("judge", "builtin/solver"))
    messages = Templates().render("common/judge.j2", {**said, "agent": agent})
    assert solve(messages, 1, {"skill": 1.0}).text.endswith(f"Judgement: {judgement}")


# ---------------------------------------------------------------- forms wherever they stand
SOLUTION = "[Agent 2]\nFirst 3*4=12.\nAnswer: 14"
QUESTIONED = "Question: What is the result of 2+3*4?"


@pytest.mark.parametrize(
    ("text", "wanted", "heard"),
    [
        (f"{QUESTIONED}\n\n{SOLUTION}\nRate it.\nScore: <1 to 10>", "review", ("14",)),
        (f"{QUESTIONED}\n\n{SOLUTION}\n\nScore: <1 to 10>\n\nBe brief.", "review", ("14",)),
        (f"{QUESTIONED}\n\n{SOLUTION}\nEnd with a line `Verdict: agree` or `Verdict: disagree`.", "verdict", ("14",)),
        (f"Passage:\nBirds fly.\n\n{QUESTIONED}\nSolve it.\n{FORMAT}", "answer", ()),
        (f"{QUESTIONED}\n\n{SOLUTION}\nSolve it.\n{FORMAT}", "answer", ("14",)),
        (f"{QUESTIONED}\n\n{SOLUTION}\n\nWhom do you trust?\nChoice: <2>\n\nThink first.", "choice", ("14",)),
        (f"{QUESTIONED}\n\n{SOLUTION}\n\nWhat would you add?", "comment", ("14",)),
    ],
)
def test_a_form_is_found_where_it_stands_in_no_paragraph_of_its_own(
    text: str, wanted: str, heard: tuple[str, ...]
) -> None:
    """Without a blank line before it, or with words after it; what was heard and asked is found all the same."""
    read = read_prompt(user(text))
    assert (read.wanted, tuple(each.answer for each in read.heard)) == (wanted, heard)
    assert find_expression(read.question) == find_expression("2+3*4")
    assert "<" not in read.question


def test_a_form_that_was_shown_before_is_not_the_one_that_is_asked_for() -> None:
    """An example of another form stands above; the last paragraph asks for a verdict."""
    text = f"{QUESTIONED}\n\nOthers were asked for\nScore: <1 to 10>\n\n{SOLUTION}\n\nVerdict: <agree or disagree>"
    assert read_prompt(user(text)).wanted == "verdict"
    glued = f"{QUESTIONED}\n\nOthers were asked for\nScore: <1 to 10>\n\n{SOLUTION}\nVerdict: <agree or disagree>"
    assert read_prompt(user(glued)).wanted == "verdict"


# ---------------------------------------------------------------- several lines, and options that are numbers
@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ("Verdict: <agree or disagree>\nChoice: <a number>", {"verdict": "agree", "choice": "2"}),
        ("Choice: <a number>\nVerdict: <agree or disagree>", {"verdict": "agree", "choice": "2"}),
        ("Score: <1 to 10>\nVerdict: <agree or disagree>", {"verdict": "agree"}),
        ("Score: <1 to 10>\nChoice: <a number>", {"choice": "2"}),
        (f"{FORMAT}\nVerdict: <agree or disagree>", {"verdict": "agree"}),
        (f"{FORMAT}\nChoice: <a number>", {"choice": "2"}),
    ],
)
def test_every_line_that_is_asked_for_is_written(request_: str, found: dict[str, str]) -> None:
    """A step may read a verdict or a choice beside something else, and each of them is readable."""
    reply = solve(user(f"{QUESTIONED}\n\n{SOLUTION}\n\n{request_}"), 1, {"skill": 1}).text
    said = dict(line.lower().split(": ") for line in reply.splitlines() if line.count(": ") == 1)
    assert found.items() <= said.items()
    if "Score" in request_:
        assert read_review(reply).confidence is not None
    if "Answer" in request_:
        assert answer(reply) == "14"


OPTIONS = (("A", "20"), ("B", "14"), ("C", "15"))


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (OPTIONS, "B"),
        ((("A", "4"), ("B", "13"), ("C", "20")), "B"),
        ((("A", "it is 20"), ("B", "it is 14")), "B"),
    ],
    ids=["its result is one", "none is its result: the nearest", "among words"],
)
def test_of_options_that_are_numbers_it_takes_the_one_that_it_worked_out(
    options: tuple[tuple[str, str], ...], chosen: str
) -> None:
    asking = view(
        question=Question("q", QUESTION.text, options),
        answer_format="Answer: <the letter of the option>\nConfidence: <0 to 1>",
    )
    reply = solve(Templates().render("common/answer.j2", asking), 1, {"skill": 1}).text
    assert answer(reply) == chosen
    assert "2+12 = 14" in reply


def test_options_that_are_no_numbers_are_guessed_though_the_question_holds_an_expression() -> None:
    question = Question("q", "What comes after 2+3*4?", (("A", "an owl"), ("B", "a fox")))
    asking = view(question=question, answer_format="Answer: <the letter of the option>\nConfidence: <0 to 1>")
    messages = Templates().render("common/answer.j2", asking)
    assert {answer(solve(messages, seed, {}).text) for seed in range(40)} == {"A", "B"}


def test_what_was_said_by_number_is_the_option_with_that_number() -> None:
    read = read_prompt(user(f"{QUESTIONED}\n(A) 20\n(B) 14\n\n[Agent 2]\nAnswer: 14\n\n[Agent 3]\nB\n\n{FORMAT}"))
    assert [heard.answer for heard in read.heard] == ["B", "B"]


def test_to_find_no_mistake_is_no_answer() -> None:
    """The sentence with which it confirms a solution is not taken for one."""
    said = "Your steps are sound; I find no mistake in them."
    read = read_prompt(Templates().render("acc/revise.j2", view(heard=[turn(said)], own=[RIGHT])))
    assert (read.heard, read.silent, read.own) == ((), 1, "14")


TOOLS = """

Before you answer, you may use tools:
- notes: Searches a collection of texts, and returns the best passages. It takes what to search for.
- {tool}

To use one, write a block like this, and nothing after it:

```tool notes
query
```"""


@pytest.mark.parametrize(
    ("tool", "asked", "told"),
    [
        (
            "sums: Computes arithmetic exactly: + -. It takes one expression.",
            "```tool sums\n13+4*5\n```",
            "13+4*5 = 33",
        ),
        ("py: Runs a Python program. It takes the program.", "```tool py\nprint(13+4*5)\n```", "33"),
    ],
)
def test_the_solver_has_a_tool_compute_and_takes_the_result(tool: str, asked: str, told: str) -> None:
    prompt = "Question: What is 13+4*5?\n\nEnd with these lines:\nAnswer: <a number>\nConfidence: <from 0 to 1>"
    first = {"role": "user", "content": prompt + TOOLS.format(tool=tool)}
    request = solve([first], 1, {"skill": 0.0})
    assert request.text == asked
    name = asked.split()[1]
    talk = [first, {"role": "assistant", "content": asked}, {"role": "user", "content": f"Result of {name}:\n{told}"}]
    for seed in range(20):
        reply = solve(talk, seed, {"skill": 0.0}).text
        assert "\nAnswer: 33\n" in reply
        assert "```" not in reply
    failed = [*talk[:2], {"role": "user", "content": f"Error of {name}:\nit failed\n\nNo further use of a tool."}]
    assert {solve(failed, seed, {"skill": 0.0}).text.splitlines()[0] for seed in range(5)} == {"Working step by step:"}


def test_a_tool_that_cannot_compute_is_not_used() -> None:
    prompt = "Question: What is 13+4*5?\n\nAnswer: <a number>"
    bare = solve([{"role": "user", "content": prompt}], 1, {"skill": 1.0}).text
    with_tool = {"role": "user", "content": prompt + TOOLS.format(tool="own: Does something. It takes a text.")}
    said = solve([with_tool], 1, {"skill": 1.0}).text
    assert said.partition("Confidence")[0] == bare.partition("Confidence")[0]
