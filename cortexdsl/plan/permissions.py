"""What a spec does beyond asking models of known providers, so that its user can be asked before it runs.

These need permission: commands, code, addresses that are not a provider's own, environment variables sent elsewhere
than to their provider, and files outside the folder of the spec. Not these: a loopback address that is sent no secret,
an address or a path that comes from an environment variable (its user has set it; also a key whose variable is named
like that of the address, LAB_KEY with LAB_URL), and files in the spec's own folder.
Paths are resolved first, so that a symbolic link changes nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cortexdsl.core import Model
from cortexdsl.errors import InputError
from cortexdsl.language.nodes import Route
from cortexdsl.language.spec import Spec
from cortexdsl.models.endpoints.providers import address_variables, key_variables, provider_of, proxy_of, redirected
from cortexdsl.models.transports.addresses import is_loopback, mask_url
from cortexdsl.models.transports.registry import runs_here, weights_of
from cortexdsl.models.transports.tool import PROGRAM, PYTHON, identity_of, source_of
from cortexdsl.plain_text import printable
from cortexdsl.plan.parts import Permission
from cortexdsl.tasks.load import asks_for_programs
from cortexdsl.tasks.task import Task
from cortexdsl.templates.templates import Templates, shipped_prompts

ENVIRONMENT = "env:"
SENTENCE_MODELS = ("sentence-transformers/", "nli/")
"""Prefixes of similarities and embeddings whose models may lie in a folder, and run Python that lies there."""
OWN_ENGINES = (
    "python -m cortexdsl_tiny run-batch -i {requests} -o {replies}",
    "cortexdsl batch openai {requests} {replies}",
    "cortexdsl batch anthropic {requests} {replies}",
)
"""Commands of this package, which send nothing elsewhere than a model entry without an engine does."""
SEARCH_KEY = "SERPER_API_KEY"
SHOWN = 3  # pictures that are named in one line
SMALL = 1 << 20  # bytes of a file of a model's folder whose content counts; of larger ones (weights) the size does

_OPTIONS = re.compile(
    r"callback|endpoint|_url|_uri|host|base|proxy|credential|secret|_token$|api_key|aws_(?!region)|azure_ad"
    r"|vertex_(?!project|location|ai_project|ai_location)|_file|_path|profile|role_arn|guardrail|mcp|server",
    re.IGNORECASE,
)
_VALUES = re.compile(r"os\.environ/|oidc/|://|file:")


def permissions_of(
    spec: Spec, tasks: Iterable[Task], similarities: Iterable[str], templates: Templates
) -> tuple[Permission, ...]:
    """Return what a spec needs permission for, each once, in the order of its sections.

    Parameters
    ----------
    spec : Spec
    tasks : iterable of Task
        All questions, also those to learn from.
    similarities : iterable of str
        Of the cells.
    templates : Templates
    """
    found = [
        *_servers(spec),
        *_engines(spec),
        *_models(spec),
        *_redirects(spec, similarities),
        *_functions(spec),
        *_sentence_models(spec, similarities),
        *_searches(spec),
        *_datasets(spec),
        *_pictures(spec, tasks),
        *_corpora(spec),
        *_programs(spec),
        *_prompts(spec.path, templates),
    ]
    by_what: dict[tuple[str, str], Permission] = {}
    for one in found:
        by_what.setdefault((one.what, one.content), one)
    return tuple(by_what.values())


def _on_one_line(text: str) -> str:
    """Return a text of a spec printable and on one line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


# Commands and addresses


def _servers(spec: Spec) -> Iterator[Permission]:
    for name, server in spec.text.servers.items():
        where = spec.where(("servers", name))
        if server.command is not None:
            yield Permission(f"run the command {_on_one_line(server.command)}", where)


def _engines(spec: Spec) -> Iterator[Permission]:
    for name, engine in spec.text.engines.items():
        if " ".join(engine.command.split()) in OWN_ENGINES and engine.container is None:
            continue
        inside = f" in the image {_on_one_line(engine.container)}" if engine.container is not None else ""
        yield Permission(f"run the command {_on_one_line(engine.command)}{inside}", spec.where(("engines", name)))


def _models(spec: Spec) -> Iterator[Permission]:
    for name, model in spec.models.items():
        if model.is_tool:
            continue
        where = spec.where(("models", name))
        if runs_here(model):
            yield from _weights(spec, model, where)
        if runs_here(model) or (model.engine is not None and not model.is_billed):
            continue
        written = spec.text.models[name].as_model(name)
        for each in model.at_each_address:
            address = each.api_base if written.api_base is not None else None  # not one that the environment gives
            yield from _calls(model, written.api_key_env, address, where)
        if not model.model.startswith("direct/"):
            for option, value in model.options.items():
                if _OPTIONS.search(option) or _VALUES.search(str(value)):
                    yield Permission(f"give litellm the option {_on_one_line(f'{option}: {value}')}", where)


