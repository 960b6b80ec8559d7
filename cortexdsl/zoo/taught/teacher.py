"""What a debater should say to a prompt of this project, and what one says that makes mistakes.

The teacher reads the rendered prompt, as a model does: which reply is asked for, what others have said. It knows the
question's answer, so that it can be right, or wrong in the way of a slip.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from cortexdsl.models.solver.prompt import Prompt, read_prompt
from cortexdsl.terms import Message, Question
from cortexdsl.zoo.asked.questions import label_of
from cortexdsl.zoo.asked.workings import STEPS, Working, equations, numbers_of, work, wrong_lines
from cortexdsl.zoo.asked.world import Fact, World

SLIPS = (1, 1, 1, 2, 4)
"""How many steps of a wrong working are wrong by themselves, one as likely as another."""

NEAR = 10
"""How far from the right result a wrong one is that is argued for."""


class Teacher:
    """Writes replies.

    Parameters
    ----------
    world : World
        That the questions without numbers are about.

    Notes
    -----
    An answer is worked out anew, whatever others say. Models that had been taught to begin with the wrong steps of
    others made them up, and went on from what they had made up; who reviews or comments still names them.
    """

    def __init__(self, world: World) -> None:
        self._facts = {fact.question: fact for fact in world.facts()}
        self._answers: dict[str, list[str]] = {}
        for fact in self._facts.values():
            known = self._answers.setdefault(fact.kind, [])
            if fact.answer not in known:
                known.append(fact.answer)

    def reply(self, question: Question, messages: Sequence[Message], chance: random.Random, *, is_right: bool) -> str:
        """Return a reply to a prompt.

        Parameters
        ----------
        question : Question
        messages : sequence of Message
        chance : random.Random
            Of the mistakes, and of the confidence, which means nothing yet.
        is_right : bool
            Whether it makes no mistake.
        """
        prompt, text = read_prompt(messages), messages[-1]["content"]
        said = text[text.find(question.text) + len(question.text) :]
        return _KINDS[prompt.wanted](self, question, prompt, said, chance, is_right)

    def argument(
        self, question: Question, messages: Sequence[Message], chance: random.Random, *, is_right: bool
    ) -> tuple[str, str]:
        """Return an answer to argue for, and a reply that does so: it comes to that answer in its last step.

        Parameters
        ----------
        question, messages, chance
            As of `reply`.
        is_right : bool
            Whether that is the right answer, or one near it.
        """
        lines, answer = self._argued(question, chance, is_right)
        if read_prompt(messages).wanted == "comment":
            return answer, f"{lines[-1]}\nI think that the result should be {answer}."
        return answer, _answered(lines, answer, chance)

    def _argued(self, question: Question, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        is_sum = numbers_of(question.text) is not None
        lines, answer = self._solution(question, chance, is_right or is_sum)
        if is_right or not is_sum:
            return lines, answer
        last, _, value = lines[-1].partition("=")
        if question.options:  # any result in one of the other ranges
            wrong = chance.choice([other for other in range(100) if label_of(other) != answer])
        else:
            wrong = chance.choice(
                [other for other in range(max(0, int(value) - NEAR), int(value) + NEAR + 1) if other != int(value)]
            )
        return [*lines[:-1], f"{last}={wrong}"], label_of(wrong) if question.options else str(wrong)

    def _solution(self, question: Question, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        """Return the steps to an answer, and the answer."""
        numbers = numbers_of(question.text)
        if numbers is None:
            return self._recalled(self._facts.get(question.text), chance, is_right)
        slips = frozenset() if is_right else frozenset(chance.sample(range(STEPS), chance.choice(SLIPS)))
        worked: Working = work(numbers, slips, chance)
        return list(worked.lines), label_of(worked.value) if question.options else str(worked.value)

    def _recalled(self, fact: Fact | None, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        if fact is None:
            return ["I do not know."], "unknown"
        if is_right:
            return list(fact.reasons), fact.answer
        wrong = chance.choice([answer for answer in self._answers[fact.kind] if answer != fact.answer])
        return [reason.replace(fact.answer, wrong) for reason in fact.reasons], wrong

    def _answer(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        lines, answer = self._solution(question, chance, is_right)
        return _answered(lines, answer, chance)

    def _review(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        _, answer = self._solution(question, chance, is_right=True)
        theirs = prompt.heard[-1].answer if prompt.heard else None
        wrong = wrong_lines(said)
        found = [f"{line} is wrong: it is {right}." for line, right in wrong[:1]]
        agrees = theirs == answer
        if not is_right:
            found, agrees = [], not agrees
        if not found:
            found = ["The steps are right." if agrees else "The answer is wrong."]
        end = [f"Answer: {answer if is_right or theirs is None else theirs}"] if prompt.wants_answer else []
        score = 9 if agrees else 2
        return "\n".join([*found, *end, f"Score: {9 if prompt.wants_answer else score}"])

    def _comment(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        wrong = wrong_lines(said)
        if wrong and is_right:
            return f"{wrong[0][0]} is wrong: it is {wrong[0][1]}."
        lines, answer = self._solution(question, chance, is_right)
        if any(heard.answer == answer for heard in prompt.heard):
            return "The steps are right."
        return f"{lines[0]}\nI think that the result should be {answer}."

    def _verdict(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        answers = list(dict.fromkeys(heard.answer for heard in prompt.heard))
        agrees = (len(answers) == 1 and not prompt.silent) is is_right
        return f"They say {', '.join(answers) or 'nothing'}.\nVerdict: {'agree' if agrees else 'disagree'}"

    def _summary(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        counts: dict[str, int] = {}
        for heard in prompt.heard:
            counts[heard.answer] = counts.get(heard.answer, 0) + 1
        reasons = equations(said)
        lines = [
            f"Answer: {answer} ({n} agent{'s' if n > 1 else ''}): {_last(reasons, answer)}"
            for answer, n in counts.items()
        ]
        return "\n".join(["Summary:", *(lines or ["No answer was given."])])

    def _selection(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        fact = self._facts.get(question.text)
        useful = [
            str(number)
            for number, passage in prompt.passages
            if fact is not None and any(reason in passage for reason in fact.reasons)
        ]
        if not is_right and prompt.passages:
            useful = [str(chance.choice(prompt.passages)[0])]
        return f"Selected: {', '.join(useful) or 'none'}"

    def _similarity(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        found = equations(said)
        shared = (len(found) - len(set(found))) / max(1, len(set(found)))
        same = len({heard.answer for heard in prompt.heard}) == 1
        alike = round((shared + same) / 2, 1) if is_right else chance.randint(0, 10) / 10
        return f"{'The same answer.' if same else 'Different answers.'}\nSimilarity: {alike:.1f}"

    def _judgement(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        is_known = prompt.to_judge in prompt.references
        says_so = is_known is is_right
        found = "the same" if says_so else "not the same"
        return f"The answer is {found}.\nJudgement: {'correct' if says_so else 'incorrect'}"


def _answered(lines: Sequence[str], answer: str, chance: random.Random) -> str:
    confidence = chance.randint(1, 19) / 20
    return "\n".join([*lines, f"Answer: {answer}", f"Confidence: {confidence:.2f}"])


def _last(reasons: Sequence[str], answer: str) -> str:
    """Return the last step that comes to an answer; where none does, that it was said."""
    return next((line for line in reversed(reasons) if line.endswith(f"={answer}")), "as they say")


_KINDS: Mapping[str, Callable[[Teacher, Question, Prompt, str, random.Random, bool], str]] = {
    "answer": Teacher._answer,
    "review": Teacher._review,
    "comment": Teacher._comment,
    "verdict": Teacher._verdict,
    "summary": Teacher._summary,
    "selection": Teacher._selection,
    "similarity": Teacher._similarity,
    "judgement": Teacher._judgement,
}
