"""Which files beside a report are shown with it."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.view.web.server import report_file


def test_every_file_that_a_report_links_to_is_there_and_no_other(tmp_path: Path) -> None:
    linked = ("report.html", "metrics.csv", "tables/metrics.csv", "tables/metrics.md", "tables/metrics-wide.tex",
              "figures/cost.svg", "figures/cost.png", "figures/column/cost.pdf")  # fmt: skip
    others = ("calls/d/r1-s01/a.csv", "figures/column/deep/cost.pdf", "other/cost.svg")
    for name in (*linked, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [name for name in linked if report_file(tmp_path, name) is None] == []
    assert [name for name in others if report_file(tmp_path, name) is not None] == []
