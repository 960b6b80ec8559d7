"""The reference page of environment variables: those that the program reads or sets, and the keys of providers."""

from __future__ import annotations

from cortexdsl.models.endpoints.providers import KEYS

READ = {
    "CI": "If set, a run prints its progress as lines, instead of a display that is drawn again and again.",
    "CORTEXDSL_TRUST": "The digests that [`cortexdsl check`](../howto/run-a-spec-from-somebody-else.md) prints, "
    "separated by commas. Each permits what `check` lists for one spec.",
    "HF_ENDPOINT": "The address of a model hub, instead of that of Hugging Face.",
    "HF_HUB_OFFLINE": "If 1, nothing is downloaded from the model hub. Only what this machine has is used.",
    "HOME": "The home folder. Permissions are stored below it.",
    "NO_COLOR": "If set, terminal output has no colours.",
    "SERPER_API_KEY": "The key of a web search, unless `api_key_env` names another variable.",
    "TMPDIR": "The folder of temporary files. It also has the socket of the process that starts jobs.",
    "XDG_STATE_HOME": "The folder below which permissions are stored. Default: `~/.local/state`.",
}
"""Variables that a user may set."""
SET = {
    "CORTEXDSL_CHECKOUT": "The folder that environments of conda install cortexdsl from.",
    "CORTEXDSL_COMMAND": "The command that started the run. Messages repeat it.",
    "CORTEXDSL_RUN": "The process id of the run. Jobs end if this process ends.",
    "CORTEXDSL_WORKER": "The socket of the worker that starts jobs.",
    "HF_HUB_DISABLE_TELEMETRY": "Training reports nothing to the model hub.",
    "LITELLM_LOCAL_MODEL_COST_MAP": "litellm takes prices from its own package, without a download.",
    "LITELLM_MODE": "litellm reads no `.env` file.",
    "PYTHONSAFEPATH": "Python imports nothing from the current folder.",
    "TOKENIZERS_PARALLELISM": "Training forks without warnings of the tokenizer.",
}
"""Variables that the program sets for itself and its jobs. The page leaves them out, since setting them has no use."""


def environment_page() -> str:
    """Every environment variable of the program, and the variables of providers' keys."""
    parts = [
        "# Every environment variable",
        "This page lists the environment variables of cortexdsl. You rarely need one, except for the key of a "
        "provider. Keys are never written to files or logs.",
        "A spec may read further variables: `api_base: env:NAME` reads an address, `file: env:NAME` reads a path, and "
        "`api_key_env: NAME` reads a key.",
        "## Set by you",
        _table("variable", "meaning", READ),
        "## Keys of providers",
        "The variable of a provider is its name in capitals with `_API_KEY`, such as `OPENAI_API_KEY`, except for "
        "these. If there are several, the first one that is set is used. [Providers](../providers.md) says what else "
        "each needs.",
        _table(
            "provider",
            "variables",
            {
                name: ", ".join(f"`{key}`" for key in keys)
                for name, keys in sorted(KEYS.items())
                if keys != _usual(name)
            },
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _usual(provider: str) -> tuple[str, ...]:
    return (f"{provider.upper()}_API_KEY",)


def _table(first: str, second: str, rows: dict[str, str]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in rows.items())]
    return "\n".join(lines)
