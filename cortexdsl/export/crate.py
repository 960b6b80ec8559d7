"""An experiment as one RO-Crate (1.1, Workflow Run Crate 0.5): a folder or a ZIP archive that can be published.

`ro-crate-metadata.json` is written here and not by a library: it is one JSON object, and so the same results give the
same bytes, and an archive needs no further package.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import quote

from cortexdsl import __version__
from cortexdsl.display.launch import workflow_folder
from cortexdsl.errors import CortexError, InputError
from cortexdsl.export.source import ExportSource
from cortexdsl.files import make_folders
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.numbers import counted
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import declaration_of
from cortexdsl.plan.persistence.journal import read_journal
from cortexdsl.plan.persistence.verification import OWN, check_finished, is_recorded, verify_results
from cortexdsl.records.tallies import total_of

METADATA = "ro-crate-metadata.json"
WORKFLOW = "workflow/Snakefile"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
_FORMATS = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl", ".html": "text/html",
            ".yaml": "application/yaml", ".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf",
            ".md": "text/markdown", ".tex": "application/x-tex"}  # fmt: skip
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The earliest time of a file in a ZIP archive: times of files are not part of an experiment."""
Put: TypeAlias = Callable[[str, BinaryIO], None]
"""Writes the content of a stream to a path of the crate."""
NO_LICENSE = "No license is stated. State one before you publish this crate."


def export_crate(folder: Path, target: Path) -> int:
    """Write a crate, and return how many files it has besides its metadata.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    target : Path
        An empty or new folder, or a ZIP archive (`.zip`).

    Raises
    ------
    InputError
        The results are not complete or not in order, a file holds a key, or the folder is not empty.
    """
    layout = Layout(folder.as_posix())
    check_finished(layout)
    if findings := verify_results(layout, "").findings:
        things = counted(len(findings), "thing is", "things are")
        raise InputError(f"{layout.root}: {things} not in order\n    see which: cortexdsl verify {layout.root}")
    source = ExportSource(folder)
    files = _files(source)
    entries = {path: _entry(path, file) for path, file in sorted(files.items())}
    metadata = json.dumps(_metadata(source, entries), indent=1, allow_nan=False)
    with _writer(target) as put:
        for path in entries:
            with files[path].open("rb") as content:
                put(path, content)
        put(METADATA, BytesIO(metadata.encode()))
    return len(entries)


