"""Inspect View shows an exported debate: its score, who said what, and what it cost."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.results.made import write_scored

EXPORT = "import sys; from pathlib import Path; from cortexdsl.export.inspect_logs import export_inspect; "
EXPORT += "export_inspect(*map(Path, sys.argv[1:]))"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_debate_in_inspect_view(browser: Any, with_inspect: Path, repository: Path, tmp_path: Path) -> None:
    """The list of logs, then the messages of one debate: prompts, and replies after the names of their speakers."""
    made = write_scored(tmp_path / "results" / "made")
    subprocess.run([with_inspect, "-c", EXPORT, made, tmp_path / "logs"], check=True, cwd=repository, timeout=200)
    (log,) = (tmp_path / "logs").glob("*sums-sparse_*.eval")
    port = free_port()
    command = [with_inspect.with_name("inspect"), "view", "--log-dir", log.parent, "--host", "127.0.0.1"]
    environment = os.environ | {"HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    page = browser.new_page()
    with subprocess.Popen(
        [*map(str, command), "--port", str(port)], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment
    ) as view:
        try:
            assert view.stdout is not None
            assert any("Running on" in line for line in view.stdout)
            page.goto(f"http://127.0.0.1:{port}/")
            page.get_by_text("made/sums/sparse").wait_for(timeout=60_000)
            assert "0.75" in page.inner_text("body")
            page.goto(f"http://127.0.0.1:{port}/#/tasks/{log.name.replace('+', '%2B')}/samples/sample/q-1/1")
            page.get_by_text("What is 3 + 4? This is prompt 0.").first.wait_for(timeout=60_000)
            said = page.inner_text("body")
            assert "ann, round 0:" in said
            assert "builtin/solver" in said
        finally:
            page.close()
            view.terminate()
