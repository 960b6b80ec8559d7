"""Claims are declared before the run; what is added later is exploratory."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.plan.declared import declare, declared_claims
from cortexdsl.plan.layout import Layout


def test_claims_may_change_until_the_first_call(tmp_path: Path) -> None:
    """A plan that was never run binds nobody."""
    layout = Layout(str(tmp_path))
    declare(layout, ["accuracy(a) > accuracy(b)"])
    declare(layout, ["accuracy(b) > accuracy(a)"])
    assert declared_claims(layout, ()) == ("accuracy(b) > accuracy(a)",)


def test_a_claim_that_comes_after_the_first_call_is_not_declared(tmp_path: Path) -> None:
    """Whoever has seen replies can no longer predict them."""
    layout = Layout(str(tmp_path))
    declare(layout, ["accuracy(a) > accuracy(b)"])
    (tmp_path / "calls").mkdir()
    declare(layout, ["accuracy(a) > accuracy(b)", "accuracy(b) > accuracy(c)"])
    assert declared_claims(layout, ()) == ("accuracy(a) > accuracy(b)",)


def test_without_a_declaration_the_plan_counts(tmp_path: Path) -> None:
    """Tables from elsewhere have no such file."""
    assert declared_claims(Layout(str(tmp_path)), ["c"]) == ("c",)
