"""Digests of everything that the shipped specs produce: a change of the code alone must keep the bytes.

Runs the quickstart and all examples through plain Snakemake in a temporary copy of a checkout (ten minutes of processor
time), and prints a digest of each file that it wrote: records, scores, tables, verdicts, figures. With `--against FILE`
it compares them with an earlier output and prints the files that differ.

    python benchmarks/house/results.py > before.txt
    python benchmarks/house/results.py --against before.txt

Call logs, ledgers, logs of jobs, the tables of what was spent, and the pages of the report hold times and are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("debates", "judgements", "tables", "figures", "passages")
FILES = (".csv", "plan.json")
WITH_TIMES = ("logs", "calls", "spent", "savings")  # folders and tables that hold times, or which job came first


def shipped_specs() -> list[str]:
    """Return the names of the specs that run here in minutes and without a server."""
    specs = REPOSITORY / "specs"
    paths = [specs / "quickstart.yaml", *sorted((specs / "examples").glob("[!_]*.yaml"))]
    return [str(path.relative_to(specs).with_suffix("")) for path in paths]


def copy_checkout(checkout: Path, folder: Path) -> None:
    """Copy the files that git follows, so that a run leaves the checkout alone."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=checkout, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listing.split("\0")):
        if (checkout / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, folder / name)


def run_specs(names: list[str], folder: Path, cores: int) -> int:
    """Run specs with plain Snakemake in a folder, and return the exit status."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
    }
    for name in names:  # some run programs in a sandbox, which needs the user's permission
        trust = [sys.executable, "-m", "cortexdsl", "trust", f"specs/{name}.yaml"]
        subprocess.run(trust, cwd=folder, env=environment, capture_output=True, check=False)
    config = f"spec={','.join(names)}"
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all", "--config", config]
    with (folder / "snakemake.log").open("w") as log:
        return subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=False).returncode


def digests(folder: Path) -> Iterator[str]:
    """Yield a line for each file of the results: its digest and its path."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or not (path.name.endswith(FILES) or set(relative.parts) & set(FOLDERS)):
            continue
        if {*relative.parts[:-1], path.name.partition(".")[0].partition("-")[0]} & set(WITH_TIMES):
            continue
        yield f"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}  {relative}"


def main() -> None:
    """Run the specs and print the digests, or what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", help="names of specs; default: all that run without a server")
    parser.add_argument("--against", type=Path, help="an earlier output")
    parser.add_argument("--checkout", type=Path, default=REPOSITORY, help="the checkout whose code runs")
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkout"
        copy_checkout(arguments.checkout, folder)
        names = arguments.specs or shipped_specs()
        if run_specs(names, folder, arguments.cores):
            sys.exit(f"the run failed:\n{(folder / 'snakemake.log').read_text()[-4000:]}")
        lines = list(digests(folder / "results"))
    if arguments.against is None:
        print("\n".join(lines))
        return
    before, after = (
        dict(reversed(line.split("  ", 1)) for line in text)
        for text in (arguments.against.read_text().splitlines(), lines)
    )
    differing = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    for path in differing:
        print(f"{before.get(path, 'absent'):16}  {after.get(path, 'absent'):16}  {path}")
    print(f"{len(after)} files, {len(differing)} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
