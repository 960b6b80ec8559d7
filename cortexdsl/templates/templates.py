"""Prompt templates: Jinja files, rendered in a sandbox with strict undefined, and checked before money is spent.

Replies of models are data: they enter a template as values, are never rendered again, and are never markup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from linecache import getline
from pathlib import Path
from traceback import extract_tb
from typing import Any

from jinja2 import (
    BaseLoader,
    ChainableUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
)
from jinja2.exceptions import SecurityError

from cortexdsl.core import Message, Question
from cortexdsl.errors import Problem, SpecError, nearest
from cortexdsl.templates.limits import exceeded_limit
from cortexdsl.templates.sandbox import Sandbox, TemplateFacts, template_facts

MOST_CHARACTERS = 10_000_000
"""Limit of a rendered prompt."""

MOST_RENDERED = 1 << 24
"""Most characters in the cache of renderings."""

_ABSENT = ("absent",)


class Renderings:
    """A cache of rendered texts by template and used values. It is emptied when it is full."""

    def __init__(self) -> None:
        self._texts: dict[Hashable, str] = {}
        self._length = 0

    def get(self, key: Hashable) -> str | None:
        """Return the text of a key."""
        return self._texts.get(key)

    def keep(self, key: Hashable, text: str) -> None:
        """Store a text."""
        self._length += len(text)
        if self._length > MOST_RENDERED:
            self._texts.clear()
            self._length = len(text)
        self._texts[key] = text


def key_of(template: str, names: Sequence[str], variables: Mapping[str, Any]) -> Hashable | None:
    """Return the cache key of a template's text; None if it depends on more than plain values.

    Turns are not plain: they are rendered for each listener, because rendering records who was shown what.
    """
    values: list[Hashable] = [template]
    for name in names:
        value = _plain(variables[name]) if name in variables else _ABSENT
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def _plain(value: Any) -> Hashable | None:
    """Return a plain value with its type (1, 1.0, and True are equal but render differently); None for other values."""
    kind = type(value)
    if kind in (str, int, float, bool, Question) or value is None:
        return kind, value
    if kind is dict:
        items = [(name, _plain(inner)) for name, inner in value.items()]
        return None if any(inner is None for _, inner in items) else (kind, *items)
    return None


SYSTEM = "common/system.j2"
SINGLE_BRACE = re.compile(r"(?<![\w{%#$}])\{([A-Za-z_]\w*)\}(?!\})")


def shipped_prompts() -> Path:
    """Return the folder of the shipped prompts: next to the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "prompts"
    return inside if inside.is_dir() else package.parent / "prompts"


