"""The reference page of known datasets, from the registry."""

from __future__ import annotations

import re

from markdown_tables import table

from cortexdsl.cli.data import kinds_of, metrics_of
from cortexdsl.tasks.registry import DatasetEntry, registry


def dataset_page() -> str:
    """Return a row for each dataset, and one for each place on the hub."""
    rows = (
        (f"`{name}`", one.title, kinds_of(one), metrics_of(one), _papers(one.source), one.licence)
        for name, one in registry().items()
    )
    places = ((f"`{name}`", ", ".join(_places(one)) or "generated") for name, one in registry().items())
    parts = [
        "# Known datasets",
        "These datasets can be used by name: `dataset: {name: gsm8k, size: 100}`. [Datasets](../datasets.md) says how "
        "questions are selected, and [answers and grades](../grading.md) explains kinds and metrics.",
        table(("name", "questions", "kind of answer", "metric", "source", "licence"), rows),
        "## Where they come from",
        "A dataset is loaded from the first of these places that can be reached, at the commit after `@`. If you have "
        "the authors' own files, `file` names one of them, or their folder; `cortexdsl data show NAME` lists them.",
        table(("name", "on the Hugging Face hub"), places),
    ]
    return "\n\n".join(parts) + "\n"


def _papers(source: str) -> str:
    """The papers of a dataset: those of arXiv as links."""
    return re.sub(r"([^;]+?), arXiv (\d+\.\d+)", r"[\1](https://arxiv.org/abs/\2)", source).replace("[ ", " [")


def _places(one: DatasetEntry) -> list[str]:
    return [
        f"`{' '.join(filter(None, (place['id'], place.get('config'))))}`"
        + (f" @ `{place['revision'][:10]}`" if "revision" in place else " (no commit)")
        for place in one.hub
    ]
