"""Prompt templates: Jinja files found, rendered in a sandbox with strict undefined, and checked before money is spent.

A model's words are data: they enter a template as values, are never rendered again and never markup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from jinja2 import (
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    meta,
)
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.errors import Problem, SpecError
from cortexdsl.terms import Message

SYSTEM = "common/system.j2"
SINGLE_BRACE = re.compile(r"(?<![\w{%#$}])\{([A-Za-z_]\w*)\}(?!\})")


def shipped_prompts() -> Path:
    """Return the folder of the shipped prompts: beside the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "prompts"
    return inside if inside.is_dir() else package.parent / "prompts"


class Templates:
    """The prompt templates of an experiment.

    Parameters
    ----------
    folders : sequence of Path
        Searched in order, the shipped prompts last: a file of one's own with a shipped name replaces it.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = (*folders, shipped_prompts())
        # Text goes to a model, not to a browser: escaping would change it. Pages escape where they show it.
        self._environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader([str(folder) for folder in self.folders]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )

    def render(self, prompt: str, variables: Mapping[str, Any]) -> tuple[Message, ...]:
        """Render a prompt to the messages of a call: a system message where the speaker has a persona, and the prompt.

        Raises
        ------
        SpecError
            The template is missing, malformed, or uses a variable that the step does not have.
        """
        system = self._text(SYSTEM, variables)
        user = self._text(prompt, variables)
        if not user:
            raise SpecError([Problem(prompt, "the template renders to nothing", "write what the model is asked")])
        opening: tuple[Message, ...] = ({"role": "system", "content": system},) if system else ()
        return (*opening, {"role": "user", "content": user})

    def _text(self, prompt: str, variables: Mapping[str, Any]) -> str:
        template = self._load(prompt)
        try:
            text = template.render(variables)
        except TemplateNotFound as error:
            raise self._missing(prompt, error) from error
        except (TemplateError, SecurityError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise SpecError(
                [Problem(prompt, f"the template cannot be rendered: {error}", _known(variables))]
            ) from error
        return text.strip()

    def _load(self, prompt: str) -> Template:
        try:
            return self._environment.get_template(prompt)
        except TemplateSyntaxError as error:
            where = f"{error.filename or prompt}:{error.lineno}:1"
            raise SpecError([Problem(where, f"template error: {error.message}")]) from error
        except TemplateNotFound as error:
            raise self._missing(prompt, error) from error

    def _missing(self, prompt: str, error: TemplateNotFound) -> SpecError:
        near = get_close_matches(str(error.name or ""), self.shipped(), n=1)
        remedy = f"did you mean {near[0]}? " if near else ""
        remedy += "templates are looked for in prompts/ beside specs/, then among the shipped ones"
        return SpecError([Problem(prompt, f"there is no template {error.name!r}", remedy)])

    def shipped(self) -> tuple[str, ...]:
        """Return the names of the shipped templates."""
        root = shipped_prompts()
        return tuple(sorted(path.relative_to(root).as_posix() for path in root.rglob("*.j2")))

    def digest(self, prompt: str) -> str:
        """Return a digest of a template's text and of all that it includes: editing any of them changes it."""
        seen: dict[str, str] = {}
        waiting = [SYSTEM, prompt]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen[name] = self._source(name)
            waiting += [n for n in meta.find_referenced_templates(self._environment.parse(seen[name])) if n]
        text = "\0".join(f"{name}\0{seen[name]}" for name in sorted(seen))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _source(self, name: str) -> str:
        self._load(name)  # its errors are the clear ones
        assert self._environment.loader is not None
        return self._environment.loader.get_source(self._environment, name)[0]

    def single_braces(self, prompt: str) -> list[Problem]:
        """Warn of `{name}` where `{{ name }}` may be meant: Jinja would send the braces to the model as they are."""
        found = []
        for number, line in enumerate(self._source(prompt).splitlines(), 1):
            for match in SINGLE_BRACE.finditer(line):
                found.append(
                    Problem(
                        f"{prompt}:{number}:{match.start() + 1}",
                        f"single braces: {match.group(0)} is sent to the model as it stands",
                        f"write {{{{ {match.group(1)} }}}} for the variable",
                    )
                )
        return found


def _known(variables: Mapping[str, Any]) -> str:
    return f"variables of this step: {', '.join(sorted(variables))}"
