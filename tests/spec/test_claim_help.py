"""Who writes a claim that cannot be read is shown the nearest ones that can, about the same cells."""

from __future__ import annotations

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.spec.claims.help import FORMS, nearest_claims
from cortexdsl.spec.claims.language import parse_claim


@pytest.mark.parametrize("metric", ["consensus", "input_tokens", "ece"])
def test_every_form_that_is_shown_is_a_claim(metric: str) -> None:
    for form in FORMS:
        for text in nearest_claims(form.format(m=metric, a="sparse", b="full")):
            assert parse_claim(text).text == text


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("accuracy(sparse) = accuracy(full)", "accuracy(sparse) == accuracy(full) +- 0.02"),
        ("input_tokens(sparse) < 70% of input_tokens(full)", "input_tokens(sparse) <= 0.7 * input_tokens(full)"),
        (
            "accuracy(a)/tokens(a) > accuracy(b)/tokens(b)",
            "accuracy(a) per input_tokens > accuracy(b) per input_tokens",
        ),
        ("acuracy(sparse) >> acuracy(full) on every dataset", "accuracy(sparse) > accuracy(full) on every dataset"),
        ("accuracy(sparse) rises with rounds", "accuracy(sparse[rounds]) increasing"),
        ("best rounds is 3", "best keep of a is mean"),
        ("", "accuracy(a) > accuracy(b)"),
    ],
)
def test_the_nearest_form_is_among_those_shown(text: str, nearest: str) -> None:
    assert nearest in nearest_claims(text)
    with pytest.raises(SpecError) as caught:
        parse_claim(text)
    assert caught.value.problems[0].remedy.startswith(("write for instance `", "for efficiency write `"))
