"""Input tokens an agent, method by method, beside the published ones: the tables of docs/benchmarks/methods.md.

Five built-in solvers debate arithmetic questions; nothing is asked of a model. What prompts hold is what every model
would get, so that ratios between methods can be compared with published ratios; how long replies are and when agents
agree differs from model to model.

Run: python benchmarks/methods/input_tokens.py [--questions 100]
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from cortexdsl.core import Agent, Call, Dataset, Method, Model, Ports, Reply
from cortexdsl.engine.run import run_debate
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import load_protocol
from cortexdsl.language.reader import parse
from cortexdsl.metrics.replies import extra_input_tokens, input_tokens_per_agent, total_tokens
from cortexdsl.metrics.view import DebateView, view_debate
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.models.transports.builtin import solve
from cortexdsl.tasks.load import load
from cortexdsl.templates.templates import Templates

PUBLISHED = Path(__file__).with_name("published_cortexdebate.yaml")
SKILLS = (0.40, 0.50, 0.60, 0.65, 0.70)  # those of the quickstart

# Table 7: at most five rounds of debate for all; GroupDebate counts the opening as a round.
METHODS = {
    "voting": ("voting", "{}"),
    "multi-llm": ("multi-llm", "{rounds: 5}"),
    "reconcile": ("reconcile", "{rounds: 5}"),
    "chateval": ("chateval", "{rounds: 5}"),
    "peer-review": ("peer-review", "{rounds: 5}"),
    "group": ("group", "{rounds: 6}"),
    "neighbor": ("neighbor", "{rounds: 5}"),
    "cortexdebate": ("cortexdebate", "{rounds: 5}"),
}
ROWS = METHODS | {
    "peer-review, one round": ("peer-review", "{rounds: 1}"),
    "chateval, and the answers": ("chateval", "{rounds: 5, hears: [summarizer, debater]}"),
}
NEVER = dict.fromkeys(METHODS, "never")
ENDINGS = {
    "never": NEVER,
    "own rule": NEVER | {"reconcile": "consensus", "cortexdebate": "consensus"},
    "on agreement": dict.fromkeys(METHODS, "consensus"),
}
"""When debates end before their last round: none does, those whose papers say so, all."""
PASSAGES = (0, 2000)

# GroupDebate, table 1, arithmetic (arXiv 2409.14051): (agents, rounds) -> tokens of MAD and of GroupDebate, R = 2
GROUP_DEBATE = {(4, 3): (8919, 7109), (4, 4): (15132, 9603), (5, 3): (12127, 9864), (5, 4): (21165, 11640),
                (6, 3): (15871, 12122), (6, 4): (28205, 16450)}  # fmt: skip


def team(count: int) -> tuple[Agent, ...]:
    return tuple(
        Agent(f"agent-{k}", Model(f"m{k}", "builtin/solver", options={"skill": skill}, parameters=k * 2e9, tokens=8e12))
        for k, skill in enumerate((SKILLS * 2)[:count], 1)
    )


def method(protocol: str, settings: str, agents: int = 5) -> Method:
    return resolve(load_protocol(protocol), MethodChoice("methods.measured", parse(settings, "settings"), team(agents)))


async def ask(call: Call) -> Reply:
    solved = solve(call.messages, call.seed, call.model.options)
    used = solved.usage
    return Reply(call_key(call), solved.text, solved.finish_reason, used.prompt_tokens, used.completion_tokens)


async def debates(of: Method, questions: int, passage: int = 0) -> list[DebateView]:
    """Debate arithmetic questions, each with a passage of so many words that says nothing about it."""
    task, templates, embedder = load(Dataset("arithmetic", "arithmetic", size=questions)), Templates(), Embedder()
    done = []
    for question in task.questions:
        extra = {"answer_format": task.format_of(question.id)}
        ports = Ports(
            ask,
            lambda prompt, view, extra=extra: templates.render(prompt, {**view, **extra}),  # type: ignore[misc]
            task.reader(question),
            embedder,
        )
        asked = replace(question, context=" ".join(["word"] * passage))
        done.append(view_debate(await run_debate(of, asked, ports, seed=1, replicate=1), lambda *_: 0.0))
    return done


def mean(values: Sequence[float | None]) -> float:
    return sum(value or 0.0 for value in values) / len(values)


def prompts_per_agent(seen: Sequence[DebateView]) -> float:
    turns = sum(turn.speaker in view.debaters for view in seen for turn in view.debate.turns)
    return turns / sum(len(view.debaters) for view in seen)


def published_ratios() -> dict[str, list[float]]:
    """Table 7 of CortexDebate: input tokens an agent over those of voting, dataset by dataset."""
    tokens = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))["input_tokens"]
    return {name: [a / b for a, b in zip(tokens[name], tokens["voting"], strict=True)] for name in METHODS}


def ratios(questions: int, endings: Mapping[str, str], passage: int) -> dict[str, tuple[float, float]]:
    """Input tokens an agent over those of voting, and prompts an agent, method by method."""
    spent: dict[str, tuple[float, float]] = {}
    for name, (protocol, settings) in ROWS.items():
        said = settings if name == "voting" else settings.replace("}", f", until: {endings[protocol]}}}")
        views = asyncio.run(debates(method(protocol, said), questions, passage))
        spent[name] = mean([input_tokens_per_agent(view) for view in views]), prompts_per_agent(views)
    one = spent["voting"][0]
    return {name: (tokens / one, prompts) for name, (tokens, prompts) in spent.items()}


def table_7(questions: int) -> None:
    published = published_ratios()
    found = {
        (ending, passage): ratios(questions, endings, passage)
        for ending, endings in ENDINGS.items()
        for passage in PASSAGES
    }
    heads = [f"{ending}: {head}" for ending in ENDINGS for head in ("prompts", *(f"{p} words" for p in PASSAGES))]
    print(f"| method | {' | '.join(heads)} | published |\n|---{'|---' * (len(heads) + 1)}|")
    for name in sorted(ROWS, key=lambda name: found["never", 0][name][0]):
        cells = []
        for ending in ENDINGS:
            cells += [f"{found[ending, 0][name][1]:.1f}", *(f"{found[ending, p][name][0]:.2f}" for p in PASSAGES)]
        told = published.get(name)
        cells += [f"{mean(told):.2f} ({min(told):.2f} to {max(told):.2f})" if told else ""]
        print(f"| {name} | {' | '.join(cells)} |")
    views = asyncio.run(debates(method(*METHODS["chateval"]), questions))
    print(f"\nchateval's summarizer reads {mean([extra_input_tokens(view) for view in views]):,.0f} tokens besides.\n")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a set of debates that the model needs.

    Attributes
    ----------
    agents, rounds : int
        M debaters; T rounds of answers, the opening included.
    question, reply : float
        Q, tokens of a question's prompt; C, tokens of a reply or summary (the paper's bound; here their mean).
    """

    agents: int
    rounds: int
    question: float
    reply: float


