"""How easily the code can be taken in: sizes, importers, folder cycles, and how far single facts travel.

    python benchmarks/house/measure.py [--checkout FOLDER] [--trace]

Prints one figure a line. What is counted:

- modules, lines, packages, depth: of the packages in the checkout, without tests.
- single importers: modules that exactly one other module imports.
- folder cycles: pairs of folders (parents included) whose modules import each other.
- homonyms: public classes whose name another public class has.
- files naming X: code files in which a word of the language occurs in quotes, for one example of each kind of
  extension: the files that somebody who adds another of the kind has to look at.
- carriers of X (with `--trace`): functions in which an argument or the result holds the value, up to four levels deep
  in whatever wraps it, while a small experiment is checked, planned, and debated. Containers such as the whole spec
  count, so that these are upper bounds.
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
from collections.abc import Collection, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSIONS = {
    "metric tool_uses": r"[\"'`]tool_uses[\"'`]",
    "keep rule drop_bottom": r"[\"'`{]drop_bottom\b",
    "transport builtin": r"[\"'`]builtin/?[\"'`/]",
    "column leans of hypotheses.csv": r"[\"'`]leans[\"'`]",
    "claim test clopper_pearson": r"\bclopper_pearson\b",
    "answer kind yesno": r"[\"']yes/?no[\"']",
    "rule pool": r"\brule pool\b|cortexdsl pool\b|[\"']pool[\"']",
}
CALLS = 987_654_321
KEEP = 703
REPLY = "4b1d-mark"
SPEC = f"""\
title: Traced
seed: 3
dataset: {{name: arithmetic, size: 2}}
models:
  one: {{model: direct/one, api_base: env:TRACED_URL, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{{name: a, model: one}}, {{name: b, model: one}}, {{name: c, model: one}}]
methods:
  sparse: {{protocol: cortexdebate, rounds: 1, weight: similarity, keep: {{top: {KEEP}}}}}
limits: {{calls: {CALLS}}}
"""


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Code:
    """The modules of a checkout: those of the core package and of the packages beside it."""

    def __init__(self, root: Path) -> None:
        packages = sorted(path.parent for path in root.glob("cortexdsl*/__init__.py"))
        self.root = root
        self.paths = [path for package in packages for path in sorted(package.rglob("*.py"))]
        self.modules = [path for path in self.paths if path.name != "__init__.py"]
        self.sources = {path: path.read_text(encoding="utf-8") for path in self.paths}
        self.trees = {module_name(path, root): ast.parse(text) for path, text in self.sources.items()}

    def lines(self, paths: Iterable[Path]) -> list[int]:
        """Return how many lines each of some files has."""
        return [self.sources[path].count("\n") for path in paths]

    def core(self, paths: Iterable[Path]) -> list[Path]:
        """Return those files that belong to the core package."""
        return [path for path in paths if path.relative_to(self.root).parts[0] == "cortexdsl"]

    def levels(self, path: Path) -> int:
        """Return how many folders lie between the top package and a module."""
        return len(path.relative_to(self.root).parts) - 2

    def imports(self) -> set[tuple[str, str]]:
        """Return the pairs of a module and another one that it imports."""
        return {
            (name, target)
            for name, tree in self.trees.items()
            for target in imported(tree, self.trees.keys())
            if target in self.trees and target != name
        }

    def public_classes(self) -> Counter[str]:
        """Return how often each name of a public class is defined."""
        nodes = (node for tree in self.trees.values() for node in tree.body if isinstance(node, ast.ClassDef))
        return Counter(node.name for node in nodes if not node.name.startswith("_"))

    def files_with(self, pattern: str) -> int:
        """Return how many code files and rule files hold a pattern."""
        rules = (path.read_text(encoding="utf-8") for path in sorted((self.root / "workflows").glob("*.smk")))
        return sum(re.search(pattern, text) is not None for text in (*self.sources.values(), *rules))


def imported(tree: ast.AST, names: Collection[str]) -> Iterator[str]:
    """Yield the modules that a module imports; `names` are those of the checkout."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in names else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def sizes(root: Path) -> Iterator[tuple[str, object]]:
    """Yield the figures that are read from the source."""
    code = Code(root)
    lengths, edges = code.lines(code.modules), code.imports()
    importers = Counter(target for _, target in edges)
    yield "lines", sum(code.lines(code.paths))
    yield "lines in the core package", sum(code.lines(code.core(code.paths)))
    yield "modules", len(code.modules)
    yield "modules in the core package", len(code.core(code.modules))
    yield "packages", len(code.paths) - len(code.modules)
    yield "levels below the top package", max(map(code.levels, code.modules))
    yield "mean lines of a module", round(sum(lengths) / len(lengths))
    yield "modules below 80 lines", sum(length < 80 for length in lengths)
    yield "modules above 400 lines", sum(length > 400 for length in lengths)
    yield "longest module", max(lengths)
    yield "modules with a single importer", sum(importers[module_name(path, root)] == 1 for path in code.modules)
    yield "folder pairs that import each other", len(folder_cycles(edges))
    yield "public class names used more than once", sum(count > 1 for count in code.public_classes().values())
    for label, pattern in EXTENSIONS.items():
        yield f"files naming {label}", code.files_with(pattern)


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
        is_ours = "/cortexdsl" in code.co_filename and not code.co_name.startswith("<")
        if self._busy or not is_ours or event not in ("call", "return"):
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
        inner = (
            list(getattr(value, "__dict__", {}).values())[:50] if type(value).__module__.startswith("cortexdsl") else []
        )
    return set().union(*(marks(one, depth - 1) for one in inner)) if inner else set()


class Server(BaseHTTPRequestHandler):
    """Answers every chat request with the marked reply."""

    def do_POST(self) -> None:
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
    for arguments in (
        ["check", "specs/traced.yaml"],
        ["plan", "specs/traced.yaml"],
        ["debate", "specs/traced.yaml", *job],
    ):
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
