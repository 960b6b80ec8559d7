"""Results in the storage of a plugin of Snakemake, such as a bucket (docs/files.md).

Snakemake copies the files that rules name, and removes the copies at the end of a run. `results` is a link to the
copies, so that jobs find them by the same names. The main process fetches the files of the run as a whole, such as its
ledger, before the first job, and stores them after the last one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError
from cortexdsl.files import write_file
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import RECORD
from cortexdsl.plan.record import plan_or_empty

_STORED = ".stored"  # the last run in this folder has ended well


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of a run.

    Parameters
    ----------
    provider : StorageProvider
        Snakemake's, for all files without one of their own.
    prefix : str
        Of the names of all files: s3://bucket/folder.
    """

    provider: Any
    prefix: str

    def link(self) -> None:
        """Make `results` a link to the copies on this machine.

        Raises
        ------
        InputError
            There are other results.
        """
        copies, link = self._object("results").local_path().absolute(), Path("results")
        copies.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(copies)
        if link.resolve() != copies.resolve():
            raise InputError(
                f"results: this folder has results that are not in {self.prefix}\n    run in an empty folder"
            )

    def fetch(self, layout: Layout) -> None:
        """Fetch what belongs to the run as a whole, and for a first run in this folder the plan of the last one."""
        root = Path(layout.root)
        is_known = (root / RECORD).exists()
        if (root / _STORED).exists():  # what is here is not needed any more, and others may have run since then
            shutil.rmtree(root)
            write_file(root / RECORD, ())
        for path in (*_of_run(layout), *(() if is_known else (layout.plan,))):
            if not Path(path).exists():
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                with self._reached(path) as stored:
                    if stored.exists():
                        stored.retrieve_object()

    def refuse_edited(self, plan: Plan) -> None:
        """Refuse results of another version of the spec, if they are from elsewhere: what to repeat is not known here.

        Raises
        ------
        InputError
        """
        earlier = "" if Path(plan.layout.root, RECORD).exists() else plan_or_empty(plan.layout).spec_digest
        if earlier not in ("", plan.digest):
            raise InputError(
                f"{plan.spec_path}: {self.prefix} has results of another version of this spec\n"
                "    run it in the folder of the last run, or give another --default-storage-prefix"
            )

    def store(self, layout: Layout, *, is_done: bool) -> None:
        """Store what belongs to the run as a whole."""
        for path in filter(lambda path: Path(path).exists(), _of_run(layout)):
            with self._reached(path) as stored:
                stored.store_object()
        if is_done:
            Path(layout.root, _STORED).touch()

    def _object(self, name: str) -> Any:
        return self.provider.object(f"{self.prefix.rstrip('/')}/{name}")

    @contextmanager
    def _reached(self, path: str) -> Iterator[Any]:
        try:
            yield self._object(path)
        except Exception as error:  # of any plugin
            raise InputError(
                f"{self.prefix}: the storage refuses {path}: {error}\n    check its address, its bucket and your key"
            ) from error


def _of_run(layout: Layout) -> tuple[str, ...]:
    return layout.ledger, layout.manifest, layout.cut, layout.matches, layout.spent
