"""Messages to tokens and back, by the tokenizer and the chat template of a model's folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cortexdsl.core import Message
from cortexdsl.errors import InputError
from cortexdsl_tiny.folder import TEMPLATE, TOKENIZER, TOKENIZER_CONFIG, Folder

_PLACE = "\ue000{}\ue001"  # placeholder of a message in the template; private use, and taken out of messages
_PLACES = re.compile("\ue000(\\d+)\ue001")


class Chat:
    """Writes conversations as tokens, and reads tokens as text.

    The content of a message is data: if it spells a special token, it gets the pieces of that text and never the token.

    Raises
    ------
    InputError
        The tokenizer cannot be read, or there is no chat template.
    """

    def __init__(self, folder: Folder) -> None:
        from tokenizers import Tokenizer  # a tenth of a second, which runs without such a model should not pay

        path = folder.path / TOKENIZER
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises no class of its own
            raise InputError(f"{path}: this is not a tokenizer ({error})") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        said, source = folder.said(TOKENIZER_CONFIG), folder.template
        if source is None:
            raise InputError(
                f"{folder.path} has no chat template ({TEMPLATE}, or chat_template in {TOKENIZER_CONFIG})\n"
                "    base models do not answer messages: use a model that was trained to chat"
            )
        self._marks = {name: _content(said.get(name)) for name in ("bos_token", "eos_token", "unk_token", "pad_token")}
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise InputError(f"{folder.path}: the chat template is malformed ({error})") from None
        added = self._tokenizer.get_added_tokens_decoder().values()
        self._special = [token.content for token in added if token.special]

    @property
    def size(self) -> int:
        """Number of pieces, special ones included."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def tokens(self, messages: Sequence[Message], *, opens_reply: bool = True) -> list[int]:
        """Return the tokens of a conversation, up to where the reply begins.

        Raises
        ------
        InputError
            The template refuses these messages, or writes nothing.
        """
        found = self._tokens(messages, opens_reply)
        if not found:
            raise InputError("the chat template of the model makes nothing of the messages")
        return found

    def _tokens(self, messages: Sequence[Message], opens_reply: bool) -> list[int]:
        is_plain = not any(mark in message["content"] for message in messages for mark in (*self._special, "\ue000"))
        if is_plain:
            return self._encoded(self._rendered(messages, opens_reply), allows_special=True)
        places = [{**message, "content": _PLACE.format(k)} for k, message in enumerate(messages)]
        found: list[int] = []
        for k, part in enumerate(_PLACES.split(self._rendered(places, opens_reply))):
            found += self._encoded(messages[int(part)]["content"] if k % 2 else part, allows_special=not k % 2)
        return found

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, special ones left out."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _rendered(self, messages: Sequence[Message], opens_reply: bool) -> str:
        try:
            return self._template.render(
                messages=[dict(message) for message in messages], add_generation_prompt=opens_reply, **self._marks
            )
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise InputError(f"the chat template of the model refuses the messages: {error}") from None

    def _encoded(self, text: str, *, allows_special: bool) -> list[int]:
        self._tokenizer.encode_special_tokens = not allows_special
        whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair becomes "?"
        return list(self._tokenizer.encode(whole, add_special_tokens=False).ids)


def _content(value: Any) -> str:
    return str(value.get("content", "")) if isinstance(value, dict) else str(value or "")


def _raise(message: str) -> None:
    raise TemplateError(message)
