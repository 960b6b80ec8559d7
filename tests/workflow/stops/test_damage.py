"""Files of a finished experiment are deleted or damaged: each is named, and the same command makes it again.

The small experiment runs once for all tests of the workflow. Most cases are tried in this process on one copy: what
`cortexdsl verify` says of a file, and which outputs a run makes again. Two runs of Snakemake do it for real, with many
files damaged at once.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.damaged_outputs import repair_results, restore_cut
from cortexdsl.plan.jobs.schedule import asking_jobs
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.file_entries import is_log, is_page
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.run_record import RECORD, begin_run, end_run
from cortexdsl.plan.persistence.verification import verify_results
from tests.workflow.bench import Bench

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1200)]
ROOT = Path("results/small")
LAYOUT = Layout(ROOT.as_posix())
COMMAND = "cortexdsl run specs/small.yaml"


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def doubled(content: bytes) -> bytes:
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    return content + content[last:]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda content: None,
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": flip,
    "doubled": doubled,
    "older": lambda content: content.translate(bytes.maketrans(b"01", b"10")),  # other figures, equal size
}
NAMED = {"deleted": "missing", "emptied": "empty", "cut": "cut"}


def damage(path: Path, kind: str) -> bytes:
    """Damage a file and return what it held."""
    content = path.read_bytes()
    path.unlink()  # the copy may share files with others
    changed = DAMAGES[kind](content)
    if changed is not None:
        path.write_bytes(changed)
    return content


@pytest.fixture(scope="module")
def home(original: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the finished experiment, which is the working directory."""
    folder = Path(shutil.copytree(original.folder, tmp_path_factory.mktemp("damage") / "copy"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def plan(home: Path) -> Plan:
    return compile_spec("specs/small.yaml")


def one_of_each() -> list[str]:
    """One file of each kind: pages, logs, records, parts, tables, and what stands alone."""
    kinds: dict[object, str] = {}
    for path in (path for path, entry in read_journal(LAYOUT).files.items() if entry.size):
        first, rest = path.partition("/")[0], Path(path)
        if rest.suffix == ".csv" and first != "tables" and rest.stem not in ("scores", "hypotheses", "answers"):
            continue  # as the others
        kinds.setdefault((first, {"parts": rest.name, "figures": rest.suffix, "tables": rest.suffix}.get(first)), path)
    return list(kinds.values())


def test_the_whole_folder_is_in_order(home: Path, plan: Plan) -> None:
    """Nothing is found, also in a copy without ages, and nothing is made again."""
    assert verify_results(LAYOUT, COMMAND).findings == ()
    assert not repair_results(plan).outputs
    for path in ROOT.rglob("*"):
        os.utime(path, ns=(1, 1))
    assert not repair_results(plan).outputs
    assert {entry.modified for entry in read_journal(LAYOUT).files.values()} == {1}  # read once, then believed


@pytest.mark.parametrize("state", ["running", "stopped", "failed", "done"])
def test_what_a_run_removed_that_ended_early_is_not_called_damage(home: Path, plan: Plan, state: str) -> None:
    """Its record lists what it had to make; what is missing after a run that finished was deleted by somebody."""
    debates = next(asking_jobs(plan)).output
    tables = [Path(plan.layout.table("scores")), Path(debates)]
    record = Path(plan.layout.root, RECORD)
    kept = {path: path.read_bytes() for path in (*tables, record, Path(plan.layout.manifest))}
    begin_run(plan.layout, map(str, tables), plan.digest)
    for path in tables:
        path.unlink()
    if state == "done":
        record.write_bytes(kept[record])
    elif state != "running":
        end_run(plan.layout, state)
    repair = repair_results(plan)
    assert bool(repair.sentences) == (state == "done"), repair.sentences
    assert plan.layout.table("scores") in repair.outputs
    for path, content in kept.items():
        path.write_bytes(content)


@pytest.mark.parametrize("kind", DAMAGES)
def test_each_kind_of_file_is_named_and_made_again(kind: str, home: Path, plan: Plan) -> None:
    """`verify` names file and damage; a run restores the file, makes its output again, or says what is lost."""
    files = one_of_each()
    assert {"plan.json", "declared.json", "cut.json", "scores.csv", "report.html"} < set(files)
    for name in files:
        path = ROOT / name
        before, state = damage(path, kind), path.parent.stat()
        assert state
        found = {finding.path: finding for finding in verify_results(LAYOUT, COMMAND).findings}
        if is_log(name) and kind == "doubled":  # a log may grow: the same call twice is one call
            assert name not in found
        else:
            assert found[name].what.startswith(NAMED.get(kind, "")), (name, found)
            assert COMMAND in found[name].remedy or is_log(name)
            restore_cut(LAYOUT)
            repair = repair_results(plan)
            if is_log(name):
                assert any(name in sentence and "paid" in sentence for sentence in repair.sentences)
                assert not repair.outputs
            elif is_page(name):
                assert repair.outputs == {LAYOUT.report}
            elif name in ("cut.json", "declared.json"):
                assert path.read_bytes() == before
            else:
                assert repair.outputs == {path.as_posix()}
                assert any(name in sentence for sentence in repair.sentences)
        path.write_bytes(before)
    assert verify_results(LAYOUT, COMMAND).findings == ()


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("ledger.jsonl", lambda text: text[: text.rfind(b"\n", 0, text.rfind(b'"kind": "manifest"')) + 1], "seal"),
        ("ledger.jsonl", lambda text: text[text.find(b"\n") + 1 :], "does not continue the line before it"),
        ("ledger.jsonl", lambda text: text[:-10], "is cut off"),
        ("ledger.jsonl", lambda text: None, "the ledger is missing"),
        ("manifest.jsonl", lambda text: None, "missing, cut or has no seal"),
        ("manifest.jsonl", flip, "cannot be read"),
        ("manifest.jsonl", lambda text: text[: len(text) // 2], "cannot be read"),
        ("spent/arithmetic~full~r1-s01.json", flip, "cannot be read"),
        ("spent/arithmetic~full~r1-s01.json", lambda text: text[:50], "cannot be read"),
    ],
)
def test_what_the_manifest_does_not_hold(
    name: str, change: Callable[[bytes], bytes | None], what: str, home: Path
) -> None:
    path = ROOT / name
    before = path.read_bytes()
    changed = change(before)
    path.unlink() if changed is None else path.write_bytes(changed)
    findings = verify_results(LAYOUT, COMMAND).findings
    path.write_bytes(before)
    assert any(what in finding.what and finding.remedy for finding in findings), findings


def test_a_file_that_nobody_wrote(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Debates of no job of this plan are named, and neither shown nor exported."""
    stray = ROOT / "debates" / "arithmetic" / "other" / "r1-s01.jsonl"
    stray.parent.mkdir()
    shutil.copy(ROOT / "debates" / "arithmetic" / "full" / "r1-s01.jsonl", stray)
    assert [finding.path for finding in verify_results(LAYOUT, COMMAND).findings] == [
        "debates/arithmetic/other/r1-s01.jsonl"
    ]
    assert main(["export", "small", "--table", "turns", "--out", "turns.csv"]) == 2
    assert "not of this plan: no job of this experiment wrote it" in capsys.readouterr().err
    shutil.rmtree(stray.parent)


@pytest.mark.parametrize("kind", ["doubled", "deleted"])
def test_debates_that_are_damaged_are_not_exported(kind: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that stands twice would give wrong numbers, and so would a file that is missing."""
    path = ROOT / "debates" / "arithmetic" / "full" / "r1-s01.jsonl"
    before = damage(path, kind)
    for arguments in (["export", "small", "--table", "turns", "--out", "turns.csv"], ["show", "small"]):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert path.as_posix() in error
        assert COMMAND in error
    path.write_bytes(before)


def test_verify_as_a_verb(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status, text at 80 columns, and JSON."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["verify", "small"]) == 0
    assert "all as they were written" in " ".join(capsys.readouterr().out.split())
    before = damage(ROOT / "metrics.csv", "cut")
    assert main(["verify", "small"]) == 1
    text = capsys.readouterr().out
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "results/small/metrics.csv\n    cut: " in text
    assert main(["verify", "small", "--json"]) == 1
    outcome = json.loads(capsys.readouterr().out)
    assert [finding["path"] for finding in outcome["findings"]] == ["metrics.csv"]
    assert outcome["is_whole"] is False
    (ROOT / "metrics.csv").write_bytes(before)
    assert main(["verify", "nowhere"]) == 2


# ------------------------------------------------------------ for real
def contents(bench: Bench) -> dict[str, bytes]:
    """Every recorded file but pages of the report, some of which hold times."""
    root = bench.results("small")
    names = [name for name in read_journal(Layout(root.as_posix())).files if not is_page(name)]
    return {name: (root / name).read_bytes() for name in names}


def test_everything_is_damaged_and_one_run_mends_it(bench: Bench) -> None:
    """Every product file has a kind of damage, in turn; all are equal again but logs, whose calls no debate needs."""
    root, before = bench.results("small"), contents(bench)
    files = [name for name in read_journal(Layout(root.as_posix())).files if not is_log(name)]
    for number, name in enumerate(files):
        damage(root / name, list(DAMAGES)[number % len(DAMAGES)])
    run = bench.cortexdsl("run", "small", "--cores", "2", timeout=600)
    assert run.status == 0, run.text
    assert "not as it was written, and made again: " in run.text
    assert "0 calls sent" in run.text
    assert contents(bench) == before
    assert bench.cortexdsl("verify", "small").status == 0
    assert "Nothing to be done" in bench.snakemake("--config", "spec=small").text


def test_the_manifest_is_deleted_and_a_table_edited(bench: Bench) -> None:
    """What cannot be told apart any more is made again from the call logs; a lost call is sent again, said before."""
    root, before = bench.results("small"), contents(bench)
    (root / "manifest.jsonl").unlink()
    damage(root / "scores.csv", "older")
    log = next(name for name in before if name.startswith("calls/") and name.endswith("/full.jsonl"))
    (root / log).write_bytes(flip(before[log]))
    run = bench.snakemake("--config", "spec=small", timeout=600)
    assert run.status == 0, run.text
    assert "everything is made again from the call logs" in run.text
    after = contents(bench)
    assert {name: content for name, content in after.items() if not is_log(name)} == {
        name: content for name, content in before.items() if not is_log(name)
    }
    assert "not in order" not in bench.cortexdsl("ledger", "small").text
