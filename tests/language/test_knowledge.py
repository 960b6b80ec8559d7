"""Knowledge entries of a spec: each wrong one is refused with its place and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.language.spec import load_spec

SPEC = """\
seed: 1
dataset: {{name: arithmetic, size: 2}}
models: {{m: {{model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}}}
agents: [{{name: a, model: m}}, {{name: b, model: m}}]
methods: {{one: {{protocol: cortexdebate}}}}
knowledge: {{wiki: {entry}}}
"""


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("[bm25]", "knowledge.wiki"),
        ("{}", "write corpus: FILE.jsonl or index: FOLDER"),
        ("{retriever: bm25, corpus: x}", "write nothing"),
        ("{corpsu: x}", "did you mean corpus"),
        ("{corpus: x, api_key_env: KEY}", "api_key_env is for a web search, and corpus for a corpus"),
        ("{corpus: x, top: 0}", "top"),
        ("{corpus: x, top: true}", "top"),
        ("{corpus: 3}", "corpus"),
        ("{embedding: ngram}", "it names neither corpus nor index"),
        ("{index: y}", "it names an index without its embedding"),
        ("{corpus: x, index: y}", "it names an index without its embedding"),
    ],
)
def test_a_wrong_entry_is_refused_at_its_place(tmp_path: Path, entry: str, what: str) -> None:
    """Each entry breaks one rule of the page on knowledge."""
    path = tmp_path / "own.yaml"
    path.write_text(SPEC.format(entry=entry), encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        load_spec(path)
    [problem] = refused.value.problems
    assert problem.where.startswith(f"{path}:6:")
    assert what in f"{problem.what} {problem.remedy}"
    assert problem.remedy