def _calls(model: Model, key: str | None, address: str | None, where: str) -> Iterator[Permission]:
    """Yield what a model's calls send to an address of the spec, or to its provider if there is none."""
    variable = _variable(address)
    sends_other = key is not None and key not in _provider_keys(model) and not _is_named_alike(key, variable)
    written = address if variable is None else None
    place = _shown(written) if written else f"the address in {variable}" if variable else (
        f"the provider of {_on_one_line(model.model)}")  # fmt: skip
    if key is not None and (sends_other or written):
        yield Permission(f"send prompts and the value of the variable {key} to {place}", where)
    elif written and not _is_local(written):
        yield Permission(f"send prompts to {place}", where)


def _redirects(spec: Spec, similarities: Iterable[str]) -> Iterator[Permission]:
    """Yield what the environment sends elsewhere than to a provider, also to this machine."""
    written = spec.text.models
    asked: dict[str, tuple[Model, Route]] = {
        name: (model, ("models", name)) for name, model in spec.models.items() if written[name].api_base is None
    }
    for name in similarities:
        if name not in spec.models and "/" in name and not name.startswith(SENTENCE_MODELS):
            asked[name] = redirected(Model(name, name), os.environ), ("methods",)
    for model, route in asked.values():
        variable = _variable(model.api_base)
        if variable in address_variables(provider_of(model.model) or ""):
            key = f" and the value of the variable {model.api_key_env}" if model.api_key_env else ""
            place = f"{_shown(os.environ.get(variable, ''))}, the address in {variable}"
            yield Permission(f"send prompts{key} to {place}", spec.where(route))
    proxy = proxy_of(os.environ)
    for model, route in asked.values():
        if proxy and not model.is_tool and not runs_here(model) and model.api_base is None:
            place = f"{_shown(os.environ[proxy])}, the proxy in {proxy}"
            yield Permission(f"send calls through {place}", spec.where(route))


def _searches(spec: Spec) -> Iterator[Permission]:
    for name, entry in spec.text.knowledge.items():
        if entry.retriever != "search":
            continue
        key, address = entry.api_key_env or SEARCH_KEY, entry.api_base
        variable = _variable(address)
        if (address is None or variable is not None) and (key == SEARCH_KEY or _is_named_alike(key, variable)):
            continue
        place = (
            "the search of serper.dev" if address is None
            else f"the address in {variable}" if variable else _shown(address)
        )  # fmt: skip
        what = f"send searches and the value of the variable {key} to {place}"
        yield Permission(what, spec.where(("knowledge", name)))


def _variable(address: str | None) -> str | None:
    """Return the environment variable that an address is taken from; None if it is written in the spec."""
    return address.removeprefix(ENVIRONMENT).strip() if address and address.startswith(ENVIRONMENT) else None


def _is_named_alike(key: str, address: str | None) -> bool:
    """Return whether the variables of a key and of an address are a pair, such as LAB_KEY and LAB_URL."""
    return address is not None and key.partition("_")[0] == address.partition("_")[0]


def _provider_keys(model: Model) -> tuple[str, ...]:
    """Return the variables that hold the key of a model's provider; of `direct/`, by the protocol that is spoken."""
    name, direct = model.model, model.model.removeprefix("direct/")
    provider = "" if direct == name or direct.startswith("anthropic/") else "openai/"
    return key_variables(Model(model.name, f"{provider}{direct}"))


def _is_local(address: str) -> bool:
    return is_loopback(urlsplit(address).hostname or "")


def _shown(address: str | None) -> str:
    return _on_one_line(mask_url(address))


# Code


def _functions(spec: Spec) -> Iterator[Permission]:
    for name, tool in spec.tools.items():
        if tool.model == PYTHON:
            function = str(tool.options["function"])
            what = f"run the Python function {function} of {source_of(function)}"
            yield Permission(what, spec.where(("tools", name)), identity_of(function), function)


def _sentence_models(spec: Spec, similarities: Iterable[str]) -> Iterator[Permission]:
    named = [(name, spec.where(("methods",))) for name in similarities]
    named += [
        (str(entry.embedding or ""), spec.where(("knowledge", name))) for name, entry in spec.text.knowledge.items()
    ]
    for similarity, where in dict(named).items():
        prefix = next((prefix for prefix in SENTENCE_MODELS if similarity.startswith(prefix)), None)
        folder = Path(similarity.removeprefix(prefix or ""))
        if prefix is not None and folder.is_dir():
            place = _on_one_line(str(folder.resolve()))
            what = f"load the model in the folder {place}, which may run Python that lies there"
            yield Permission(what, where, folder_digest(folder))


def folder_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all files of a folder; of large ones the size counts."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            size = path.stat().st_size
            content = hashlib.sha256(path.read_bytes()).hexdigest() if size <= SMALL else str(size)
            state.update(f"{path.relative_to(folder)}\0{content}\n".encode("utf-8", "surrogatepass"))
    return state.hexdigest()[:16]