class Templates:
    """The prompt templates of an experiment. Each is read once, so that its digest is of the rendered text.

    Parameters
    ----------
    folders : sequence of Path
        Searched in order, before the shipped prompts: a file with the name of a shipped one replaces it.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.own_folders = tuple(folders)
        self.folders = (*folders, shipped_prompts())
        self._environment = Sandbox([str(folder) for folder in self.folders])
        self._digests: dict[str, str] = {}
        self._uses: dict[str, frozenset[str] | None] = {}
        self._names: dict[str, tuple[str, ...] | None] = {}
        self._renderings = Renderings()
        self._within_limits: dict[str, tuple[Problem, ...]] = {}

    def render(self, prompt: str, variables: Mapping[str, Any]) -> tuple[Message, ...]:
        """Render a prompt to the messages of a call: a system message if the speaker has a persona, and the prompt.

        Raises
        ------
        SpecError
            The template is missing, malformed, uses variables that the step does not have, or does not end.
        """
        system = self.text(SYSTEM, variables)
        user = self.text(prompt, variables)
        if not user:
            raise SpecError([Problem(prompt, "the template renders to nothing", "write what the model is asked")])
        opening: tuple[Message, ...] = ({"role": "system", "content": system},) if system else ()
        return (*opening, {"role": "user", "content": user})

    def text(self, prompt: str, variables: Mapping[str, Any]) -> str:
        """Render a template, unless it was rendered with the same values before.

        Raises
        ------
        SpecError
            As for `render`.
        """
        if prompt not in self._names:
            self._names[prompt] = self._used(prompt)
        names = self._names[prompt]
        key = None if names is None else key_of(prompt, names, variables)
        if key is None:
            return self._rendered(prompt, variables)
        text = self._renderings.get(key)
        if text is None:
            text = self._rendered(prompt, variables)
            self._renderings.keep(key, text)
        return text

    def prepare(self, prompts: Iterable[str]) -> None:
        """Compile templates that were rendered before, for the plan: they need no limits again.

        Raises
        ------
        SpecError
            A template is missing or malformed.
        """
        for prompt in (SYSTEM, *prompts):
            self._load(prompt)
            self._within_limits[prompt] = ()
            if prompt not in self._names:
                self._names[prompt] = self._used(prompt)

    def _used(self, prompt: str) -> tuple[str, ...] | None:
        """Return the variables that a template uses, in order; None if they cannot be known."""
        try:
            uses = self.uses(prompt)
        except SpecError:  # in a part that may never be rendered
            return None
        return None if uses is None else tuple(sorted(uses))

    def _rendered(self, prompt: str, variables: Mapping[str, Any]) -> str:
        template = self._load(prompt)
        if prompt not in self._within_limits:
            self._within_limits[prompt] = tuple(self._exceeded(prompt, variables))
        if self._within_limits[prompt]:
            raise SpecError(self._within_limits[prompt])
        try:
            return render_text(template, variables)
        except TemplateSyntaxError as error:  # in what it includes
            raise _malformed(prompt, error) from error
        except TemplateNotFound as error:
            raise self._missing(prompt, error) from error
        except RecursionError as error:
            what = "the template includes itself, or a macro calls itself, without end"
            raise SpecError([Problem(f"{self.path(prompt)}:1:1", what, "let it end")]) from error
        except UndefinedError as error:
            raise SpecError(self._undefined(prompt, variables, error)) from error
        except _FAULTS as error:
            what = f"the template cannot be rendered: {error}"
            raise SpecError([Problem(_line(error) or self.path(prompt), what, "mend the template")]) from error

    def _exceeded(self, prompt: str, variables: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield the problem of a template whose first rendering exceeds a limit; shipped ones are not tried."""
        if self._is_shipped(prompt):
            return
        exceeded = exceeded_limit(lambda: render_text(self._load(prompt), variables), _line)
        if exceeded is not None:
            where, what = exceeded
            what, remedy = f"the template cannot be rendered: {what}", "make its loops and texts shorter"
            yield Problem(where or f"{self.path(prompt)}:1:1", what, remedy)

    def _is_shipped(self, prompt: str) -> bool:
        """Return whether a template and all that it includes are files of this package."""
        try:
            names = self._included(prompt)
        except SpecError:  # in a part that may never be rendered
            return False
        root = shipped_prompts()
        files = [Path(self._loader.get_source(self._environment, name)[1] or "").resolve() for name in names]
        return self.uses(prompt) is not None and all(file.is_relative_to(root) for file in files)

    def _undefined(self, prompt: str, variables: Mapping[str, Any], error: UndefinedError) -> list[Problem]:
        """Return the variables that the step does not have, by rendering again with those found so far."""
        problems: dict[str, Problem] = {}
        found = dict(variables)
        while (unknown := _UNKNOWN.fullmatch(str(error))) and unknown[1] not in problems:
            name = unknown[1]
            problems[name] = _unknown(name, _line(error) or f"{self.path(prompt)}:1:1", variables)
            found[name] = ChainableUndefined(name=name)
            try:
                render_text(self._load(prompt), found)
            except UndefinedError as another:
                error = another
            except (*_FAULTS, RecursionError):
                break
        what = f"the template cannot be rendered: {error}"
        return list(problems.values()) or [
            Problem(_line(error) or self.path(prompt), what, f"{_OF_STEP}: {', '.join(sorted(variables))}")
        ]

    def _load(self, prompt: str) -> Template:
        try:
            return self._environment.get_template(prompt)
        except TemplateSyntaxError as error:
            raise _malformed(prompt, error) from error
        except TemplateNotFound as error:
            raise self._missing(prompt, error) from error
        except UnicodeDecodeError as error:
            raise SpecError([Problem(self.path(prompt), "the template is not UTF-8", "save it as UTF-8")]) from error
        except (RecursionError, MemoryError) as error:
            what = "the template is nested too deeply"
            raise SpecError([Problem(self.path(prompt), what, "write it flatter")]) from error

    def _missing(self, prompt: str, error: TemplateNotFound) -> SpecError:
        name = str(error.name or "")
        near = self._nearest(name)
        looked = [_shown(folder) for folder in self.own_folders] or ["prompts/ beside the spec or above it"]
        remedy = f"did you mean {near}? " if near else ""
        remedy += f"templates are looked for in {', '.join(looked)}, then among the shipped ones"
        where = prompt
        if name != prompt:  # an include: in the line that says so
            lines = self._source(prompt).splitlines()
            where = next((f"{self.path(prompt)}:{n}:1" for n, line in enumerate(lines, 1) if name in line), prompt)
        return SpecError([Problem(where, f"there is no template {name!r}", remedy)])

    def _nearest(self, name: str) -> str:
        """Return a similar template of the same folder, or of a folder with a similar name; empty if there is none."""
        own = [path.relative_to(root).as_posix() for root in self.own_folders for path in sorted(root.rglob("*.j2"))]
        known = dict.fromkeys((*own, *self.shipped()))
        folders = get_close_matches(name.rpartition("/")[0], {each.rpartition("/")[0] for each in known}, 1, 0.81)
        there = [each for each in known if each.rpartition("/")[0] in folders]
        return next(iter(get_close_matches(name, there, 1)), "")

    def path(self, prompt: str) -> str:
        """Return the file of a template, as messages call it."""
        for folder in self.folders:
            if (folder / prompt).is_file():
                return _shown(folder / prompt)
        return prompt

    def uses(self, prompt: str) -> frozenset[str] | None:
        """Return the variables that a template and its includes need; None if they cannot be known.

        Raises
        ------
        SpecError
            The template, or one that it includes, is missing or malformed.
        """
        if prompt not in self._uses:
            parts = [self._facts(part) for part in self._included(prompt)]
            is_known = not any(part.is_dynamic for part in parts)
            self._uses[prompt] = frozenset().union(*(part.variables for part in parts)) if is_known else None
        return self._uses[prompt]

    def text_of(self, prompt: str) -> str:
        """Return the text of a template and of its includes."""
        return "\n".join(self.sources([prompt]).values())

    def sources(self, prompts: Iterable[str]) -> dict[str, str]:
        """Return the text of each template by its name, then the texts of those that it includes, each once."""
        return {name: self._source(name) for prompt in prompts for name in self._included(prompt)}

    def _included(self, prompt: str) -> tuple[str, ...]:
        """Return a template and its includes, each once."""
        seen: dict[str, None] = {}
        waiting = [(prompt, prompt)]
        while waiting:
            name, by = waiting.pop()
            if name in seen:
                continue
            try:
                templates = self._facts(name).templates
            except SpecError:
                if name == by:
                    raise
                raise self._missing(by, TemplateNotFound(name)) from None
            seen[name] = None
            waiting += [(template, name) for template in templates]
        return tuple(seen)

    def shipped(self) -> tuple[str, ...]:
        """Return the names of the shipped templates."""
        root = shipped_prompts()
        return tuple(sorted(path.relative_to(root).as_posix() for path in root.rglob("*.j2")))

    def digest(self, prompt: str) -> str:
        """Return a digest of the texts of a template and its includes."""
        if prompt not in self._digests:
            seen = {name: self._source(name) for name in {*self._included(SYSTEM), *self._included(prompt)}}
            text = "\0".join(f"{name}\0{seen[name]}" for name in sorted(seen))
            self._digests[prompt] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._digests[prompt]

    def _facts(self, name: str) -> TemplateFacts:
        return template_facts(self._source(name))

    def _source(self, name: str) -> str:
        self._load(name)  # for its clearer errors
        return self._loader.get_source(self._environment, name)[0]

    @property
    def _loader(self) -> BaseLoader:
        assert self._environment.loader is not None
        return self._environment.loader

    def single_braces(self, prompt: str) -> list[Problem]:
        """Return warnings about `{name}`, which Jinja sends as written and may be meant as `{{ name }}`."""
        warnings = []
        for number, line in enumerate(self._source(prompt).splitlines(), 1):
            for match in SINGLE_BRACE.finditer(line):
                warnings.append(
                    Problem(
                        f"{self.path(prompt)}:{number}:{match.start() + 1}",
                        f"single braces: {match.group(0)} is sent to the model as it stands",
                        f"write {{{{ {match.group(1)} }}}} for the variable",
                    )
                )
        return warnings


