"""Trained adapters on a server: loaded at run time if the server allows it, else the command that serves them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cortexdsl.errors import ModelError
from cortexdsl.models.probe import listed_models
from cortexdsl.models.reach.secrets import Secrets, shown
from cortexdsl.plan import Plan
from cortexdsl.plan.training.phases import Phase, Training
from cortexdsl.terms import Model
from cortexdsl.train.fit.serving import serve_commands

LOADED_WITHIN = 300.0
"""Seconds that a server has to load an adapter."""
_REQUIRES = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"


async def serve_adapters(plan: Plan, models: Iterable[Model]) -> None:
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


async def _serve(plan: Plan, training: Training, phase: Phase, model: Model) -> None:
    secrets = Secrets()
    address, key = secrets.address(model), secrets.key(model)
    name = model.model.partition("/")[2]
    listed = await listed_models(address, key)
    if address is None or not listed or name in listed:
        return
    adapter = Path(plan.layout.phase(training.name, phase.label), "adapter").absolute()
    answer = await _load(address, key, name, adapter)
    if name in await listed_models(address, key):  # also if another job has loaded it meanwhile
        return
    base = training.begins_in(phase).absolute()
    command = "\n    ".join(serve_commands([(name, base, adapter)], training.optimiser.rank))
    raise ModelError(
        f"the server at {shown(address)} does not have {name}, which training {training.name} has made, and does not"
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
