"""A small experiment made by hand: what each agent said is known, so that what the explorer finds can be counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.core import EMPTY_REPLY, NO_REPLY, Agent, Call, Debate, Graph, Measured, Model, ProbeCall, Turn
from cortexdsl.metrics.scores import answer_rows, score_rows, write_rows
from cortexdsl.models.call_log.folder import CallLogs
from cortexdsl.models.call_log.records import call_record
from cortexdsl.models.transports.interface import Raw, TokenCounts
from cortexdsl.records import Header, Record, write_debates

MODEL = Model(name="tiny", model="builtin/solver")
AGENTS = ("ann", "bob", "cy")
GOLD = "7"
CELLS = ("sparse", "full", "vote[k=1]")

# Of each question: what ann, bob and cy open with, and what they say after hearing each other. None is unreadable.
SAID: Mapping[str, tuple[tuple[str | None, ...], tuple[str | None, ...]]] = {
    "q-1": (("7", "7", "3"), ("7", "7", "7")),  # cy is set right
    "q-2": (("7", "3", "3"), ("3", "3", "3")),  # ann is led astray
    "q-3": (("7", "7", "7"), ("7", "7", "7")),  # nobody changes
    "q-4": (("7", None, "3"), ("7", None, "3")),  # bob cannot be read, the vote is tied
}
STRAYED = {("full", "q-3"): (("7", "7", "7"), ("3", "3", "7"))}  # here, and here alone, full is wrong and sparse right


def turn(number: int, round_: int, speaker: str, answer: str | None, heard: tuple[int, ...] = (), **more: Any) -> Turn:
    """An answer, with words that say it."""
    said = f"I, {speaker}, see it thus in round {round_}.\nAnswer: {answer}" if answer is not None else "I cannot say."
    given: dict[str, Any] = {
        "turn": number, "execution": round_, "round": round_, "step": "revise" if round_ else "answer",
        "reads": "answer", "speaker": speaker, "about": None, "heard": heard, "recalled": (), "text": said,
        "answer": answer, "unparsed": None if answer is not None else "no answer line",
        "confidence_stated": 0.9, "confidence": 0.6, "prompt_tokens": 50, "completion_tokens": 10,
        "call": f"{number:032x}",
    }  # fmt: skip
    return Turn(**(given | more))


def debate(question: str, cell: str) -> Debate:
    """A debate of three agents over two rounds; in `vote[k=1]` there is the opening alone."""
    opening, after = STRAYED.get((cell, question), SAID[question])
    turns = [turn(number, 0, name, answer) for number, (name, answer) in enumerate(zip(AGENTS, opening, strict=True))]
    graphs = []
    last = opening
    if cell != CELLS[2]:
        last = after
        heard = np.array([[u != v and (cell == "full" or u == 1 or v == 2) for v in range(3)] for u in range(3)])
        weight = np.where(np.eye(3, dtype=bool), np.nan, 0.25) if cell == "sparse" else None
        graphs.append(Graph(1, "revise", AGENTS, AGENTS, weight, heard, {}))
        for v, (name, answer) in enumerate(zip(AGENTS, after, strict=True)):
            turns.append(turn(3 + v, 1, name, answer, tuple(u for u in range(3) if heard[u, v])))
    votes: dict[str, float] = {}
    for answer in last:
        if answer is not None:
            votes[answer] = votes.get(answer, 0.0) + 1
    won = max(votes, key=lambda answer: votes[answer])
    return Debate(
        question, tuple(Agent(name, MODEL) for name in AGENTS), tuple(turns), tuple(graphs), won, votes,
        was_tied=len(set(votes.values())) < len(votes), rounds=len(graphs), stop="rounds",
    )  # fmt: skip


def records(cell: str, replicate: int = 1, questions: Iterable[str] = tuple(SAID)) -> list[Record]:
    """The debates of one cell."""
    return [Record(Header("made", "sums", cell, replicate), debate(question, cell)) for question in questions]


def odd_records(cell: str = "sparse") -> list[Record]:
    """Debates in which the first turn was cut, refuses, came back empty, and calls a tool while another is measured."""
    measured = Measured(
        "consistency",
        0.5,
        None,
        (ProbeCall("a" * 32, "7", None, 40, 9), ProbeCall("b" * 32, None, "no answer line", 40, 9)),
    )
    lost = Measured("consistency", None, "no further reply came")
    first: list[dict[str, Any]] = [
        {"ended": "length"},
        {"text": "I'm sorry, but I can't help with that.", "answer": None, "unparsed": "no answer line"},
        {"text": "", "answer": None, "unparsed": f"{NO_REPLY}: {EMPTY_REPLY}"},
        {"text": '<tool_call>{"name": "sum"}</tool_call>', "answer": None, "unparsed": "no answer line"},
    ]
    found = records(cell)
    turns = [
        [replace(one.debate.turns[0], **said), *one.debate.turns[1:]] for one, said in zip(found, first, strict=True)
    ]
    turns[3][2] = replace(turns[3][2], confidence=0.4, measured=measured)
    turns[3][5] = replace(turns[3][5], confidence=None, measured=lost)
    return [replace(one, debate=replace(one.debate, turns=tuple(own))) for one, own in zip(found, turns, strict=True)]


def slug(cell: str) -> str:
    """What a cell is called in paths."""
    return cell.replace("[", "~").replace("]", "")


def write_cell(root: Path, cell: str, replicate: int = 1, found: list[Record] | None = None) -> Path:
    """Write one cell's records."""
    path = root / "debates" / "sums" / slug(cell) / f"r{replicate}-s01.jsonl"
    write_debates(path, records(cell, replicate) if found is None else found)
    return path


