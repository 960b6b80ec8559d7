"""Specs by name, names of experiments, and the paths of their files: one folder a stage, readable names."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cortexdsl.errors import InputError

SPECS = Path("specs")
_PLACES = re.compile(r"\{\w+\}")
_NAME = re.compile(r"[^\W_][\w.+-]*(/[^\W_][\w.+-]*)*")


def selected_experiments(names: str | None) -> dict[str, str]:
    """Return the specs that a workflow runs: those named, or all directly in specs/.

    Parameters
    ----------
    names : str or None
        A name (`quickstart`, `examples/groups`) or the path of a spec; several separated by commas.

    Returns
    -------
    dict of experiment to the path of its spec

    Raises
    ------
    InputError
        There is no such spec, or two would write to one folder of results.
    """
    if names is not None:
        paths = [spec_path(part.strip()) for part in str(names).split(",") if part.strip()]
    else:
        paths = sorted(path for path in SPECS.glob("*.yaml") if not path.name.startswith("_"))
    if not paths:
        raise InputError(f"there is no spec directly in specs/\n    write one: cortexdsl new NAME; {_specs_here()}")
    specs: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        name = experiment_name(path)
        if name in specs:
            raise InputError(f"{specs[name]} and {path} would both write to results/{name}\n    rename one of them")
        specs[name] = _normalized(path)
    return specs


def _normalized(path: Path) -> str:
    """Return one spelling of a path: it is a param of jobs, which run again if a param changes."""
    here, whole = Path.cwd().resolve(), path.resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def spec_path(name: str) -> Path:
    """Return the path of a spec from its name or path."""
    for path in (Path(name), SPECS / name, SPECS / f"{name}.yaml"):
        if path.is_file():
            return path
    raise InputError(f"there is no spec {name!r}\n    {_specs_here(name)}")


def results_folder(text: str | Path) -> Path:
    """Return the folder of results that an argument names: a path, or the name of an experiment (`quickstart`)."""
    named = Path("results") / text
    return named if named.is_dir() and not Path(text).exists() else Path(text)


def _specs_here(wrong: str = "") -> str:
    """List the specs: the nearest spelling to a wrong name, those in specs/, and how many are in its subfolders."""
    paths = [path.relative_to(SPECS).with_suffix("") for path in SPECS.rglob("*.yaml")]
    names = sorted(path.as_posix() for path in paths if not path.name.startswith("_"))
    meant = re.sub(r"^(\./)?specs/|\.yaml$", "", wrong)
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
        The name is not valid in paths and rules.
    """
    try:
        name = path.resolve().relative_to(SPECS.resolve()).with_suffix("").as_posix()
    except ValueError:
        name = path.stem
    check_name(name)
    return name


def check_name(name: str) -> None:
    """Refuse an invalid name of an experiment: names are used in paths, in rules and on the command line."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name an experiment, whose results lie in results/NAME\n"
            "    a name has letters, digits and _ + - . only, and begins with a letter or digit"
        )


TABLES = ("scores", "rounds", "agents", "calibration", "reliability", "persuasion")
"""Tables that are computed from debate records alone: one part a cell, then a table of all cells."""
TOURNAMENT_TABLES = ("tournament", "duels", "judges")
"""Tables of a tournament: strengths of cells, each two cells, the judges."""
PARTS = (*TABLES, "answers")
"""Files of a cell's scoring job: its part of every table, and its answers, which are too many to join."""