def mad_tokens(sizes: Sizes) -> float:
    """Return M T Q + (M^2 T + M T^2) C: multi-agent debate with summaries, history kept whole.

    The paper states the order of growth alone; the constant of every term is taken as 1.
    """
    m, t = sizes.agents, sizes.rounds
    return m * t * sizes.question + (m**2 * t + m * t**2) * sizes.reply


def group_tokens(sizes: Sizes, groups: int, rounds_per_stage: int) -> float:
    """Return M T Q + (M^2 T / N + M S N) C: debate in N groups and S = ceil(T / R) stages.

    Parameters
    ----------
    sizes : Sizes
    groups : int
        N, in 1..M.
    rounds_per_stage : int
        R, at least 1.
    """
    m, t = sizes.agents, sizes.rounds
    if not 1 <= groups <= m:
        raise ValueError(f"{groups} groups of {m} agents: there must be 1 to {m}")
    s = stages(t, rounds_per_stage)
    return m * t * sizes.question + (m**2 * t / groups + m * s * groups) * sizes.reply


def stages(rounds: int, rounds_per_stage: int) -> int:
    """Return S = ceil(T / R): the last stage may be cut short."""
    if rounds < 1 or rounds_per_stage < 1:
        raise ValueError("rounds and rounds_per_stage must be at least 1")
    return math.ceil(rounds / rounds_per_stage)


def best_groups(agents: int, rounds: int, rounds_per_stage: int) -> float:
    """Return sqrt(M T / S), the number of groups that costs least under the model; not rounded."""
    return math.sqrt(agents * rounds / stages(rounds, rounds_per_stage))


def sizes_of(views: Iterable[DebateView]) -> Sizes | None:
    """Measure M, T, Q and C on debates of one cell; None if tokens are unknown or there is no debate.

    M and T are the largest seen; Q is the mean prompt of an opening answer, C the mean of all completions.
    """
    seen = list(views)
    prompts = [turn.prompt_tokens for view in seen for turn in view.answers[0]]
    replies = [turn.completion_tokens for view in seen for turn in view.debate.turns]
    known_prompts = [count for count in prompts if count is not None]
    known_replies = [count for count in replies if count is not None]
    if not prompts or len(known_prompts) < len(prompts) or len(known_replies) < len(replies):
        return None
    return Sizes(
        agents=max(len(view.debaters) for view in seen),
        rounds=max(len(view.answers) for view in seen),
        question=sum(known_prompts) / len(known_prompts),
        reply=sum(known_replies) / len(known_replies),
    )


def token_model(questions: int) -> None:
    print("| agents, rounds | MAD measured | model | GD measured | model | best N | GD / MAD measured | model "
          "| published |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for (agents, rounds), (mad, gd) in GROUP_DEBATE.items():
        debated = asyncio.run(debates(method("mad-summary", f"{{rounds: {rounds}}}", agents), questions))
        grouped = asyncio.run(debates(method("group", f"{{rounds: {rounds}}}", agents), questions))
        sizes = [sizes_of(views) for views in (debated, grouped)]
        assert None not in sizes
        models = mad_tokens(_known(sizes[0])), group_tokens(_known(sizes[1]), 2, 2)
        spent = [mean([total_tokens(view) for view in views]) for views in (debated, grouped)]
        print(
            f"| {agents}, {rounds} | {spent[0]:,.0f} | {models[0]:,.0f} | {spent[1]:,.0f} | {models[1]:,.0f} "
            f"| {best_groups(agents, rounds, 2):.1f} | {spent[1] / spent[0]:.2f} | {models[1] / models[0]:.2f} "
            f"| {gd / mad:.2f} |"
        )


def _known(sizes: Sizes | None) -> Sizes:
    assert sizes is not None
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100)
    args = parser.parse_args()
    table_7(args.questions)
    token_model(args.questions)


if __name__ == "__main__":
    main()
