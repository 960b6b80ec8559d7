"""The built manual in a browser: ten questions are answered by clicks from its start page, on a desk and on a phone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.house.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built from its pages as `make docs` does."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: make dev")
    folder = tmp_path_factory.mktemp("manual") / "site"
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "docs", str(folder)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """The address of the manual. Its search needs a server."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("width", [1280, 390])
def test_ten_questions_are_answered_in_three_clicks(site: str, new_page: Callable[..., Any], width: int) -> None:
    """Each click is on a link that can be seen in the text of the page; the answer can be seen on the last page."""
    page = new_page(viewport={"width": width, "height": 900})
    for question in QUESTIONS:
        page.goto(f"{site}/index.html")
        for click in question.clicks:
            name = re.compile(rf"^{re.escape(click)}$")
            page.locator("article").get_by_role("link", name=name).first.click()
        answer = page.locator("article").get_by_text(question.answer).first
        answer.scroll_into_view_if_needed()
        assert answer.is_visible(), question.question
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url


# Boxes that reach over the edge of the window, but for those in a part that scrolls.
STICKS_OUT = """() => {
  const scrolls = box => box && (/auto|scroll/.test(getComputedStyle(box).overflowX) || scrolls(box.parentElement));
  const room = document.documentElement.clientWidth;
  const out = [...document.querySelectorAll('article *')].filter(
    box => box.getBoundingClientRect().right > room + 1 && !box.closest('svg') && !scrolls(box.parentElement));
  return out.map(box => `${box.tagName} ${box.textContent.trim().slice(0, 40)}`)
    .concat(document.documentElement.scrollWidth > room ? ['the page itself'] : []);
}"""
# Parts that must be scrolled sideways.
SCROLLED = """part => [...document.querySelectorAll(part)].filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => box.textContent.trim().slice(0, 40))"""


WIDTHS = (390, 820, 1280)


def test_no_page_is_wider_than_its_window(folder: Path, site: str, new_page: Callable[..., Any]) -> None:
    """Wide tables and code scroll within the page; tables of keys and drawings of protocols fit."""
    page = new_page()
    pages = [
        path for path in folder.rglob("*.html") if not {"_static", "gallery"} & {*path.relative_to(folder).parts[:-1]}
    ]
    assert len(pages) > 100
    for path in pages:
        page.goto(f"{site}/{path.relative_to(folder).as_posix()}", wait_until="domcontentloaded")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(STICKS_OUT) == [], (path, width)
    keys = [f"keys/{path.stem}" for path in (folder / "reference" / "keys").glob("*.html")]
    drawings = [f"protocols/{path.stem}" for path in (folder / "reference" / "protocols").glob("*.html")]
    assert len(keys) > 5
    assert len(drawings) > 3
    parts = {**dict.fromkeys(("keys", *keys), ".table-wrapper"), **dict.fromkeys(drawings, "pre")}
    for name, part in parts.items():
        page.goto(f"{site}/reference/{name}.html")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(SCROLLED, f"article {part}") == [], (name, width)


def test_each_page_has_a_markdown_twin(folder: Path) -> None:
    """`llms.txt` names them all."""
    listed = re.findall(r"\]\(([^)]+\.md)\)", (folder / "llms.txt").read_text(encoding="utf-8"))
    pages = {path.with_suffix("").relative_to(folder).as_posix() for path in folder.rglob("*.html")}
    made = {page for page in pages if not page.startswith(("_", "gallery/", "genindex", "py-modindex", "search"))}
    assert {name.removesuffix(".md") for name in listed} == made
    assert all((folder / name).is_file() for name in listed)


def test_the_search_finds_a_page_by_what_a_user_types(site: str, new_page: Callable[..., Any]) -> None:
    """The index of the search is part of the site and needs no server."""
    page = new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{site}/search.html?q=anthropic")
    page.locator("#search-results").get_by_role("link", name="Hosted APIs").first.click()
    assert page.url.split("?")[0].endswith("providers.html")
