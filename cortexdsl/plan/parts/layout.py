"""Where the files of an experiment lie: one folder a stage, names that people can read."""

from __future__ import annotations

from dataclasses import dataclass

TABLES = ("scores", "rounds", "agents", "calibration", "reliability", "tokens", "persuasion")
"""What is found from debate records alone: a part a cell, then a table of all cells."""
PARTS = (*TABLES, "answers")
"""What a cell's job writes: its part of every table, and its answers, which are many and are read where they lie."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths below one experiment's folder of results (`results/quickstart`), as text with `/`.

    Used by the rules with wildcards in braces and by the verbs with values: both read one map.
    """

    root: str

    @property
    def plan(self) -> str:
        """The plan: cells, shards, digests, families, claims, estimate."""
        return f"{self.root}/plan.json"

    @property
    def cut(self) -> str:
        """Which questions are one job: `shard_size: auto` keeps to it, since call logs lie by shard."""
        return f"{self.root}/cut.json"

    @property
    def declared(self) -> str:
        """The claims as they were before the run."""
        return f"{self.root}/declared.json"

    @property
    def ledger(self) -> str:
        """What was declared, what changed after that, and which verdicts were given."""
        return f"{self.root}/ledger.jsonl"

    def calls(self, dataset: str, shard: str) -> str:
        """The folder of the call logs that share the questions of one shard."""
        return f"{self.root}/calls/{dataset}/{shard}"

    def call_log(self, dataset: str, cell: str, shard: str) -> str:
        """The call log that one debate job writes."""
        return f"{self.calls(dataset, shard)}/{cell}.jsonl"

    @property
    def ledgers(self) -> str:
        """The folder in which the jobs of the experiment tell each other what they spent."""
        return f"{self.root}/spent"

    def server(self, start: str) -> str:
        """What one start of a model server did; `start` is its name in the spec and when that was."""
        return f"{self.root}/servers/{start}.json"

    def debates(self, dataset: str, cell: str, shard: str) -> str:
        """The debate records of one job."""
        return f"{self.root}/debates/{dataset}/{cell}/{shard}.jsonl"

    def pool(self, dataset: str, source: str) -> str:
        """The passages that one knowledge source found for a dataset's questions."""
        return f"{self.root}/pools/{dataset}/{source}.jsonl"

    def look(self, batch: int | str) -> str:
        """What the look after a batch of questions found."""
        return f"{self.root}/looks/{batch}.json"

    def look_scores(self, batch: int | str) -> str:
        """The scores of one batch of questions, for this look and later ones."""
        return f"{self.root}/looks/{batch}.csv"

    def judgements(self, dataset: str, cell: str) -> str:
        """What the judge said of one cell's answers to a dataset."""
        return f"{self.root}/judgements/{dataset}/{cell}.jsonl"

    def judge_calls(self, dataset: str) -> str:
        """The folder of the judge's call logs, one a cell: debates never look here, since the judge is told golds."""
        return f"{self.root}/judgements/{dataset}/calls"

    def part(self, table: str, dataset: str, cell: str) -> str:
        """One cell's part of a table."""
        return f"{self.root}/parts/{dataset}/{cell}/{table}.csv"

    def table(self, table: str) -> str:
        """A table of all cells."""
        return f"{self.root}/{table}.csv"

    @property
    def questions(self) -> str:
        """The questions of imported transcripts, which no spec knows."""
        return f"{self.root}/questions.jsonl"

    @property
    def metrics(self) -> str:
        """Metrics of cells with intervals."""
        return f"{self.root}/metrics.csv"

    @property
    def agreement(self) -> str:
        """How far the judge agrees with exact match."""
        return f"{self.root}/agreement.csv"

    @property
    def comparisons(self) -> str:
        """Comparisons of cells, by family."""
        return f"{self.root}/comparisons.csv"

    @property
    def omnibus(self) -> str:
        """Whether the cells of a family differ at all, before any pair."""
        return f"{self.root}/omnibus.csv"

    @property
    def bounds(self) -> str:
        """What missing and unreadable answers could change in comparisons."""
        return f"{self.root}/bounds.csv"

    @property
    def ranks(self) -> str:
        """Ranks of cells over several datasets."""
        return f"{self.root}/ranks.csv"

    @property
    def hypotheses(self) -> str:
        """Claims and their verdicts."""
        return f"{self.root}/hypotheses.csv"

    def whatif_debates(self, dataset: str, slug: str, shard: str) -> str:
        """Counterfactual records of one shard; `slug` says of which cell and without what."""
        return f"{self.root}/whatif/debates/{dataset}/{slug}/{shard}.jsonl"

    def whatif_calls(self, dataset: str, cell: str, shard: str) -> str:
        """The call log of one cell's counterfactuals, beside those of the debates: what they share is asked once."""
        return f"{self.calls(dataset, shard)}/whatif~{cell}.jsonl"

    def whatif_judgements(self, dataset: str, cell: str) -> str:
        """What the judge said of one cell's answers and of those of its counterfactuals."""
        return f"{self.root}/whatif/judgements/{dataset}/{cell}.jsonl"

    @property
    def effects(self) -> str:
        """What leaving something out does to a cell's score."""
        return f"{self.root}/whatif/effects.csv"

    @property
    def shapley(self) -> str:
        """What each agent of a cell is worth to its score."""
        return f"{self.root}/whatif/shapley.csv"

    def phase(self, training: str, phase: str) -> str:
        """The folder of one phase of a training: `1-critic`."""
        return f"{self.root}/train/{training}/{phase}"

    def trajectories(self, training: str, phase: str, shard: str) -> str:
        """What was said, and might have been, in the debates that a phase learns from; it holds what guided them."""
        return f"{self.phase(training, phase)}/trajectories/{shard}.jsonl"

    def train_calls(self, training: str, phase: str, shard: str) -> str:
        """The call log of one job of trajectories; debates never look here, since guided prompts hold golds."""
        return f"{self.root}/train/calls/{shard}/{training}~{phase}.jsonl"

    def pairs(self, training: str, phase: str) -> str:
        """Preference pairs."""
        return f"{self.phase(training, phase)}/pairs.jsonl"

    def imitated(self, training: str, phase: str) -> str:
        """Prompts and good replies, for learning by imitation (SFT)."""
        return f"{self.phase(training, phase)}/sft.jsonl"

    def kept(self, training: str, phase: str) -> str:
        """How many pairs were kept, and why not the others."""
        return f"{self.phase(training, phase)}/kept.csv"

    def trained(self, training: str, phase: str) -> str:
        """The folder of the model that comes out of a phase."""
        return f"{self.phase(training, phase)}/model"

    @property
    def report(self) -> str:
        """The report of a finished run."""
        return f"{self.root}/report.html"

    @property
    def stopped(self) -> str:
        """The page of a run that stopped before its end; no rule makes it or reads it."""
        return f"{self.root}/stopped.html"

    @property
    def products(self) -> list[str]:
        """The tables and pages with which every experiment ends."""
        tables = (*map(self.table, TABLES), self.metrics, self.comparisons, self.omnibus, self.bounds, self.ranks)
        pages = (self.report, f"{self.root}/view.html", f"{self.root}/figures", f"{self.root}/tables")
        return [self.declared, self.plan, *tables, self.hypotheses, *pages]
