"""The methods of the four papers, built as terms by hand."""

from typing import Any

from cortexdsl.core import Decide, Everyone, Groups, Keep, Method, OfRole, Repeat, Ring, Sparse
from tests.engine.stage import method

NAMES = "a b c d e f g h"
ANSWER: dict[str, Any] = {}
PAIR = Groups(2)


def team(n: int) -> str:
    return NAMES[: 2 * n - 1]


def with_summarizer(n: int) -> dict[str, str]:
    return {"debater": team(n), "summarizer": "s"}


def voting(n: int) -> Method:
    return method({"answer": ANSWER}, ["answer"], team(n))


def multi_llm(n: int, rounds: int) -> Method:
    return method({"answer": ANSWER, "revise": {"hears": Everyone()}}, ["answer", Repeat(rounds, ("revise",))], team(n))


def neighbor(n: int, rounds: int) -> Method:
    return method({"answer": ANSWER, "revise": {"hears": Ring(1)}}, ["answer", Repeat(rounds, ("revise",))], team(n))


def reconcile(n: int, rounds: int) -> Method:
    steps = {"answer": ANSWER, "revise": {"hears": Everyone(), "shows": ("by_answer",)}}
    return method(steps, ["answer", Repeat(rounds, ("revise",), until="consensus")], team(n), Decide("weighted"))


def chateval(n: int, rounds: int) -> Method:
    steps = {
        "answer": ANSWER,
        "summarize": {"role": "summarizer", "hears": OfRole(("debater",)), "reads": "summary"},
        "revise": {"hears": OfRole(("summarizer",))},
    }
    return method(steps, ["answer", Repeat(rounds, ("summarize", "revise"))], with_summarizer(n))


def chateval_one_by_one(n: int, rounds: int) -> Method:
    words = {"hears": Everyone(), "shows": ("all",), "order": "sequential"}
    steps = {"answer": words, "revise": {**words, "memory": "all"}}
    return method(steps, ["answer", Repeat(rounds, ("revise",))], team(n))


def peer_review(n: int, rounds: int) -> Method:
    steps = {
        "answer": ANSWER,
        "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
        "revise": {"hears": Everyone(), "shows": ("last", "about_me"), "memory": "last"},
    }
    return method(steps, ["answer", Repeat(rounds, ("review", "revise"))], team(n))


def mad_summary(n: int, total: int, memory: str = "all") -> Method:
    steps = {
        "answer": ANSWER,
        "summarize": {"role": "summarizer", "hears": OfRole(("debater",)), "each": "listener", "reads": "summary"},
        "revise": {"hears": OfRole(("summarizer",)), "shows": ("about_me",), "memory": memory},
    }
    return method(steps, ["answer", Repeat(total - 1, ("summarize", "revise"))], with_summarizer(n))


def group(n: int, total: int, per_stage: int = 2, layout: Groups = PAIR) -> Method:
    steps = {
        "answer": ANSWER,
        "discuss": {"hears": layout, "memory": "last"},
        "summarize": {"role": "summarizer", "hears": layout, "each": "group", "reads": "summary"},
        "share": {"hears": OfRole(("summarizer",)), "memory": "last"},
    }
    whole, left = divmod(total, per_stage)
    stages = [Repeat(per_stage - 1, ("discuss",))] * whole + [Repeat(left - 1, ("discuss",))] * bool(left)
    further = [part for stage in stages[1:] for part in ("summarize", "share", stage)]
    return method(steps, ["answer", stages[0], *further], with_summarizer(n))


def cortexdebate(n: int, rounds: int, **words: Any) -> Method:
    weight = "credibility * reliability * intimacy / (self_orientation + 1)"
    steps = {"answer": ANSWER, "revise": {"hears": Sparse(weight, Keep("mean"))}}
    return method(steps, ["answer", Repeat(rounds, ("revise",), until="consensus", **words)], team(n))


def madke(n: int, rounds: int) -> Method:
    pool = {"pool": ("p1", "p2")}
    steps = {
        "select": {"memory": "last", "reads": "selection", "material": pool},
        "speak": {"shows": ("evidence",), "material": pool},
        "respond": {
            "hears": Everyone(),
            "shows": ("last", "evidence"),
            "memory": "last",
            "order": "sequential",
            "material": pool,
        },
        "judge": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "conclude": {"role": "summarizer", "hears": OfRole(("debater",))},
    }
    loop = Repeat(rounds - 1, ("select", "respond", "judge"), until="approved", unless="approved")
    role_agents = {"debater": team(n), "judge": "j", "summarizer": "s"}
    return method(steps, ["select", "speak", "judge", loop, "conclude"], role_agents, Decide("last", role="summarizer"))


def acc(rounds: int) -> Method:
    steps = {
        "answer": {"role": "actor"},
        "comment": {"role": "critic", "hears": OfRole(("actor",)), "reads": "comment"},
        "revise": {"role": "actor", "hears": OfRole(("critic",)), "memory": "last"},
    }
    schedule = ["answer", Repeat(rounds - 1, ("comment", "revise"))]
    return method(steps, schedule, {"actor": "a", "critic": "c"}, Decide("last", role="actor"))


def reflection(trials: int) -> Method:
    steps = {"answer": ANSWER, "reflect": {"memory": "last"}}
    return method(steps, ["answer", Repeat(trials, ("reflect",))], "a", Decide("last", role="debater"))


def self_consistency(samples: int) -> Method:
    return method({"answer": {"samples": samples}}, ["answer"], "a")


def disagreeing(n: int, rounds: int) -> dict[str, str]:
    """b never agrees, and no judge finds agreement."""
    script = {f"{step}:b{k}": "41|0.5" for step in ("answer", "revise", "speak", "respond") for k in range(rounds + 1)}
    return script | {f"judge:j{k}": "disagree|-" for k in range(rounds + 2)}
