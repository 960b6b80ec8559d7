"""Every number of the report's tables, computed again from the debate records by a few lines that share no code."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cortexdsl.stats.inference.paired import Paired
from tests.workflow.bench import Bench

pytestmark = pytest.mark.workflow
Debate = dict[str, Any]
BINS = ((0.8, 0.8), (0.6, 0.6))  # Sun et al. 2025, Eq. 2: at least the first becomes the second; below 0.3 is 0.3


def golds(bench: Bench) -> dict[str, str]:
    """The right answer to each question, from the text that the models were sent, by precedence."""
    asked = {}
    for log in (bench.results("small") / "calls").rglob("*.jsonl"):
        for line in map(json.loads, log.read_text().splitlines()):
            asked[line["key"]] = line["messages"][-1]["content"]
    found = {}
    for debate in bench.debates("small"):
        text = asked[debate["turns"][0]["call"]]
        expression = re.search(r"result of ([\d+*-]+)\?", text)
        assert expression is not None
        terms = re.findall(r"([+-]?)(\d+(?:\*\d+)*)", expression[1])
        value = sum((-1 if sign == "-" else 1) * math.prod(map(int, term.split("*"))) for sign, term in terms)
        found[debate["question_id"]] = str(value)
    return found


def answers(debate: Debate, round_: int) -> list[str | None]:
    """What the debaters answered in a round, the last one carried forward."""
    round_ = min(round_, debate["rounds"])
    return [turn["answer"] for turn in debate["turns"] if turn["round"] == round_ and turn["reads"] == "answer"]


def agreed(debate: Debate, round_: int = 99) -> float:
    return float(len(set(answers(debate, round_))) == 1)


def per_agent(debate: Debate) -> float:
    spoken: defaultdict[str, int] = defaultdict(int)
    for turn in debate["turns"]:
        spoken[turn["speaker"]] += turn["prompt_tokens"]
    return sum(spoken.values()) / len(spoken)


def by_question(bench: Bench, cell: str, measure: Callable[[Debate], float]) -> dict[str, float]:
    """A measure of each question: the mean over its two replicates."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for debate in bench.debates("small"):
        if debate["cell"] == cell:
            found[debate["question_id"]].append(measure(debate))
    assert {len(values) for values in found.values()} == {2}
    return {question: sum(values) / 2 for question, values in found.items()}


