"""The ledger of an experiment: what was declared, what changed after that, which verdicts were given; append-only.

`ledger.jsonl` is a chain of sealed entries (`entries`). A person who rewrites every file can rewrite history, unless
the first seal was published before the run (`cortexdsl ledger`). Removing or editing some of the files is noticed:

- without a ledger, existing calls were declared by nobody, and the new ledger begins by saying so;
- without call logs and debates, the sum of what was spent is known, and every entry that was written after calls;
- `declared.json`, made before the first call, and the table of verdicts hold the seal that the ledger had then;
- tables are compared with the digests that the ledger holds of them (`table_seals`).

Entries are written by the job that declares, by each debate job before its first call, by the job that writes the plan,
by the verdict, and by every job that writes a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.models.limits.ledger import spent_so_far
from cortexdsl.plan.kept.declaration import SEED, Declaration, changes
from cortexdsl.plan.kept.declared import anchor, claims_of_earlier_version, write_declared
from cortexdsl.plan.kept.entries import Entry, append_entry, read_entries, writing
from cortexdsl.plan.parts.layout import Layout

LATE = "calls existed before this ledger: nothing here was declared before the run"
EARLIER = "an earlier version of cortexdsl declared these claims, and nothing else"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a ledger says, and what is wrong with it.

    Attributes
    ----------
    entries : tuple of Entry
    faults : tuple of str
        Lines that are not entries or do not continue the line before; a ledger that is missing though calls were made.
    """

    entries: tuple[Entry, ...]
    faults: tuple[str, ...] = ()

    @property
    def seal(self) -> str:
        """The seal of the last entry; empty without any."""
        return self.entries[-1].seal if self.entries else ""

    @property
    def verdict_seal(self) -> str:
        """The seal of the last entry that is not about tables: hypotheses.csv holds it, and is sealed after it."""
        return next((entry.seal for entry in reversed(self.entries) if entry.kind != "tables"), "")

    @property
    def declarations(self) -> tuple[Entry, ...]:
        """Every declaration, in order."""
        return tuple(entry for entry in self.entries if entry.kind == "declared")

    @property
    def first(self) -> Entry | None:
        """The last declaration before the first call; None if there is none."""
        early = [entry for entry in self.declarations if not entry.after_calls]
        return early[-1] if early else None

    @property
    def before(self) -> Declaration | None:
        """What was declared when no call had been made; None if nothing was."""
        return self.first.declaration if self.first else None

    @property
    def now(self) -> Declaration | None:
        """What holds now."""
        return self.declarations[-1].declaration if self.declarations else None

    @property
    def since(self) -> tuple[str, ...]:
        """What differs now from what was declared before the first call, in words."""
        return tuple(changes(self.before, self.now)) if self.before and self.now else ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims that were declared before the first call."""
        return tuple(self.before["claims"]) if self.before else ()

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Every time that verdicts were given on new results or claims."""
        return tuple(entry for entry in self.entries if entry.kind == "verdicts")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of all runs, each once, in order."""
        return tuple(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))

    @property
    def tables(self) -> Mapping[str, str]:
        """The digest of each table as it was last written by a job, by its path below the experiment's folder."""
        return {path: digest for entry in self.entries for path, digest in entry.tables.items()}

    def verdicts_on(self, claim: str) -> tuple[tuple[int, int | None, str], ...]:
        """Return (number of the run, its seed, the verdict) of every run that judged a claim; runs count from 1."""
        plain = " ".join(claim.split())
        return tuple(
            (number, run.seed, str(line.get("verdict")))
            for number, run in enumerate(self.runs, 1)
            for line in run.verdicts
            if " ".join(str(line.get("claim", "")).split()) == plain
        )


def read_ledger(layout: Layout) -> Ledger:
    """Read and verify an experiment's ledger; empty if it has none."""
    entries, chain = read_entries(Path(layout.ledger))
    faults = [*chain]
    if not entries and has_calls(layout):
        faults.append("the ledger is missing, though calls were made")
    first = anchor(layout)
    if first and first not in {entry.seal for entry in entries}:
        faults.append("the ledger lacks the entry that was written before the first call")
    return Ledger(entries, tuple(faults))


