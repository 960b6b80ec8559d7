"""Models, agents, and tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from cortexdsl.core import Model
from cortexdsl.errors import nearest
from cortexdsl.language.grammar.addresses import KeyName, address
from cortexdsl.language.grammar.core_words import core_value, with_words_of
from cortexdsl.language.grammar.entries import (
    Duration,
    Name,
    Number,
    OneOf,
    Plain,
    Share,
    StrictEntry,
    Text,
    Variable,
    Whole,
    invalid,
)
from cortexdsl.language.grammar.spending import PriceEntry, RateEntry
from cortexdsl.language.nodes import shown
from cortexdsl.models.transports.registry import transport_type

BUILTIN = "builtin/solver"
SOLVER_PARAMETERS = ("skill", "overconfidence", "stubbornness", "malformed")
"""Parameters of the built-in solver alone."""

TRAINED = "trained/"
"""Prefix of models that training makes; their real names are known once they are trained."""

SAMPLING = ("temperature", "max_tokens")
_REFUSABLE = ("seed", "system")
"""What a provider may refuse besides options."""
LITELLMS_OWN = (
    "additional_drop_params", "allowed_openai_params", "api_version", "custom_llm_provider", "drop_params",
    "extra_headers", "headers", "organization", "timeout",
)  # fmt: skip
"""Options for litellm itself, which are not sent to a server."""


_OF_SERVERS = ("api_base", "api_key_env", "rate", "timeout", "cache", "function_calls")


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
    "base_url": "write api_base beside options", "stream": "replies are streamed if timeout is over 5 min",
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
    share = value.get("top_p", 1)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise invalid(f"top_p is {shown(share)}", "write a number above 0, at most 1")
    return value


_TRAINED = re.compile(rf"{TRAINED}([^/]+)/([A-Za-z_]\w*)(?:/([1-9]\d?|100))?")


def trained_parts(name: str) -> tuple[str, str, int | None] | None:
    """Return the training, the role and the repeat that a model comes out of; None for a model of its own."""
    made = _TRAINED.fullmatch(name)
    return None if made is None else (made[1], made[2], int(made[3]) if made[3] else None)


def _model_name(name: str) -> str:
    """Refuse a name with an address, such as `oobabooga/http://...`: litellm would send prompts there unasked."""
    if name.startswith(TRAINED) and trained_parts(name) is None:
        raise invalid("a trained model has a training, and the role that it learned", "write trained/NAME/actor")
    if "://" in name:
        raise invalid("the name of a model holds an address", "write api_base: and the address, and model: openai/NAME")
    return name


@with_words_of(
    Model,
    api_key_env=KeyName | None,
    engine=Name | None,
    price=PriceEntry | None,
    rate=RateEntry | None,
    timeout=Duration | None,
)
class ModelText(StrictEntry):
    """A model: its name, its address, and how it samples."""

    hints: ClassVar[Mapping[str, str]] = {
        "api_key": "never write a key into a spec; write api_key_env: NAME, the variable that holds it",
        "seed": "seeds come from the seed of the spec, so that arms of a grid share their draws",
        **dict.fromkeys(("base_url", "api_url", "url"), "write api_base: and the address, or env:NAME"),
        **{
            name: f"other litellm options go under options: {{{name}: ...}}"
            for name in ("top_k", "top_p", "min_p", "frequency_penalty", "presence_penalty", "stop", "extra_body",
                         "reasoning_effort", "logprobs", "repetition_penalty", "max_completion_tokens")
        },
    }  # fmt: skip

    example: ClassVar[str] = "{model: openai/NAME}"

    model: Annotated[Text, AfterValidator(_model_name)] = ""
    """PROVIDER/NAME, such as openai/NAME; tiny/NAME or tiny/./PATH for a small model that runs in the process;
    builtin/solver; or trained/NAME/ROLE, what the training NAME made of the role. trained/NAME/ROLE/1 is its first
    repeat."""
    api_base: Annotated[Any, PlainValidator(_addresses, json_schema_input_type=str | list[str] | None)] = None
    """The address of the server or provider, or env:NAME; or a list of addresses of servers that have the same model:
    calls are spread over them, and a server that is down is left out."""
    temperature: Annotated[float, Field(ge=0, le=10, strict=True)] | None = None
    """The sampling temperature. Default: the server's."""
    max_tokens: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """The largest number of tokens of a reply."""
    options: Annotated[dict[Text, Plain], AfterValidator(_options)] = Field(default_factory=dict)
    """Any other option of the provider, sent as it is."""
    drop: tuple[Text, ...] = ()
    """Parameters that are not sent, because the provider refuses them: seed, temperature, max_tokens, keys of options,
    or system: a persona then begins the message of the user."""
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
        if not self.model:
            raise invalid("an entry has a model", "write model: openai/NAME")
        if self.model.startswith(TRAINED):
            return self._checked_trained()
        name, model = self.model, self.as_model("")
        if name.startswith("builtin/"):
            if name != BUILTIN:
                raise invalid(f"there is no model {name}", f"the only built-in one is {BUILTIN}")
            if model.api_base or model.api_key_env:
                raise invalid("the built-in solver has no address and no key", "remove api_base and api_key_env")
            for option in self._requested:
                if option not in SOLVER_PARAMETERS:
                    remedy = f"remove it, or name another model; the solver has {', '.join(SOLVER_PARAMETERS)}"
                    raise invalid(f"the built-in solver has no {option}", remedy)
        if transport_type(name).is_in_process:
            if model.api_base or model.api_key_env:
                raise invalid(f"{name} runs in the process: no address, no key", "remove api_base and api_key_env")
            if model.function_calls:
                what = f"{name} runs in the process, without function calls"
                raise invalid(what, "remove function_calls: it asks for tools in its text")
            for word in ("rate", "timeout"):
                if getattr(model, word) is not None:
                    raise invalid(f"{name} runs in the process, and {word} is for a server", f"remove {word}")
        if not name.startswith("builtin/"):
            for parameter in SOLVER_PARAMETERS:
                if getattr(self, parameter) is not None:
                    raise invalid(f"{parameter} is a parameter of {BUILTIN} alone", "remove it")
        prefixes = ("direct/anthropic/",) if model.engine is None else ("direct/anthropic/", "anthropic/")
        if name.startswith(prefixes) and self.max_tokens is None:
            raise invalid("the Messages API of Anthropic has no default for max_tokens", "write max_tokens: 2000")
        if model.engine is not None:
            _check_engine(model, self.model_fields_set)
        elif name.startswith("direct/"):
            if model.api_base is None:
                raise invalid("a model direct/NAME needs the address of its server", "write api_base: env:NAME")
            _check_options(model)
        allowed = (*SAMPLING, *_REFUSABLE, *self.options)
        for option in self.drop:
            if option not in allowed:
                raise invalid(f"drop: this entry sets no {option}", f"name some of: {', '.join(allowed)}")
        return self

    def _checked_trained(self) -> Self:
        for name in sorted(self.model_fields_set - {"model", "options", *SAMPLING}):
            raise invalid(
                f"{name} is that of the model which was trained", f"remove it; allowed: {', '.join(SAMPLING)}"
            )
        return self

    @property
    def _requested(self) -> dict[str, Any]:
        """The parameters of its requests."""
        written = {key: getattr(self, key) for key in (*SAMPLING, *SOLVER_PARAMETERS)}
        return {key: value for key, value in written.items() if value is not None} | self.options

    def as_model(self, name: str) -> Model:
        """Return the model, with all parameters of its requests as options."""
        addresses = self.api_base if isinstance(self.api_base, list) else [self.api_base] if self.api_base else []
        options = {key: value for key, value in self._requested.items() if key not in self.drop}
        return core_value(
            Model,
            self,
            translated=(*SAMPLING, *SOLVER_PARAMETERS, "drop"),
            name=name,
            api_base=addresses[0] if addresses else None,
            copies=tuple(addresses[1:]),
            options=MappingProxyType(options),
            refused=tuple(what for what in _REFUSABLE if what in self.drop),
        )


