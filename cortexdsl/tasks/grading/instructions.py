"""Instructions that a program can check, by the definitions of IFEval (Zhou et al. 2023, arXiv 2311.07911).

An instruction is a name of `INSTRUCTIONS` and its settings, as the rows of IFEval have them. Its authors count
sentences and capital words with models of NLTK, and draw settings that a row lacks; here a list of abbreviations
decides, and a row that lacks a setting is refused.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from cortexdsl.errors import DataError

_RELATIONS: Mapping[str, Callable[[int, int], bool]] = {"less than": operator.lt, "at least": operator.ge}
_SENTENCE_END = re.compile(r"(?P<word>[^\s.!?]*(?:\.[^\s.!?]+)*)(?P<mark>[.!?]+)(?=[)\";}\]*:@'({\[]|\s+\S)")
_ABBREVIATION = re.compile(
    r"(?:[a-z]|e\.g|i\.e|a\.m|p\.m|u\.s|ph\.d|mr|mrs|ms|dr|st|jr|sr|vs|prof|gen|col|capt|rev|inc|ltd|co|corp|no|vol"
    r"|jan|feb|mar|apr|aug|sept?|oct|nov|dec)",
    re.IGNORECASE,
)
_WORD_END = re.compile(
    r"[\s\[\](){}<>;@#$%&?!\"“”]+|--|\.{3}|…|[:,](?!\d)|(?i:(?<=\w)(?='(?:s|m|d|ll|re|ve)\b|n't\b)|(?<=\bcan)(?=not\b))"
)
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def _count_sentences(text: str) -> int:
    ends = _SENTENCE_END.finditer(text.strip())
    return 1 + sum(bool(end["mark"] != "." or not _ABBREVIATION.fullmatch(end["word"])) for end in ends)


def _is(count: int, relation: str, bound: int) -> bool:
    return _RELATIONS[relation](count, bound)


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


@lru_cache(maxsize=4096)
def _is_in(language: str, text: str) -> bool:
    try:
        from langdetect import DetectorFactory, LangDetectException, detect
    except ImportError:
        raise DataError(
            "which language a text is in needs the extra `ifeval`\n    pip install 'cortexdsl[ifeval]'"
        ) from None
    DetectorFactory.seed = 0  # it draws, and would not always say the same
    try:
        return bool(detect(text) == language)
    except LangDetectException:  # without letters: IFEval lets this pass
        return True


def _is_divided(text: str, divider: str, count: int) -> bool:
    """Return whether a text has so many parts; empty ones may only be the first and the last."""
    parts = [part.strip() for part in re.split(divider, text)]
    return all(parts[1:-1]) and sum(map(bool, parts)) == count


def _has_first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    paragraphs = [paragraph.split() for paragraph in text.split("\n\n")]
    if not nth_paragraph <= sum(map(bool, paragraphs)) == num_paragraphs or not paragraphs[nth_paragraph - 1]:
        return False
    word = paragraphs[nth_paragraph - 1][0].lstrip("'").lstrip('"')
    return re.split(r"[.,?!'\"]", word)[0].lower() == first_word.lower()


def _count_highlights(text: str) -> int:
    marked = (*re.findall(r"\*([^\n*]*)\*", text), *re.findall(r"\*\*([^\n*]*)\*\*", text))
    return sum(bool(words.strip()) for words in marked)


def _is_json(text: str) -> bool:
    try:
        json.loads(re.sub(r"\A```(?:json|Json|JSON)?|```\Z", "", text.strip()))
    except (ValueError, RecursionError):
        return False
    return True


def _are_two(text: str) -> bool:
    parts = [part.strip() for part in text.split("*" * 6)]
    return _is_divided(text, r"\*{6}", 2) and len(set(filter(None, parts))) == 2


INSTRUCTIONS: Mapping[str, Callable[..., bool]] = {
    "keywords:existence": lambda text, keywords: all(_has(word, text) for word in keywords),
    "keywords:frequency": lambda text, keyword, frequency, relation: _is(
        len(re.findall(keyword.strip(), text, re.IGNORECASE)), relation, frequency),
    "keywords:forbidden_words": lambda text, forbidden_words: not any(
        _has(rf"\b{word}\b", text) for word in forbidden_words),
    "keywords:letter_frequency": lambda text, letter, let_frequency, let_relation: _is(
        text.lower().count(letter.lower()), let_relation, let_frequency),
    "language:response_language": lambda text, language: _is_in(language, text),
    "length_constraints:number_sentences": lambda text, num_sentences, relation: _is(
        _count_sentences(text), relation, num_sentences),
    "length_constraints:number_paragraphs": lambda text, num_paragraphs: _is_divided(
        text, r"\s?\*\*\*\s?", num_paragraphs),
    "length_constraints:number_words": lambda text, num_words, relation: _is(
        len(re.findall(r"\w+", text)), relation, num_words),
    "length_constraints:nth_paragraph_first_word": _has_first_word,
    "detectable_content:number_placeholders": lambda text, num_placeholders: _is(
        len(re.findall(r"\[.*?\]", text)), "at least", num_placeholders),
    "detectable_content:postscript": lambda text, postscript_marker: _has(
        _POSTSCRIPTS.get(postscript_marker.strip(), postscript_marker.strip().lower()), text),
    "detectable_format:number_bullet_lists": lambda text, num_bullets: num_bullets == sum(
        len(re.findall(mark, text, re.MULTILINE)) for mark in (r"^\s*\*[^*].*$", r"^\s*-.*$")),
    "detectable_format:constrained_response": lambda text: any(response in text for response in _RESPONSES),
    "detectable_format:number_highlighted_sections": lambda text, num_highlights: _is(
        _count_highlights(text), "at least", num_highlights),
    "detectable_format:multiple_sections": lambda text, section_spliter, num_sections: _is(
        len(re.findall(rf"{section_spliter.strip()}\s?\d+", text)), "at least", num_sections),
    "detectable_format:json_format": _is_json,
    "detectable_format:title": lambda text: any(
        title.lstrip("<").rstrip(">").strip() for title in re.findall(r"<<[^\n]+>>", text)),
    "combination:two_responses": _are_two,
    "combination:repeat_prompt": lambda text, prompt_to_repeat: text.strip().lower().startswith(
        prompt_to_repeat.strip().lower()),
    "startend:end_checker": lambda text, end_phrase: text.strip().strip('"').lower().endswith(
        end_phrase.strip().lower()),
    "startend:quotation": lambda text: re.fullmatch(r'\s*".*"\s*', text, re.DOTALL) is not None,
    "change_case:capital_word_frequency": lambda text, capital_frequency, capital_relation: _is(
        sum(map(str.isupper, _WORD_END.split(text))), capital_relation, capital_frequency),
    "change_case:english_capital": lambda text: text.isupper() and _is_in("en", text),
    "change_case:english_lowercase": lambda text: text.islower() and _is_in("en", text),
    "punctuation:no_comma": lambda text: "," not in text,
}  # fmt: skip
"""Whether a reply follows an instruction, from the reply and the settings of the instruction."""


def written_instructions(names: Any, settings: Any = None) -> str:
    """Return the instructions of a row as one text, the gold of its question.

    Parameters
    ----------
    names : list
        Of names, or of objects with `instruction` and its settings.
    settings : list or None
        The settings of each name; those without a value are left out.

    Raises
    ------
    DataError
        An instruction is unknown, or its settings are others than it needs.
    """
    more = [None] * len(names) if settings is None and isinstance(names, list) else settings
    if not (names and isinstance(names, list) and isinstance(more, list) and len(more) == len(names)):
        raise DataError(
            "no instructions, or not as many settings\n    write one object of settings for each instruction"
        )
    stated = [_stated(name, own) for name, own in zip(names, more, strict=True)]
    for each in stated:
        try:
            _is_followed("A reply, such as this one.", each)
        except (TypeError, AttributeError, KeyError, re.error) as error:
            what = f"instruction {each['instruction']}: its settings cannot be used ({error})"
            raise DataError(f"{what}\n    write them as IFEval does") from None
    return json.dumps(stated, ensure_ascii=False)


def _stated(name: Any, settings: Any) -> dict[str, Any]:
    """Return an instruction with its settings."""
    named = {"instruction": name} if isinstance(name, str) else name
    if not (isinstance(named, dict) and isinstance(settings, dict | None)):
        raise DataError(
            f"{name!r} with the settings {settings!r} is not an instruction\n    write its name and an object"
        )
    stated = {key: value for key, value in {**named, **(settings or {})}.items() if value is not None}
    known = stated.pop("instruction", None)
    if not isinstance(known, str) or known not in INSTRUCTIONS:
        raise DataError(f"no instruction {known!r}\n    instructions: {', '.join(INSTRUCTIONS)}")
    wrong = next((key for key, value in stated.items() if not _is_setting(key, value)), None)
    if wrong is not None:
        what = f"instruction {known}: its settings cannot be used ({wrong} is {stated[wrong]!r})"
        raise DataError(f"{what}\n    write them as IFEval does")
    return {"instruction": known, **stated}


def _is_setting(key: str, value: Any) -> bool:
    """Return whether a value is of the type that a setting has in IFEval; another would be compared and never equal."""
    if key in ("keywords", "forbidden_words"):
        return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)
    if key.startswith(("num_", "nth_")) or key.endswith("frequency"):
        return isinstance(value, int | float) and value >= (key == "nth_paragraph")
    return isinstance(value, str)


def _is_followed(text: str, instruction: Mapping[str, Any]) -> bool:
    settings = {key: value for key, value in instruction.items() if key != "instruction"}
    return bool(text.strip()) and INSTRUCTIONS[instruction["instruction"]](text, **settings)


def followed(text: str, gold: str, *, is_loose: bool = False) -> list[bool]:
    """Return whether a reply follows each instruction; loosely, also without its ends and its asterisks."""
    lines = text.split("\n")
    cuts = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))] if is_loose else [text]
    tried = [variant for cut in cuts for variant in ((cut, cut.replace("*", "")) if is_loose else (cut,))]
    return [any(_is_followed(each, instruction) for each in tried) for instruction in json.loads(gold)]


def instruction_columns(answer: str | None, golds: Sequence[str]) -> Mapping[str, float]:
    """Return whether an answer follows all instructions loosely, how many it follows, and how many there are."""
    strictly, loosely = (followed(answer or "", golds[0], is_loose=is_loose) for is_loose in (False, True))
    counts = {"followed": sum(strictly), "loosely_followed": sum(loosely), "instructions": len(strictly)}
    return {"loosely_right": float(all(loosely)), **counts}
