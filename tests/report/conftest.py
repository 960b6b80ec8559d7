"""A results folder with invented numbers, small enough to check by eye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.report.build import build_report
from cortexdsl.report.figures import drawing

VERSIONS = {"cortexdsl": "0.1.0", "Python": "3.11"}
HOSTILE = "<script>alert(1)</script> & _x_ | $y$ \\input{z} `q`"

METRICS = """\
dataset,cell,metric,estimate,ci_low,ci_high,n_questions,n_replicates
arithmetic,sparse,accuracy,0.75,0.70,0.80,100,3
arithmetic,sparse,input_tokens_per_agent,2400,2350,2450,100,3
arithmetic,sparse,consensus,0.9,0.85,0.94,100,3
arithmetic,sparse[keep=median],accuracy,0.71,0.66,0.76,100,3
arithmetic,sparse[keep=median],input_tokens_per_agent,2300.4,2250,2350,100,3
arithmetic,sparse[keep=median],consensus,0.91,0.86,0.95,100,3
arithmetic,full,accuracy,0.7,0.65,0.75,100,3
arithmetic,full,input_tokens_per_agent,4900,4800,5000,100,3
arithmetic,full,consensus,0.8,0.75,0.85,100,3
arithmetic,vote,accuracy,0.62,0.57,0.67,100,3
arithmetic,vote,input_tokens_per_agent,320,310,330,100,3
arithmetic,vote,consensus,,,,0,3
"""
COMPARISONS = """\
family,dataset,metric,cell,reference,difference,ci_low,ci_high,test,p,p_adjusted,correction,effect,effect_size
main,arithmetic,accuracy,sparse,full,0.05,0.01,0.09,"sign-flip (9999 draws, se 0.001)",0.012,0.024,holm,d_z,0.2
main,arithmetic,accuracy,vote,full,-0.08,-0.13,0.001,sign-flip exact,0.07,0.07,holm,d_z,-0.19
ablation,arithmetic,accuracy,sparse[keep=median],sparse,-0.04,-0.09,0.01,sign-flip exact,0.2,0.2,none,d_z,-0.1
"""
HYPOTHESES = """\
claim,estimate,ci_low,ci_high,p,p_adjusted,verdict,test,exploratory,note
accuracy(sparse) > accuracy(vote),0.13,0.08,0.18,0.00002,0.00004,supported,sign-flip,False,
input_tokens(sparse) <= 0.3 * input_tokens(full),0.4898,0.47,0.51,0.0001,0.0002,contradicted,ratio,False,a note
accuracy(full) > accuracy(vote),0.08,-0.001,0.16,0.07,0.07,undecided,sign-flip,True,
"""
ROUNDS = """\
dataset,cell,round,accuracy,accuracy_low,accuracy_high,consensus,consensus_low,consensus_high
arithmetic,sparse,0,0.6,0.55,0.65,0.4,0.35,0.45
arithmetic,sparse,1,0.72,0.67,0.77,0.7,0.65,0.75
arithmetic,sparse,2,0.75,0.7,0.8,0.9,0.85,0.94
arithmetic,full,0,0.6,0.55,0.65,0.4,0.35,0.45
arithmetic,full,1,0.68,0.63,0.73,0.75,0.7,0.8
arithmetic,full,2,0.7,0.65,0.75,0.8,0.75,0.85
arithmetic,vote,0,0.62,0.57,0.67,0.4,0.35,0.45
"""
SCORES = """\
dataset,cell,method,replicate,question_id,score,unparsed,rounds,stop,calls,unanswered,unparsed_turns,failures,was_tied
arithmetic,sparse,sparse,1,q1,1,0,2,consensus,15,0,0,0,0
arithmetic,sparse,sparse,1,q2,0,1,2,rounds,15,1,3,2,1
arithmetic,vote,vote,1,q1,1,0,0,rounds,5,0,1,0,0
"""
AGENTS = """\
dataset,cell,agent,model,opening_accuracy,last_accuracy,hears,is_heard,conformity,input_tokens
arithmetic,sparse,quick,builtin/solver,0.5,0.8,3.4,3.1,0.6,487
"""
RELIABILITY = """\
dataset,cell,confidence,low,high,answers,mean_confidence,accuracy
arithmetic,sparse,stated,0.0,0.5,0,,
arithmetic,sparse,stated,0.5,1.0,40,0.9,0.7
arithmetic,sparse,recalibrated,0.5,1.0,40,0.8,0.7
"""
PERSUASION = """\
dataset,cell,speaker,listener,faced,adopted,right_faced,right_adopted,wrong_faced,wrong_adopted
arithmetic,full,quick,slow,4,1,0,0,4,1
arithmetic,sparse,quick,slow,10,2,4,2,6,0
arithmetic,sparse,slow,quick,8,6,6,6,2,0
arithmetic,sparse,slow,vote,3,0,0,0,3,0
"""


def plan(**changes: Any) -> dict[str, Any]:
    """A plan as the workflow writes it."""
    cells = ("sparse", "sparse[keep=median]", "full", "vote")
    return {
        "schema_version": 1,
        "experiment": "invented",
        "title": "Does it pay to hear few?",
        "spec": "specs/there-is-no-such.yaml",
        "spec_digest": "ab12cd",
        "seed": 7,
        "replicates": 3,
        "questions": {"arithmetic": [f"q{number}" for number in range(100)]},
        "agents": [{"name": "quick", "model": "builtin/solver", "options": {"skill": 0.5}, "persona": None}],
        "cells": [
            {
                "cell": cell,
                "method": cell.split("[")[0],
                "protocol": "cortexdebate",
                "settings": {"rounds": 2},
                "digest": f"digest-of-{cell}",
            }
            for cell in cells
        ],
        "metrics": ["accuracy", "input_tokens_per_agent"],
        "families": [{"name": "main", "compare": ["sparse", "vote"], "to": "full", "correction": "holm"}],
        "hypotheses": ["accuracy(sparse) > accuracy(vote)"],
        "analysis": {},
        "limits": {"calls": 50_000, "tokens": None},
    } | changes


def write_results(folder: Path, **changes: Any) -> Path:
    """Write the invented tables and a plan, changed as asked."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan(**changes)))
    tables = {
        "metrics": METRICS, "comparisons": COMPARISONS, "hypotheses": HYPOTHESES, "rounds": ROUNDS, "scores": SCORES,
        "agents": AGENTS, "reliability": RELIABILITY, "persuasion": PERSUASION,
    }  # fmt: skip
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The invented results, to be changed and built by one test."""
    return write_results(tmp_path / "invented")


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The invented results with tests of all cells and confidences, and their whole report; only to be read."""
    folder = write_results(tmp_path_factory.mktemp("reported") / "invented")
    build_report(folder, VERSIONS)
    return folder


@pytest.fixture
def svg_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw figures as SVG only: most of the time of a drawing goes into the other files."""
    write = drawing._written
    monkeypatch.setattr(drawing, "_written", lambda canvas, kind: write(canvas, kind) if kind == "svg" else b"")
