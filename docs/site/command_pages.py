"""The reference pages of commands: an index, and a page for each group of verbs in `cortexdsl --help`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from markdown_tables import table

from cortexdsl.cli.verbs import JOBS, VERBS, Verb, parser_of


def command_pages() -> Mapping[str, str]:
    """Return the pages of commands by their paths in `docs/reference/`, without `.md`."""
    return {
        "commands": commands_index(),
        **{f"commands/{page_of(group)}": commands_page(group, verbs) for group, verbs in groups().items()},
    }


def groups() -> Mapping[str, Mapping[str, Verb]]:
    """Return the verbs of each group of the help, without those that only the workflow calls."""
    found: dict[str, dict[str, Verb]] = {}
    for name, verb in VERBS.items():
        if verb.group != JOBS:
            found.setdefault(verb.group, {})[name] = verb
    return found


def page_of(group: str) -> str:
    """Return the name of a group's page."""
    return group.replace(" ", "-")


def commands_index() -> str:
    """Return the page that lists all commands and says what is common to them."""
    rows = (
        (f"[`{name}`](commands/{page_of(group)}.md#cortexdsl-{name})", sentence(verb.line))
        for group, verbs in groups().items()
        for name, verb in verbs.items()
    )
    parts = [
        "# Every command",
        "Each name links to the arguments of the command, which `cortexdsl COMMAND --help` prints, too. The "
        "[exit status](errors.md#exit-status) is 0 after success.",
        table(("command", "what it does"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def commands_page(group: str, verbs: Mapping[str, Verb]) -> str:
    """Return the page of a group: each verb with its arguments."""
    parsers = {name: parser for name, _, parser in parsers_in(parser_of(verbs))}
    parts = [
        f"# Commands: {group}",
        "[Every command](../commands.md).",
    ]
    for name, verb in verbs.items():
        parts += [f"## cortexdsl {name}", sentence(verb.line), arguments_table(parsers[name])]
        for below, line, parser in parsers_in(parsers[name]):
            parts += [f"### cortexdsl {name} {below}", sentence(line), arguments_table(parser)]
    return "\n\n".join(filter(None, parts)) + "\n"


def parsers_in(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the commands below a parser: the name of each, its line of the help, and its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                yield name, helps.get(name, ""), below


def arguments_table(parser: argparse.ArgumentParser) -> str:
    """Return the table of a parser's arguments and the line below it; empty if there are none."""
    rows = list(arguments_of(parser))
    return "\n\n".join(filter(None, (table(("argument", "meaning"), rows) if rows else "", sentence(parser.epilog))))


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield arguments and options of a verb with their help, and the values that an argument may have."""
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction) or action.help is argparse.SUPPRESS:
            continue
        value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
        shown = value if isinstance(value, str) else " ".join(value)
        name = ", ".join(action.option_strings) if action.option_strings else shown
        if action.option_strings and shown and action.nargs != 0:
            name += f" {shown}"
        meaning = sentence((action.help or "").replace("%(default)s", str(action.default)))
        if action.choices:
            meaning += " Values: " + ", ".join(f"`{choice}`" for choice in action.choices) + "."
        yield f"`{name}`", meaning


def sentence(text: str | None) -> str:
    """Return a text of the help as a sentence: with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".") if text else ""
