"""`cortexdsl run`: run an experiment to its report by the workflow that ships with the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from cortexdsl.cli.jobs.debate import add_trust
from cortexdsl.errors import InputError
from cortexdsl.plan import compile_spec
from cortexdsl.plan.asked import asked_experiments
from cortexdsl.watch.command import remember, workflow_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("spec", help="the spec, or its name under specs/; several with commas")
    parser.add_argument("--cores", metavar="N", help="jobs at once on this machine; by default one a core")
    parser.add_argument("--profile", metavar="NAME", help="where jobs run: slurm, or a Snakemake profile of your own")
    parser.add_argument("--errors-again", action="store_true", help="ask failed calls of earlier runs again")
    add_trust(parser)
    parser.epilog = "What stands after -- is handed on to Snakemake: cortexdsl run mine -- --dry-run"


def run(args: argparse.Namespace) -> int:
    """Run the verb: this process becomes Snakemake, so that signals and exit status are its own."""
    if args.cores not in (None, "all") and not (args.cores.isdecimal() and int(args.cores) > 0):
        raise InputError(f"--cores {args.cores}: is no number of jobs\n    write --cores 4, or --cores all")
    for experiment, path in asked_experiments(args.spec).items():
        compile_spec(path, experiment)  # what is wrong in it is said before Snakemake starts
    settings = [f"spec={json.dumps(args.spec)}", *(["errors_again=true"] if args.errors_again else [])]
    settings += [f"trust={','.join(args.trust)}"] if args.trust else []
    profile = ["--profile", find_profile(args.profile)] if args.profile else []
    # A profile of a cluster says itself how many jobs run at once.
    cores = ["--cores", args.cores or "all"] if args.cores or not profile else []
    logger = ["--logger", "cortexdsl"] if "--logger" not in args.handed_on else []
    snakefile = ["--snakefile", str(workflow_folder() / "Snakefile")]
    command = [sys.executable, "-m", "cortexdsl.watch.launch", *snakefile, *_default_options(args.handed_on)]
    _check_folder()
    remember(sys.argv[1:])
    sys.stdout.flush()
    os.execv(command[0], [*command, *profile, *logger, *cores, *_configured(args.handed_on, settings)])


def _check_folder() -> None:
    """Refuse a folder in which Snakemake cannot keep its records.

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
    """Return the options of the shipped default profile, in place of the profile: Snakemake announces those it reads.

    Nothing if another default profile is in effect: one of the user's, or one that was asked for.
    """
    shipped = workflow_folder() / "profiles" / "default"
    found = (folder for folder in (Path("default"), Path("profiles/default"), shipped) if folder.exists())
    if any(word.startswith("--workflow-profile") for word in handed_on) or not next(found).samefile(shipped):
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
    """Add settings to Snakemake's arguments, among those of a `--config` there: it heeds only the last one."""
    words = [part for word in handed_on for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
    places = [place for place, word in enumerate(words) if word in ("--config", "-C")]
    if not places:
        return [*words, "--config", *settings]
    return [*words[: places[-1] + 1], *settings, *words[places[-1] + 1 :]]


def find_profile(name: str) -> str:
    """Return the folder of a profile: one of one's own, or a shipped one by its name.

    Raises
    ------
    InputError
        There is neither.
    """
    shipped = workflow_folder() / "profiles"
    for folder in (Path(name), shipped / name):
        if (folder / "config.yaml").is_file():
            return str(folder)
    names = ", ".join(sorted(path.parent.name for path in shipped.glob("*/config.yaml")))
    raise InputError(f"--profile {name}: there is no folder {name} with a config.yaml\n    shipped: {names}")
