"""The entries of a spec that say with what: models, agents, datasets, knowledge, servers, limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from cortexdsl.spec.words import Entry, Flag, Name, Plain, Positive, Share, Text, Variable, Whole, said

BUILTIN = "builtin/solver"
SOLVER_PARAMETERS = ("skill", "overconfidence", "stubbornness", "malformed")
"""What the built-in solver may be told, and no other model."""

SAMPLING = ("temperature", "top_p", "max_tokens")

PLAIN_WIRES = ("direct/", "openai/", "hosted_vllm/")
"""Names of models whose servers speak the plain OpenAI protocol, which the direct way does."""
LITELLMS_OWN = (
    "additional_drop_params", "allowed_openai_params", "api_version", "custom_llm_provider", "drop_params",
    "extra_headers", "fallbacks", "headers", "max_retries", "mock_response", "num_retries", "organization", "timeout",
)  # fmt: skip
"""Options that tell litellm what to do, and are not sent to a server."""

_RESERVED = {
    "model": "it is written above", "messages": "prompts are templates", "seed": "seeds come from the spec's seed",
    "api_key": "write api_key_env: NAME, the variable that holds the key", "api_base": "write it beside options",
    "base_url": "write api_base beside options", "stream": "replies are read whole", "n": "write draws in a step",
    **dict.fromkeys(SAMPLING, "write it beside options"),
}  # fmt: skip
_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|gsk_\w{16,}|hf_\w{16,}|AIza[\w-]{20,}|AKIA\w{12,}|xai-\w{16,})"
    r"|Bearer\s+\S{8,}"
    r"|://[^/\s:@]+:[^/\s@]+@"  # name and password in an address
)


def holds_secret(text: str) -> bool:
    """Tell whether a text looks like, or contains, a key that belongs in the environment."""
    return _SECRET.search(text) is not None


def _variable(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_]\w*", value):
        raise said(
            "this is not the name of an environment variable",
            "write the name of the variable that holds the key, never the key: api_key_env: OPENAI_API_KEY",
        )
    return value


KeyName: TypeAlias = Annotated[Variable, BeforeValidator(_variable, json_schema_input_type=Variable)]


_KEYS = re.compile(r"(?i)(^|_)(key|keys|token|secret|password|passwd|credentials?)$")


def _variable_of(value: str) -> str:
    """Check the name in `env:NAME`: an address or path is shown in messages, and a key must not be."""
    name = value.removeprefix("env:")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise said("env: is followed by no name of a variable", "write env:NAME")
    if _KEYS.search(name):
        raise said("this variable is named as one that holds a key", "name one that holds the address or the path")
    return value


def _address(value: str) -> str:
    if value.startswith("env:"):
        _variable_of(value)
    elif not re.match(r"https?://[^/\s]", value) or not _has_host(value):
        raise said("this is no address", "write http://HOST:PORT/v1, or env:NAME")
    elif "@" in value.split("/")[2]:
        raise said("the address holds a password", "write env:NAME, and put the address into that variable")
    return value


def _has_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # http://[bad/v1, or a port that is none
        return False


def _place(value: str) -> str:
    return _variable_of(value) if value.startswith("env:") else value


Place: TypeAlias = Annotated[Text, AfterValidator(_place)]
Address: TypeAlias = Annotated[Text, AfterValidator(_address)]


class PriceText(Entry):
    """Dollars per million tokens."""

    input: Annotated[float, Field(ge=0, le=1e6, strict=True)]
    output: Annotated[float, Field(ge=0, le=1e6, strict=True)]


def _options(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if name in _RESERVED:
            raise said(f"{name} is no option", _RESERVED[name])
    return value


class ModelText(Entry):
    """A model: what it is called, where it answers, how it samples."""

    hints: ClassVar[Mapping[str, str]] = {
        "api_key": "never write a key into a spec; write api_key_env: NAME, the variable that holds it",
        "seed": "seeds come from the seed of the spec, so that arms of a grid share their draws",
        **{
            name: f"other litellm options go under options: {{{name}: ...}}"
            for name in ("top_k", "min_p", "frequency_penalty", "presence_penalty", "stop", "extra_body", "timeout",
                         "reasoning_effort", "logprobs", "repetition_penalty", "max_completion_tokens")
        },
    }  # fmt: skip

    example: ClassVar[str] = "{model: openai/NAME}"

    model: Text = Field(
        description="builtin/solver, tiny/NAME or tiny/./PATH, or a litellm model name such as openai/NAME."
    )
    api_base: Address | None = Field(None, description="The address, or env:NAME.")
    api_key_env: KeyName | None = Field(None, description="The environment variable that holds the key.")
    temperature: Annotated[float, Field(ge=0, le=10, strict=True)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    parameters: Positive | None = Field(None, description="Parameter count, such as 7.6e9.")
    tokens: Positive | None = Field(None, description="Pre-training tokens, such as 18e12.")
    reasoning_tokens: Annotated[Whole, Field(ge=0, le=10_000_000)] = Field(
        0, description="Assumed length of what it thinks before a reply; for plans alone."
    )
    context: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = Field(
        None,
        description="Tokens that prompt and reply may have together; plan and check warn of prompts that do not fit.",
    )
    price: PriceText | None = Field(None, description="Dollars per million tokens: {input, output}.")
    transport: Literal["litellm", "direct"] | None = Field(
        None, description="direct: straight to a server that speaks the OpenAI protocol; litellm otherwise."
    )
    options: Annotated[dict[Text, Plain], AfterValidator(_options)] = Field(
        default_factory=dict, description="Any other option of litellm, sent as it is."
    )
    skill: Share | None = Field(None, description="Of the built-in solver.")
    overconfidence: Share | None = None
    stubbornness: Share | None = None
    malformed: Share | None = None

    @model_validator(mode="after")
    def _fits_model(self) -> Self:
        told = [name for name in SOLVER_PARAMETERS if getattr(self, name) is not None]
        if self.model.startswith("builtin/"):
            if self.model != BUILTIN:
                raise said(f"there is no model {self.model}", f"the only built-in one is {BUILTIN}")
            if self.api_base or self.api_key_env:
                raise said("the built-in solver has no address and no key", "remove api_base and api_key_env")
        if self.model.startswith("tiny/") and (self.api_base or self.api_key_env):
            raise said("a tiny model runs in the process: no address, no key", "remove api_base and api_key_env")
        if told and not self.model.startswith("builtin/"):
            raise said(f"{told[0]} is a parameter of {BUILTIN} alone", "remove it")
        if self.transport is not None:
            self._check_way(self.transport)
        return self

    def _check_way(self, transport: str) -> None:
        if self.model.startswith(("builtin/", "tiny/")):
            raise said("a model that runs here is reached by no transport", "remove transport")
        if transport == "litellm":
            if self.model.startswith("direct/"):
                raise said("a model named direct/... goes the direct way", f"write openai/{self.model[7:]}")
            return
        if not self.model.startswith(PLAIN_WIRES):
            raise said(
                f"transport: direct speaks the plain OpenAI protocol, and {self.model} is translated by litellm",
                "write openai/NAME with the api_base of a server that speaks it, or remove transport",
            )
        if self.api_base is None:
            raise said("transport: direct needs the address of the server", "write api_base: env:NAME")
        own = next((name for name in self.options if name in LITELLMS_OWN), None)
        if own is not None:
            raise said(f"the option {own} tells litellm something, and is not sent", "remove it, or remove transport")


class AgentText(Entry):
    """An agent: a model with a name and, perhaps, a persona."""

    example: ClassVar[str] = "{name: NAME, model: MODEL}"

    name: Name
    model: Name
    persona: Text | None = None


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


TOOLS: Mapping[str, tuple[str, ...]] = {
    "calculator": (),
    "search": ("source", "top"),
    "python": ("function", "seconds"),
}
"""The tools, and what an entry of each may say."""


class ToolText(Entry):
    """A speaker without a model: a calculator, a search in a knowledge source, a function of one's own package."""

    example: ClassVar[str] = "{tool: calculator}"

    tool: Literal["calculator", "search", "python"]
    source: Name | None = Field(None, description="Of a search: the knowledge entry.")
    top: Annotated[Whole, Field(ge=1, le=1_000)] = Field(3, description="Of a search: passages for a query.")
    function: Annotated[Text, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")] | None = Field(
        None, description="package.module:function, from text to text; it runs only where --trust names it."
    )
    seconds: Annotated[float, Field(gt=0, le=3_600, strict=True)] = Field(10.0, description="That a call may take.")

    @model_validator(mode="after")
    def _fits_tool(self) -> Self:
        allowed = TOOLS[self.tool]
        for name in sorted(self.model_fields_set - {"tool", *allowed}):
            raise said(f"{name} does not go with tool: {self.tool}", f"allowed: {', '.join(allowed) or 'nothing else'}")
        for name in allowed[:1]:
            if getattr(self, name) is None:
                raise said(f"a {self.tool} tool needs a {name}", f"write {name}: ...")
        return self


