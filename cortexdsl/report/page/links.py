"""Where the debates behind a claim are: a fragment of the explorer's page."""

from __future__ import annotations

from cortexdsl.errors import SpecError
from cortexdsl.records.links import experiment_link, find_link
from cortexdsl.report.inputs.results import Results, Verdict
from cortexdsl.spec.claims.language import All, Comparison, parse_claim


def claim_link(results: Results, row: Verdict) -> str:
    """Return where a claim's debates are: the questions that tell two cells apart, or the debates of the cells named.

    A claim of other cells than the plan's, or of another form, leads to the whole experiment.
    """
    try:
        claim = parse_claim(row.claim)
    except SpecError:
        return experiment_link(results.experiment)
    parts = claim.parts if isinstance(claim, All) else (claim,)
    named = [quantity.name for part in parts if isinstance(part, Comparison) for quantity in part.quantities]
    cells = [name for name in dict.fromkeys(named) if name in results.cells]
    dataset = parts[0].dataset
    if len(cells) == 2:
        return find_link(results.experiment, dataset=dataset, apart=(cells[0], cells[1]))
    return find_link(results.experiment, dataset=dataset, cell=cells) if cells else experiment_link(results.experiment)
