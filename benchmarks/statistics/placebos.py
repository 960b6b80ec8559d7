"""Do placebos tell content from exposure? Simulated speakers of whom it is known what they gain from.

Three agents answer and revise once, in the real engine. Their replies are functions of the words in their prompts: a
reply names its question, gives an argument and an answer, and right arguments may convince. Each row simulates speakers
that gain in a known way on a pool of questions, and draws experiments of 100 questions from it, with replacement.

    python benchmarks/statistics/placebos.py [--runs 1000] [--pool 4000] [--questions 100] [--only TEXT]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import (
    Agent,
    Call,
    Decide,
    Everyone,
    Floats,
    Message,
    Method,
    Model,
    OtherQuestion,
    PlaceboKind,
    Ports,
    Question,
    Reading,
    Reads,
    Reply,
    Step,
)
from cortexdsl.engine.placebo import draw_other_question
from cortexdsl.engine.run import run_debate
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims

NAMES = ("ann", "bob", "cai")
KINDS = tuple(kind for kind in get_args(PlaceboKind) if kind != "none")
RIGHT = "right"
ARGUMENT = re.compile(r"about (\w+) it follows step by step that the answer is (\w+)")


@dataclass(frozen=True)
class Speakers:
    """What speakers gain from.

    Attributes
    ----------
    name : str
    convinced : float
        The probability that a wrong agent takes over a right answer whose argument about this question it reads.
    misled : float
        The same of a right agent and a wrong argument.
    lift : float
        How much likelier a wrong agent's second attempt is right if it reads anything that others said, whatever it is.
    again : float
        The probability that an agent answers afresh, as if it had read nothing.
    skills : tuple of float
        The probability of a right first answer of each agent; which agent has which is drawn for each question.
    expected : mapping of reference to verdict
        What is true of `full` against each reference: `gains`, `loses`, or neither (no entry).
    """

    name: str
    convinced: float = 0.0
    misled: float = 0.0
    lift: float = 0.0
    again: float = 0.2
    skills: tuple[float, ...] = (0.9, 0.4, 0.2)
    expected: Mapping[str, str] = field(default_factory=dict)


EVERY = ("alone", *KINDS)
ROWS = (
    Speakers("neither"),
    Speakers("exposure alone", lift=0.4, expected={"alone": "gains"}),
    Speakers("content alone", convinced=0.5, misled=0.1, expected=dict.fromkeys(EVERY, "gains")),
    Speakers("exposure and content", convinced=0.4, misled=0.1, lift=0.3, expected=dict.fromkeys(EVERY[:-1], "gains")),
    Speakers("content that misleads", convinced=0.1, misled=0.6, expected=dict.fromkeys(EVERY, "loses")),
    Speakers(
        "content, of agents that know the same", convinced=0.5, misled=0.1, skills=(0.5, 0.5, 0.5),
        expected={**dict.fromkeys(EVERY, "gains"), "same_length": "loses"},
    ),
)  # fmt: skip


class World:
    """The ports of debates with some speakers."""

    def __init__(self, speakers: Speakers, questions: Sequence[Question]) -> None:
        self.speakers, self.questions = speakers, questions
        self.skills = {}
        for question in questions:
            skills = list(speakers.skills)
            random.Random(f"skills {question.id}").shuffle(skills)
            self.skills[question.id] = dict(zip(NAMES, skills, strict=True))

    def ports(self) -> Ports:
        """Return the ports of the engine."""
        return Ports(self.ask, self.render, self, self.similarity, other=self.other)

    def other(self, question: Question, chance: random.Random) -> OtherQuestion:
        """Draw another question of the pool."""
        return OtherQuestion(draw_other_question(self.questions, question, chance), self.ports())

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Write who is asked, the question, and what is shown."""
        head = f"{view['agent']['name']} {view['question'].id}"
        own, heard = (" ".join(str(turn["text"]) for turn in view[word]) for word in ("own", "heard"))
        return ({"role": "user", "content": f"{head}\n{own}\n{heard}"},)

    async def ask(self, call: Call) -> Reply:
        """Reply as the speakers do; the argument of a reply is right where its answer is."""
        content = call.messages[0]["content"]
        head, own, heard = content.split("\n", 2)
        name, question = head.split()
        chance = random.Random(f"{content} {call.seed}")
        first, second = self._first, self._second
        answer = second(name, own, heard, question, chance) if own else first(name, question, chance)
        text = f"about {question} it follows step by step that the answer is {answer}"
        return Reply(f"{name} {call.seed}", text, "stop", 0, 0)

    def _first(self, name: str, question: str, chance: random.Random) -> str:
        return RIGHT if chance.random() < self.skills[question][name] else chance.choice(("this", "that"))

    def _second(self, name: str, own: str, heard: str, question: str, chance: random.Random) -> str:
        answer = self._first(name, question, chance) if chance.random() < self.speakers.again else own.split()[-1]
        arguments = [said for about, said in ARGUMENT.findall(heard) if about == question]
        if answer != RIGHT:
            if RIGHT in arguments and chance.random() < self.speakers.convinced:
                return RIGHT
            return RIGHT if heard and chance.random() < self.speakers.lift else answer
        wrong = [said for said in arguments if said != RIGHT]
        return wrong[0] if wrong and chance.random() < self.speakers.misled else answer

    def read(self, reads: Reads, text: str) -> Reading:
        """Read the answer."""
        return Reading(text.split()[-1])

    def without_confidence(self, text: str) -> str:
        """Return the reply."""
        return text

    def same(self, answer: str, earlier: str) -> bool:
        """Return whether two answers are one."""
        return answer == earlier

    def place_of(self, answer: str, text: str) -> None:
        """Return None: the answer has no place in the text."""
        return

    async def similarity(self, embedding: str, texts: Sequence[str]) -> Floats:
        """Refuse: no weight of these methods needs similarities."""
        raise NotImplementedError