class _File:
    """A path below the folder of an experiment's results: the value of an attribute of `Layout`."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __get__(self, layout: Layout, owner: type) -> str:
        return f"{layout.root}/{self._path}"


class _Files(_File):
    """Paths of one kind: an attribute of `Layout` that takes the names in braces and returns a path.

    The names are taken in the order in which they stand in the path, or in another one if it is given.
    """

    def __init__(self, path: str, order: str = "") -> None:
        super().__init__(path)
        self._places = [f"{{{name}}}" for name in order.split()] or _PLACES.findall(path)

    def __get__(self, layout: Layout, owner: type) -> Callable[..., str]:  # type: ignore[override]
        return partial(self._fill, layout)

    def _fill(self, layout: Layout, *parts: object) -> str:
        names = dict(zip(self._places, map(str, parts), strict=True))
        return f"{layout.root}/{_PLACES.sub(lambda place: names[place[0]], self._path)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths below one experiment's folder of results (`results/quickstart`), as text with `/`.

    The rules use it with wildcards in braces, the verbs with values.
    """

    root: str
    plan = _File("plan.json")
    """The plan: cells, shards, digests, families, claims, estimate."""
    programs = _File("programs")
    """The folder with logs of what programs of models did."""
    compiled = _File("compiled.json")
    """The compiled plan, which jobs load."""
    cut = _File("cut.json")
    """The questions of each job. Without `shard_size` a run keeps these shards, as call logs are stored by shard."""
    declared = _File("declared.json")
    """The claims as they were before the run."""
    ledger = _File("ledger.jsonl")
    """Declarations, later changes, and verdicts."""
    manifest = _File("manifest.jsonl")
    """Size and digest of every file that a job wrote."""
    calls = _Files("calls/{dataset}/{shard}")
    """The folder of the call logs that share the questions of one shard."""
    call_log = _Files("calls/{dataset}/{shard}/{cell}.jsonl", "dataset cell shard")
    """The call log that one debate job writes."""
    rounds = _File("rounds")
    """The folder of the files of all rounds."""
    requests = _Files("rounds/{number}/{engine}-{part}.requests.jsonl")
    """The requests of one part of a round, in OpenAI's batch format."""
    replies = _Files("rounds/{number}/{engine}-{part}.replies.jsonl")
    """The replies to these requests, one a line in the same order."""
    spent = _File("spent")
    """The folder of the jobs' tallies: what each spent, for the common limits."""
    addresses = _File(".addresses.json")
    """The addresses of the model servers of a run, while it lasts."""
    debates = _Files("debates/{dataset}/{cell}/{shard}.jsonl")
    """The debate records of one job."""
    pool = _Files("pools/{dataset}/{source}.jsonl")
    """The passages that one knowledge source found for a dataset's questions."""
    look = _Files("looks/{batch}.json")
    """The result of the look after a batch of questions."""
    look_scores = _Files("looks/{batch}.csv")
    """The scores of one batch of questions, for this look and later ones."""
    judgements = _Files("judgements/{dataset}/{cell}.jsonl")
    """The judgements of one cell's answers to a dataset."""
    judge_calls = _Files("judgements/{dataset}/calls")
    """The folder of the judge's call logs, one a cell. Debates never read them: the judge's prompts hold golds."""
    judge_log = _Files("judgements/{dataset}/calls/{cell}.jsonl")
    label_log = _Files("judgements/{dataset}/calls/{cell}~labels.jsonl")
    ballot_log = _Files("ballots/{dataset}/calls/{judge}.jsonl")
    part = _Files("parts/{dataset}/{cell}/{table}.csv", "table dataset cell")
    """One cell's part of a table."""
    table = _Files("{table}.csv")
    """A table of all cells."""
    questions = _File("questions.jsonl")
    """The questions of imported transcripts, which no spec defines."""
    metrics = _File("metrics.csv")
    """Metrics of cells with intervals."""
    ballots = _Files("ballots/{dataset}/{judge}.jsonl")
    """The ballots of one judge of a tournament on the answers to a dataset."""
    ballot_calls = _Files("ballots/{dataset}/calls")
    """The folder of the call logs of a tournament's judges."""
    comparisons = _File("comparisons.csv")
    """Comparisons of cells, by family."""
    """Bounds on the effect of missing and unreadable answers on comparisons."""
    matches = _File("matches.csv")
    """What matched cells spent of their budgets; only with matched cells."""
    hypotheses = _File("hypotheses.csv")
    """Claims and their verdicts."""
    whatif_debates = _Files("whatif/debates/{dataset}/{slug}/{shard}.jsonl")
    """Counterfactual records of one shard; `slug` names the cell and what is left out."""
    whatif_calls = _Files("calls/{dataset}/{shard}/whatif~{cell}.jsonl", "dataset cell shard")
    """The call log of one cell's counterfactuals. It is next to the debates' logs so that they share calls."""
    whatif_judgements = _Files("whatif/judgements/{dataset}/{cell}.jsonl")
    """The judgements of one cell's answers and of those of its counterfactuals."""
    effects = _File("whatif/effects.csv")
    causes = _File("whatif/causes.csv")
    """The effects of leaving something out on a cell's score."""
    phase = _Files("train/{training}/{phase}")
    """The folder of one phase of a training: `1-critic`."""
    trajectories = _Files("train/{training}/{phase}/trajectories/{shard}.jsonl")
    """Replies and alternative replies of the debates that a phase learns from; guided prompts hold golds."""
    train_calls = _Files("train/calls/{shard}/{training}~{phase}.jsonl", "training phase shard")
    """The call log of one job of trajectories. Debates never read it: guided prompts hold golds."""
    pairs = _Files("train/{training}/{phase}/pairs.jsonl")
    """Preference pairs."""
    prompts = _Files("train/{training}/{phase}/prompts.jsonl")
    """Prompts of a role that answers, each with the answer that its debates decided."""
    imitated = _Files("train/{training}/{phase}/sft.jsonl")
    """Prompts and good replies, for learning by imitation (SFT)."""
    kept = _Files("train/{training}/{phase}/kept.csv")
    """The number of pairs in use, and the reasons for leaving out the others."""
    trained = _Files("train/{training}/{phase}/model")
    """The folder of the model that a phase trains."""
    fit = _Files("fits/{name}.json")
    """A fitted function: an entry of `learned`."""
    report = _File("report.html")
    """The report of a finished run."""
    stopped = _File("stopped.html")
    """The page of a run that stopped before its end; no rule makes it or reads it."""
