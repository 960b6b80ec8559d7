"""The claims that somebody may have meant: the forms nearest to what was written, about the same cells."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches

from cortexdsl.spec.claims.metric_names import CALIBRATION_METRICS, CLAIMED_METRICS

FORMS = (
    "{m}({a}) > {m}({b})", "{m}({a}) >= {m}({b}) - 0.02", "{m}({a}) == {m}({b}) +- 0.02", "{m}({a}) > 0.8",
    "input_tokens({a}) <= 0.7 * input_tokens({b})", "{m}({a}) - {m}({b}) > {m}(c) - {m}(d)",
    "accuracy({a}, round=0) < accuracy({a})", "brier({a}, agent=quick) < brier({b}, agent=quick)",
    "accuracy({a}) per input_tokens > accuracy({b}) per input_tokens", "{m}({a}) > {m}(every other)",
    "{a} dominates {b} on accuracy, input_tokens", "{m}({a}[rounds]) increasing",
    "{m}({a}[rounds]) monotone increasing",
    "best keep of {a} is mean", "{m}({a}[keep, rounds]) interacting", "{m}({a}) > {m}({b}) on every dataset",
    "{m}({a}) > {m}({b}) over teams", "{m}({a}) > {m}({b}) and input_tokens({a}) < input_tokens({b})",
)  # fmt: skip
"""One of each form; `{m}` is a metric, where any will do, `{a}` and `{b}` are cells."""
SHOWN = 3
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(\s*([A-Za-z][\w.-]*)")
_RESERVED = {"every", "rounds"}


def nearest_claims(text: str) -> tuple[str, ...]:
    """Return the forms of claims that are most like a text, about its metric and its cells where it names some."""
    calls = _CALL.findall(text[:500])
    close = get_close_matches(calls[0][0], CLAIMED_METRICS, 1) if calls else []
    cells = [name for name in dict.fromkeys(name for _, name in calls) if name not in _RESERVED]
    a, b = [*cells, *(name for name in "ab" if name not in cells)][:2]
    plain = " ".join(text[:500].split())
    metric = close[0] if close else "accuracy"
    sought = [
        form for form in FORMS if metric not in CALIBRATION_METRICS or "{m}({a}[" not in form
    ]  # no trends of these
    forms = [form.format(m=metric, a=a, b=b) for form in sought]
    return tuple(sorted(forms, key=lambda form: -SequenceMatcher(None, form, plain, autojunk=False).ratio())[:SHOWN])


_INSTEAD = {
    "!=": "a claim has a direction: write > or <",
    "or ": "write a claim for each of them: what one of several would show is not known beforehand",
    "not ": "claim the opposite, such as < for >",
}


def meant_by(rest: str) -> str:
    """What to write where a claim goes on with what it cannot; nothing where nobody knows."""
    return next((remedy for start, remedy in _INSTEAD.items() if rest.startswith(start)), "")


def advice(text: str) -> str:
    """What to write in place of a claim that cannot be read."""
    return f"write for instance {', '.join(f'`{claim}`' for claim in nearest_claims(text))}"