def mean(values: Any) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def shown(bench: Bench, table: str) -> list[dict[str, str]]:
    """A table of the report as it stands in tables/."""
    with (bench.results("small") / "tables" / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def measures(original: Bench) -> dict[str, Callable[[Debate], float]]:
    right = golds(original)
    return {
        "accuracy": lambda debate: float(debate["answer"] == right[debate["question_id"]]),
        "input_tokens_per_agent": per_agent,
        "consensus": agreed,
    }


def test_scores_have_one_row_for_each_debate(original: Bench, measures: dict[str, Callable[[Debate], float]]) -> None:
    """Five cells, two replicates, six questions; score, calls and tokens as the records have them."""
    rows = original.rows("small", "scores.csv")
    debates = {(d["cell"], str(d["replicate"]), d["question_id"]): d for d in original.debates("small")}
    assert len(rows) == len(debates) == 5 * 2 * 6
    for row in rows:
        debate = debates.pop((row["cell"], row["replicate"], row["question_id"]))
        assert float(row["score"]) == measures["accuracy"](debate)
        assert int(row["calls"]) == len(debate["turns"])
        assert int(row["input_tokens"]) == sum(turn["prompt_tokens"] for turn in debate["turns"])
        assert int(row["output_tokens"]) == sum(turn["completion_tokens"] for turn in debate["turns"])
        assert (int(row["rounds"]), row["stop"]) == (debate["rounds"], debate["stop"])
    assert debates == {}


def test_metrics_are_means_over_questions(original: Bench, measures: dict[str, Callable[[Debate], float]]) -> None:
    """In metrics.csv and in the report's table; each interval holds its estimate."""
    rows = {(row["cell"], row["metric"]): row for row in original.rows("small", "metrics.csv")}
    wide = {row["cell"]: row for row in shown(original, "metrics")}
    for cell, (metric, measure) in itertools.product(wide, measures.items()):
        expected = mean(by_question(original, cell, measure).values())
        row = rows[cell, metric]
        assert float(row["estimate"]) == pytest.approx(expected, abs=1e-12)
        assert float(row["ci_low"]) <= float(row["estimate"]) <= float(row["ci_high"])
        assert float(wide[cell][metric]) == float(row["estimate"])
        assert (row["n_questions"], row["n_replicates"]) == ("6", "2")


def test_rounds_tell_consensus_after_each_round(original: Bench) -> None:
    """An early stop is carried forward; agents' own accuracy and the final accuracy, too."""
    right = golds(original)
    rows = original.rows("small", "rounds.csv")
    table = {(row["cell"], row["round"]): row["consensus"] for row in shown(original, "rounds")}
    for row in rows:
        if row["cell"] == "matched":  # one agent's samples: no debate, so nobody who could agree in rounds
            continue
        round_ = int(row["round"])
        expected = mean(by_question(original, row["cell"], lambda d, r=round_: agreed(d, r)).values())  # type: ignore[misc]
        assert float(row["consensus"]) == pytest.approx(expected, abs=1e-12)
        assert table[row["cell"], row["round"]] == row["consensus"]
        own = by_question(
            original,
            row["cell"],
            lambda d, r=round_: mean(a == right[d["question_id"]] for a in answers(d, r)),  # type: ignore[misc]
        )
        assert float(row["agent_accuracy"]) == pytest.approx(mean(own.values()), abs=1e-12)


def test_comparisons_are_paired_by_question_and_corrected_within_their_family(
    original: Bench, measures: dict[str, Callable[[Debate], float]]
) -> None:
    """Tango's score of answers, all 6^6 resamples of tokens, certainty by the plan, and Holm's steps."""
    rows = original.rows("small", "comparisons.csv")
    families: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        one = by_question(original, row["cell"], measures[row["metric"]])
        other = by_question(original, row["reference"], measures[row["metric"]])
        differences = [one[question] - other[question] for question in one]
        assert float(row["difference"]) == pytest.approx(mean(differences), abs=1e-12)
        if "bootstrap" in row["test"]:  # of drawn resamples: 4 standard errors of 10,000 draws at most
            assert float(row["p"]) == pytest.approx(resampled(differences), abs=0.02), row
        elif row["test"].startswith("none: all questions have the same value"):
            assert np.ptp(differences) <= 1e-12
            assert row["p"] == row["p_adjusted"] == ""
        elif row["test"].startswith("certain by the plan"):
            assert len(set(differences)) == 1
            assert float(row["p"]) == float(differences[0] == 0)
        else:
            assert float(row["p"]) == pytest.approx(score_p(differences, is_exact="exact" in row["test"]), abs=1e-12), (
                row
            )
        assert int(row["discordant"]) == sum(abs(difference) > 1e-12 for difference in differences)
        families[row["family"]].append(row)
    assert {name: len(members) for name, members in families.items()} == {"main": 9, "ablation": 3}
    for name, members in families.items():
        adjusted = holm([float(row["p"] or 1) for row in members])
        assert [float(row["p_adjusted"] or 1) for row in members] == pytest.approx(adjusted, abs=1e-12)
        table = shown(original, f"comparisons-{name}")
        assert [(row["cell"], row["metric"], row["p_adjusted"]) for row in table] == [
            (row["cell"], row["metric"], row["p_adjusted"]) for row in members
        ]


def score_p(differences: list[float], *, is_exact: bool) -> float:
    """The exact p of pairs; else the larger p of Student's t and of the score, with half a pseudo-question."""
    n, total, square = len(differences), abs(sum(differences)), sum(d * d for d in differences)
    if is_exact:
        wins, losses = (sum(sign * d > 0 for d in differences) for sign in (1, -1))
        return min(1.0, 2 * min(Paired(wins, losses, n).sides(0.0)))
    step = (square + 1) / (sum(map(abs, differences)) + 1)
    t = total / n / math.sqrt((square - total**2 / n) / (n * (n - 1)) + 0.5 * (step / n) ** 2)
    score = total / n * (n + 0.5) / math.sqrt(square + 0.5 * step**2)
    return float(2 * max(stats.t.sf(t, n - 0.5), stats.norm.sf(score)))


def resampled(differences: list[float]) -> float:
    """The larger of two p of the studentised bootstrap, of |t| and of the nearer tail, over all resamples."""
    values = np.array(differences)
    picks = np.array(list(itertools.product(range(len(values)), repeat=len(values))))
    drawn = values[picks]
    error = values.std(ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (drawn.mean(axis=1) - values.mean()) / drawn.std(axis=1, ddof=1)
    t = t[~np.isnan(t)]
    observed = values.mean() / error
    symmetric = float(np.mean(np.abs(t) >= abs(observed)))
    tail = min(float(np.mean(t >= observed)), float(np.mean(t <= observed)))
    return min(1.0, max(symmetric, 2 * tail))


def holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    adjusted, least = [0.0] * len(p), 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = least
    return adjusted


def test_the_claim_is_estimated_as_the_difference_of_its_two_cells(
    original: Bench, measures: dict[str, Callable[[Debate], float]]
) -> None:
    """`accuracy(sparse) > accuracy(full)`; six questions cannot decide it."""
    (row,) = original.rows("small", "hypotheses.csv")
    one, other = (by_question(original, cell, measures["accuracy"]) for cell in ("sparse", "full"))
    assert float(row["estimate"]) == pytest.approx(mean(one.values()) - mean(other.values()), abs=1e-12)
    assert row["verdict"] == "undecided"
    assert shown(original, "hypotheses")[0]["estimate"] == row["estimate"]


def test_health_counts_what_the_records_hold(original: Bench) -> None:
    """Debates, calls, unreadable turns, ties and how debates ended."""
    for row in shown(original, "health"):
        debates = [debate for debate in original.debates("small") if debate["cell"] == row["cell"]]
        turns = [turn for debate in debates for turn in debate["turns"]]
        stops = Counter(debate["stop"] for debate in debates)
        assert (int(row["debates"]), int(row["calls"])) == (len(debates), len(turns))
        assert int(row["unparsed_turns"]) == sum(turn["unparsed"] is not None for turn in turns)
        assert int(row["was_tied"]) == sum(debate["was_tied"] for debate in debates)
        assert int(row["ended_by_consensus"]) == stops["consensus"]
        assert int(row["ended_by_rounds"]) == stops["rounds"]


def test_a_matched_budget_has_as_many_samples_as_the_debate_has_calls(original: Bench) -> None:
    """Question by question and replicate by replicate."""
    calls = {
        (d["cell"], d["replicate"], d["question_id"]): len(d["turns"]) for d in original.debates("small")
    }  # fmt: skip
    matched = {key[1:]: count for key, count in calls.items() if key[0] == "matched"}
    assert matched == {key[1:]: count for key, count in calls.items() if key[0] == "full"}


def test_edges_and_weights_of_cortexdebate_follow_from_confidences_and_texts(original: Bench) -> None:
    """Eq. 2 to 10 of the paper, written again: to 1e-9, the kept edges exactly."""
    graphs = 0
    for debate in original.debates("small"):
        if debate["cell"].partition("[")[0] != "sparse":
            continue
        top = None if debate["cell"] == "sparse" else 1
        names = [agent["name"] for agent in debate["agents"]]
        n = len(names)
        kept_before: list[list[list[bool]]] = []
        for d, graph in enumerate(debate["graphs"], 1):
            assert (graph["round"], graph["speakers"], graph["listeners"]) == (d, names, names)
            rounds = [{t["speaker"]: t for t in debate["turns"] if t["round"] == r} for r in range(d)]
            for u, v in itertools.product(range(n), repeat=2):
                if u == v:
                    assert graph["weight"][u][v] is None
                    assert graph["heard"][u][v] is False
                    continue
                agent = debate["agents"][u]
                c = 1 / (406.4 / agent["parameters"] ** 0.34 + 410.7 / agent["tokens"] ** 0.28 + 1.69)
                r = mean(recalibrated(turns[names[u]]["confidence_stated"]) for turns in rounds)
                sim = mean(cosine(turns[names[u]]["text"], turns[names[v]]["text"]) for turns in rounds)
                s = (d - 1) * (n - 1) - sum(sum(heard[u]) for heard in kept_before)
                weight = c * r * (1 - sim) / (s + 1)
                assert graph["weight"][u][v] == pytest.approx(weight, abs=1e-9)
            for v in range(n):
                incoming = {u: graph["weight"][u][v] for u in range(n) if u != v}
                least = sorted(incoming.values())[-top] if top else mean(incoming.values())
                expected = {u for u, weight in incoming.items() if weight >= least * (1 - 1e-9)}
                assert {u for u in range(n) if graph["heard"][u][v]} == expected
                (turn,) = (t for t in debate["turns"] if t["round"] == d and t["speaker"] == names[v])
                assert set(turn["heard"]) == {rounds[-1][names[u]]["turn"] for u in expected}
            kept_before.append(graph["heard"])
            graphs += 1
    assert graphs > 20


def recalibrated(stated: float) -> float:
    for least, value in BINS:
        if stated >= least:
            return value
    return max(stated, 0.3)


def cosine(one: str, other: str) -> float:
    """The built-in similarity of two replies, from its description in docs/methods.md."""
    first, second = ngrams(one), ngrams(other)
    return sum(value * second.get(place, 0.0) for place, value in first.items())


def ngrams(text: str) -> dict[tuple[str, int], float]:
    """Words and pairs of words by CRC-32 into 1,024 places, every three bytes by multiplication into 2,048 others."""
    flat = " ".join(text.lower().split())
    words = re.findall(r"\w+", flat)
    words += [f"{one} {two}" for one, two in itertools.pairwise(words)]
    data = f" {flat} ".encode()
    triples = (data[k : k + 3] for k in range(len(data) - 2))
    halves = (
        Counter(("word", zlib.crc32(word.encode()) % 1024) for word in words),
        Counter(("bytes", (int.from_bytes(three, "big") * 2654435761 % 2**32) >> 21) for three in triples),
    )
    vector: dict[tuple[str, int], float] = {}
    for half in halves:
        logs = {place: math.log(1 + count) for place, count in half.items()}
        length = math.sqrt(sum(value**2 for value in logs.values()))
        vector |= {place: value / length / math.sqrt(2) for place, value in logs.items()}
    return vector