def declare(layout: Layout, declaration: Declaration) -> Ledger:
    """Write down what an experiment declares, if that differs from the last declaration."""
    with _writing(layout) as known:
        # Removing calls and debates removes no entry that was written after them.
        ledger, called = known, has_calls(layout) or any(entry.after_calls for entry in known.entries)
        if ledger.now is None and called and (earlier := claims_of_earlier_version(layout)) is not None:
            old = {**declaration, "claims": earlier}
            ledger = _append(layout, ledger, _declared((EARLIER,), old, after_calls=False))
        if ledger.now is None:
            said = (LATE if called else "declared before the first call",)
            ledger = _append(layout, ledger, _declared(said, declaration, after_calls=called))
        elif changed := changes(ledger.now, declaration):
            ledger = _append(layout, ledger, _declared(changed, declaration, after_calls=called))
        if not called or not Path(layout.declared).is_file():
            write_declared(layout, ledger.claims, ledger.seal)
        return ledger


def record_verdicts(layout: Layout, seed: int, verdicts: Sequence[Mapping[str, Any]], said: str) -> Ledger:
    """Write down the verdicts that were given, unless they equal the last ones.

    Nothing is written for tables from elsewhere: an experiment has calls or a ledger.
    """
    if not is_experiment(layout):
        return Ledger(())
    with _writing(layout) as known:
        ledger = _opened(layout, known)
        last = ledger.runs[-1] if ledger.runs else None
        if last is None or (last.seed, list(last.verdicts), last.said) != (seed, list(verdicts), (said,)):
            entry = {"kind": "verdicts", "after_calls": True, "seed": seed, "said": [said], "verdicts": list(verdicts)}
            return _append(layout, ledger, entry)
        return ledger


def record_tables(layout: Layout, digests: Mapping[str, str]) -> None:
    """Write down the digests of tables, if any differs from the last one; nothing for tables from elsewhere."""
    if not is_experiment(layout):
        return
    with _writing(layout) as known:
        new = {path: digest for path, digest in digests.items() if known.tables.get(path) != digest}
        if new:
            ledger = _opened(layout, known)
            entry = {"kind": "tables", "after_calls": True, "seed": None, "said": ["tables written"], "tables": new}
            _append(layout, ledger, entry)


def is_experiment(layout: Layout) -> bool:
    """Whether a folder holds an experiment of this program: it has calls or a ledger."""
    return Path(layout.ledger).is_file() or has_calls(layout)


def has_calls(layout: Layout) -> bool:
    """Whether there is a call log or a record that is not empty, or calls that were paid."""
    files = (path for stage in ("calls", "debates") for path in Path(layout.root, stage).rglob("*.jsonl"))
    return any(path.stat().st_size for path in files) or spent_so_far(Path(layout.ledgers)).calls > 0


def _opened(layout: Layout, ledger: Ledger) -> Ledger:
    """A ledger with an entry: one that is missing begins by saying that it is late."""
    if ledger.entries:
        return ledger
    return _append(layout, ledger, {"kind": "opened", "after_calls": True, "seed": None, "said": [LATE]})


def _declared(said: Sequence[str], declaration: Declaration, *, after_calls: bool) -> dict[str, Any]:
    seed = declaration[SEED]
    entry = {"kind": "declared", "after_calls": after_calls, "seed": seed, "said": list(said)}
    return {**entry, "declaration": dict(declaration)}


@contextmanager
def _writing(layout: Layout) -> Iterator[Ledger]:
    """Wait until nobody else writes, and read the ledger."""
    with writing(Path(layout.ledger)):
        yield read_ledger(layout)


def _append(layout: Layout, ledger: Ledger, entry: Mapping[str, Any]) -> Ledger:
    """Write one entry and return the ledger with it."""
    append_entry(Path(layout.ledger), ledger.seal, entry)
    return read_ledger(layout)