AGENTS = tuple(Agent(name, Model("simulated", "simulated/speaker")) for name in NAMES)
REVISE = Step("revise", "debater", "revise", hears=Everyone(), memory="last")
FULL = Method(
    "simulated", {"debater": AGENTS}, {"answer": Step("answer", "debater", "answer"), "revise": REVISE},
    ("answer", "revise"), Decide("majority"),
)  # fmt: skip


async def pool_scores(speakers: Speakers, size: int) -> pd.DataFrame:
    """Return the score of each question in each cell: the vote of the openings, the debate, and its placebos."""
    questions = [Question(f"q{number}", f"question {number}") for number in range(size)]
    world = World(speakers, questions)
    methods = {
        kind: replace(FULL, steps={**FULL.steps, "revise": replace(REVISE, placebo=kind)}) for kind in ("none", *KINDS)
    }
    rows = []
    for question in questions:
        row = {}
        for kind, method in methods.items():
            debate = await run_debate(method, question, world.ports(), seed=1, replicate=1)
            row["full" if kind == "none" else kind] = debate.answer == RIGHT
            if kind == "none":
                votes = Counter(turn.answer for turn in debate.turns[: len(NAMES)])
                row["alone"] = votes[RIGHT] >= 2 or (max(votes.values()) == 1 and debate.turns[0].answer == RIGHT)
        rows.append(row)
    return pd.DataFrame(rows).astype(int)


def row(speakers: Speakers, runs: int, pool: int, questions: int) -> str:
    """Return one line of the table."""
    scores = asyncio.run(pool_scores(speakers, pool))
    claims = [f"score(full) > score({other})" for other in EVERY]
    supported = Counter[str]()
    contradicted = Counter[str]()
    for run in range(runs):
        drawn = scores.iloc[np.random.default_rng(run).integers(0, pool, questions)]
        long = drawn.reset_index(drop=True).rename_axis("question_id").reset_index()
        long = long.melt("question_id", var_name="cell", value_name="score").assign(replicate=1)
        table = score_table(long)
        found = evaluate_claims(table, claims, 1, cells_of(table.cells), correction="none")
        for other, verdict in zip(EVERY, found["verdict"], strict=True):
            supported[other] += verdict == "supported"
            contradicted[other] += verdict == "contradicted"

    def shown(other: str) -> str:
        gain = 100 * (scores["full"] - scores[other]).mean()
        truth = speakers.expected.get(other)
        count = {"loses": contradicted}.get(truth or "", supported)[other]
        share = count / runs
        sign = {"gains": "+", "loses": "−"}.get(truth or "", "0")
        return f"{sign} {gain:+.1f}: {share:.1%} ± {np.sqrt(share * (1 - share) / runs):.1%}"

    return f"| {speakers.name} | {runs} | " + " | ".join(shown(other) for other in EVERY) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=4000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    args = parser.parse_args()
    print(f"| speakers gain from | N | {' | '.join(EVERY)} |")
    print("|---" * (2 + len(EVERY)) + "|")
    for speakers in ROWS:
        if args.only in speakers.name:
            print(row(speakers, args.runs, args.pool, args.questions))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
