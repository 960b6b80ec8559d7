"""Trained models: their adapters on a server, the command that serves them, and the digests of their weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join

from cortexdsl.core import Method, Model
from cortexdsl.engine.methods import with_all_models
from cortexdsl.errors import InputError, ModelError
from cortexdsl.models.endpoints.credentials import Secrets
from cortexdsl.models.servers.addresses import read_addresses
from cortexdsl.models.servers.pages import listed_models
from cortexdsl.models.transports.addresses import mask_url
from cortexdsl.models.transports.interface import WEIGHTS_OPTION
from cortexdsl.models.transports.registry import weights_of
from cortexdsl.plan.training import Phase, PlanWithTrainings, Training, made_by
from cortexdsl_train.phases import base_folder

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM accepts for `--max-lora-rank` (0.32, `vllm.config.lora`)."""


def serve_commands(adapters: Sequence[tuple[str, Path, Path]], rank: int) -> Sequence[str]:
    """Return one command line for each base that adapters belong to.

    Parameters
    ----------
    adapters : sequence of (name, base, adapter)
        The model's name as calls have it, without its provider; two folders.
    rank : int
        The rank of the adapters.

    Raises
    ------
    InputError
        No server takes adapters of so high a rank.
    """
    room = next((each for each in RANKS if each >= rank), None)
    if room is None:
        raise InputError(f"vLLM serves adapters of rank {RANKS[-1]} at most, not {rank}\n    serve the merged folder")
    by_base: dict[Path, list[str]] = {base: [] for _, base, _ in adapters}
    for name, base, adapter in adapters:
        by_base[base].append(f"{name}={adapter}")
    return [
        join(["vllm", "serve", str(base), "--enable-lora", "--max-lora-rank", str(room), "--lora-modules", *named])
        for base, named in by_base.items()
    ]


LOADED_WITHIN = 300.0
"""Seconds that a server has to load an adapter."""
_REQUIRES = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"


async def load_adapters(plan: PlanWithTrainings, models: Iterable[Model]) -> None:
    """See that the servers of trained models have their adapters, before a call is sent.

    A server that lists its models and lacks an adapter is asked to load it (`/load_lora_adapter`, which vLLM has with
    `VLLM_ALLOW_RUNTIME_LORA_UPDATING=True`). One that lists nothing is left to the calls.

    Raises
    ------
    ModelError
        The server does not load it: with the command that serves the adapters.
    """
    names = {model.model for model in models}
    for training in plan.trainings:
        for phase in training.phases:
            if phase.trained is not None and phase.trained.api_base is not None and phase.trained.model in names:
                await _serve(plan, training, phase, phase.trained)


async def _serve(plan: PlanWithTrainings, training: Training, phase: Phase, model: Model) -> None:
    secrets = Secrets(served=read_addresses(Path(plan.layout.addresses)))
    address, key = secrets.address(model), secrets.key(model)
    name = model.model.partition("/")[2]
    listed = await listed_models(address, key)
    if address is None or not listed or name in listed:
        return
    adapter = Path(plan.layout.phase(training.name, phase.label), "adapter").absolute()
    answer = await _load(address, key, name, adapter)
    if name in await listed_models(address, key):  # also if another job has loaded it meanwhile
        return
    base = base_folder(training, phase).absolute()
    command = "\n    ".join(serve_commands([(name, base, adapter)], training.optimiser["rank"]))
    raise ModelError(
        f"the server at {mask_url(address)} does not have {name}, which training {training.name} has made, and does not"
        f" load it ({secrets.clean(answer)})\n"
        f"    start it with its adapter, then run again (all adapters: cortexdsl train {plan.experiment} --training"
        f" {training.name} --serve):\n"
        f"    {command}\n"
        f"    or start it with --enable-lora and {_REQUIRES}: then the run loads adapters itself"
    )


async def _load(address: str, key: str | None, name: str, adapter: Path) -> str:
    """Ask a server to load an adapter, and return what it answered."""
    import aiohttp  # a third of a second, which jobs without such models should not pay

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = {"lora_name": name, "lora_path": str(adapter)}
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LOADED_WITHIN)) as session:
            url = f"{address.rstrip('/')}/load_lora_adapter"
            async with session.post(url, json=body, headers=headers, allow_redirects=False) as response:
                text = (await response.content.read(2_000)).decode("utf-8", "replace")
                return f"HTTP {response.status}: {' '.join(text.split())[:200]}"
    except (TimeoutError, aiohttp.ClientError) as error:
        return type(error).__name__


CARD = "training"
"""The key of a trained model's card that holds the digest of everything it was made from."""


def with_weights(method: Method) -> Method:
    """Return a method whose trained models carry the digest of their weights, as other models with files do.

    Raises
    ------
    InputError
        A model is missing, or was trained from something else than the spec says now.
    """
    return with_all_models(method, _with_digest)


def _with_digest(model: Model) -> Model:
    made = made_by(model)
    files = weights_of(model.model) if made else None
    if files is None:
        return model
    if files.card.get(CARD) != made:
        raise InputError(
            f"{files.path}: these weights were trained from something else than the spec says by now\n"
            "    run the workflow, which trains them again"
        )
    return replace(model, options={**model.options, WEIGHTS_OPTION: files.digest})
