"""Golden listening traces: exactly which earlier turns each prompt of a method holds.

A trace has a line for each call: step:speaker and round, `>` whom it is about, `<-` turns heard, `|` own turns.
"""

from cortexdsl.core import Method
from tests.engine.published import (
    acc,
    chateval,
    chateval_one_by_one,
    group,
    mad_summary,
    madke,
    multi_llm,
    neighbor,
    peer_review,
    reflection,
    self_consistency,
    voting,
)

TRACES: dict[str, tuple[Method, str]] = {
    "voting": (
        voting(3),
        """
        answer:a0
        answer:b0
        answer:c0
        """,
    ),
    "multi-llm": (
        multi_llm(3, 2),
        """
        answer:a0
        answer:b0
        answer:c0
        revise:a1 <- answer:b0 answer:c0
        revise:b1 <- answer:a0 answer:c0
        revise:c1 <- answer:a0 answer:b0
        revise:a2 <- revise:b1 revise:c1
        revise:b2 <- revise:a1 revise:c1
        revise:c2 <- revise:a1 revise:b1
        """,
    ),
    "neighbor": (
        neighbor(5, 1),
        """
        answer:a0
        answer:b0
        answer:c0
        answer:d0
        answer:e0
        revise:a1 <- answer:b0 answer:e0
        revise:b1 <- answer:a0 answer:c0
        revise:c1 <- answer:b0 answer:d0
        revise:d1 <- answer:c0 answer:e0
        revise:e1 <- answer:a0 answer:d0
        """,
    ),
    "chateval": (
        chateval(2, 2),
        """
        answer:a0
        answer:b0
        summarize:s1 <- answer:a0 answer:b0
        revise:a1 <- summarize:s1
        revise:b1 <- summarize:s1
        summarize:s2 <- revise:a1 revise:b1
        revise:a2 <- summarize:s2
        revise:b2 <- summarize:s2
        """,
    ),
    "chateval-one-by-one": (
        chateval_one_by_one(2, 1),
        """
        answer:a0
        answer:b0 <- answer:a0
        revise:a1 <- answer:b0 | answer:a0
        revise:b1 <- answer:a0 revise:a1 | answer:b0
        """,
    ),
    "peer-review": (
        peer_review(3, 1),
        """
        answer:a0
        answer:b0
        answer:c0
        review:a1>b <- answer:b0
        review:a1>c <- answer:c0
        review:b1>a <- answer:a0
        review:b1>c <- answer:c0
        review:c1>a <- answer:a0
        review:c1>b <- answer:b0
        revise:a1 <- answer:b0 review:b1>a answer:c0 review:c1>a | answer:a0
        revise:b1 <- answer:a0 review:a1>b answer:c0 review:c1>b | answer:b0
        revise:c1 <- answer:a0 review:a1>c answer:b0 review:b1>c | answer:c0
        """,
    ),
    "mad-summary": (  # the history is kept whole: a remembers its answers and all that it was shown
        mad_summary(2, 3),
        """
        answer:a0
        answer:b0
        summarize:s1>a <- answer:b0
        summarize:s1>b <- answer:a0
        revise:a1 <- summarize:s1>a | answer:a0
        revise:b1 <- summarize:s1>b | answer:b0
        summarize:s2>a <- revise:b1
        summarize:s2>b <- revise:a1
        revise:a2 <- summarize:s2>a | answer:a0 summarize:s1>a revise:a1
        revise:b2 <- summarize:s2>b | answer:b0 summarize:s1>b revise:b1
        """,
    ),
    "mad-forget": (
        mad_summary(2, 3, memory="last"),
        """
        answer:a0
        answer:b0
        summarize:s1>a <- answer:b0
        summarize:s1>b <- answer:a0
        revise:a1 <- summarize:s1>a | answer:a0
        revise:b1 <- summarize:s1>b | answer:b0
        summarize:s2>a <- revise:b1
        summarize:s2>b <- revise:a1
        revise:a2 <- summarize:s2>a | revise:a1
        revise:b2 <- summarize:s2>b | revise:b1
        """,
    ),
    "group": (  # the seed puts a, c, d and b, e together; T = 5 cuts the third stage short after its first round
        group(5, 5),
        """
        answer:a0
        answer:b0
        answer:c0
        answer:d0
        answer:e0
        discuss:a1 <- answer:c0 answer:d0 | answer:a0
        discuss:b1 <- answer:e0 | answer:b0
        discuss:c1 <- answer:a0 answer:d0 | answer:c0
        discuss:d1 <- answer:a0 answer:c0 | answer:d0
        discuss:e1 <- answer:b0 | answer:e0
        summarize:s2>group1 <- discuss:a1 discuss:c1 discuss:d1
        summarize:s2>group2 <- discuss:b1 discuss:e1
        share:a2 <- summarize:s2>group1 summarize:s2>group2 | discuss:a1
        share:b2 <- summarize:s2>group1 summarize:s2>group2 | discuss:b1
        share:c2 <- summarize:s2>group1 summarize:s2>group2 | discuss:c1
        share:d2 <- summarize:s2>group1 summarize:s2>group2 | discuss:d1
        share:e2 <- summarize:s2>group1 summarize:s2>group2 | discuss:e1
        discuss:a3 <- share:c2 share:d2 | share:a2
        discuss:b3 <- share:e2 | share:b2
        discuss:c3 <- share:a2 share:d2 | share:c2
        discuss:d3 <- share:a2 share:c2 | share:d2
        discuss:e3 <- share:b2 | share:e2
        summarize:s4>group1 <- discuss:a3 discuss:c3 discuss:d3
        summarize:s4>group2 <- discuss:b3 discuss:e3
        share:a4 <- summarize:s4>group1 summarize:s4>group2 | discuss:a3
        share:b4 <- summarize:s4>group1 summarize:s4>group2 | discuss:b3
        share:c4 <- summarize:s4>group1 summarize:s4>group2 | discuss:c3
        share:d4 <- summarize:s4>group1 summarize:s4>group2 | discuss:d3
        share:e4 <- summarize:s4>group1 summarize:s4>group2 | discuss:e3
        """,
    ),
    "madke": (
        madke(2, 2),
        """
        select:a0
        select:b0
        speak:a0
        speak:b0
        judge:j1 <- speak:a0 speak:b0
        select:a1 | speak:a0
        select:b1 | speak:b0
        respond:a1 <- speak:b0 | speak:a0
        respond:b1 <- respond:a1 | speak:b0
        judge:j2 <- respond:a1 respond:b1
        conclude:s2 <- respond:a1 respond:b1
        """,
    ),
    "acc": (
        acc(3),
        """
        answer:a0
        comment:c1 <- answer:a0
        revise:a1 <- comment:c1 | answer:a0
        comment:c2 <- revise:a1
        revise:a2 <- comment:c2 | revise:a1
        """,
    ),
    "reflection": (
        reflection(3),
        """
        answer:a0
        reflect:a1 | answer:a0
        reflect:a2 | reflect:a1
        reflect:a3 | reflect:a2
        """,
    ),
    "self-consistency": (
        self_consistency(3),
        """
        answer:a0
        answer:a0
        answer:a0
        """,
    ),
}
