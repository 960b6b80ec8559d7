"""The entries of a spec that say what is asked and what is looked up: datasets and knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from cortexdsl.spec.grammar.values.addresses import Address, KeyName, Place
from cortexdsl.spec.grammar.values.words import Entry, Flag, Name, Text, Whole, said


def _several(value: Any) -> Any:
    """Let one text stand for a list of one, and whole numbers for the texts of ids."""
    items = value if isinstance(value, list) else [value]
    return [str(item) if type(item) is int else item for item in items]


Texts: TypeAlias = Annotated[
    tuple[Text, ...],
    BeforeValidator(_several, json_schema_input_type=Text | tuple[Text | int, ...]),
]

COLUMNS = ("id", "question", "answer", "context", "choices", "cluster", "group", "labels", "gold", "records",
           "images")  # fmt: skip
"""The words of a dataset that say where its rows hold what."""


class DatasetText(Entry):
    """Questions: a dataset of the registry by `name`, or a `file` of one's own."""

    example: ClassVar[str] = "{name: gsm8k, size: 100}"

    name: Name | None = Field(None, description="A dataset of the registry, such as gsm8k.")
    path: Place | None = Field(None, description="The official file or folder of a named dataset, or env:NAME.")
    file: Place | None = Field(None, description="One's own JSONL, CSV or Parquet file, or env:NAME.")
    subset: Texts = ()
    split: Text | None = None
    size: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = Field(None, description="How many questions.")
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] | None = Field(None, description="Of the sample; else the spec's.")
    stratify: Text | None = Field(None, description="The field that the sample is balanced over.")
    ids: Texts = Field((), description="Explicit question ids in place of a sample.")
    id: Text | None = Field(None, description="The column that holds it, in a file of one's own; so for the next.")
    question: Text | None = None
    answer: Text | None = None
    context: Text | None = None
    choices: (
        Annotated[
            Annotated[Text, Tag("<column>")] | Annotated[tuple[Text, ...], Field(min_length=2), Tag("<columns>")],
            Discriminator(lambda value: "<columns>" if isinstance(value, list) else "<column>"),
        ]
        | None
    ) = Field(None, description="A column that holds a list of options, or one column an option.")
    cluster: Text | None = Field(None, description="What questions share (a passage, a template).")
    images: Texts = Field((), description="Columns with images: files beside the dataset, data URIs, or bytes.")
    group: Text | None = None
    labels: Texts = Field((), description="The answers that there are, for labels.")
    gold: Text | None = None
    records: Text | None = None
    kind: Text | None = Field(None, description="Kind of answer: number, choice, text ...")
    metric: Text | None = None
    reading: Literal["lenient", "strict"] = Field("lenient", description="Which reading of replies scores.")
    shuffle_options: Flag | None = None

    @model_validator(mode="after")
    def _source(self) -> Self:
        if (self.name is None) == (self.file is None):
            raise said("a dataset has either a name or a file", "write name: gsm8k, or file: questions.csv")
        if self.file is not None and self.path is not None:
            raise said("path belongs to a named dataset", "remove it; file says where the questions are")
        if len(set(self.ids)) < len(self.ids):
            raise said("an id is listed twice", "ask each question once")
        return self


RETRIEVERS: Mapping[str, tuple[str, ...]] = {
    "bm25": ("corpus", "index"),
    "dense": ("corpus", "index", "embedding"),
    "search": ("api_base", "api_key_env"),
}
"""The retrievers, and what an entry of each may say besides `top`."""


class KnowledgeText(Entry):
    """A source of knowledge pools: passages of a corpus or an index, or snippets of a web search."""

    example: ClassVar[str] = "{retriever: bm25, corpus: FILE.jsonl}"

    retriever: Literal["bm25", "dense", "search"]
    top: Annotated[Whole, Field(ge=1, le=1_000)] = Field(5, description="How many passages it gives to a pool.")
    corpus: Text | None = Field(None, description="A file of passages.")
    index: Text | None = Field(None, description="A folder with an index that pyserini built.")
    embedding: Text | None = Field(None, description="ngram, a litellm model, or sentence-transformers/NAME.")
    api_base: Address | None = Field(None, description="The whole address of a Serper-shaped search, or env:NAME.")
    api_key_env: KeyName | None = Field(None, description="The environment variable that holds the key.")

    @model_validator(mode="after")
    def _fits_retriever(self) -> Self:
        allowed = RETRIEVERS[self.retriever]
        for name in sorted(self.model_fields_set - {"retriever", "top", *allowed}):
            raise said(f"{name} does not go with retriever: {self.retriever}", f"allowed: {', '.join(allowed)}")
        if self.retriever != "search" and self.corpus is None and self.index is None:
            raise said("it names neither corpus nor index", "write corpus: FILE.jsonl, or index: FOLDER")
        if self.retriever == "bm25" and self.corpus is not None and self.index is not None:
            raise said("it names a corpus and an index", "keep one: an index holds its own texts")
        return self
