"""What benchmarks import of this project is there: they are run by hand, so that nothing else would notice."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted({path.parent for path in (ROOT / "benchmarks").glob("*/*.py")})


def own_imports(folder: Path) -> list[str]:
    """Return the imports of this package and of modules next to a benchmark, one statement each."""
    own = {"cortexdsl", *(path.stem for path in folder.iterdir() if path.suffix in ("", ".py"))}
    return sorted(
        {
            f"from {node.module} import {name.name}"
            for path in folder.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in own
            for name in node.names
        }
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_benchmarks_import_what_exists(folder: Path) -> None:
    """In a process of their own, because modules of two folders may have one name."""
    statements = own_imports(folder)
    program = "import sys\nfor line in sys.stdin.read().splitlines():\n    exec(line)"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, input="\n".join(statements), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-500:]
