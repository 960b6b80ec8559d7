"""What an experiment should cite: its methods, data, and the correction of its tests, in words and as BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cortexdsl import __version__
from cortexdsl.core import by_key
from cortexdsl.errors import SpecError
from cortexdsl.plan.record import PlanRecord
from cortexdsl.tasks.registry import registry

PAPERS = Path(__file__).with_name("papers.yaml")
ARXIV = re.compile(r"arXiv (\d{4}\.\d{5})")
_OWN = "own"
_SPECIAL = re.compile(r"([&%#_])")


@cache
def papers() -> Mapping[str, list[Any]]:
    """Return author, year, title and perhaps journal of the works that are known, by arXiv number or name."""
    known: dict[str, list[Any]] = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))
    return known


def data_in_words(plan: PlanRecord) -> tuple[tuple[str, str], ...]:
    """Return (dataset, its title, licence and source) of each dataset that is not the user's own file."""
    return tuple((label, text) for label, facts in plan.datasets.items() if (text := _data(facts.name)))


def _data(name: str) -> str:
    if name in registry():
        entry = registry()[name]
        return f"{entry.title}; licence: {entry.licence}; cite {entry.source}"
    return "" if name in (_OWN, "None") else f"licence and citation: https://huggingface.co/datasets/{name}"


def bibtex(plan: PlanRecord) -> str:
    """Return what an experiment should cite as BibTeX: each work once, with what it is cited for."""
    uses = by_key(
        (key, use)
        for source, use in (*_methods(plan), *_datasets(plan), *_corrections(plan))
        for key in ARXIV.findall(source) or filter(None, [source])
    )
    software = {
        "author": "{The cortexdsl authors}", "title": "{cortexdsl}", "version": __version__,
        "note": "The program that ran the experiment",
    }  # fmt: skip
    entries = [_entry("software", "cortexdsl", software)]
    entries += [_work(key, "; ".join(dict.fromkeys(used))) for key, used in uses.items()]
    own = [label for label, facts in plan.datasets.items() if facts.name == _OWN]
    entries += [f"% dataset {label}: a file of your own, which no entry cites" for label in own]
    return "\n\n".join(entries) + "\n"


def _methods(plan: PlanRecord) -> Iterator[tuple[str, str]]:
    """Yield (source, use) of the protocols of a plan, those of its spec included if it is still there."""
    # Late: a job does not need the language.
    from cortexdsl.language.inheritance import read_extended
    from cortexdsl.language.protocol.loader import builtin_names, load_protocol

    path, node = Path(plan.spec), None
    if path.is_file():
        try:
            node = read_extended(path)[0]
        except SpecError:
            node = None
    for cell in plan.cells:
        name = cell.protocol
        written = node.find(("protocols", name, "source")) if node is not None else None
        if written is not None:
            yield str(written.plain()), f"method {cell.method}"
        elif name in builtin_names():
            yield load_protocol(name).text.source or "", f"method {cell.method}"


def _datasets(plan: PlanRecord) -> Iterator[tuple[str, str]]:
    for label, facts in plan.datasets.items():
        name = facts.name
        if name in registry():
            yield registry()[name].source, f"dataset {label}"
        elif name != _OWN:
            at = f", revision {facts.revision}" if facts.revision else ""
            yield f"https://huggingface.co/datasets/{name}", f"dataset {label}{at}"


def _corrections(plan: PlanRecord) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys([str(plan.analysis.get("correction")), *(family.correction for family in plan.families)]):
        if name in papers():
            yield name, f"correction {name}"


def _work(key: str, use: str) -> str:
    """Return the entry of a work: by what is known of it, else by its source as it is written."""
    eprint = {"eprint": key, "archiveprefix": "arXiv"} if ARXIV.fullmatch(f"arXiv {key}") else {}
    if key in papers():
        author, year, title, *journal = papers()[key]
        others = "" if key == "holm" else " and others"
        facts = {"author": f"{author}{others}", "title": f"{{{title}}}", "year": str(year)}
        facts |= {"journal": str(journal[0])} if journal else {}
        return _entry("article" if journal else "misc", f"{author}{year}-{key}", {**facts, **eprint, "note": use})
    return _entry("misc", key, {**(eprint or {"howpublished": key}), "note": use})


def _entry(kind: str, key: str, facts: Mapping[str, str]) -> str:
    plain = unicodedata.normalize("NFKD", key).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9.-]+", "-", plain.lower()).strip("-")
    lines = [f"  {word} = {{{_escaped(value)}}}," for word, value in facts.items()]
    return "\n".join([f"@{kind}{{{name},", *lines, "}"])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
