"""Datasets and knowledge sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cortexdsl.core import KnowledgeSource
from cortexdsl.language.grammar.addresses import Address, KeyName, Place
from cortexdsl.language.grammar.core_words import FromCore
from cortexdsl.language.grammar.entries import Flag, HubId, Name, OneOf, Positive, StrictEntry, Text, Whole, invalid
from cortexdsl.tasks.retrieval.sources import KEYS


def _several(value: Any) -> Any:
    """Return one text as a list of one, and whole numbers (ids) as texts."""
    items = value if isinstance(value, list) else [value]
    return [str(item) if type(item) is int else item for item in items]


Texts: TypeAlias = Annotated[
    tuple[Text, ...],
    BeforeValidator(_several, json_schema_input_type=Text | tuple[Text | int, ...]),
]

COLUMNS = ("id", "question", "answer", "context", "choices", "cluster", "group", "labels", "gold", "records",
           "images", "entry", "examples")  # fmt: skip
"""The words of a dataset that name its columns."""


def _table_part(text: str) -> tuple[str, str]:
    """Return which fact about a table a text states, and the value."""
    if text in ("decimal comma", "decimal point"):
        return "decimal", "," if text == "decimal comma" else "."
    return ("encoding" if any(map(str.isalnum, text)) else "delimiter"), text


def _table(value: tuple[str, ...]) -> tuple[str, ...]:
    parts = [_table_part(text)[0] for text in value]
    if twice := next((part for part in parts if parts.count(part) > 1), None):
        raise invalid(f"table says the {twice} twice", "keep one of them")
    return value


def _listed_name(value: Any) -> Any:
    """Refuse ids of the hub and names of files, which are not names of the list."""
    if isinstance(value, str) and re.search(r"\.(csv|tsv|jsonl?|parquet)$", value):
        raise invalid(f"{value} is a file, and name is for datasets of the list", f"write file: {value}")
    if isinstance(value, str) and "/" in value:
        remedy = f"for a dataset of the hub write hub: {value}; for a file of your own, file: PATH"
        raise invalid(f"{value} is not a name of the list (cortexdsl data list)", remedy)
    return value


def _tolerance(value: Any) -> Any:
    """Return a tolerance as the core spells it: `0.01`, or `5%` of the right answer."""
    if isinstance(value, str):
        share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
        if share is None or not 0 < float(share[1]) < 100:
            raise invalid("this is not a tolerance", "write a number such as 0.01, or a share such as 5%")
        return f"{float(share[1]):.12g}%"
    return f"{value:.12g}"


_Tolerance: TypeAlias = Annotated[Positive | Text, OneOf("a number such as 0.01", "5%"), AfterValidator(_tolerance)]


class DatasetText(StrictEntry):
    """The questions, from one source: `name` (a listed dataset), `file` (your own), or `hub` (Hugging Face)."""

    example: ClassVar[str] = "{name: gsm8k, size: 100}"
    several: ClassVar[str] = "datasets: {LABEL: {name: gsm8k}, LABEL: {file: questions.csv}}, each with a label"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("n", "limit", "count", "samples", "questions"), "write size: how many questions are asked"),
        **dict.fromkeys(("sep", "separator"), "write table: and what divides the cells of a CSV file"),
        **dict.fromkeys(("hf", "huggingface", "repo", "repo_id"), "write hub: OWNER/NAME"),
        **dict.fromkeys(("commit", "sha", "rev", "version"), "write revision: the commit of a dataset of the hub"),
        **dict.fromkeys(("target", "label", "answers"), "write answer: the column that holds the right answer"),
        "options": "write choices: the column that holds a list of options, or one column for each",
        "columns": "name each column by what it holds: question: COLUMN, answer: COLUMN, choices: [COLUMNS]",
    }

    name: Annotated[Name, BeforeValidator(_listed_name, json_schema_input_type=Name)] | None = None
    """A listed dataset, such as gsm8k. `cortexdsl data list` prints the list."""
    path: Place | None = None
    """For a listed dataset: its official file or folder, or env:NAME."""
    file: Place | None = None
    """Your own JSON, JSONL, CSV or Parquet file, or env:NAME."""
    hub: HubId | None = None
    """Any dataset of the Hugging Face hub: OWNER/NAME."""
    revision: Text | None = None
    """The commit of a dataset of the hub."""
    subset: Texts = ()
    """Parts of the dataset, such as subjects of mmlu; of a dataset of the hub, its configuration."""
    split: Text | None = None
    """The split to use instead of the usual one."""
    size: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = None
    """The number of questions."""
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] | None = None
    """The seed of the sample. Default: the spec's."""
    stratify: Text | None = None
    """A field of the dataset, such as subject. The sample takes one question for each value of the field, then a second
    one, and so on."""
    ids: Texts = ()
    """Question ids, instead of a sample."""
    id: Text | None = None
    """The column with the question's id."""
    question: Text | None = None
    """The column with the question."""
    answer: Text | None = None
    """The column with the right answer."""
    context: Text | None = None
    """The column with a passage."""
    choices: Annotated[Text | Annotated[tuple[Text, ...], Field(min_length=2)], OneOf()] | None = None
    """The column with a list of options, or a list of columns with one option each. For `kind: pair`: the replies."""
    cluster: Text | None = None
    """The column that groups dependent questions, such as those about one passage."""
    images: Texts = ()
    """Columns with images: files in the dataset's folder, data URIs, or bytes."""
    entry: Text | None = None
    """For `kind: code`: the column with the name of the function that the tests call. Default: the first one that they
    call and do not define."""
    examples: Text | None = None
    """For `kind: code`: the column with example inputs, as calls such as add(1, 2). Programs that give the same for all
    of them are one answer. Default: the calls in the question."""
    group: Text | None = None
    """The column with the group of a question, for means over groups."""
    labels: Texts = ()
    """For `kind: labels`: all possible answers."""
    gold: Text | None = None
    """How the answer column contains the right answer: plain, hashes, boxed, label, first_option, option_number,
    option_text, boolean, answers_or_none, number, spans, preference or tests."""
    records: Text | None = None
    """For a JSON file: the path to the list of rows, such as data.paragraphs.qas."""
    kind: Text | None = None
    """The kind of answers: number, quantity, choice, yesno, expression, text, spans, labels, free, instructions, open,
    code or pair."""
    metric: Text | None = None
    """How answers are graded. Default: the usual way of their kind."""
    tolerance: Annotated[Positive | Text, OneOf("a number such as 0.01", "5%"), AfterValidator(_tolerance)] | None = (
        None
    )
    """For numbers: how far an answer may be from the right one, such as 0.01 or 5%; in votes from an earlier answer."""
    reading: Literal["lenient", "strict"] = "lenient"
    """Which reading of a reply is scored. strict: only an answer in the requested format counts. lenient: the last
    statement of an answer counts."""
    shuffle_options: Flag | None = None
    """Whether the options of each question are shuffled."""
    table: Annotated[Texts, AfterValidator(_table)] = ()
    """How your own file is written, where `check` does not find it out: the character between cells, the encoding, and
    `decimal comma` or `decimal point`, such as [";", windows-1252, decimal comma]."""
    drop_unanswered: Flag = False
    """true: rows without an answer are left out. false: they are an error."""

    @model_validator(mode="after")
    def _source(self) -> Self:
        if len(self.sources) > 1:
            raise invalid(f"a dataset has one source, and this one has {' and '.join(self.sources)}", _SOURCES)
        for word, reason in self._misplaced(self.sources[0]) if self.sources else ():
            raise invalid(reason, f"remove {word}")
        if self.hub is not None and len(self.subset) > 1:
            raise invalid("a dataset of the hub has one configuration", f"write subset: {self.subset[0]}")
        if len(set(self.ids)) < len(self.ids):
            raise invalid("an id is listed twice", "ask each question once")
        return self

    @property
    def table_parts(self) -> dict[str, str]:
        """The fields of the core that `table` states."""
        return dict(map(_table_part, self.table))

    @property
    def sources(self) -> tuple[str, ...]:
        """The words that say where the questions come from; none if they come from another entry."""
        return tuple(word for word in ("name", "file", "hub") if getattr(self, word) is not None)

    def _misplaced(self, source: str) -> Iterator[tuple[str, str]]:
        """Yield the words that would have no effect beside others, and why."""
        allowed = {
            "path": source == "name",
            "revision": source == "hub" or (source == "name" and self.path is None),
            "split": source != "file",
            "records": source != "hub",
            "drop_unanswered": source != "name",
        }
        for word in self.model_fields_set:
            if not allowed.get(word, True):
                other = "path" if word == "revision" and source == "name" else source
                yield word, f"{word} does not go with {other}"
        for part in self.table_parts:
            if source == "name" or (part != "decimal" and source != "file"):
                yield "table", f"the {part} is for a file of your own"
        if self.tolerance is not None and self.metric is not None:
            yield "metric", "tolerance says how numbers are graded"
        if self.ids and self.stratify:
            yield "stratify", "ids names the questions, so nothing is left to stratify"
        if self.ids and self.size is not None and self.size != len(self.ids):
            yield "size", f"size is {self.size}, and ids names {len(self.ids)} questions"


