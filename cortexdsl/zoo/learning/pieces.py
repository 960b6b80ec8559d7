"""The pieces of text that a small model knows: a byte-level BPE, and phrases that prompts repeat word for word.

Every digit is a piece of its own, so that numbers are seen figure by figure. Lines of prompts that stand in many
lessons become one piece each: a prompt is then a few dozen tokens long, which makes training on two cores short.
Whatever is written otherwise falls into smaller pieces, down to bytes: every text has tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END, SYSTEM, USER, ASSISTANT = "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = (END, SYSTEM, USER, ASSISTANT)

TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role not in ('system', 'user', 'assistant') %}"
    "{{ raise_exception('there is no role ' + message.role) }}{% endif %}"
    "{{ '<|' + message.role + '|>' + message.content }}"
    "{% if message.role == 'assistant' %}{{ '<|end|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
"""The chat template: a mark before each message, and one after each reply."""

_PHRASE = re.compile(r"[^\n\d.?!]{12,}[.?!]?\n?")
_LEAST_SHARE = 0.002  # of all texts, in which a phrase must stand


def train_pieces(texts: Sequence[str], size: int, phrases: int) -> Tokenizer:
    """Learn pieces from texts.

    Parameters
    ----------
    texts : sequence of str
        Prompts and replies.
    size : int
        Of the vocabulary: bytes, merges, phrases and special pieces together.
    phrases : int
        How many phrases there may be among them.

    Returns
    -------
    Tokenizer
        The same for the same texts.
    """
    found = frequent_phrases(texts, phrases)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d|\n| ?[^\W\d]+| ?[^\w\n]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(found),
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_without(texts, found), trainer)
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in found])
    return tokenizer


def frequent_phrases(texts: Sequence[str], most: int) -> list[str]:
    """Return the lines and sentences that most texts have word for word, those that save most characters first."""
    counts = Counter(phrase for text in texts for phrase in set(_PHRASE.findall(text)))
    frequent = [phrase for phrase, count in counts.items() if count >= max(2, _LEAST_SHARE * len(texts))]
    return sorted(frequent, key=lambda phrase: (-counts[phrase] * len(phrase), phrase))[:most]


def _without(texts: Iterable[str], phrases: Sequence[str]) -> Iterable[str]:
    """Yield what of the texts is left for the BPE."""
    if not phrases:
        yield from texts
        return
    known = re.compile("|".join(map(re.escape, sorted(phrases, key=len, reverse=True))))
    for text in texts:
        yield from (part for part in known.split(text) if part)
