"""Looking while the questions come in."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from calibration.made import Marks, Scenario
from cortexdsl.analysis.planning.simulate import Truth, simulated_differences
from cortexdsl.analysis.sequential.betting import evidence_above, evidence_below, sign_evidence
from cortexdsl.analysis.tests.signflip import sign_flip


def peeking(random: Generator) -> Marks:
    """A thousand questions, looked at after each; and what the usual test does when looked at every 50."""
    values = np.asarray(simulated_differences(Truth(0.25), 1000, 1, 1, int(random.integers(2**31)))[0])
    bound = np.log(2 / 0.05)
    means = evidence_above(values, 0.0, -1.0).max() >= bound or evidence_below(values, 0.0, 1.0).max() >= bound
    signs = max(sign_evidence(values).max(), sign_evidence(-values).max()) >= bound
    looks = [sign_flip(values[:end, None], 1.0, 0)[0].p <= 0.05 for end in range(50, 1001, 50)]
    gain = simulated_differences(Truth(0.25, 0.1), 1000, 1, 1, int(random.integers(2**31)))[0]
    found = evidence_above(gain, 0.0, -1.0) >= bound
    return {"error: e-process of the mean, looked at 1,000 times": bool(means),
            "error: e-process of signs, looked at 1,000 times": bool(signs),
            "(McNemar, looked at 20 times)": any(looks),
            "(10 points better: found by question 250)": bool(found[:250].any()),
            "(10 points better: found by question 500)": bool(found[:500].any())}  # fmt: skip


SCENARIOS: dict[str, Scenario] = {
    "looking all the time": peeking,
}
