"""Verbs of a whole experiment: `run` (becomes Snakemake with the shipped workflow) and `status` (how far it is)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import yaml
from rich.console import Console

from cortexdsl.display.console import draw
from cortexdsl.display.launch import block_signals, store_command, wait_for_line, workflow_folder
from cortexdsl.display.progress import RunProgress, WatchedRun, expected_in, layout_in, trainings
from cortexdsl.display.wording import plain_values
from cortexdsl.errors import InputError
from cortexdsl.import_path import python_command
from cortexdsl.jobs.arguments import add_shared
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.models.control import read_controls
from cortexdsl.models.job_tally import FROM_OUTSIDE
from cortexdsl.numbers import counted
from cortexdsl.plain_text import unwrapped
from cortexdsl.plan.forecast.validation import validated_plan
from cortexdsl.plan.jobs.consent import PermissionRequest, is_permitted, permit, refusal, remember, request_of
from cortexdsl.plan.jobs.programs import check_sandbox, check_solutions, has_programs, with_programs
from cortexdsl.plan.layout import Layout, selected_experiments
from cortexdsl.plan.parts import Permission
from cortexdsl.plan.permissions import folder_digest
from cortexdsl.plan.persistence.controls import plain
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.run_record import EarlyEnd, early_end, is_locked
from cortexdsl.plan.persistence.verification import versions_in_words


def add_run_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("spec", "the spec, or its name under specs/. Several are separated by commas")
    parser.add("--cores", "how many jobs run at once on this machine (default: one per core)", metavar="N")
    parser.add("--profile", "where jobs run: slurm, or a Snakemake profile of your own", metavar="NAME")
    parser.add("--errors-again", "send failed calls of earlier runs again; other finished calls are kept", **FLAG)
    add_shared(parser, "--trust")
    parser.add(
        "--yes", "permit for this run what needs permission: commands, code, other files, other addresses", **FLAG
    )
    parser.epilog = "With cortexdsl run mine -- --dry-run, the arguments after -- are passed to Snakemake."


def run_run(args: argparse.Namespace) -> int:
    """Run the verb: this process becomes Snakemake, which then has its signals and its exit status."""
    if args.cores not in (None, "all") and not (args.cores.isdecimal() and int(args.cores) > 0):
        raise InputError(f"--cores {args.cores}: this is not a number of jobs\n    write --cores 4, or --cores all")
    _check_folder()
    plans = [validated_plan(path, experiment) for experiment, path in selected_experiments(args.spec).items()]
    for plan in plans:
        check_sandbox(plan)
    settings = [f"spec={json.dumps(args.spec)}", *(["errors_again=true"] if args.errors_again else [])]
    settings += [f"trust={','.join(args.trust)}"] if args.trust else []
    profile = ["--profile", find_profile(args.profile)] if args.profile else []
    # The profile of a cluster has the number of jobs at once.
    cores = ["--cores", args.cores or "all"] if args.cores or not profile else []
    logger = ["--logger", "cortexdsl"] if "--logger" not in args.handed_on else []
    snakefile = ["--snakefile", str(workflow_folder() / "Snakefile")]
    command = python_command("cortexdsl.display.launch", *snakefile, *_default_options(args.handed_on))
    requests = [*map(request_of, plans), *_profile_request(args.handed_on)]
    _ask_permission(requests, args.trust, is_yes=args.yes)
    is_dry = not {"-n", "--dry-run", "--dryrun"}.isdisjoint(args.handed_on)
    for plan in () if is_dry else filter(has_programs, plans):
        if sys.stderr.isatty():
            print(f"{plan.experiment}: running the solutions of its datasets", file=sys.stderr)
        check_solutions(with_programs(plan), plan.datasets)
    store_command(sys.argv[1:])
    if sys.stderr.isatty():
        print(f"{', '.join(plan.experiment for plan in plans)}: finding out what is to be done", file=sys.stderr)
    sys.stdout.flush()
    block_signals()
    os.execv(command[0], [*command, *profile, *logger, *cores, *_configured(args.handed_on, settings)])


def _ask_permission(requests: Sequence[PermissionRequest], trusted: Sequence[str], *, is_yes: bool) -> None:
    """Have the user permit what the specs do beyond asking models, once; pass permissions on to the jobs.

    Raises
    ------
    InputError
        Permission is not given, or there is no terminal to ask on.
    """
    for request in requests:
        if is_yes or is_permitted(request, trusted):
            continue
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise refusal(request)
        print(f"{request.file}: this is more than to ask models of known providers:", file=sys.stderr)
        print("\n".join(request.lines()), file=sys.stderr)
        print("permit it, now and later? [y/N] ", end="", file=sys.stderr, flush=True)
        if wait_for_line().strip().lower() not in ("y", "yes"):
            raise InputError(f"{request.file}: not permitted; nothing was run")
        remember(request)
    permit(requests)


def _default_profile(handed_on: Sequence[str]) -> Path | None:
    """Return the default profile of Snakemake that is in effect; None if the arguments name one."""
    places = (Path("default"), Path("profiles/default"), _shipped_profile())
    is_named = any(word.startswith("--workflow-profile") for word in handed_on)
    return None if is_named else next(folder for folder in places if folder.exists())


def _shipped_profile() -> Path:
    return workflow_folder() / "profiles" / "default"


def _profile_request(handed_on: Sequence[str]) -> list[PermissionRequest]:
    """Return the request for a default profile in the current folder: a profile can run commands."""
    own = _default_profile(handed_on)
    if own is None or (content := folder_digest(own)) == folder_digest(_shipped_profile()):
        return []
    what = "use this folder's default profile of Snakemake, which can run commands"
    return [PermissionRequest(own.as_posix(), [Permission(what, f"{own}/config.yaml", content)], "")]


def _check_folder() -> None:
    """Refuse a folder that Snakemake cannot write to.

    Raises
    ------
    InputError
    """
    if not os.access(Path(), os.W_OK):
        raise InputError(
            f"{Path.cwd()}: this folder cannot be written\n"
            "    give yourself the right to write there, or run in another folder that has the spec"
        )


def _default_options(handed_on: Sequence[str]) -> list[str]:
    """Return the options of the shipped default profile, as options: Snakemake would announce the profile.

    Empty if another default profile is in effect: one of the user's, or one named in the arguments.
    """
    shipped, own = _shipped_profile(), _default_profile(handed_on)
    if own is None or not own.samefile(shipped):
        return []
    options = ["--workflow-profile", "none"]
    for name, value in yaml.safe_load((shipped / "config.yaml").read_text(encoding="utf-8")).items():
        if value is not False and name != "logger":
            options += [
                f"--{name}",
                *([] if value is True else map(str, value if isinstance(value, list) else [value])),
            ]
    return options


def _configured(handed_on: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Add settings to Snakemake's arguments, to the last `--config` if there is one: Snakemake ignores the others."""
    words = [part for word in handed_on for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
    places = [place for place, word in enumerate(words) if word in ("--config", "-C")]
    if not places:
        return [*words, "--config", *settings]
    return [*words[: places[-1] + 1], *settings, *words[places[-1] + 1 :]]


def find_profile(name: str) -> str:
    """Return the folder of a profile: a shipped one by its name, or one of the user's.

    A folder of the same name does not replace a shipped profile, because it may be a stranger's.

    Raises
    ------
    InputError
        There is no such profile.
    """
    shipped = workflow_folder() / "profiles"
    names = sorted(path.parent.name for path in shipped.glob("*/config.yaml"))
    folder = shipped / name if name in names else Path(name)
    if (folder / "config.yaml").is_file():
        return str(folder)
    raise InputError(f"--profile {name}: there is no folder {name} with a config.yaml\n    shipped: {', '.join(names)}")


def add_status_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("experiment", "its name, or the folder of its results: results/quickstart")
    parser.add("--json", "print the progress as JSON", **FLAG)


def run_status(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 0 if a run is active or the experiment is finished, else 1."""
    layout = layout_in(args.experiment)
    root = Path(layout.root)
    if is_locked(root) and not _has_begun(layout):
        print(f"{root}: a run is at work, no job has started yet")
        return 0
    watched = WatchedRun(expected_in(args.experiment))
    shown = watched.look()
    is_open = bool(shown.running) or is_locked(root)
    end = early_end(layout)
    is_finished = shown.all.state == "done" and Path(layout.report).exists() and end is None
    trained = trainings(watched.expected.layout)
    versions = versions_in_words(read_journal(layout))
    if args.json:
        learned = {"trainings": [asdict(each) for each in trained]} if trained else {}
        mixed = {"versions": versions} if versions else {}
        print(json.dumps(plain_values(shown) | learned | mixed))
    else:
        console = Console(file=unwrapped(sys.stdout), highlight=False)
        console.print(draw(shown))
        remarks = [*_remarks(shown, end, is_open=is_open, is_finished=is_finished), *filter(None, [versions])]
        for line in (*(each.line() for each in trained), *remarks):
            print(line)
        for word, value in read_controls(Path(layout.spent)).limits.items():
            print(f"changed by `cortexdsl limit`: {word} {plain(value)}")
    return 0 if is_open or is_finished else 1


def _has_begun(layout: Layout) -> bool:
    return Path(layout.plan).exists() or any(Path(layout.spent).glob("*.json"))


def _remarks(shown: RunProgress, end: EarlyEnd | None, *, is_open: bool, is_finished: bool) -> list[str]:
    lines = []
    if calls := shown.others.calls.get("asked", 0):
        lines.append(
            f"others: {counted(calls, 'call')} by a judge, a knowledge pool, what-if debates, or cells of earlier plans"
        )
    if shown.silent:
        named = ", ".join(shown.silent[:3]) + (f" and {len(shown.silent) - 3} more" if len(shown.silent) > 3 else "")
        why = "probably of an earlier run" if is_open else "probably killed"
        lines.append(f"no news for over a minute, {why}: {named}")
    for message, jobs in shown.messages.items():
        if end is not None and message == FROM_OUTSIDE:
            continue
        lines.append(f"{jobs} {'jobs' if jobs > 1 else 'job'} ended: {message}")
    if not is_open and not is_finished:
        what = "there is no report" if shown.all.state == "done" and end is None else "not finished"
        if end is not None:
            lines += filter(None, [f"{end.why}.", end.kept()])
        lines.append(f"{what}, and no run is in progress\n    continue: cortexdsl run {shown.experiment}")
    return lines