_SOURCES = "write name: gsm8k, or file: questions.csv, or hub: OWNER/NAME"


def _with_source(entry: DatasetText) -> DatasetText:
    if not entry.sources and entry.path is not None:
        what = "path is for the official files of a dataset of the list, and no name is written"
        raise invalid(what, "for questions of your own write file: instead of path:")
    if not entry.sources:
        raise invalid("a dataset has one source, and this one has none", _SOURCES)
    return entry


AskedDataset: TypeAlias = Annotated[DatasetText, AfterValidator(_with_source)]
"""A dataset whose questions are asked."""


def _fits_retriever(source: KnowledgeSource, written: Collection[str]) -> None:
    allowed = KEYS[source.retriever]
    for name in sorted({*written} - {*allowed}):
        own = [key for key in allowed if key not in ("retriever", "top")]
        raise invalid(f"{name} does not go with retriever: {source.retriever}", f"allowed: {', '.join(own)}")
    if source.retriever != "search" and source.corpus is None and source.index is None:
        raise invalid("it names neither corpus nor index", "write corpus: FILE.jsonl, or index: FOLDER")
    if source.retriever == "bm25" and source.corpus is not None and source.index is not None:
        raise invalid("it names a corpus and an index", "keep one: an index holds its own texts")


KnowledgeEntry: TypeAlias = Annotated[
    KnowledgeSource,
    FromCore(
        "{retriever: bm25, corpus: FILE.jsonl}",
        _fits_retriever,
        api_base=Address | None,
        api_key_env=KeyName | None,
    ),
]
