"""How long checking the files of a large experiment takes: at the start of a run, after a copy, and by `verify`.

    python benchmarks/speed/verify.py --files 5000 --debates 20 --folder large

Writes so many files of records, each of so many debates of 10 kB, with their manifest, and checks them in three ways.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from cortexdsl.checksums import with_checksum
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.recording import record_files, refresh_manifest, seal_manifest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--debates", type=int, default=20)
    parser.add_argument("--folder", type=Path, required=True)
    args = parser.parse_args()
    root = args.folder / "results" / "large"
    layout = Layout(root.as_posix())
    paths = []
    for number in range(args.files):
        path = root / "debates" / "sums" / f"cell-{number % 50}" / f"r1-s{number // 50:03d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = with_checksum('{"schema_version":3,"text":"' + f"{number:010d}" * 1000 + '"}')
        path.write_text(f"{line}\n" * args.debates, encoding="ascii")
        paths.append(path)
    timed("one append for each file, as jobs do", lambda: [record_files(layout, [path]) for path in paths])
    timed("seal", lambda: seal_manifest(layout))

    def check(*, is_quick: bool) -> None:
        journal = read_journal(layout)
        assert not journal.manifest_fault
        assert not [path for path in journal.files if journal.damage_of(path, is_quick=is_quick)]

    timed("start of a run: read the manifest, look at every file", lambda: check(is_quick=True))
    for path in paths:
        os.utime(path, ns=(1, 1))
    timed("start of the first run after a copy: read every file", lambda: check(is_quick=True))
    timed("store the ages", lambda: refresh_manifest(layout, dict.fromkeys(read_journal(layout).files, 1)))
    timed("start of the next run", lambda: check(is_quick=True))
    timed("verify: read every file", lambda: check(is_quick=False))
    size = sum(path.stat().st_size for path in paths)
    print(f"{args.files * args.debates:,} debates, {args.files:,} files, {size / 1e9:.2f} GB")
    shutil.rmtree(args.folder)


def timed(what: str, run: Callable[[], object]) -> None:
    began, used = time.perf_counter(), time.process_time()
    run()
    print(f"{what}: {time.process_time() - used:.2f} processor s ({time.perf_counter() - began:.2f} s)")


if __name__ == "__main__":
    main()
