"""The explorer over many debates: how long until something is seen, how long to the next debate, how much memory.

    python benchmarks/speed/view.py [--debates 100000] [--folder FOLDER]

Takes the records of results/quickstart (run it first), gives them new question ids until there are as many as asked
for, and drives headless Chromium over `cortexdsl view`. Prints the table of docs/benchmarks/view.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from cortexdsl.checksums import with_checksum
from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.folders import ResultsFolder
from cortexdsl.records import debate_files
from cortexdsl.records.links import find_link

SHAPES = Path("results/quickstart")
STEPS = 30  # times that the next debate is asked for


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--debates", type=int, default=100_000)
    arguments.add_argument("--folder", type=Path, help="where the records are made, or were made before")
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = args.folder or Path(temporary) / "many"
        if not root.exists():
            made = time.process_time()
            copy(root, args.debates)
            print(f"made in {time.process_time() - made:.0f} s of CPU", file=sys.stderr)
        measure(root)


def copy(root: Path, debates: int) -> None:
    """Write as many debates as asked for, by giving those of the quickstart new question ids."""
    plan = json.loads((SHAPES / "plan.json").read_text())
    [(dataset, ids)] = plan["questions"].items()
    copies = -(-debates // sum(1 for path in debate_files(SHAPES) for _ in path.open("rb")))
    for path in debate_files(SHAPES):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        for number in range(copies):
            shard = root / path.relative_to(SHAPES).with_name(f"{path.stem[:2]}-s{number + 1:02}.jsonl")
            shard.parent.mkdir(parents=True, exist_ok=True)
            with shard.open("w") as stream:
                stream.writelines(_again(line, number) for line in lines)
    for path in SHAPES.glob("parts/*/*/*.csv"):
        if path.stem in ("scores", "answers"):
            _copy_table(path, root / path.relative_to(SHAPES), copies)
    plan["questions"] = {dataset: [f"{name}-{number}" for number in range(copies) for name in ids]}
    plan["experiment"] = "many"
    (root / "plan.json").write_text(json.dumps(plan))
    for name in ("metrics.csv", "hypotheses.csv", "comparisons.csv"):
        shutil.copyfile(SHAPES / name, root / name)


def _again(record: dict[str, Any], number: int) -> str:
    changed = record | {"question_id": f"{record['question_id']}-{number}"}
    changed.pop("checksum", None)
    return with_checksum(json.dumps(changed, separators=(",", ":"))) + "\n"


def _copy_table(path: Path, to: Path, copies: int) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with path.open(newline="") as source, to.open("w", newline="") as target:
        rows = list(csv.DictReader(source))
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(row | {"question_id": f"{row['question_id']}-{n}"} for n in range(copies) for row in rows)


def measure(root: Path) -> None:
    rows: list[tuple[str, str]] = []
    records = sum(path.stat().st_size for path in debate_files(root))
    opened = OpenExperiment(ResultsFolder("many", root))
    cpu = time.process_time()
    opened.catch_up()
    indexing = time.process_time() - cpu
    cpu = time.process_time()
    count = len(json.loads(gzip.decompress(opened.table()[1]))["debates"]["id"])
    listing = time.process_time() - cpu
    cpu = time.process_time()
    opened.catch_up()
    rows += [
        ("debates, their records", f"{count:,}, {records / 1e6:,.0f} MB"),
        ("made the index, once (CPU)", f"{indexing:.1f} s" if indexing > 1 else "there already"),
        ("looked for what is new and found nothing (CPU)", f"{1000 * (time.process_time() - cpu):.0f} ms"),
        ("size of the index", f"{opened.store.path.stat().st_size / 1e6:,.0f} MB"),
        ("made the list of all debates, or took it from the index (CPU)", f"{listing:.2f} s"),
        ("memory of what did that, at most", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"),
    ]
    opened.close()
    with serving(root) as (address, process), sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page()
        rows.append(("first view: the experiment", timed(page, address, "main h1")))
        page = chromium.new_page()
        rows.append(("first view: the list of all debates", timed(page, f"{address}{find_link(root.name)}", ".rows a")))
        rows.append(("a filter: sparse right where full is wrong", filtered(page, root.name)))
        rows.append(("full-text search: 340 374", searched(page, root.name)))
        rows += stepped(page, address, root.name, process.pid)
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        rows.append(("memory of the page", f"{heap:,.0f} MB"))
        rows.append(("memory of the server", f"{_resident(process.pid):,.0f} MB"))
        chromium.close()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n\n| what | measured |\n|---|---|")
    print("\n".join(f"| {what} | {said} |" for what, said in rows))


@contextmanager
def serving(root: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "cortexdsl", "view", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().split()[0]
        time.sleep(3)  # its first look for what is new
        yield address, process
    finally:
        process.terminate()
        process.wait(30)


def timed(page: Page, address: str, selector: str) -> str:
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(selector)
    return f"{time.perf_counter() - began:.2f} s"


def filtered(page: Page, name: str) -> str:
    before = page.inner_text(".count")
    began = page.evaluate("performance.now()")
    page.evaluate("to => { location.hash = to }", find_link(name, right="sparse", wrong="full"))
    return _until(page, f"document.querySelector('.count').innerText !== {json.dumps(before)}", began)


def searched(page: Page, name: str) -> str:
    began = page.evaluate("performance.now()")
    page.evaluate("to => { location.hash = to }", find_link(name, text="340 374"))
    return _until(
        page, "!/^Search/.test(document.querySelector('.count').innerText) && location.hash.includes('374')", began
    )


def stepped(page: Page, address: str, name: str, server: int) -> list[tuple[str, str]]:
    """Go from debate to debate, two and eight cells side by side."""
    found = []
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")

    def busy() -> tuple[float, float]:
        """Milliseconds of CPU that the page and the server have taken."""
        tasks = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
        ticks = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
        return 1000 * tasks["TaskDuration"], 1000 * (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")

    cells = json.loads((SHAPES / "plan.json").read_text())["cells"]
    for shown in (2, len(cells)):
        page.goto(f"{address}{find_link(name)}")
        page.wait_for_selector(".rows a")
        named = "&".join(f"cell={cell['cell']}" for cell in cells[:shown])
        page.evaluate(f"location.hash = document.querySelectorAll('.rows a')[5].hash + {json.dumps('&' + named)}")
        page.wait_for_selector("main.question[aria-busy=false] section.cell")
        times, before_all = [], busy()
        for _ in range(STEPS):
            before = page.get_attribute("main.question", "data-shown")
            began = page.evaluate("performance.now()")
            page.keyboard.press("j")
            main = "document.querySelector('main.question')"
            condition = f"{main}.dataset.shown !== {json.dumps(before)} && {main}.ariaBusy === 'false'"
            times.append(float(_until(page, condition, began).split()[0]))
        median, worst = statistics.median(times), sorted(times)[int(0.95 * STEPS)]
        page_cpu, server_cpu = ((now - then) / STEPS for now, then in zip(busy(), before_all, strict=True))
        beside = f"next debate, {shown} cells side by side"
        found.append((f"{beside} (median, 95th of 100)", f"{median:.0f} ms, {worst:.0f} ms"))
        found.append((f"{beside}: busy time of the page, CPU of the server", f"{page_cpu:.0f} ms, {server_cpu:.0f} ms"))
    return found


def _until(page: Page, condition: str, began: float) -> str:
    """Wait until something is so and drawn, and say how long that was."""
    look = (
        f"() => {{ if ({condition}) requestAnimationFrame(() => done(performance.now())); else setTimeout(look, 4); }}"
    )
    now = page.evaluate(f"() => new Promise(done => {{ const look = {look}; look(); }})")
    return f"{now - began:.0f} ms"


def _resident(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
