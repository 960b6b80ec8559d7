"""Models, agents, and tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from cortexdsl.language.grammar.addresses import KeyName, address
from cortexdsl.language.grammar.entries import (
    Duration,
    Flag,
    Name,
    Number,
    Plain,
    Positive,
    Share,
    StrictEntry,
    Text,
    Variable,
    Whole,
    invalid,
)
from cortexdsl.language.grammar.spending import BatchEntry, PriceText, RateText
from cortexdsl.models.transports.registry import BATCH_PREFIXES, transport_type

BUILTIN = "builtin/solver"
SOLVER_PARAMETERS = ("skill", "overconfidence", "stubbornness", "malformed")
"""Parameters of the built-in solver alone."""

SAMPLING = ("temperature", "top_p", "max_tokens")
LITELLMS_OWN = (
    "additional_drop_params", "allowed_openai_params", "api_version", "custom_llm_provider", "drop_params",
    "extra_headers", "headers", "organization", "timeout",
)  # fmt: skip
"""Options for litellm itself, which are not sent to a server."""


def _addresses(value: object) -> str | list[str]:
    if isinstance(value, str):
        return address(value.strip())
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value) or len(value) < 2:
        raise invalid("this is neither an address nor a list of addresses", "write http://HOST:PORT/v1, or env:NAME")
    if len(set(value)) < len(value):
        raise invalid("an address is there twice", "remove one")
    return [address(one.strip()) for one in value]


_RESERVED = {
    "model": "it is written above", "messages": "prompts are templates", "seed": "seeds come from the spec's seed",
    "api_key": "write api_key_env: NAME, the variable that holds the key", "api_base": "write it beside options",
    "base_url": "write api_base beside options", "stream": "write stream: beside options",
    "stream_options": "streams are always asked for their token counts", "n": "write samples: in a step",
    **dict.fromkeys(SAMPLING, "write it beside options"),
    **dict.fromkeys(
        ("fallbacks", "context_window_fallback_dict", "model_list", "models", "route"),
        "limits, keys and the call log would not know the other models: declare each as an entry of models",
    ),
    **dict.fromkeys(
        ("mock_response", "mock_tool_calls", "mock_timeout", "mock_delay"),
        "no model would answer: to try a spec for nothing, use builtin/solver or a model of tiny/",
    ),
    **dict.fromkeys(("max_retries", "num_retries"), "failed calls are tried again already (docs/failures.md)"),
}  # fmt: skip


def _options(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if name in _RESERVED:
            raise invalid(f"{name} is not an option", _RESERVED[name])
    return value


def _without_address(name: str) -> str:
    """Refuse a name with an address, such as `oobabooga/http://...`: litellm would send prompts there unasked."""
    if "://" in name:
        raise invalid("the name of a model holds an address", "write api_base: and the address, and model: openai/NAME")
    return name


class ModelText(StrictEntry):
    """A model: its name, its address, and how it samples."""

    hints: ClassVar[Mapping[str, str]] = {
        "api_key": "never write a key into a spec; write api_key_env: NAME, the variable that holds it",
        "seed": "seeds come from the seed of the spec, so that arms of a grid share their draws",
        **dict.fromkeys(("base_url", "api_url", "url"), "write api_base: and the address, or env:NAME"),
        **{
            name: f"other litellm options go under options: {{{name}: ...}}"
            for name in ("top_k", "min_p", "frequency_penalty", "presence_penalty", "stop", "extra_body",
                         "reasoning_effort", "logprobs", "repetition_penalty", "max_completion_tokens")
        },
    }  # fmt: skip

    example: ClassVar[str] = "{model: openai/NAME}"

    model: Annotated[Text, AfterValidator(_without_address)] | None = None
    """PROVIDER/NAME, such as openai/NAME; tiny/NAME or tiny/./PATH for a small model that runs in the process; or
    builtin/solver."""
    trained: Name | None = None
    """Instead of model: the name of an entry of train. This model is its result."""
    role: Variable | None = None
    """For a trained model: the role that it learned."""
    repeat: Annotated[Whole, Field(ge=1, le=100)] | None = None
    """For a trained model: use the result of this repeat of its training. The first repeat is 1. Default: the last."""
    api_base: Annotated[Any, PlainValidator(_addresses, json_schema_input_type=str | list[str] | None)] = None
    """The address of the server or provider, or env:NAME; or a list of addresses of servers that have the same model:
    calls are spread over them, and a server that is down is left out."""
    api_key_env: KeyName | None = None
    """The environment variable that holds the API key."""
    temperature: Annotated[float, Field(ge=0, le=10, strict=True)] | None = None
    """The sampling temperature. Default: the server's."""
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] | None = None
    """The top_p of sampling. Default: the server's."""
    max_tokens: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """The largest number of tokens of a reply."""
    parameters: Positive | None = None
    """The number of parameters, such as 7.6e9."""
    tokens: Positive | None = None
    """The number of tokens that it was pre-trained on, such as 18e12."""
    active_parameters: Positive | None = None
    """For a mixture of experts: the parameters that one token uses. Default: all."""
    reasoning_tokens: Annotated[Whole, Field(ge=0, le=10_000_000)] = 0
    """The expected tokens of reasoning per reply, for cost estimates."""
    context: Annotated[Whole, Field(ge=1, le=100_000_000)] | None = None
    """The most tokens of prompt and reply together. The commands plan and check warn of prompts that do not fit."""
    price: PriceText | None = None
    """Dollars per million tokens: {input, output, cached, cache_write, cache_write_1h}."""
    transport: Literal["litellm", "direct", "batch"] | None = None
    """How calls are sent. litellm: by the package litellm. direct: straight to an OpenAI-compatible server. batch: in
    batches, at half the price. Default: litellm."""
    rate: RateText | None = None
    """How fast all runs on this machine may call the model: {requests: 500/min}."""
    timeout: Annotated[Duration, Field(ge=1, le=86_400)] | None = None
    """How long one attempt of a call may take: a number of seconds, or a text such as 20 min. Default: 5 min."""
    stream: Flag | None = None
    """Whether replies are streamed. Default: true if timeout is over 5 min, else false."""
    deterministic: Literal["required"] | None = None
    """required: the run starts only if the server gives the same reply to the same seed, both when idle and under
    load."""
    batch: BatchEntry | None = None
    """Settings for `transport: batch`."""
    options: Annotated[dict[Text, Plain], AfterValidator(_options)] = Field(default_factory=dict)
    """Any other option of the provider, sent as it is."""
    drop: tuple[Text, ...] = ()
    """Parameters that are not sent, because the provider refuses them: seed, temperature, top_p, max_tokens, or keys of
    options."""
    system_role: Flag | None = None
    """false: the model takes no system message, and a persona begins the message of the user. Default: found by the
    first call."""
    cache: Flag | Literal["1h"] | None = None
    """Whether the provider caches the beginning that prompts share. true: for five minutes. 1h: for an hour. Only
    Claude needs this key."""
    skill: Share | None = None
    """Built-in solver: how well it solves questions. Default: 0.6."""
    overconfidence: Share | None = None
    """Built-in solver: how much too high its stated confidences are. At 0 they are right, at 1 nearly all are near 1.
    Default: 0.5."""
    stubbornness: Share | None = None
    """Built-in solver: the weight of its own last answer against the answers of others. Default: 0.5."""
    malformed: Share | None = None
    """Built-in solver: the share of replies that are malformed. Default: 0."""

    @model_validator(mode="after")
    def _fits_model(self) -> Self:
        solver_parameters = [name for name in SOLVER_PARAMETERS if getattr(self, name) is not None]
        if self.model is None or self.trained is not None:
            return self._checked_trained()
        if self.role is not None or self.repeat is not None:
            raise invalid("a role and a repeat belong to a trained model", "write trained: NAME instead of model")
        if self.model.startswith("builtin/"):
            if self.model != BUILTIN:
                raise invalid(f"there is no model {self.model}", f"the only built-in one is {BUILTIN}")
            if self.api_base or self.api_key_env:
                raise invalid("the built-in solver has no address and no key", "remove api_base and api_key_env")
            self._check_solver()
        if transport_type(self.model).is_in_process:
            if self.api_base or self.api_key_env:
                raise invalid(
                    f"{self.model} runs in the process: no address, no key", "remove api_base and api_key_env"
                )
            for name in ("rate", "timeout", "stream"):
                if getattr(self, name) is not None:
                    raise invalid(f"{self.model} runs in the process, and {name} is for a server", f"remove {name}")
        if solver_parameters and not self.model.startswith("builtin/"):
            raise invalid(f"{solver_parameters[0]} is a parameter of {BUILTIN} alone", "remove it")
        if self.transport is not None:
            self._check_way(self.transport)
        if self.batch is not None and self.transport != "batch":
            raise invalid("batch has settings of transport: batch", "write transport: batch, or remove batch")
        self._check_drop()
        return self

    def _check_drop(self) -> None:
        allowed = (*SAMPLING, "seed", *self.options)
        for name in self.drop:
            if name not in allowed:
                raise invalid(f"drop: this entry sets no {name}", f"name some of: {', '.join(allowed)}")

    def _check_solver(self) -> None:
        sampling = [name for name in SAMPLING if getattr(self, name) is not None]
        for name in (*sampling, *self.options):
            if name not in SOLVER_PARAMETERS:
                raise invalid(
                    f"the built-in solver has no {name}", f"remove it; allowed: {', '.join(SOLVER_PARAMETERS)}"
                )

    def _checked_trained(self) -> Self:
        if self.trained is None:
            raise invalid("an entry has a model, or says where it was trained", "write model: openai/NAME")
        if self.model is not None:
            raise invalid("an entry has either a model or a training that it comes out of", "remove model or trained")
        if self.role is None:
            raise invalid("a trained model has a role that it learned", "write role: actor")
        odd = self.model_fields_set - {"trained", "role", "repeat", "options", *SAMPLING}
        for name in sorted(odd):
            raise invalid(
                f"{name} is that of the model which was trained", f"remove it; allowed: {', '.join(SAMPLING)}"
            )
        return self

    def _check_way(self, transport: str) -> None:
        assert self.model is not None
        direct = transport_type("direct/")
        if transport_type(self.model).is_in_process:
            raise invalid("a model that runs here is reached by no transport", "remove transport")
        if transport == "litellm":
            if transport_type(self.model) is direct:
                raise invalid("a model named direct/... goes the direct way", f"write openai/{self.model[7:]}")
            return
        if transport == "batch":
            self._check_batch()
            if self.api_base is not None and direct.serves(self.model):
                self._check_options()
            return
        if not direct.serves(self.model):
            raise invalid(
                f"transport: direct speaks the plain OpenAI protocol, and {self.model} is translated by litellm",
                "write openai/NAME with the api_base of a server that speaks it, or remove transport",
            )
        if self.api_base is None:
            raise invalid("transport: direct needs the address of the server", "write api_base: env:NAME")
        self._check_options()

    def _check_batch(self) -> None:
        assert self.model is not None
        prefix, _, name = self.model.partition("/")
        if isinstance(self.api_base, list):
            raise invalid("a batch is sent to one server, and api_base has several", "write one address")
        if prefix not in BATCH_PREFIXES:
            raise invalid(
                f"transport: batch speaks the batch protocols of OpenAI and Anthropic, and {self.model} is of another",
                f"write openai/{name or 'NAME'} with the api_base of a server that has /batches, or remove transport",
            )
        if prefix == "direct" and self.api_base is None:
            raise invalid("a model named direct/... needs the address of the server", "write api_base: env:NAME")

    def _check_options(self) -> None:
        own = next((name for name in self.options if name in LITELLMS_OWN), None)
        if own is not None:
            raise invalid(
                f"the option {own} tells litellm something, and is not sent", "remove it, or remove transport"
            )