# Files


def own_folders(spec: Path) -> tuple[Path, ...]:
    """Return the folders whose files a spec may read: the one that holds `specs/`, or else the one that it lies in.

    A home folder, and any folder above it, is not a folder of a spec: it holds everything.
    """
    whole = spec.resolve()
    folder = next((parent.parent for parent in whole.parents if parent.name == "specs"), whole.parent)
    return () if folder in _homes() else (folder,)


def _homes() -> tuple[Path, ...]:
    home = Path("~").expanduser().resolve()
    return (home, *home.parents) if home.is_absolute() else ()


def _is_own(path: Path, folders: Collection[Path]) -> bool:
    """Return whether a file lies in one of the folders once its links are followed, and is not hidden there."""
    whole = path.resolve()
    return any(
        whole.is_relative_to(folder) and not any(part.startswith(".") for part in whole.relative_to(folder).parts)
        for folder in folders
    )


def _datasets(spec: Spec) -> Iterator[Permission]:
    folders = own_folders(spec.path)
    entries = spec.text.asked
    entries += [(("train", name, "questions"), entry.questions) for name, entry in spec.text.train.items()]
    entries += [(("learned", name, "questions"), entry.questions) for name, entry in spec.text.learned.items()]
    for route, entry in entries:
        if entry.file is None or entry.file.startswith(ENVIRONMENT):
            continue
        base = Path(spec.node.where((*route, "file")).file).parent
        yield from _outside(base / Path(entry.file).expanduser(), folders, spec.where(route))


def _outside(path: Path, folders: Collection[Path], where: str) -> Iterator[Permission]:
    """Yield the path if it is not the spec's own; for a folder of its own, the links in it that lead out."""
    if not _is_own(path, folders):
        yield Permission(f"read {_on_one_line(str(path.resolve()))}", where)
    elif path.is_dir():
        for link in _links(path):
            if not _is_own(link, folders):
                yield Permission(f"read {_on_one_line(str(link.resolve()))}", where)


def _links(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in sorted((*folders, *files)) if Path(parent, name).is_symlink())


def _pictures(spec: Spec, tasks: Iterable[Task]) -> Iterator[Permission]:
    folders = own_folders(spec.path)
    for task in tasks:
        sources = dict.fromkeys(image.source for question in task.questions for image in question.images)
        paths = (Path(source) for source in sources if not source.startswith("data:"))
        if outside := [str(path.resolve()) for path in paths if not _is_own(path, folders)]:
            more = f" and {len(outside) - SHOWN} more" if len(outside) > SHOWN else ""
            named = _on_one_line(", ".join(outside[:SHOWN])) + more
            digest = hashlib.sha256("\n".join(outside).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            yield Permission(f"send models the pictures {named}", task.label, digest if more else "")


def _programs(spec: Spec) -> Iterator[Permission]:
    for label, dataset in spec.datasets.items():
        if asks_for_programs(dataset):
            route: Route = ("dataset",) if spec.text.dataset is not None else ("datasets", label)
            what = "run programs of models, and tests and solutions of data, in a sandbox without network and files"
            yield Permission(what, spec.where(route))
    for name, tool in spec.tools.items():
        if tool.model == PROGRAM:
            what = "run the programs that models write as a tool, in a sandbox without network and files"
            yield Permission(what, spec.where(("tools", name)))


def _corpora(spec: Spec) -> Iterator[Permission]:
    folders = own_folders(spec.path)
    for name, entry in spec.text.knowledge.items():
        for written in (entry.corpus, entry.index):
            if written is not None:
                path = spec.path.parent / Path(written).expanduser()
                yield from _outside(path, folders, spec.where(("knowledge", name)))


def _weights(spec: Spec, model: Model, where: str) -> Iterator[Permission]:
    """Yield the folder of a model in this process, if the spec names one by its path."""
    if not model.model.partition("/")[2].startswith((".", "/", "~")):
        return
    try:
        weights = weights_of(model.model)
    except InputError:  # a spec that names the digest of its weights is replayed without them
        return
    folders = (*own_folders(spec.path), Path("results").resolve(), Path("zoo").resolve())
    if weights is not None and not _is_own(weights.path, folders):
        yield Permission(f"read the model in {_on_one_line(str(weights.path.resolve()))}", where)


def _prompts(spec: Path, templates: Templates) -> Iterator[Permission]:
    near = [*spec.resolve().parents[:2], Path.cwd().resolve()]
    places = [*(folder / "prompts" for folder in near), shipped_prompts().resolve()]
    folders = (*own_folders(spec), *places)
    for folder in templates.own_folders:
        if folder not in places:
            yield Permission(f"take prompts from {_on_one_line(str(folder))}", str(spec))
        for link in _links(folder):
            if not _is_own(link, folders):
                yield Permission(f"read {_on_one_line(str(link.resolve()))} as a prompt", str(spec))
