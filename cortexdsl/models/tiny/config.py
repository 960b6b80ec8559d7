"""The sizes of a Llama, from `config.json`: those that are run here, and a clear no to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError

MOST_PARAMETERS = 50_000_000
"""Above, a server is the better place: this is for models that need none."""


@dataclass(frozen=True, slots=True)
class Config:
    """The architecture of a model.

    Attributes
    ----------
    vocabulary, width, hidden, layers, heads, groups, head : int
        Pieces; numbers of the residual stream; of a feed-forward block; blocks; heads of queries; heads of keys and
        values; numbers of a head.
    window : int
        The most tokens of prompt and reply.
    theta : float
        The base of the rotary position code.
    epsilon : float
        Of the root mean square.
    is_tied : bool
        Whether the last matrix is the first one.
    ends : tuple of int
        Tokens that end a reply.
    """

    vocabulary: int
    width: int
    hidden: int
    layers: int
    heads: int
    groups: int
    head: int
    window: int
    theta: float
    epsilon: float
    is_tied: bool
    ends: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """How many weights there are; embeddings count once where they are tied."""
        attention = self.width * self.head * (2 * self.heads + 2 * self.groups)
        block = attention + 3 * self.width * self.hidden + 2 * self.width
        return self.layers * block + self.width + self.vocabulary * self.width * (1 if self.is_tied else 2)


def config_of(said: Mapping[str, Any], generation: Mapping[str, Any], where: Path) -> Config:
    """Read the configuration of a folder.

    Parameters
    ----------
    said, generation : mapping
        `config.json` and `generation_config.json` (may be empty).
    where : Path
        The file that messages name.

    Raises
    ------
    InputError
        It is no Llama, has a part that is not run here, or sizes that do not fit together.
    """
    _refuse_others(said, where)
    try:
        heads, width = _whole(said["num_attention_heads"]), _whole(said["hidden_size"])
        found = Config(
            vocabulary=_whole(said["vocab_size"]),
            width=width,
            hidden=_whole(said["intermediate_size"]),
            layers=_whole(said["num_hidden_layers"]),
            heads=heads,
            groups=_whole(said.get("num_key_value_heads") or heads),
            head=_whole(said.get("head_dim") or width // heads),
            window=_whole(said["max_position_embeddings"]),
            theta=float(_rope(said).get("rope_theta", said.get("rope_theta", 10_000.0))),
            epsilon=float(said.get("rms_norm_eps", 1e-6)),
            is_tied=bool(said.get("tie_word_embeddings", False)),
            ends=_ends(generation.get("eos_token_id", said.get("eos_token_id"))),
        )
    except KeyError as error:
        raise InputError(f"{where}: {error.args[0]} is missing") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{where}: a size is no positive whole number ({error})") from None
    if found.heads % found.groups or found.head % 2:
        raise InputError(f"{where}: {found.heads} heads, {found.groups} of keys, {found.head} numbers each do not fit")
    if not found.ends:
        raise InputError(f"{where}: there is no eos_token_id, so that no reply would ever end")
    if found.parameters > MOST_PARAMETERS:
        raise InputError(
            f"{where}: {found.parameters:,} parameters are too many to run in the process (at most {MOST_PARAMETERS:,})"
            "\n    serve the folder (`servers:` with vLLM, llama.cpp) and ask it as openai/NAME"
        )
    return found


def _rope(said: Mapping[str, Any]) -> Mapping[str, Any]:
    found = said.get("rope_parameters")
    return found if isinstance(found, Mapping) else {}


def _refuse_others(said: Mapping[str, Any], where: Path) -> None:
    kind = said.get("model_type")
    if kind != "llama":
        raise InputError(f"{where}: model_type is {kind!r}; only Llama models run in the process")
    scaling = said.get("rope_scaling") or (_rope(said) if _rope(said).get("rope_type", "default") != "default" else {})
    for what, value, usual in (
        ("hidden_act", said.get("hidden_act", "silu"), "silu"),
        ("attention_bias", bool(said.get("attention_bias")), False),
        ("mlp_bias", bool(said.get("mlp_bias")), False),
        ("rope_scaling", scaling, {}),
    ):
        if value != usual:
            raise InputError(f"{where}: {what} is {value!r}, and only {usual!r} runs in the process")


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(repr(value))
    return value


def _ends(value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(int(each) for each in values)
