"""Datasets and knowledge sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cortexdsl.core import KnowledgeSource
from cortexdsl.language.grammar.addresses import Address, KeyName, Place
from cortexdsl.language.grammar.core_words import FromCore
from cortexdsl.language.grammar.entries import Flag, HubId, Name, OneOf, StrictEntry, Text, Whole, invalid


def _several(value: Any) -> Any:
    """Return one text as a list of one, and whole numbers (ids) as texts."""
    items = value if isinstance(value, list) else [value]
    return [str(item) if type(item) is int else item for item in items]


Texts: TypeAlias = Annotated[
    tuple[Text, ...],
    BeforeValidator(_several, json_schema_input_type=Text | tuple[Text | int, ...]),
]

COLUMNS = ("id", "question", "answer", "context", "choices", "cluster", "group", "gold", "images",
           "entry", "examples")  # fmt: skip
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


def _metric(text: str) -> str:
    """Return a way of grading; a tolerance as the core spells it: `within 0.01`, or `within 5%` of the right answer."""
    if not text.startswith("within"):
        return text
    written = re.fullmatch(r"within\s+(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)", text)
    number = float(written[1]) if written else 0.0
    if written is None or not 0 < number < (100 if written[2] else 1e30):
        raise invalid("this is not a tolerance", "write within 0.01, or within 5%")
    return f"within {number:.12g}{written[2]}"


class DatasetText(StrictEntry):
    """The questions, from one source: `name` (a listed dataset), `file` (your own), or `hub` (Hugging Face)."""

    example: ClassVar[str] = "{name: gsm8k, size: 100}"
    several: ClassVar[str] = "datasets: {LABEL: {name: gsm8k}, LABEL: {file: questions.csv}}, each with a label"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("n", "limit", "count", "samples", "questions"), "write size: how many questions are asked"),
        **dict.fromkeys(("sep", "separator"), "write table: and what divides the cells of a CSV file"),
        **dict.fromkeys(("hf", "huggingface", "repo", "repo_id"), "write hub: OWNER/NAME"),
        **dict.fromkeys(("commit", "sha", "rev", "version"), "write hub: OWNER/NAME@COMMIT"),
        **dict.fromkeys(("target", "label", "answers"), "write answer: the column that holds the right answer"),
        "options": "write choices: the column that holds a list of options, or one column for each",
        "columns": "name each column by what it holds: question: COLUMN, answer: COLUMN, choices: [COLUMNS]",
    }

    name: Annotated[Name, BeforeValidator(_listed_name, json_schema_input_type=Name)] | None = None
    """A listed dataset, such as gsm8k. `cortexdsl data list` prints the list."""
    file: Place | None = None
    """Your own JSON, JSONL, CSV or Parquet file, or env:NAME; with name, the official file or folder of the dataset."""
    hub: HubId | None = None
    """Any dataset of the Hugging Face hub: OWNER/NAME, or OWNER/NAME@COMMIT."""
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
    gold: Text | None = None
    """How the answer column contains the right answer: plain, hashes, boxed, label, first_option, option_number,
    option_text, boolean, answers_or_none, number, spans, preference or tests."""
    kind: Annotated[Text | Annotated[tuple[Text, ...], Field(min_length=1)], OneOf()] | None = None
    """The kind of answers: number, quantity, choice, yesno, expression, text, spans, free, instructions, open, code or
    pair; or a list of all possible answers."""
    metric: Annotated[Text, AfterValidator(_metric)] | None = None
    """How answers are graded. Default: the usual way of their kind. For numbers also how far an answer may be from the
    right one, and in votes from an earlier answer: within 0.01, or within 5%."""
    strict: Flag = False
    """true: only an answer in the requested format counts. false: the last statement of an answer counts."""
    shuffle_options: Flag | None = None
    """Whether the options of each question are shuffled."""
    table: Annotated[Texts, AfterValidator(_table)] = ()
    """How your own file is written, where `check` does not find it out: the character between cells, the encoding, and
    `decimal comma` or `decimal point`, such as [";", windows-1252, decimal comma]."""

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
    def parts(self) -> dict[str, Any]:
        """The fields of the core that words state together with others, or in other words."""
        said: dict[str, Any] = dict(map(_table_part, self.table))
        if self.metric is not None:
            is_tolerance = self.metric.startswith("within ")
            said |= {"tolerance": self.metric[7:]} if is_tolerance else {"metric": self.metric}
        if self.kind is not None:
            said["kind"] = self.kind if isinstance(self.kind, str) else "labels"
        if self.hub is not None:
            hub, _, revision = self.hub.partition("@")
            said |= {"hub": hub, "revision": revision or None}
        return said | ({"reading": "strict"} if self.strict else {})

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that it names, and all possible answers."""
        named = {name: value for name in COLUMNS if (value := getattr(self, name))}
        return named if isinstance(self.kind, str | None) else {**named, "labels": self.kind}

    @property
    def sources(self) -> tuple[str, ...]:
        """The words that say where the questions come from; none if they come from another entry."""
        named = [word for word in ("name", "file", "hub") if getattr(self, word) is not None]
        return tuple(word for word in named if word != "file" or "name" not in named)

    def _misplaced(self, source: str) -> Iterator[tuple[str, str]]:
        """Yield the words that would have no effect beside others, and why."""
        if source == "file" and self.split is not None:
            yield "split", "split does not go with file"
        for part, _ in map(_table_part, self.table):
            if source == "name" or (part != "decimal" and source != "file"):
                yield "table", f"the {part} is for a file of your own"
        if self.ids and self.stratify:
            yield "stratify", "ids names the questions, so nothing is left to stratify"
        if self.ids and self.size is not None and self.size != len(self.ids):
            yield "size", f"size is {self.size}, and ids names {len(self.ids)} questions"


_SOURCES = "write name: gsm8k, or file: questions.csv, or hub: OWNER/NAME"


def _with_source(entry: DatasetText) -> DatasetText:
    if not entry.sources:
        raise invalid("a dataset has one source, and this one has none", _SOURCES)
    return entry


AskedDataset: TypeAlias = Annotated[DatasetText, AfterValidator(_with_source)]
"""A dataset whose questions are asked."""


def _is_one_source(source: KnowledgeSource, written: Collection[str]) -> None:
    of_search = next((name for name in ("api_base", "api_key_env") if name in written), "")
    local = next((name for name in ("corpus", "index", "embedding") if name in written), "")
    if of_search and local:
        raise invalid(f"{of_search} is for a web search, and {local} for a corpus", f"remove {of_search} or {local}")
    if not of_search and source.retriever == "search":
        remedy = "write corpus: FILE.jsonl or index: FOLDER; for a web search, api_key_env: SERPER_API_KEY"
        raise invalid("it names neither corpus nor index", remedy)
    if source.retriever == "bm25" and source.index is not None:
        remedy = "write embedding: and what built it; to search by words, write corpus: FILE.jsonl without index"
        raise invalid("it names an index without its embedding", remedy)


KnowledgeEntry: TypeAlias = Annotated[
    KnowledgeSource,
    FromCore(
        "{corpus: FILE.jsonl}",
        _is_one_source,
        api_base=Address | None,
        api_key_env=KeyName | None,
    ),
]
