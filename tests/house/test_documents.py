"""What documents promise is there: commands and their options, sections that links lead to, files that are named."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortexdsl.cli.verbs import VERBS, parser_of

COMMAND = re.compile(r"(?:^|[`\s])(?<!import )cortexdsl ((?:--)?[a-z][^\n`#|;]*)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]*)#([^)\s]+)\)")
MADE = "benchmarks/measured/"  # by the benchmarks, and followed by no git
NAMED = re.compile(r"`((?:cortexdsl|tests|benchmarks|workflows|docs|profiles|frontend)/[\w./-]+)`")


@pytest.fixture(scope="module")
def documents(repository: Path) -> dict[Path, str]:
    """Markdown files of the project, by path."""
    listing = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=repository, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout, so nothing says which files belong to the project")
    paths = (repository / name.decode() for name in listing.stdout.split(b"\0") if name)
    return {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def options_of(parser: argparse.ArgumentParser) -> dict[str, set[str]]:
    """The options of every verb, those of its own verbs (`data sample`) among them."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {
        name: set(verb._option_string_actions).union(*options_of(verb).values())
        for action in below
        for name, verb in action.choices.items()
    }


def code_of(text: str) -> Iterator[str]:
    """Code of a document: fenced and indented blocks, and what stands between backticks."""
    text = text.replace("\\\n", " ")
    yield from re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    yield from re.findall(r"^(?: {4}|\t)(.*)$", text, re.MULTILINE)
    yield from (f"`{span}`" for span in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def test_commands_of_the_documents_are_commands(repository: Path, documents: dict[Path, str]) -> None:
    """Every `cortexdsl VERB --option` that a document shows is one that the command line knows."""
    options = options_of(parser_of(VERBS))
    wrong, seen = [], 0
    for path, text in documents.items():
        for code in code_of(text):
            for said in COMMAND.findall(code):
                verb, *rest = said.split(" -- ")[0].split()
                if verb in ("--version", "--help"):
                    continue
                seen += 1
                given = {word.split("=")[0].rstrip(".,)") for word in rest if re.match(r"--?[a-z]", word)}
                if unknown := given - options.get(verb, set()) if verb in VERBS else {verb}:
                    wrong.append(f"{path.relative_to(repository)}: cortexdsl {said}: {', '.join(sorted(unknown))}")
    assert wrong == []
    assert seen > 100


def anchor(heading: str) -> str:
    """What a heading is called in a link, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def test_links_into_documents_lead_to_a_section(repository: Path, documents: dict[Path, str]) -> None:
    """`[...](language/protocol.md#hears)` needs a heading of that name there."""
    wrong, seen = [], 0
    for path, text in documents.items():
        for file, section in LINK.findall(text):
            target = path if not file else (path.parent / file).resolve()
            if target not in documents:  # of another site, or missing: the links themselves are tested elsewhere
                continue
            seen += 1
            prose = re.sub(r"^```.*?^```", "", documents[target], flags=re.DOTALL | re.MULTILINE)
            if section not in map(anchor, re.findall(r"^#+ (.*)$", prose, re.MULTILINE)):
                wrong.append(f"{path.relative_to(repository)}: {file}#{section}")
    assert wrong == []
    assert seen > 5


def test_files_that_documents_name_are_there(repository: Path, documents: dict[Path, str]) -> None:
    """A module that moved takes its name in the documents along."""
    named = [(path, name) for path, text in documents.items() for name in NAMED.findall(text)]
    missing = ((path, name) for path, name in named if name != MADE and not (repository / name).exists())
    gone = [f"{path.relative_to(repository)}: {name}" for path, name in missing]
    assert gone == []
    assert len(named) > 20
