"""Verbs for the results of experiments: `cortexdsl report`, `ledger`, `verify` and `view`.

Each verb imports what it needs when it runs: drawing, statistics and the web server take a second or more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cortexdsl.core import by_key
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import add_results
from cortexdsl.jobs.options import FLAG, VerbParser
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import changes
from cortexdsl.plan.persistence.history import spec_changes
from cortexdsl.plan.persistence.journal import Journal, LedgerEntry, is_experiment, read_journal
from cortexdsl.plan.persistence.verification import (
    Difference,
    Verification,
    check_files,
    edited_files,
    verify_results,
    versions_in_words,
)
from cortexdsl.plan.record import plan_or_empty, spec_of
from cortexdsl.report.phrasing.ledger import (
    change_of,
    changes_in_words,
    declaration_in_words,
    families_in_words,
)
from cortexdsl.text_layout import wrapped

if TYPE_CHECKING:
    from aiohttp import web

    from cortexdsl.explorer.server import Explorer
    from cortexdsl.export.crate_check import CrateCheck

PORT = 8710
PORTS_TRIED = 20
_SHOWN = 5
"""Files that are named for one reason."""
PUBLISH = (
    "A person who rewrites the whole ledger can make a new chain. If this text was published before the run (in a "
    "dated post, a registry or a commit), --verify notices that:"
)
REWRITTEN = (
    "No entry of this ledger has that seal: the ledger was rewritten after the seal was published, or the seal is of "
    "another experiment."
)


def add_report_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    add_results(parser)
    parser.add("--text", "print the report, and write nothing", **FLAG)
    parser.add("--how", "print it with what was declared, how it was tested, and what p and intervals mean", **FLAG)
    parser.add("--bibtex", "print what to cite as BibTeX: methods, data, and the correction of the tests", **FLAG)
    parser.add("--no-figures", "draw no figures. Figures take most of the time", **FLAG)
    parser.add("--threads", "how many figures are drawn at once (default: 1)", type=int, default=1)


def run_report(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.bibtex:
        from cortexdsl.report.phrasing.citations import bibtex

        sys.stdout.write(bibtex(plan_or_empty(Layout(args.results.as_posix()))))
    elif args.text or args.how:
        from cortexdsl.report.terminal import terminal_report

        sys.stdout.write(terminal_report(args.results, is_coloured=sys.stdout.isatty(), has_how=args.how))
    else:
        from cortexdsl.report.build import build_report

        print(build_report(args.results, has_figures=not args.no_figures, threads=args.threads))
    return 0


def add_ledger_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    add_results(parser)
    line = "check that the ledger still has the entry with this seal: a digest, which the command prints at its end"
    parser.add("--verify", line, metavar="SEAL")


def run_ledger(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 1 if the chain is broken, a table was edited or a seal is not in the ledger."""
    layout = Layout(args.results.as_posix())
    journal = read_journal(layout)
    if not journal.is_kept:
        raise InputError(f"{layout.ledger}: there is no ledger; `cortexdsl plan SPEC --declare` or a run writes it")
    if args.verify is not None:
        return _verify(journal, args.verify.strip().lower())
    edited = (f"{layout.root}/{path} was edited after it was written" for path in edited_files(journal))
    problems = [*journal.faults, *edited]
    lines = [f"{layout.root}: what was declared, run and changed", ""]
    for number, entry in enumerate((one for one in journal.entries if one.kind != "manifest"), 1):
        lines += [f"{number}. {entry.at}", *_indented(_entry(entry, journal))]
    lines += [
        "",
        *_indented(_remarks(journal)),
        *_indented(_checked(journal, problems, len(journal.files))),
        *_publish(journal, args.results),
    ]
    print("\n".join(lines))
    return 1 if problems else 0


def _entry(entry: LedgerEntry, journal: Journal) -> Iterator[str]:
    """Yield an entry in sentences."""
    if entry.kind == "verdicts":
        yield f"verdicts with seed {entry.seed}, {'; '.join(entry.said)}:"
        yield from (f"  {line['verdict']}: {line['claim']}" for line in entry.verdicts)
    elif entry.kind != "declared":
        yield "; ".join(entry.said)
    elif entry == journal.declarations[0]:
        yield f"{'; '.join(entry.said)}: {declaration_in_words(entry.declaration)}"
        yield from (f"  {claim}" for claim in entry.declaration["claims"])
        yield from (f"  family {family}" for family in families_in_words(entry.declaration))
    else:
        when = "after the first call" if entry.after_calls else "before the first call"
        yield f"changed {when}: {change_of(entry, journal)}"


