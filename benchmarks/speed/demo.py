"""How long `make demo` takes once everything is installed: the quickstart in a new folder, from nothing to its report.

Beside it stands what the same workflow costs that finds nothing to do. Run from the repository:
python benchmarks/speed/demo.py [--cores 2] [--questions 300] [--handed-on --config worker=false]
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
REPORT = "results/quickstart/report.html"


def measured(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the seconds and the seconds of processor time of a command and all that it waited for."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--handed-on", nargs=argparse.REMAINDER, default=[], help="to Snakemake")
    args = parser.parse_args()
    snakefile = str(REPOSITORY / "Snakefile")
    command = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--cores", str(args.cores), REPORT]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "specs").mkdir()
        spec = (REPOSITORY / "specs" / "quickstart.yaml").read_text(encoding="utf-8")
        sized = re.sub(r"size: \d+", f"size: {args.questions}", spec)
        (folder / "specs" / "quickstart.yaml").write_text(sized, encoding="utf-8")
        rows = {
            "the quickstart to its report": measured([*command, *args.handed_on], folder),
            "the same with nothing to do": measured([*command, "-n"], folder),
        }
    print(f"| what, {args.questions} questions, `--cores {args.cores}` | wall s | CPU s |\n|---|---|---|")
    for what, (wall, cpu) in rows.items():
        print(f"| {what} | {wall:.1f} | {cpu:.1f} |")


if __name__ == "__main__":
    main()
