"""The sandbox that prompts are rendered in: Jinja's own, with strict variables and repeatable filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from types import CodeType
from typing import Any

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
    nodes,
    pass_context,
)
from jinja2.bccache import Bucket
from jinja2.exceptions import SecurityError
from jinja2.meta import TrackingCodeGenerator, find_referenced_templates
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.core import Question

NOT_REPEATABLE = "a prompt must be the same in each rendering; use the seed of the spec, or an agent's number"
MOST_TEMPLATES = 1000
"""Templates whose code and facts are kept in memory."""

_METHODS = frozenset(dir(dict))
_OF_QUESTION = frozenset(field.name for field in fields(Question))
_KINDS: Mapping[type, str] = {dict: "a mapping", list: "a list", tuple: "a list", Question: "the question"}
_PARTS = "one of its parts, such as question.text or turn.text, or join a list: names | join(', ')"


@pass_context  # so that Jinja computes no constant when it compiles a template, before its limits apply
def _text_of(_: Any, value: Any) -> Any:
    """Return a value that a template writes out; refuse one that has no text of its own."""
    if value is None or isinstance(value, str | int | float | Undefined):
        return value
    raise TypeError(f"{_KINDS.get(type(value), 'this')} is not a text: write {_PARTS}")


def _refuse_random(*_: Any, **__: Any) -> None:
    raise SecurityError(f"random: {NOT_REPEATABLE}")


class _ReadOnce(FileSystemLoader):
    """Reads each template once, so that checks and renderings use the same text."""

    def __init__(self, folders: Sequence[str]) -> None:
        super().__init__(folders)
        self._read: dict[str, tuple[str, str, Callable[[], bool]]] = {}

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if template not in self._read:
            self._read[template] = super().get_source(environment, template)
        return self._read[template]


class _CodeInMemory(BytecodeCache):
    """Keeps the code of compiled templates by name, file and text, for all sandboxes of the process.

    Compiling a template costs a hundred times what reading it does, and every spec uses the shipped ones.
    """

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        if len(self._code) >= MOST_TEMPLATES:
            self._code.clear()
        self._code[bucket.key, bucket.checksum] = bucket.code


_CODE = _CodeInMemory()


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with strict variables, without chance, and with short cuts for what prompts do most.

    Parameters
    ----------
    folders : sequence of str
        Where templates are looked for, in order.
    """

    # Operators that are not computed when a template is compiled.
    intercepted_binops = frozenset({"**", "*", "+", "%", "//", "/"})

    def __init__(self, folders: Sequence[str]) -> None:
        # Text goes to a model, not to a browser: escaping would change it. Pages escape where they show it.
        super().__init__(
            loader=_ReadOnce(list(folders)),
            undefined=StrictUndefined,
            finalize=_text_of,
            optimized=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            auto_reload=False,
            bytecode_cache=_CODE,
        )
        self._loaded: dict[str, Template] = {}
        self.filters["random"] = _refuse_random
        del self.globals["lipsum"]

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template; refuse chance also where it is never reached."""
        template = super()._parse(source, name, filename)
        for used in template.find_all(nodes.Filter):
            if used.name == "random":
                raise TemplateSyntaxError(f"random: {NOT_REPEATABLE}", used.lineno, name, filename)
        return template

    def _compile(self, source: str, filename: str) -> CodeType:
        """Compile the code of a template; a syntax error of Python is an error of the template."""
        try:
            return super()._compile(source, filename)
        except SyntaxError as error:  # more than 20 nested loops, a repeated argument
            raise TemplateSyntaxError(f"it has {error.msg}", 1, filename=filename) from None

    def get_template(
        self, name: str | Template, parent: str | None = None, globals: MutableMapping[str, Any] | None = None
    ) -> Template:
        """Return a template; each is loaded once, because many prompts include it."""
        if not isinstance(name, str) or globals is not None:
            return super().get_template(name, parent, globals)
        template = self._loaded.get(name)
        if template is None:
            template = self._loaded[name] = super().get_template(name, parent)
            # A dictionary is faster than Jinja's chain of mappings, and globals never change.
            template.globals = dict(template.globals)
        return template

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return `obj.attribute`, with a short cut for items of mappings and attributes of questions."""
        if type(obj) is dict and attribute in obj and attribute not in _METHODS:
            return obj[attribute]
        if type(obj) is Question and attribute in _OF_QUESTION:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)


@dataclass(frozen=True)
class TemplateFacts:
    """What a template needs to be rendered.

    Attributes
    ----------
    variables : frozenset of str
        Names that it reads and does not set, without the global ones.
    templates : tuple of str
        Templates that it includes, extends or imports, in order.
    is_dynamic : bool
        Whether it computes the name of a template.
    """

    variables: frozenset[str]
    templates: tuple[str, ...]
    is_dynamic: bool


@lru_cache(MOST_TEMPLATES)
def template_facts(source: str) -> TemplateFacts:
    """Return what the text of a template needs.

    Raises
    ------
    jinja2.TemplateSyntaxError
    """
    sandbox = _sandbox_for_parsing()
    tree = sandbox.parse(source)
    names = TrackingCodeGenerator(sandbox)
    names.optimizer = None  # constants of a template are computed within its limits only
    names.visit(tree)
    referenced = tuple(find_referenced_templates(tree))
    templates = tuple(name for name in referenced if name)
    return TemplateFacts(frozenset(names.undeclared_identifiers), templates, None in referenced)


@cache
def _sandbox_for_parsing() -> Sandbox:
    return Sandbox([])
