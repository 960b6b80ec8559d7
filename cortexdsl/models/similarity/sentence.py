"""Models of sentence-transformers, which the extra `embeddings` brings: loaded, or told apart why not."""

from __future__ import annotations

import importlib
from typing import Any, Literal

from cortexdsl.errors import InputError


def load_sentence_model(
    similarity: str, kind: Literal["SentenceTransformer", "CrossEncoder"], name: str, called: str
) -> Any:
    """Load a model by its name, or from a folder.

    Parameters
    ----------
    similarity : str
        The setting as the spec writes it, for messages.
    kind : str
        The class of the library.
    name : str
    called : str
        What such a model is called in messages: `sentence-transformers model`, `cross-encoder`.

    Raises
    ------
    InputError
        The extra is not installed, or the model cannot be loaded.
    """
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise InputError(
            f"similarity {similarity} needs the extra `embeddings`, which is not installed\n"
            "    install it (pip install -e '.[embeddings]'), or use `similarity: ngram`"
        ) from None
    try:
        return getattr(library, kind)(name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"similarity {similarity}: the model cannot be loaded: {' '.join(str(error).split())[:200]}\n"
            f"    give the name of a {called}, or the path of a folder that holds one"
        ) from None
