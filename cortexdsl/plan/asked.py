"""Which specs are asked for, and what their experiments are called."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from pathlib import Path

from cortexdsl.errors import InputError

SPECS = Path("specs")
_NAME = re.compile(r"[^\W_][\w.+-]*(/[^\W_][\w.+-]*)*")


def asked_experiments(asked: str | None) -> dict[str, str]:
    """Return the specs that a workflow runs: those asked for, or all that lie directly in specs/.

    Parameters
    ----------
    asked : str or None
        A name (`quickstart`, `examples/groups`) or the path of a spec; several separated by commas.

    Returns
    -------
    dict of experiment to the path of its spec

    Raises
    ------
    InputError
        There is no such spec, or two would write to one folder of results.
    """
    if asked is not None:
        paths = [spec_path(part.strip()) for part in str(asked).split(",") if part.strip()]
    else:
        paths = sorted(path for path in SPECS.glob("*.yaml") if not path.name.startswith("_"))
    if not paths:
        raise InputError(f"there is no spec directly in specs/\n    write one: cortexdsl new NAME; {_specs_here()}")
    found: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        name = experiment_name(path)
        if name in found:
            raise InputError(f"{found[name]} and {path} would both write to results/{name}\n    rename one of them")
        found[name] = _from_here(path)
    return found


def _from_here(path: Path) -> str:
    """Spell a path in one way: it stands in the params of jobs, which run again where those change."""
    here, whole = Path.cwd().resolve(), path.resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def spec_path(asked: str) -> Path:
    """Return the path of a spec from its name or path."""
    for path in (Path(asked), SPECS / asked, SPECS / f"{asked}.yaml"):
        if path.is_file():
            return path
    raise InputError(f"there is no spec {asked!r}\n    {_specs_here(asked)}")


def _specs_here(asked: str = "") -> str:
    """Return which specs there are: the one that was probably meant, those directly in specs/, and how many below."""
    paths = [path.relative_to(SPECS).with_suffix("") for path in SPECS.rglob("*.yaml")]
    names = sorted(path.as_posix() for path in paths if not path.name.startswith("_"))
    meant = re.sub(r"^(\./)?specs/|\.yaml$", "", asked)
    ends = {name.rpartition("/")[2]: name for name in reversed(names)}
    near = difflib.get_close_matches(meant, [*names, *ends], 1, 0.6)
    below = Counter(name.rpartition("/")[0] for name in names if "/" in name)
    shown = [name for name in names if "/" not in name]
    shown += [f"{number} in specs/{folder}/" for folder, number in sorted(below.items())]
    guess = f"did you mean {ends.get(near[0], near[0])}? " if near else ""
    return f"{guess}specs: {', '.join(shown) or 'none in specs/ of this folder'}"


def experiment_name(path: Path) -> str:
    """Return the name of a spec's experiment: its path below specs/, or its file's name, without the ending.

    Raises
    ------
    InputError
        The name cannot stand in paths and rules.
    """
    try:
        name = path.resolve().relative_to(SPECS.resolve()).with_suffix("").as_posix()
    except ValueError:
        name = path.stem
    check_name(name)
    return name


def check_name(name: str) -> None:
    """Refuse what cannot name an experiment: it stands in paths, in rules and on the command line."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name an experiment, whose results lie in results/NAME\n"
            "    a name has letters, digits and _ + - . only, and begins with a letter or digit"
        )
