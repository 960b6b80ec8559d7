"""Count words and sentence forms that readers stumble over, in pages, docstrings, comments and messages.

    python benchmarks/house/words.py              # a table: folder, matches, per 1,000 words
    python benchmarks/house/words.py --list FILE  # every match with its line
    python benchmarks/house/words.py --store      # after cleaning files: lower the counts that a test holds

The list helps a writer. It does not replace reading the page aloud to somebody.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).with_suffix(".json")
"""Matches by file that are still allowed; every other file has none. `tests/house/test_words.py` compares."""
PATTERNS = {
    "archaic word": r"\b(?:anew|whoever|whomever|thereof|therein|amid|hither|lest|ere|nought|dearer?)\b",
    "archaic connective": r"\b(?:as far as|by hand of|in place of|of which|beside it|beside them)\b",
    "headless clause": r"(?:^|[.:;] )(?:Who|What|Whose) (?:is|are|was|were|has|have|does|do|stands?|lies?|says?)\b"
    r"(?!.*\?)",
    "negated identity": r"(?<![Tt]here )\b(?:is|are|was|were) no (?!(?:such|longer|more|fewer|less)\b)[a-z]+",
    "where nobody": r"\bwhere (?:nobody|nothing|none|no one)\b",
    "personified code": r"\b(?:is|are) (?:told|believed|dealt|taught) (?:of|by the)\b|\bbelieves?\b|\bputs? up with\b",
}
SKIPPED = ("docs/reference/", "docs/benchmarks/", "build/", "frontend/", ".venv/", "results/")


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of prose with their numbers: a page without code blocks; of a module docstrings, comments and messages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("```"):
                is_code = not is_code
            elif not is_code and not line.startswith("    "):
                yield number, re.sub(r"`[^`]*`", "", line)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


def matches_of(path: Path) -> list[tuple[int, str, str]]:
    """Every match of a file: its line, the kind, and the words."""
    return [
        (number, kind, match.group().strip())
        for number, line in prose_of(path)
        for kind, pattern in PATTERNS.items()
        for match in re.finditer(pattern, line)
    ]


def files() -> list[Path]:
    """Pages and modules of the project."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for package in ("cortexdsl", "cortexdsl_tiny", "cortexdsl_train"):
        found += ROOT.glob(f"{package}/**/*.py")
    return sorted(path for path in found if not path.relative_to(ROOT).as_posix().startswith(SKIPPED))


def counts() -> dict[str, int]:
    """The number of matches of each file that has some."""
    numbers = {path.relative_to(ROOT).as_posix(): len(matches_of(path)) for path in files()}
    return {name: number for name, number in numbers.items() if number}


def main() -> None:
    """Print the table or the matches of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", nargs="*", type=Path, help="print every match of these files")
    parser.add_argument("--store", action="store_true", help=f"write the counts to {STORED.name}")
    args = parser.parse_args()
    if args.store:
        STORED.write_text(json.dumps(counts(), indent=1) + "\n", encoding="utf-8")
        return
    if args.list is not None:
        for path in args.list or files():
            for number, kind, words in matches_of(path):
                print(f"{path}:{number}: {kind}: {words}")
        return
    matches: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for path in files():
        parts = path.relative_to(ROOT).parts
        room = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
        matches[room] += len(matches_of(path))
        totals[room] += sum(len(line.split()) for _, line in prose_of(path))
    for room in sorted(matches, key=lambda room: -matches[room]):
        print(f"{room:32} {matches[room]:5} {1000 * matches[room] / max(totals[room], 1):6.1f} per 1,000 words")
    print(f"{'all':32} {matches.total():5} {1000 * matches.total() / totals.total():6.1f} per 1,000 words")


if __name__ == "__main__":
    main()