def write_scores(root: Path, cell: str, replicates: Iterable[int] = (1, 2)) -> None:
    """Score one cell as its job would: 1 for the gold answer."""
    found = [record for replicate in replicates for record in records(cell, replicate)]
    part = root / "parts" / "sums" / slug(cell)
    part.mkdir(parents=True, exist_ok=True)

    def grade(question: str, answer: str | None) -> float:
        return float(answer == GOLD)

    write_rows(part / "scores.csv", score_rows(found, grade))
    write_rows(part / "answers.csv", answer_rows(found, grade))


def write_calls(root: Path) -> None:
    """Log the calls of the first replicate; the prompt of turn 0 is told from the others by its number."""
    path = root / "calls" / "sums" / "r1-s01" / "sparse.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    logs = CallLogs(path.parent, path)
    for number in range(6):
        call = Call(MODEL, ({"role": "user", "content": f"What is 3 + 4? This is prompt {number}."},), number)
        logs.write(
            call_record(f"{number:032x}", call, Raw("words", "stop", TokenCounts(50, 10)), seconds=0.5, attempts=1)
        )
    logs.close()


def plan(experiment: str = "made") -> dict[str, Any]:
    """A plan.json of this experiment, as far as the explorer reads it; its spec is nowhere."""
    return {
        "schema_version": 1, "experiment": experiment, "title": "Made by hand", "spec": "specs/made.yaml",
        "seed": 7, "replicates": 2, "questions": {"sums": list(SAID)},
        "datasets": {"sums": {"name": "own", "kind": "number", "metric": "accuracy", "digest": "0"}},
        "agents": [
            {"name": name, "model": MODEL.model, "entry": "tiny", "options": {}, "persona": None} for name in AGENTS
        ],
        "cells": [
            {"cell": cell, "slug": slug(cell), "method": cell.split("[")[0], "protocol": "multi-llm", "aliases": [],
             "axes": {}, "settings": {"rounds": 1}, "agents": list(AGENTS), "match": None, "digest": cell,
             "estimate": None}
            for cell in CELLS
        ],
        "shards": {"sums": [{"number": 1, "replicate": r, "first": 0, "end": 4, "label": f"r{r}-s01"} for r in (1, 2)]},
        "metrics": ["accuracy"], "families": [], "hypotheses": ["accuracy(sparse) > accuracy(full)"],
        "analysis": {"alpha": 0.05}, "limits": {}, "stopping": None, "estimate": {},
    }  # fmt: skip


def write_experiment(root: Path, name: str = "made") -> Path:
    """Write the whole experiment: plan, records of three cells twice, scores, calls, tables, a report."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "plan.json").write_text(json.dumps(plan(name)))
    for cell in CELLS:
        for replicate in (1, 2):
            write_cell(root, cell, replicate)
        write_scores(root, cell)
    write_calls(root)
    (root / "metrics.csv").write_text(
        "dataset,cell,metric,estimate,ci_low,ci_high,n_questions,n_replicates\n"
        + "".join(f"sums,{cell},accuracy,0.75,0.5,0.9,4,2\n" for cell in CELLS)
    )
    (root / "hypotheses.csv").write_text(
        "claim,estimate,ci_low,ci_high,p,p_adjusted,verdict,exploratory,note\n"
        "accuracy(sparse) > accuracy(full),0.25,0.1,0.4,0.01,0.01,supported,False,\n"
    )
    (root / "comparisons.csv").write_text(
        "family,dataset,metric,cell,reference,difference,ci_low,ci_high,p_adjusted\n"
        "main,sums,accuracy,sparse,full,0.25,0.1,0.4,0.01\n"
    )
    (root / "report.html").write_text(
        '<!doctype html><title>report</title><link rel="icon" href="data:,"><a href="view.html#/x/made">debates</a>'
    )
    return root


def with_words(record: Record, text: str) -> Record:
    """Put other words into the mouth of a debate's first speaker."""
    first, *others = record.debate.turns
    return replace(record, debate=replace(record.debate, turns=(replace(first, text=text), *others)))