def _remarks(journal: Journal) -> Iterator[str]:
    """Yield changes of the spec since the run, and versions of the program."""
    plan = plan_or_empty(journal.layout)
    if differs := spec_changes(journal, plan):
        changed = changes_in_words(differs)
        yield f"The spec, or something that it uses, has changed since: {changed}. Run it: cortexdsl run {plan.spec}"
    yield from filter(None, [versions_in_words(journal)])


def _checked(journal: Journal, problems: Sequence[str], files: int) -> Iterator[str]:
    if problems:
        yield from (f"NOT IN ORDER: {problem}" for problem in problems)
        return
    entries = counted(len(journal.entries), "entry", "entries")
    unchanged = ", and the tables are as they were written" if files else ""
    more = f" Check all {counted(files, 'file')}: cortexdsl verify." if files else ""
    yield f"The chain is whole ({entries}){unchanged}.{more}"


def _publish(journal: Journal, folder: Path) -> Iterator[str]:
    """Yield the first seal, as text to publish before the run."""
    first = journal.first
    if first is None:
        return
    yield ""
    yield from wrapped(PUBLISH)
    yield ""
    yield f"    experiment  {_name(folder)}"
    yield f"    declared    {first.at}: {declaration_in_words(first.declaration)}"
    yield f"    seal        {first.seal}"
    yield f"    verify      cortexdsl ledger {_name(folder)} --verify {first.seal}"


def _verify(journal: Journal, seal: str) -> int:
    """Print whether a published seal is in the chain, and what changed after its entry."""
    entry = next((one for one in journal.entries if one.seal == seal), None)
    if entry is None:
        print(REWRITTEN)
        return 1
    print(f"The ledger holds the entry of this seal, and its chain continues from there ({entry.at}).")
    if entry.kind == "declared" and journal.now is not None:
        differs = changes(entry.declaration, journal.now)
        print(f"Changed since: {changes_in_words(differs)}." if differs else "What it declares has not changed since.")
    for fault in journal.chain_faults:
        print(f"NOT IN ORDER: {fault}")
    return 1 if journal.chain_faults else 0


def _indented(sentences: Iterator[str]) -> Iterator[str]:
    for sentence in sentences:
        inner = len(sentence) - len(sentence.lstrip())
        yield from wrapped(sentence.strip(), 3 + inner, 5 + inner)


def _name(folder: Path) -> str:
    """Return the experiment's name: its folder below the folder of all results."""
    path = folder.resolve()
    root = next((parent for parent in path.parents if parent.name == "results"), path.parent)
    return path.relative_to(root).as_posix()


def add_verify_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    add_results(parser)
    parser.add("--json", "print the result as JSON", **FLAG)


def run_verify(args: argparse.Namespace) -> int:
    """Run the verb; the exit status is 0 if everything is in order, else 1."""
    from cortexdsl.export.crate_check import check_crate, is_crate

    if is_crate(args.results):
        return _crate(args, check_crate(args.results))
    layout = Layout(args.results.as_posix().rstrip("/"))
    if not Path(layout.root).is_dir():
        raise InputError(f"{layout.root}: there is no such folder of results; cortexdsl run makes it")
    if not is_experiment(layout):
        raise InputError(f"{layout.root}: not the results of an experiment: there is no ledger and no call")
    outcome = verify_results(layout, f"cortexdsl run {spec_of(layout)}")
    if args.json:
        print(json.dumps({"folder": layout.root, "is_whole": not outcome.findings, **asdict(outcome)}))
    else:
        print("\n".join(_lines(layout, outcome)))
    return 1 if outcome.findings else 0


def _crate(args: argparse.Namespace, outcome: CrateCheck) -> int:
    """Check an RO-Crate; the exit status is 0 if everything is in order, else 1."""
    found = outcome.findings
    if args.json:
        said = {"crate": str(args.results), "is_whole": not found, "files": outcome.files}
        print(json.dumps(said | {"findings": [asdict(one) for one in found]}))
        return 1 if found else 0
    print("\n".join(_findings(found)), end="\n" * bool(found))
    files = counted(outcome.files, "file")
    if found:
        what = f"{counted(len(found), 'thing is', 'things are')} not in order ({files} read)"
    else:
        what = f"{files}, each as the crate says, and {' and '.join(outcome.results)} as its experiment wrote it"
    print("\n".join(wrapped(f"{args.results}: {what}.")))
    return 1 if found else 0


