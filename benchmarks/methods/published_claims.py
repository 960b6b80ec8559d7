"""Which published claims of CortexDebate would be significant? The tables of docs/benchmarks/published-claims.md.

A published table has no question-level answers, so the discordance of two methods (the share of questions on which
exactly one is right) is unknown. It decides. Everything here is therefore a function of it.

    python benchmarks/methods/published_claims.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.inference.roots import crossing
from cortexdsl.stats.planning.power import POWER, paired_power

FIGURES = Path(__file__).with_name("published_cortexdebate.yaml")
OURS = "cortexdebate"
SHARES = (0.1, 0.2, 0.3)


def expected_p(difference: float, discordance: float, questions: int) -> float:
    """McNemar's exact p if the discordant questions split as the published difference says.

    Fractions of questions (three runs) are kept: the binomial tail is interpolated by the beta distribution.
    """
    pairs = max(discordance, difference) * questions
    losses = (pairs - difference * questions) / 2
    return float(min(1.0, 2 * stats.beta.sf(0.5, losses + 1, max(pairs - losses, 1e-9))))


def largest_discordance(difference: float, questions: int, alpha: float) -> float:
    """The discordance up to which a difference is significant; NaN where even one-sided discordance is not enough."""

    def excess(discordance: float) -> float:
        return expected_p(difference, discordance, questions) - alpha

    if excess(difference) > 0:
        return float("nan")
    return float(optimize.brentq(excess, difference, 1.0)) if excess(1.0) > 0 else 1.0


def independent(first: float, second: float) -> float:
    """The discordance of two methods whose right answers have nothing to do with each other."""
    return first * (1 - second) + second * (1 - first)


def pairs(figures: dict[str, Any]) -> pd.DataFrame:
    """Every baseline and dataset of Table 1."""
    rows = []
    for baseline, values in figures["accuracy"].items():
        for at, dataset in enumerate(figures["datasets"]) if baseline != OURS else ():
            ours, theirs = figures["accuracy"][OURS][at] / 100, values[at] / 100
            spread = [1.5 * figures["variance"][name][at] for name in (OURS, baseline)]
            runs = (ours - theirs) * 100 / np.sqrt(max(sum(spread), 1e-9) / 3)
            rows.append(
                {
                    "baseline": baseline,
                    "dataset": dataset,
                    "difference": ours - theirs,
                    "independent": independent(ours, theirs),
                    **{share: expected_p(ours - theirs, share, 100) for share in SHARES},
                    "runs": float(2 * stats.t.sf(abs(runs), 4)),
                }
            )
    return pd.DataFrame(rows)


def head(title: str, *columns: str) -> None:
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row_of(*fields: object) -> None:
    print(f"| {' | '.join(map(str, fields))} |")


def questions_for(difference: float, variance: float) -> float:
    """Return the questions that show a difference at 80 % power (Miller 2024, arXiv 2411.00640, Eq. 9)."""
    return float((stats.norm.isf(0.025) + stats.norm.isf(1 - POWER)) ** 2 * variance / difference**2)


def main() -> None:
    figures = yaml.safe_load(FIGURES.read_text("utf-8"))
    found = pairs(figures)
    best = found.loc[found.groupby("dataset", sort=False)["difference"].idxmin()]

    shares = [f"p at {share:.0%}" for share in SHARES]
    head("Against the best baseline of each dataset", "dataset", "best baseline", "difference", *shares,
         "significant up to", "after Holm (8)")  # fmt: skip
    for row in best.to_dict("records"):
        gain = row["difference"]
        limits = [largest_discordance(gain, 100, alpha) for alpha in (0.05, 0.05 / 8)]
        shown = ["never" if np.isnan(limit) else f"{limit:.0%}" for limit in limits]
        row_of(row["dataset"], row["baseline"], f"{100 * gain:+.2f}", *(f"{row[s]:.2g}" for s in SHARES), *shown)

    head("All 56 comparisons: how many are significant", "discordance", "unadjusted", "Holm over 56")
    cases = {f"{share:.0%}": found[share].to_numpy() for share in SHARES}
    cases["as if independent"] = np.array(
        [expected_p(row["difference"], row["independent"], 100) for row in found.to_dict("records")]
    )
    cases["t test over the 3 runs (wrong unit)"] = found["runs"].to_numpy()
    for name, p in cases.items():
        row_of(name, (p <= 0.05).sum(), (adjust(p) <= 0.05).sum())

    head("What 100 questions can show", "discordance", "smallest difference at 80 % power",
         "questions for 2.33 points", "for 5.33 points")  # fmt: skip
    for share in SHARES:
        needed = [f"{questions_for(d, share - d**2):,.0f}" for d in (0.0233, 0.0533)]
        smallest = crossing(lambda lead, share=share: paired_power(100, share, lead) - POWER, 1e-6, share, 1e-5)
        row_of(f"{share:.0%}", f"{100 * smallest:.1f}", *needed)

    spread = np.array(list(figures["variance"].values())) * 1.5
    accuracies = np.array(list(figures["accuracy"].values())) / 100
    binomial = 100 * (accuracies * (1 - accuracies)).mean()
    print("\n### Spread of the runs\n")
    print(f"Mean variance of a run: {spread.mean():.2f} squared points; of 100 independent answers: {binomial:.1f}.")

    table = pd.DataFrame(figures["accuracy"], index=figures["datasets"])
    datasets, methods = table.shape
    ranks = (-table).rank(axis=1).mean()
    error = (methods * (methods + 1) / (6 * datasets)) ** 0.5
    nemenyi = {
        name: stats.studentized_range.sf(2**0.5 * abs(ranks[OURS] - ranks[name]) / error, methods, np.inf)
        for name in table
    }
    friedman = float(stats.friedmanchisquare(*(-table).to_numpy().T).statistic)
    statistic = (datasets - 1) * friedman / (datasets * (methods - 1) - friedman)
    p = stats.f.sf(statistic, methods - 1, (methods - 1) * (datasets - 1))
    width = stats.studentized_range.isf(0.05, methods, np.inf) / 2**0.5 * error
    names = [name for name in table if name != OURS]
    wilcoxon = adjust([float(stats.wilcoxon(table[OURS], table[name], method="exact").pvalue) for name in names])
    head("Over the eight datasets", "baseline", "mean rank", "Nemenyi p", "Wilcoxon p, Holm over 7")
    for name, p_value in zip(names, wilcoxon, strict=True):
        row_of(name, f"{ranks[name]:.2f}", f"{nemenyi[name]:.2g}", f"{p_value:.3f}")
    print(f"\nFriedman {friedman:.2f}, Iman-Davenport F {statistic:.2f} (p {p:.1e});", end=" ")
    print(f"critical difference of ranks {width:.2f}.")

    head("A thousand questions (Table 5)", "dataset", "questions", "best baseline", "difference", *shares,
         "significant up to")  # fmt: skip
    thousand = figures["thousand"]
    for at, (dataset, size) in enumerate(zip(thousand["datasets"], thousand["questions"], strict=True)):
        name = max(names, key=lambda other: thousand[other][at])
        gain = (thousand[OURS][at] - thousand[name][at]) / 100
        row_of(dataset, size, name, *gains(gain, size))

    head("Components (Table 2, mean of eight datasets, 800 questions)", "variant", "difference", *shares,
         "significant up to")  # fmt: skip
    for name, value in figures["components"].items():
        gain = (figures["components"]["sparse+mdm"] - value) / 100
        if gain:
            row_of(name, *gains(gain, 800))

    print("\n### Input tokens (Table 7)\n")
    tokens = {name: np.array(values) for name, values in figures["input_tokens"].items()}
    for name in ("multi-llm", "neighbor"):
        cut = 1 - tokens[OURS] / tokens[name]
        print(f"- against {name}: {cut.min():.2%} to {cut.max():.2%} fewer, on {(cut > 0).sum()} of 8 datasets")


def gains(gain: float, questions: int) -> list[str]:
    """A difference, its p at each discordance, and the largest discordance at which it is significant."""
    p = [f"{expected_p(gain, share, questions):.2g}" for share in SHARES]
    return [f"{100 * gain:+.2f}", *p, f"{largest_discordance(gain, questions, 0.05):.0%}"]


if __name__ == "__main__":
    main()