@contextmanager
def _writer(target: Path) -> Iterator[Put]:
    """Yield what writes the files of a folder or an archive; an archive gets its name when it is complete."""
    if target.suffix.lower() != ".zip":
        if target.is_dir() and any(target.iterdir()):
            raise InputError(f"{target}: a crate is written to an empty folder\n    give another one with --out")

        def put_file(path: str, content: BinaryIO) -> None:
            make_folders((target / path).parent)
            with (target / path).open("wb") as file:
                copyfileobj(content, file)

        yield put_file
        return
    make_folders(target.parent)
    part = target.with_name(f".{target.name}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:

        def put_member(path: str, content: BinaryIO) -> None:
            member = zipfile.ZipInfo(path, _FIRST_DAY)
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                copyfileobj(content, file)

        yield put_member
    part.replace(target)


def _files(source: ExportSource) -> dict[str, Path]:
    """Return the files of a crate by their paths in it."""
    own = f"results/{source.plan.experiment}"
    files = {f"{own}/{name}": file for name, file in _results(source.folder)}
    workflow = workflow_folder()
    files[WORKFLOW] = workflow / "Snakefile"
    files |= {f"workflow/workflows/{file.name}": file for file in (workflow / "workflows").glob("*.smk")}
    spec = Path(source.plan.spec)
    try:
        plan = compile_spec(str(spec), experiment=source.plan.experiment)  # it refuses keys in a spec
        files |= {_place(file, f"specs/{file.name}"): file for file in map(Path, plan.spec_files)}
    except (CortexError, OSError):
        return files  # `lacking` says so
    for name in declaration_of(plan)["prompts"]:
        files |= {f"prompts/{name}": path for path in _first(plan.templates.folders, name)}
    for folder in plan.templates.own_folders:
        own_prompts = {file: f"prompts/{file.relative_to(folder).as_posix()}" for file in folder.rglob("*.j2")}
        files |= {_place(file, elsewhere): file for file, elsewhere in own_prompts.items()}
    return files


def _results(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and (
            is_recorded(name) or name in OWN or (name.startswith("spent/") and file.suffix == ".json")
        ):
            yield name, file


def _first(folders: tuple[Path, ...], name: str) -> list[Path]:
    return [folder / name for folder in folders if (folder / name).is_file()][:1]


def _place(file: Path, elsewhere: str) -> str:
    """Return where a file of the user lies in a crate: where it lies here, if that is below the current folder."""
    here, whole = Path.cwd().resolve(), file.resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else elsewhere


def _entry(path: str, file: Path) -> dict[str, Any]:
    """Return the entity of a file, after looking for keys in it.

    Raises
    ------
    InputError
        It holds the value of an environment variable that is named like a key.
    """
    digest, secrets, size = sha256(), Secrets(), 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            digest.update(line)
            size += len(line)
            text = line.decode("utf-8", "replace")
            if secrets.hide(text) != text:
                raise InputError(
                    f"{file}:{number}: this line holds a key of your environment, and a crate is published\n"
                    "    take the key out of the spec, prompt or data that it comes from, and run again"
                )
    entity = {"@id": quote(path), "@type": "File", "name": PurePosixPath(path).name, "contentSize": str(size),
              "sha256": digest.hexdigest()}  # fmt: skip
    return entity | {"encodingFormat": _FORMATS.get(PurePosixPath(path).suffix, "text/plain")}


def _metadata(source: ExportSource, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    plan, own = source.plan, f"results/{source.plan.experiment}/"
    title = plan.title or plan.experiment
    date = source.created.isoformat()
    digests = {label: facts.questions_digest for label, facts in plan.datasets.items()}
    values = [*_values("question digest of", "dataset", digests)]
    usage = total_of(source.tallies).usage
    calls = {"calls": usage.calls, "input tokens": usage.input_tokens, "output tokens": usage.output_tokens}
    spent = [*_values("spent:", "spent", calls | {"dollars": usage.dollars})]
    made = [{"@id": entity["@id"]} for path, entity in entries.items() if path.startswith(own)]
    given = [{"@id": one["@id"]} for path, one in entries.items() if not path.startswith((own, "workflow/"))]
    programs = sorted({entry.program for entry in read_journal(source.layout).files.values() if entry.program})
    about = {
        "@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"},
        "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": [*_PROFILES][-1]}],
    }  # fmt: skip
    root = {
        "@id": "./", "@type": "Dataset", "name": title, "datePublished": date, "license": {"@id": "#license"},
        "description": f"The multi-agent debate experiment {plan.experiment}: {title}",
        "conformsTo": [{"@id": profile} for profile in _PROFILES],
        "hasPart": [{"@id": entity["@id"]} for entity in entries.values()],
        "mainEntity": {"@id": WORKFLOW}, "mentions": {"@id": "#run"},
    }  # fmt: skip
    workflow = entries[WORKFLOW] | {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"], "name": "The workflow of cortexdsl",
        "programmingLanguage": {"@id": _SNAKEMAKE}, "version": __version__, "license": "Apache-2.0",
    }  # fmt: skip
    run = {
        "@id": "#run", "@type": "CreateAction", "name": f"Run of {plan.experiment}",
        "instrument": {"@id": WORKFLOW}, "actionStatus": "http://schema.org/CompletedActionStatus",
        "description": f"cortexdsl run {plan.spec or plan.experiment}",
        "object": [*given, *({"@id": value["@id"]} for value in values)],
        "result": [*made, *({"@id": value["@id"]} for value in spent)],
        **dict(zip(("startTime", "endTime"), (time.isoformat() for time in source.times), strict=True)),
    }  # fmt: skip
    graph = [
        about, root, workflow, *(entity for path, entity in entries.items() if path != WORKFLOW), run, *values, *spent,
        {"@id": _SNAKEMAKE, "@type": "ComputerLanguage", "name": "Snakemake",
         "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
         "url": {"@id": "https://snakemake.readthedocs.io"}},
        {"@id": "#license", "@type": "CreativeWork", "name": NO_LICENSE},
        {"@id": "#cortexdsl", "@type": "SoftwareApplication", "name": "cortexdsl",
         "softwareVersion": ", ".join(programs) or __version__},
        *({"@id": address, "@type": "CreativeWork", "name": name, "version": version}
          for address, (name, version) in _PROFILES.items()),
    ]  # fmt: skip
    contexts = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
    return {"@context": contexts, "@graph": graph}


def _values(what: str, kind: str, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in values.items():
        yield {"@id": f"#{kind}-{quote(name, safe='')}", "@type": "PropertyValue", "name": f"{what} {name}",
               "value": value}  # fmt: skip
