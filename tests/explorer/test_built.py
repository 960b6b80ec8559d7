"""The files that the package brings are those that the sources make."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILT = "cortexdsl/explorer/built"
FILES = ("app.css", "app.js", "index.html")


def test_the_built_files_are_there_and_hold_no_inline_script_and_ask_nobody(repository: Path) -> None:
    assert tuple(sorted(path.name for path in (repository / BUILT).iterdir())) == FILES
    page = (repository / BUILT / "index.html").read_text()
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    assert " style=" not in page
    script = (repository / BUILT / "app.js").read_text()
    assert not re.search(r"\beval\(|new Function|document\.write", script)
    addresses = set(re.findall(r"https?://[\w./-]+", script + page + (repository / BUILT / "app.css").read_text()))
    assert {address for address in addresses if "w3.org" not in address} == set()  # names of XML, no addresses


def test_no_source_turns_text_into_markup(repository: Path) -> None:
    for path in (repository / "frontend" / "src").iterdir():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|DOMParser", path.read_text(), re.IGNORECASE), path


def test_the_built_files_are_those_of_the_sources(repository: Path, tmp_path: Path) -> None:
    frontend = repository / "frontend"
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (frontend / "node_modules" / "esbuild").is_dir():
        pytest.skip("the front end's tools are not installed: cd frontend && npm ci")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=frontend, check=True, timeout=120)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (repository / BUILT / name).read_bytes(), (
            "cd frontend && npm run build"
        )


def test_every_front_end_package_is_pinned_with_a_hash_and_names_no_host(repository: Path) -> None:
    lock = json.loads((repository / "frontend" / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not any("resolved" in package for package in packages.values())
