"""The report in a browser: it fits every window and paper, in both themes, and no link leads nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.report.build import build_report
from tests.report.conftest import write_results

STICKS_OUT = """() => {
  document.querySelectorAll('details').forEach(one => { one.open = true; });
  const room = document.documentElement.clientWidth;
  const every = [...document.querySelectorAll("body *")].filter(one => !one.closest("pre, svg"));
  const wide = every.filter(one => one.getBoundingClientRect().right > room + 1
    || (one.matches('.wide') && one.scrollWidth > one.clientWidth + 1));
  return wide.map(one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 40)}`)
    .concat(document.documentElement.scrollWidth > room ? ['the page itself'] : []);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_results(tmp_path_factory.mktemp("report") / "invented")
    build_report(made, {"cortexdsl": "0.1.0"})
    return made


def test_it_fits_every_window_and_paper(folder: Path, new_page: Callable[..., Any]) -> None:
    """1400, 900 and 400 pixels, light and dark, all that is folded away opened; print as wide as A4 has room."""
    for width, theme in ((1400, "light"), (900, "dark"), (400, "light"), (400, "dark")):
        page = new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        page.goto((folder / "report.html").as_uri())
        assert page.evaluate(STICKS_OUT) == [], (width, theme)
        shown = "column" if width < 640 else "page"
        assert page.locator(f"svg.drawing.{shown} >> visible=true").count() == 5
    page = new_page(viewport={"width": 690, "height": 900})
    page.emulate_media(media="print")
    page.goto((folder / "report.html").as_uri())
    assert page.evaluate(STICKS_OUT) == []


def test_every_link_leads_to_a_file_or_a_place(folder: Path, new_page: Callable[..., Any]) -> None:
    """A number leads to the word on how to open the explorer; that leads back."""
    page = new_page()
    page.goto((folder / "report.html").as_uri())
    targets = page.eval_on_selector_all("a[href]", "links => links.map(link => link.getAttribute('href'))")
    assert len(targets) > 30
    for target in targets:
        path, _, anchor = target.partition("#")
        assert (folder / path).is_file() if path else page.locator(f"[id='{anchor}']").count() == 1, target
    page.locator("#table-metrics td a").first.click()
    assert "#/x/invented/find?" in page.url
    assert page.get_by_text("cortexdsl view invented", exact=True).is_visible()
    page.get_by_text("Back to the report").click()
    assert page.url.endswith("report.html")
