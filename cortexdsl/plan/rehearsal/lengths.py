"""How long prompts and replies are, in tokens, before anybody is asked.

A model that runs in this process has its tokenizer and its chat template at hand, and its prompts are counted as it
will read them; of others four characters are a token. A reply is as long as the spec assumes, and no longer than
`max_tokens`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from cortexdsl.errors import InputError
from cortexdsl.models.tiny.chat import Chat
from cortexdsl.models.tiny.shelf import chat_of
from cortexdsl.terms import Call, Message, Model

CHARACTERS_PER_TOKEN = 4
REPLY_TOKENS = 200

_ANSWER = 16  # characters of a made-up reply that are its own
_PROSE = " I have read the question again, and each step of the answer follows from what was said before."


class Asked(NamedTuple):
    """A call, and how long its prompt and its reply are."""

    call: Call
    input_tokens: int
    output_tokens: int


class Lengths:
    """How long what models read and write is, at four characters a token.

    Parameters
    ----------
    reply_tokens : int
        Assumed length of a reply.
    """

    def __init__(self, reply_tokens: int = REPLY_TOKENS) -> None:
        self._reply_tokens = reply_tokens

    def asked(self, call: Call) -> Asked:
        """Return a call with its lengths."""
        said = self.reply(call.model) + call.model.reasoning_tokens
        return Asked(call, self.prompt(call.model, call.messages), said)

    def prompt(self, model: Model, messages: Sequence[Message]) -> int:
        """Return the tokens of a prompt."""
        return sum(len(message["content"]) for message in messages) // CHARACTERS_PER_TOKEN

    def reply(self, model: Model) -> int:
        """Return the tokens of a reply, without what the model thinks before."""
        return min(self._reply_tokens, int(model.options.get("max_tokens", self._reply_tokens)))

    def made_up(self, key: str, model: Model) -> str:
        """Return a reply of that length, which is a function of the call that the key is of."""
        return made_up(key, self.reply(model))


class OwnLengths(Lengths):
    """The same, but by its own tokenizer where a model runs in this process."""

    def __init__(self, reply_tokens: int = REPLY_TOKENS) -> None:
        super().__init__(reply_tokens)
        self._chats: dict[str, Chat | None] = {}
        self._prose: dict[tuple[str, int], str] = {}

    def counts(self, model: Model) -> bool:
        """Say whether the prompts of a model are counted by its own tokenizer."""
        return self._chat(model) is not None

    def prompt(self, model: Model, messages: Sequence[Message]) -> int:
        """Return the tokens of a prompt."""
        chat = self._chat(model)
        if chat is not None:
            with suppress(InputError):  # its template refuses the messages, as the run will say
                return len(chat.tokens(messages))
        return super().prompt(model, messages)

    def made_up(self, key: str, model: Model) -> str:
        """Return a reply of that length, which is a function of the call that the key is of."""
        tokens, chat = self.reply(model), self._chat(model)
        if chat is None:
            return made_up(key, tokens)
        place = model.model, tokens
        if place not in self._prose:  # a character of the answer is about a token: no two of them are a word
            self._prose[place] = chat.opening(_PROSE * tokens, max(0, tokens - _ANSWER))
        return hashlib.sha256(key.encode()).hexdigest()[: min(_ANSWER, tokens)] + self._prose[place]

    def _chat(self, model: Model) -> Chat | None:
        if model.model not in self._chats:
            self._chats[model.model] = chat_of(model.model)
        return self._chats[model.model]


def made_up(key: str, tokens: int) -> str:
    """Return a text of so many tokens that is a function of a key."""
    text = hashlib.sha256(key.encode()).hexdigest()
    return (text * (tokens * CHARACTERS_PER_TOKEN // len(text) + 1))[: tokens * CHARACTERS_PER_TOKEN]
