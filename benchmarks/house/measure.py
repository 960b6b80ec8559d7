"""How easily the code can be taken in: sizes, importers, folder cycles, and how far single facts travel.

    python benchmarks/house/measure.py [--checkout FOLDER] [--trace]

Prints one figure a line. What is counted:

- modules, lines, packages, depth: of the packages in the checkout, without tests.
- single importers: modules that exactly one other module imports.
- folder cycles: pairs of folders (parents included) whose modules import each other.
- homonyms: public classes whose name another public class has.
- files naming X: code files in which a word of the language occurs in quotes, for one example of each kind of extension.
  It is the number of files that somebody who adds another of the kind has to look at.
- carriers of X (with `--trace`): functions in which an argument or the result holds the value, in whatever it is wrapped
  up to four levels deep, while a small experiment is checked, planned, debated, and scored. Containers such as the whole
  spec count, so that these are upper bounds.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import importlib
import json
import os
import re
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSIONS = {
    "metric other_language": r"[\"'`]other_language[\"'`]",
    "keep rule drop_bottom": r"[\"'`{]drop_bottom\b",
    "transport builtin": r"[\"'`]builtin/?[\"'`/]",
    "column leans of hypotheses.csv": r"[\"'`]leans[\"'`]",
    "answer kind yesno": r"[\"']yes/?no[\"']",
    "rule pool": r"\brule pool\b|cortexdsl pool\b|[\"']pool[\"']",
}
CALLS = 987_654_321
KEEP = 7.03125
REPLY = "4b1d-mark"
SPEC = f"""\
title: Traced
seed: 3
dataset: {{name: arithmetic, size: 2}}
models:
  one: {{model: direct/one, api_base: env:TRACED_URL, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{{name: a, model: one}}, {{name: b, model: one}}, {{name: c, model: one}}]
methods:
  sparse: {{protocol: cortexdebate, rounds: 1, weight: similarity, keep: {{above: {KEEP}}}}}
limits: {{calls: {CALLS}}}
"""


def packages(root: Path) -> list[Path]:
    """Return the packages of a checkout: the core and what lies beside it."""
    return sorted(path.parent for path in root.glob("cortexdsl*/__init__.py"))


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Yield the modules of the checkout that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in names else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def sizes(root: Path) -> Iterator[tuple[str, object]]:
    """Yield the figures that are read from the source."""
    paths = [path for package in packages(root) for path in sorted(package.rglob("*.py"))]
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {module_name(path, root): ast.parse(text) for path, text in sources.items()}
    lines = {path: text.count("\n") for path, text in sources.items()}
    modules = [path for path in paths if path.name != "__init__.py"]
    yield "lines", sum(lines.values())
    yield "lines in the core package", sum(count for path, count in lines.items() if path.relative_to(root).parts[0] == "cortexdsl")
    yield "modules", len(modules)
    yield "modules in the core package", sum(path.relative_to(root).parts[0] == "cortexdsl" for path in modules)
    yield "packages", sum(path.name == "__init__.py" for path in paths)
    yield "levels below the top package", max(len(path.relative_to(root).parts) - 2 for path in modules)
    yield "mean lines of a module", round(sum(lines[path] for path in modules) / len(modules))
    yield "modules below 80 lines", sum(lines[path] < 80 for path in modules)
    yield "modules above 400 lines", sum(lines[path] > 400 for path in modules)
    yield "longest module", max(lines[path] for path in modules)
    names = set(trees)
    edges = {(name, target) for name, tree in trees.items() for target in imported(tree, names) if target in names - {name}}
    importers = Counter(target for _, target in edges)
    leaves = {module_name(path, root) for path in modules}
    yield "modules with a single importer", sum(importers[name] == 1 for name in leaves)
    yield "folder pairs that import each other", len(folder_cycles(edges))
    classes = Counter(
        node.name for tree in trees.values() for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    yield "public class names used more than once", sum(count > 1 for count in classes.values())
    for label, pattern in EXTENSIONS.items():
        code = [*sources.values(), *(path.read_text(encoding="utf-8") for path in sorted((root / "workflows").glob("*.smk")))]
        yield f"files naming {label}", sum(re.search(pattern, text) is not None for text in code)


def folder_cycles(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs of folders, neither inside the other, with imports in both directions."""
    directions: dict[tuple[str, str], bool] = defaultdict(bool)
    for source, target in edges:
        above, below = source.split(".")[:-1], target.split(".")[:-1]
        for i in range(1, len(above) + 1):
            for j in range(1, len(below) + 1):
                one, other = ".".join(above[:i]), ".".join(below[:j])
                if not f"{one}.".startswith(f"{other}.") and not f"{other}.".startswith(f"{one}."):
                    directions[one, other] = True
    return {(one, other) for one, other in directions if one < other and (other, one) in directions}


class Carriers:
    """Counts the functions of the packages through which marked values pass."""

    def __init__(self) -> None:
        self.functions: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._busy = False

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        """Look at the arguments of a function that begins and at the result of one that ends."""
        code = frame.f_code
        if self._busy or event not in ("call", "return") or "/cortexdsl" not in code.co_filename or code.co_name[0] == "<":
            return
        self._busy = True
        try:
            values = list(frame.f_locals.values()) if event == "call" else [argument]
            for mark in set().union(*(marks(value, 4) for value in values)):
                self.functions[mark].add((code.co_filename, code.co_qualname))
        finally:
            self._busy = False


def marks(value: Any, depth: int) -> set[str]:
    """Return which marks a value holds, down to a depth."""
    if isinstance(value, str):
        return {"a reply"} if REPLY in value else set()
    if isinstance(value, (int, float)):
        return {"limits.calls"} if value == CALLS else {"keep"} if value == KEEP else set()
    if depth == 0 or value is None:
        return set()
    if isinstance(value, Mapping):
        inner = list(value.values())[:50]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)[:50]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    else:
        inner = list(getattr(value, "__dict__", {}).values())[:50] if type(value).__module__.startswith("cortexdsl") else []
    return set().union(*(marks(one, depth - 1) for one in inner)) if inner else set()