def _findings(findings: Sequence[Difference], folder: str = "") -> Iterator[str]:
    """Yield what is not in order: files with the same fault stand together, the first ones named."""
    for (what, remedy), paths in by_key(((one.what, one.remedy), f"{folder}{one.path}") for one in findings).items():
        yield from paths[:_SHOWN]
        if len(paths) > _SHOWN:
            yield f"and {len(paths) - _SHOWN} more"
        yield from (*wrapped(what, 4), *wrapped(f"what to do: {remedy}", 4))


def _lines(layout: Layout, outcome: Verification) -> Iterator[str]:
    """Yield the outcome: each finding with its remedy, the notes, and what was checked."""
    yield from _findings(outcome.findings, f"{layout.root}/")
    for note in outcome.notes:
        yield from wrapped(f"note: {note}")
    checked = f"{counted(outcome.files, 'file')}, {outcome.size / 1e6:,.1f} MB"
    if outcome.findings:
        things = counted(len(outcome.findings), "thing is", "things are")
        yield from wrapped(f"{layout.root}: {things} not in order ({checked} read).")
    else:
        said = "all as they were written, and the chain of the ledger is whole."
        yield from wrapped(f"{layout.root}: {checked}: {said}")


def add_view_arguments(parser: VerbParser) -> None:
    """Add the verb's arguments."""
    parser.add("experiment", "names of experiments, or folders of results (default: all in results/)", nargs="*")
    parser.add(
        "--static", "write the pages into a folder that any web server can serve, and end", type=Path, metavar="DIR"
    )
    parser.add("--port", f"where to listen (default: {PORT}, or the next that is free)", type=int)
    host = "127.0.0.1"
    parser.add("--host", f"the address to listen at (default: {host}, which only this machine reaches)", default=host)
    parser.add("--open", "also open the pages in a browser", **FLAG)


def run_view(args: argparse.Namespace) -> int:
    """Run the verb."""
    from cortexdsl.explorer.folders import find_results

    places = find_results(args.experiment)
    if args.static is not None:
        for place in places:
            check_files(place.layout)
        from cortexdsl.explorer.static_site import write_static

        count = write_static(places, args.static)
        print(
            f"{args.static}/index.html: {counted(count, 'debate')}; "
            f"serve the folder: python -m http.server -d {args.static}"
        )
        return 0
    edited = ((place.layout, path) for place in places for path in edited_files(read_journal(place.layout)))
    for layout, path in edited:
        print(
            f"warning: {layout.root}/{path} was edited after the experiment wrote it; its numbers are not its own",
            file=sys.stderr,
        )
    if args.port is not None and not 0 <= args.port < 65536:
        raise InputError(f"--port {args.port}: a port is a number from 0 to 65535")
    from cortexdsl.explorer.server import Explorer

    try:
        asyncio.run(_serve(Explorer(places), args))
    except KeyboardInterrupt:
        return 0
    return 0


async def _serve(explorer: Explorer, args: argparse.Namespace) -> None:
    from aiohttp import web

    from cortexdsl.models.transports.addresses import is_loopback

    token = secrets.token_urlsafe(24)
    listening = [0]
    # Ctrl-C ends the server at once: aiohttp would wait two minutes for a browser that stopped reading.
    app = explorer.app(args.host, lambda: listening[0], token)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        listening[0] = await _listen(runner, args.host, args.port)
        shown = f"[{args.host}]" if ":" in args.host else args.host
        address = f"http://{shown}:{listening[0]}/" + f"?token={token}"
        print(f"{address}   (Ctrl-C ends it)", flush=True)
        if not is_loopback(args.host):
            print(
                "everybody with this address can read all prompts and replies, over an open connection", file=sys.stderr
            )
        if args.open:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, address)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int | None) -> int:
    """Listen, and return the port."""
    from aiohttp import web

    for tried in [port] if port is not None else range(PORT, PORT + PORTS_TRIED):
        site = web.TCPSite(runner, host, tried)
        try:
            await site.start()
        except OSError as error:
            if port is None and tried < PORT + PORTS_TRIED - 1:
                continue
            raise InputError(
                f"{host}:{tried}: cannot listen there ({error.strerror})\n    try another --port"
            ) from None
        return int(runner.addresses[-1][1])
    raise AssertionError("the range is not empty")
