"""A browser that forgives nothing: errors in the console and requests to other places fail the test that made them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker("browser")


@pytest.fixture(scope="module")  # while it drives, Playwright's loop runs in this thread: no other test could run one
def browser() -> Iterator[Any]:
    """Headless Chromium, that of the distribution."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    # Chromium's sandbox does not work as root, the user in containers; the pages here are our own.
    arguments = ["--disable-dev-shm-usage", "--disable-gpu"]  # a graphics processor in software takes time
    arguments += ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages (options as of Playwright's contexts); at the end no page may have erred or asked elsewhere."""
    contexts, faults = [], []

    def heard(message: Any) -> None:
        if message.type in ("error", "warning"):
            faults.append(f"console: {message.text}")

    def asked(request: Any) -> None:
        where = urlsplit(request.url)
        if where.scheme not in ("data", "blob", "file") and where.hostname not in ("127.0.0.1", "localhost"):
            faults.append(f"asked {request.url}")

    def opened(**options: Any) -> Any:
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", heard)
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("request", asked)
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