class Server(BaseHTTPRequestHandler):
    """Answers every chat request with the marked reply."""

    def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
        """Answer one request."""
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": f"{REPLY} The answer is 4."}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def trace(folder: Path) -> dict[str, tuple[int, int]]:
    """Run the small experiment under the profiler; return the functions and files that carry each marked value."""
    (folder / "specs").mkdir()
    (folder / "specs" / "traced.yaml").write_text(SPEC, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["TRACED_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    os.chdir(folder)
    cli = importlib.import_module("cortexdsl.cli.main").main
    out = "results/traced/debates/arithmetic/sparse/r1-s01.jsonl"
    job = ["--dataset", "arithmetic", "--cell", "sparse", "--shard", "r1-s01", "--out", out]
    carriers = Carriers()
    for arguments in (["check", "specs/traced.yaml"], ["plan", "specs/traced.yaml"], ["debate", "specs/traced.yaml", *job]):
        sys.setprofile(carriers)
        try:
            status = cli(arguments)
        except SystemExit as stop:
            status = stop.code
        finally:
            sys.setprofile(None)
        if status:
            sys.exit(f"cortexdsl {arguments[0]}: exit status {status}")
    return {mark: (len(found), len({file for file, _ in found})) for mark, found in carriers.functions.items()}


def main() -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=REPOSITORY)
    parser.add_argument("--trace", action="store_true", help="count the carriers, too")
    arguments = parser.parse_args()
    root = arguments.checkout.resolve()
    figures = dict(sizes(root))
    if arguments.trace:
        sys.path.insert(0, str(root))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
            carried = trace(Path(folder))
        for mark, (functions, files) in sorted(carried.items()):
            figures[f"functions that carry {mark}"] = f"{functions} in {files} files"
    for label, figure in figures.items():
        print(f"{label:45} {figure}")


if __name__ == "__main__":
    main()