class ServerText(Entry):
    """A model server that the workflow starts, waits for and stops."""

    command: Text = Field(description="The command line; {port} is a free port.")
    url: Address | None = Field(None, description="Where it will answer; else http://127.0.0.1:{port}/v1.")
    env: Variable = Field(description="The environment variable that its address is put in, for api_base: env:NAME.")
    ready: Text = Field("/models", description="The path below the address that answers once it is up.")
    seconds: Annotated[float, Field(gt=0, le=86_400, strict=True)] = Field(600, description="How long to wait.")


def _share(value: Any) -> Any:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value) if isinstance(value, str) else None
    if found is not None:
        return float(found[1]) / 100
    if isinstance(value, str):
        raise said("this is no share", "write 5%, or 0.05")
    return value


_UNITS = {"s": 1, "min": 60, "h": 3600}


def _duration(value: Any) -> Any:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)", value) if isinstance(value, str) else None
    if found is not None:
        return float(found[1]) * _UNITS[found[2]]
    if isinstance(value, str):
        raise said("this is no length of time", "write 30s, 10min or 2h, or a number of seconds")
    return value


Percentage: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=1), BeforeValidator(_share, json_schema_input_type=float | str)
]
Duration: TypeAlias = Annotated[
    float, Strict(), Field(ge=0, le=604_800), BeforeValidator(_duration, json_schema_input_type=float | str)
]


class LimitsText(Entry):
    """What an experiment may spend, and what it puts up with; nothing written is no limit."""

    calls: Annotated[Whole, Field(ge=0)] | None = None
    tokens: Annotated[Whole, Field(ge=0)] | None = None
    dollars: Annotated[float, Field(ge=0, strict=True)] | None = None
    seconds: Annotated[float, Field(gt=0, strict=True)] | None = None
    connections: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        16, description="The most calls in flight to one endpoint."
    )
    failed: Percentage = Field(0.05, description="The share of calls that may bring no reply, such as 5%.")
    wait: Duration = Field(0.0, description="How long to wait for a server that does not answer, such as 10min.")