def _model_entry(value: Any) -> Any:
    if isinstance(value, str) and "/" in value:
        entry = value.rpartition("/")[2] or "NAME"
        raise invalid(
            f"{value} is the name of a model, and an agent names an entry of models",
            f"declare it, models: {{{entry}: {{model: {value}}}}}, and write model: {entry} here",
        )
    return value


class AgentText(StrictEntry):
    """An agent: a model with a name and perhaps a persona."""

    example: ClassVar[str] = "{name: NAME, model: MODEL}"
    hints: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("temperature", "top_p", "max_tokens"), "write it in an entry of models, and name that entry: model: NAME"
    )

    name: Name
    """The agent's name in claims, records and prompts."""
    model: Annotated[Name, BeforeValidator(_model_entry, json_schema_input_type=Name)]
    """The name of an entry of models."""
    persona: Text | None = None
    """The system message: a role or a manner."""
    vars: dict[Variable, Number] = Field(default_factory=dict)
    """Numbers of your own. Expressions read them as vars(NAME), templates as agent.vars."""


TOOLS: Mapping[str, tuple[str, ...]] = {
    "calculator": (),
    "search": ("source", "top"),
    "python": ("function", "seconds"),
}
"""The tools, and the words of their entries."""


class ToolText(StrictEntry):
    """A tool that speaks in a debate without a model: a calculator, a search, or a function of your own."""

    example: ClassVar[str] = "{tool: calculator}"

    tool: Literal["calculator", "search", "python"]
    """calculator: computes expressions. search: finds passages in a knowledge source. python: calls a function of your
    own."""
    source: Name | None = None
    """For search: the name of an entry of knowledge."""
    top: Annotated[Whole, Field(ge=1, le=1_000)] = 3
    """For search: the number of passages per query."""
    function: Annotated[Text, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")] | None = None
    """For python: package.module:function. It takes a text and returns a text. It runs only with your permission
    (`cortexdsl trust`)."""
    seconds: Annotated[float, Field(gt=0, le=3_600, strict=True)] = 10.0
    """For python: how many seconds a call may take."""

    @model_validator(mode="after")
    def _fits_tool(self) -> Self:
        allowed = TOOLS[self.tool]
        for name in sorted(self.model_fields_set - {"tool", *allowed}):
            raise invalid(
                f"{name} does not go with tool: {self.tool}", f"allowed: {', '.join(allowed) or 'nothing else'}"
            )
        for name in allowed[:1]:
            if getattr(self, name) is None:
                raise invalid(f"a {self.tool} tool needs a {name}", f"write {name}: ...")
        return self