_OF_STEP = "variables of this step"
_FAULTS = (
    TemplateError, SecurityError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError, MemoryError,
)  # fmt: skip


_UNKNOWN = re.compile(r"'(\w+)' is undefined")


def _unknown(name: str, line: str, variables: Mapping[str, Any]) -> Problem:
    """Return the problem of a variable in a line of a template, `FILE:LINE:1`."""
    file, number, _ = line.rsplit(":", 2)
    found = re.search(rf"\b{name}\b", getline(file, int(number)))
    where = f"{file}:{number}:{found.start() + 1 if found else 1}"
    if name in variables:
        return Problem(where, f"an imported template does not see {name}", "import it `with context`")
    return Problem(where, f"there is no variable {name}", nearest(name, variables, say=_OF_STEP))


def render_text(template: Template, variables: Mapping[str, Any]) -> str:
    """Render a template to a text of bounded length."""
    parts, length = [], 0
    for part in template.generate(variables):
        length += len(part)
        if length > MOST_CHARACTERS:
            raise SecurityError(f"the prompt has more than {MOST_CHARACTERS:,} characters")
        parts.append(part)
    return "".join(parts).strip()


def _malformed(prompt: str, error: TemplateSyntaxError) -> SpecError:
    where = f"{_shown(Path(error.filename)) if error.filename else prompt}:{error.lineno}:1"
    return SpecError([Problem(where, f"template error: {error.message}", "mend the template")])


def _line(error: BaseException) -> str:
    """Return the line of a template that raised an error, from the traceback."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename.endswith(".j2")]
    return f"{_shown(Path(frames[-1].filename))}:{frames[-1].lineno or 1}:1" if frames else ""


def _shown(path: Path) -> str:
    """Return a path for messages: relative if it is below the current folder."""
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