def _check_engine(model: Model, written: Collection[str]) -> None:
    if model.model.startswith("builtin/"):
        raise invalid("the built-in solver is asked by no engine", "remove engine")
    for name in _OF_SERVERS:
        if name in written:
            raise invalid(f"{name} is for a server, and an engine answers this model in files", f"remove {name}")
    _check_options(model)


def _check_options(model: Model) -> None:
    own = next((name for name in model.options if name in LITELLMS_OWN), None)
    if own is not None:
        what = f"the option {own} tells litellm something, and is not sent"
        raise invalid(what, "remove it, or write model: openai/NAME without an engine")


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
        ("temperature", "max_tokens"), "write it in an entry of models, and name that entry: model: NAME"
    )

    name: Name
    """The agent's name in claims, records and prompts."""
    model: Annotated[Name, BeforeValidator(_model_entry, json_schema_input_type=Name)]
    """The name of an entry of models."""
    persona: Text | None = None
    """The system message: a role or a manner."""
    vars: dict[Variable, Number] = Field(default_factory=dict)
    """Numbers of your own. Expressions read them as vars(NAME), templates as agent.vars."""


_SEARCH = re.compile(r"search\(\s*([^()\s]+)\s*\)")


def _search_or_function(name: str) -> str:
    if _SEARCH.fullmatch(name) or re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", name):
        return name
    if name == "search":
        raise invalid("a search tool needs a source", "write tool: search(NAME), with an entry of knowledge")
    remedy = nearest(name.partition("(")[0], ("calculator", "program", "search")).replace("search", "search(NAME)")
    raise invalid(f"{shown(name)} is not a tool", f"{remedy}; a function is written as package.module:function")


_SearchOrFunction: TypeAlias = Annotated[Text, AfterValidator(_search_or_function)]


class ToolText(StrictEntry):
    """A tool that speaks in a debate without a model: a calculator, a search, or a function of your own."""

    example: ClassVar[str] = "{tool: calculator}"

    tool: Annotated[
        Literal["calculator", "program"] | _SearchOrFunction, OneOf("search(NAME)", "package.module:function")
    ]
    """calculator: computes expressions. search(NAME): finds passages in an entry of knowledge. program: runs a Python
    program that a model wrote, in a sandbox. package.module:function: a function of your own, which takes a text and
    returns one. It runs only with your permission (`cortexdsl trust`)."""
    about: Text | None = None
    """What the tool does, for agents that may use it in their turns. A function needs it; other tools have a text of
    their own."""
    seconds: Annotated[float, Field(gt=0, le=3_600, strict=True)] = 10.0
    """For a function: how many seconds a call may take."""

    @model_validator(mode="after")
    def _fits_tool(self) -> Self:
        if "seconds" in self.model_fields_set and self.kind != "python":
            raise invalid(f"seconds does not go with tool: {self.tool}", "remove it: only a function is timed")
        return self

    @property
    def kind(self) -> str:
        """The kind of tool, by which its model is named."""
        return "python" if ":" in self.tool else self.tool.partition("(")[0]

    @property
    def source(self) -> str | None:
        """The entry of knowledge that is searched."""
        written = _SEARCH.fullmatch(self.tool)
        return written[1] if written else None
