"""Specs by name, names of experiments, and the paths of their files: one folder a stage, readable names."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.errors import InputError

SPECS = Path("specs")
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


TABLES = ("scores", "rounds", "agents", "calibration", "reliability", "tokens", "persuasion")
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
    """The questions of each job. `shard_size: auto` keeps these shards, as call logs are stored by shard."""

    declared = _File("declared.json")
    """The claims as they were before the run."""

    ledger = _File("ledger.jsonl")
    """Declarations, later changes, and verdicts."""

    manifest = _File("manifest.jsonl")
    """Size and digest of every file that a job wrote."""

    def calls(self, dataset: str, shard: str) -> str:
        """The folder of the call logs that share the questions of one shard."""
        return f"{self.root}/calls/{dataset}/{shard}"

    def call_log(self, dataset: str, cell: str, shard: str) -> str:
        """The call log that one debate job writes."""
        return f"{self.calls(dataset, shard)}/{cell}.jsonl"

    def open_log(self, dataset: str, cell: str, shard: str) -> str:
        """The call log of debates whose rounds of files are not yet over: it becomes a part of `call_log`."""
        return f"{self.calls(dataset, shard)}/{cell}~open.jsonl"

    rounds = _File("rounds")
    """The folder of the files of all rounds."""

    def requests(self, number: int | str, engine: str, part: int | str) -> str:
        """The requests of one part of a round, in OpenAI's batch format."""
        return f"{self.rounds}/{number}/{engine}-{part}.requests.jsonl"

    def replies(self, number: int | str, engine: str, part: int | str) -> str:
        """The replies to these requests, one a line in the same order."""
        return f"{self.rounds}/{number}/{engine}-{part}.replies.jsonl"

    spent = _File("spent")
    """The folder of the jobs' tallies: what each spent, for the common limits."""

    addresses = _File(".addresses.json")
    """The addresses of the model servers of a run, while it lasts."""

    def debates(self, dataset: str, cell: str, shard: str) -> str:
        """The debate records of one job."""
        return f"{self.root}/debates/{dataset}/{cell}/{shard}.jsonl"

    def pool(self, dataset: str, source: str) -> str:
        """The passages that one knowledge source found for a dataset's questions."""
        return f"{self.root}/pools/{dataset}/{source}.jsonl"

    def look(self, batch: int | str) -> str:
        """The result of the look after a batch of questions."""
        return f"{self.root}/looks/{batch}.json"

    def look_scores(self, batch: int | str) -> str:
        """The scores of one batch of questions, for this look and later ones."""
        return f"{self.root}/looks/{batch}.csv"

    def judgements(self, dataset: str, cell: str) -> str:
        """The judgements of one cell's answers to a dataset."""
        return f"{self.root}/judgements/{dataset}/{cell}.jsonl"

    def judge_calls(self, dataset: str) -> str:
        """The folder of the judge's call logs, one a cell. Debates never read them: the judge's prompts hold golds."""
        return f"{self.root}/judgements/{dataset}/calls"

    def part(self, table: str, dataset: str, cell: str) -> str:
        """One cell's part of a table."""
        return f"{self.root}/parts/{dataset}/{cell}/{table}.csv"

    def table(self, table: str) -> str:
        """A table of all cells."""
        return f"{self.root}/{table}.csv"

    questions = _File("questions.jsonl")
    """The questions of imported transcripts, which no spec defines."""

    metrics = _File("metrics.csv")
    """Metrics of cells with intervals."""

    def ballots(self, dataset: str, judge: str) -> str:
        """The ballots of one judge of a tournament on the answers to a dataset."""
        return f"{self.root}/ballots/{dataset}/{judge}.jsonl"

    def ballot_calls(self, dataset: str) -> str:
        """The folder of the call logs of a tournament's judges."""
        return f"{self.root}/ballots/{dataset}/calls"

    agreement = _File("agreement.csv")
    """The agreement of the judge with exact match."""

    comparisons = _File("comparisons.csv")
    """Comparisons of cells, by family."""

    bounds = _File("bounds.csv")
    """Bounds on the effect of missing and unreadable answers on comparisons."""

    fronts = _File("fronts.csv")
    """Which cells are on the Pareto front of accuracy and each budget."""

    matches = _File("matches.csv")
    """What matched cells spent of their budgets; only with matched cells."""

    hypotheses = _File("hypotheses.csv")
    """Claims and their verdicts."""

    def whatif_debates(self, dataset: str, slug: str, shard: str) -> str:
        """Counterfactual records of one shard; `slug` names the cell and what is left out."""
        return f"{self.root}/whatif/debates/{dataset}/{slug}/{shard}.jsonl"

    def whatif_calls(self, dataset: str, cell: str, shard: str) -> str:
        """The call log of one cell's counterfactuals. It is next to the debates' logs so that they share calls."""
        return f"{self.calls(dataset, shard)}/whatif~{cell}.jsonl"

    def whatif_judgements(self, dataset: str, cell: str) -> str:
        """The judgements of one cell's answers and of those of its counterfactuals."""
        return f"{self.root}/whatif/judgements/{dataset}/{cell}.jsonl"

    effects = _File("whatif/effects.csv")
    causes = _File("whatif/causes.csv")
    """The effects of leaving something out on a cell's score."""

    def phase(self, training: str, phase: str) -> str:
        """The folder of one phase of a training: `1-critic`."""
        return f"{self.root}/train/{training}/{phase}"

    def trajectories(self, training: str, phase: str, shard: str) -> str:
        """Replies and alternative replies of the debates that a phase learns from; guided prompts hold golds."""
        return f"{self.phase(training, phase)}/trajectories/{shard}.jsonl"

    def train_calls(self, training: str, phase: str, shard: str) -> str:
        """The call log of one job of trajectories. Debates never read it: guided prompts hold golds."""
        return f"{self.root}/train/calls/{shard}/{training}~{phase}.jsonl"

    def pairs(self, training: str, phase: str) -> str:
        """Preference pairs."""
        return f"{self.phase(training, phase)}/pairs.jsonl"

    def imitated(self, training: str, phase: str) -> str:
        """Prompts and good replies, for learning by imitation (SFT)."""
        return f"{self.phase(training, phase)}/sft.jsonl"

    def kept(self, training: str, phase: str) -> str:
        """The number of pairs in use, and the reasons for leaving out the others."""
        return f"{self.phase(training, phase)}/kept.csv"

    def trained(self, training: str, phase: str) -> str:
        """The folder of the model that a phase trains."""
        return f"{self.phase(training, phase)}/model"

    def fit(self, name: str) -> str:
        """A fitted function: an entry of `learned`."""
        return f"{self.root}/fits/{name}.json"

    report = _File("report.html")
    """The report of a finished run."""

    stopped = _File("stopped.html")
    """The page of a run that stopped before its end; no rule makes it or reads it."""
