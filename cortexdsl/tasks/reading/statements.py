"""Statements of an answer in a reply, and the readings of steps that do not answer (review, verdict, choice ...)."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator

from cortexdsl.core import QUOTE, RANKED, Reading
from cortexdsl.tasks.reading.others import until_next_agent
from cortexdsl.tasks.reading.text import holds_any, plain_characters

# No more than so many statements are looked at, from the last one back: replies that loop have thousands.
MOST = 50
_LONGEST_FRAGMENT = 4_000

_ANSWER_LINE = re.compile(
    r"^[^\w\n]{0,8}(?:(?:so|therefore|thus|hence),? )?(?:the |my |our )?(?:final |correct |best )?answer"
    r"[*_`]{0,3}[^\S\n]{0,3}[:：][*_`]{0,3}(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_SHORT_LINE = re.compile(
    r"^[^\S\n]{0,4}(?:A|Ans):(?P<rest>[^\n]*)|^[^\S\n]{0,4}####(?P<hashes>[^\n]*)"
    r"|^[^\w\n]{0,8}(?i:(?:(?:final )?answer[*_`]{0,3}[^\S\n]{1,3}[-–—](?=[^\S\n])"
    r"|(?:antwort|réponse|respuesta|risposta|resposta)[*_`]{0,3}[^\S\n]?:)(?P<other>[^\n]*))",
    re.MULTILINE,
)
_HEADING = re.compile(  # `### Final Answer`, and the answer on a line below
    r"^(?=[^\w\n]{0,8}[#*_])[^\w\n]{0,8}(?:the |my )?(?:final )?answer[*_`]{0,3}[^\S\n]{0,3}$",
    re.IGNORECASE | re.MULTILINE,
)
_FOREIGN = re.compile(
    r"\b(?:réponse|respuesta|risposta|resposta|antwort)(?: \w{3,12})?[^\S\n](?:est|es|è|é|ist|lautet)\b[^\S\n]?:?",
    re.IGNORECASE,
)
_FOREIGN_WORDS = ("réponse", "respuesta", "risposta", "resposta", "antwort")
_SENTENCE = re.compile(
    r"\banswer(?<!wrong answer)(?<!incorrect answer)(?<!no answer)(?<!this answer)(?<!their answer)(?<!that answer)s?\b"
    r"(?: (?:to|for|of|here|in|would then|must then)\b[^.:=\n]{0,120}?|[^\S\n](?:choice|option|letter|label))?"
    r"\s{0,3}(?:\b(?:is|are|was|will be|would be|should be|must be|becomes|equals)\b|[:：=]|是|为)"
    r"(?:\s{0,3}(?:therefore|thus|then|simply|hence|indeed|actually|now|still|clearly|most likely|likely)\b,?)?"
    r"\s{0,3}[:：]?",
    re.IGNORECASE,
)
# "The answer is correct" judges somebody's answer and states none.
_JUDGES = re.compile(
    r"\s{0,3}(?:(?:partially|also|indeed|not|in fact|quite|mostly) )?"
    r"(?:in)?(?:correct|accurate|wrong|right)\b(?! (?:because )?[(:])",
    re.I,
)
_CHOOSES = re.compile(
    r"\b(?:[Ii]|[Ww]e)(?:'d|'ll)?(?: \w{1,10}){0,3}?"
    r" (?:choose|chose|select|selected|pick|go with|opt for|recommend)\b(?: that)?"
)
_CHOICE_WORDS = ("choose", "chose", "select", "pick", "go with", "opt for", "recommend")
_CHINESE = re.compile(r"答案\s{0,3}(?:应该|应|就)?(?:是|为|[:：])")
_FINISH = re.compile(r"\bFinish\[([^\]\n]{0,500})\]")
_TAG = re.compile(r"<answer>(.{0,1000}?)</answer>", re.IGNORECASE | re.DOTALL)
_JSON = re.compile(
    r"[\"']answer[\"']\s{0,3}:\s{0,3}(?:\"((?:[^\"\\\n]|\\.){0,4000})\"|([^\s,}\"][^,}\n]{0,200}))", re.I
)
_BOX = re.compile(r"\\?(?:boxed|fbox)\s{0,2}(?=[{\s\d])")
_NEXT_QUESTION = re.compile(r"^[^\w\n]{0,4}(?:Question|Problem|Q|User|Human|Claim)(?: \d{1,4})?:", re.MULTILINE)


def until_next_question(text: str, agents: tuple[str, ...] = ()) -> str:
    """Cut a reply before a further question, or the turn of another agent, that it invents after its answer."""
    text = until_next_agent(text, _ANSWER_LINE, agents)
    cuts = list(_NEXT_QUESTION.finditer(text))
    if not cuts:
        return text
    firsts = [match.end() for match in (_ANSWER_LINE.search(text), _SENTENCE.search(text)) if match]
    cut = next((cut.start() for cut in cuts if firsts and cut.start() >= min(firsts)), len(text))
    return text[:cut]


def answer_line(text: str) -> str | None:
    """Return what stands after the last `Answer:` that begins a line, or None without such a line.

    If the rest of the line is empty, the next line that is not empty is taken.
    """
    lines = list(_ANSWER_LINE.finditer(text))
    return _rest(text, lines[-1]) if lines else None


def answer_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield from and to where something stands after an `Answer:` that begins a line, the last first."""
    for line in reversed(_last(_ANSWER_LINE, text)):
        rest = line["rest"]
        if rest.strip(" *_`"):
            yield line.start("rest"), line.start("rest") + len(rest[:_LONGEST_FRAGMENT])
        else:
            following = text[line.end() : line.end() + _LONGEST_FRAGMENT]
            start = line.end() + len(following) - len(following.lstrip("\n \t*_`"))
            yield start, start + len(text[start : start + _LONGEST_FRAGMENT].split("\n", 1)[0])


def answer_block(text: str) -> str | None:
    """Return everything after the last `Answer:` that begins a line, or None."""
    lines = list(_ANSWER_LINE.finditer(text))
    return text[lines[-1].start("rest") :] if lines else None


def statements(text: str, choosing: bool = False) -> Iterator[str]:
    """Yield what the reply states as its answer: boxes and answer lines, then other statements, each from the last.

    Fragments run to the end of their line (or box, field, tag); a reader cuts them further. With `choosing`,
    `I would choose ...` is a statement too. A requested answer line decides, whatever sentences say after it: replies
    go on to check their answers, to explain them and to speak of others.
    """
    lower = text.lower()
    marked = boxes(text) if "box" in lower else []
    found = [(line.start(), line["rest"] or line["hashes"] or line["other"] or "") for line in _last(_SHORT_LINE, text)]
    sentences = [_CHOOSES] if choosing and holds_any(lower, _CHOICE_WORDS) else []
    fields = [_FINISH] if "finish[" in lower else []
    if "answer" in lower:
        marked += [(line.start("rest"), _rest(text, line)) for line in _last(_ANSWER_LINE, text)]
        sentences += [_SENTENCE, _HEADING]
        fields += [_TAG, _JSON]
    if holds_any(lower, _FOREIGN_WORDS):
        sentences.append(_FOREIGN)
    if "答案" in lower:
        sentences.append(_CHINESE)
    for pattern in sentences:
        ends = [match.end() for match in _last(pattern, text)]
        found += [(end, _line_from(text, end)) for end in ends if not _JUDGES.match(text, end)]
    for pattern in fields:
        found += [(match.start(), match[match.lastindex or 1]) for match in _last(pattern, text)]
    for group in (marked, found):
        for _, fragment in sorted(group, key=lambda pair: pair[0], reverse=True)[:MOST]:
            yield fragment


def boxes(text: str) -> list[tuple[int, str]]:
    r"""Return (position, content) of each `\boxed{...}` or `\fbox{...}`, braces matched.

    An unclosed box (a reply that was cut off) is left out; `\boxed 5` is read as 5.
    """
    found: list[tuple[int, str]] = []
    for match in _last(_BOX, text):
        start = match.end()
        if text[start : start + 1] != "{":
            word = re.match(r"\s*[-\w./\\]{1,40}", text[start : start + 60])
            if word:
                found.append((start, word[0]))
            continue
        depth = 0
        for end in range(start, min(len(text), start + 1_000)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                found.append((start, text[start + 1 : end]))
                break
    return found


def _last(pattern: re.Pattern[str], text: str) -> deque[re.Match[str]]:
    return deque(pattern.finditer(text), maxlen=MOST)


def _rest(text: str, line: re.Match[str]) -> str:
    rest = line["rest"]
    if rest.strip(" *_`"):
        return rest[:_LONGEST_FRAGMENT]
    following = text[line.end() : line.end() + _LONGEST_FRAGMENT].lstrip("\n \t*_`")
    return following.split("\n", 1)[0]


def _line_from(text: str, start: int) -> str:
    line = text[start : start + _LONGEST_FRAGMENT].split("\n", 1)[0]
    if not line.strip(" *_`"):  # "The answer is:" and the answer on the next line
        return text[start : start + _LONGEST_FRAGMENT].lstrip("\n \t*_`").split("\n", 1)[0]
    return line


_MARK = r"(?:[^\w+−-]|[+−-](?!\.?\d))"  # any mark but the sign of a number
_RANGE = r"(?:\s?[(\[][^()\[\]\n]{0,24}[)\]](?=\W{0,4}:))?"  # `Score (1-10): 7`: the range is not the score
_SHARE = r"\s?(?:(?:/|out of)\s?(?P<scale>\d{1,3})|(?P<percent>%))?"
_NUMBER = (
    rf"{_RANGE}{_MARK}{{0,6}}(?:is |of )?"
    rf"(?P<number>[-+−]?\d{{1,6}}(?:\.\d{{1,4}})?){_SHARE}"
)
_NAMED_NUMBER = (  # with a decimal point or comma; `1e999`, `1,000` and `1.2.3` are not read in part
    rf"{_RANGE}(?:[^\w.+−-]|[.+−-](?!\.?\d)){{0,6}}(?:is |of )?"
    rf"(?P<number>[-+−]?(?:\d{{1,6}}(?:\.\d{{1,12}}|,\d\d?)?|\.\d{{1,12}}))(?![.,]?\d|[eE][-+−]?\d){_SHARE}"
)
_SCORE = re.compile(rf"\b(?P<name>score|rating|confidence){_NUMBER}", re.IGNORECASE)
_SIMILARITY = re.compile(rf"\bsimilarity(?: score)?{_NUMBER}", re.IGNORECASE)
_JUDGED = re.compile(
    r"\b(?:judge?ment|verdict|the (?:answer|solution) is)\W{0,6}"
    r"(in ?correct|not correct|correct|right|wrong|true|false)\b",
    re.IGNORECASE,
)
_WRONG = ("incorrect", "in correct", "not correct", "wrong", "false")
_VERDICT = re.compile(
    r"\bverdict\W{0,6}(?:they |all |is |debaters |agents ){0,3}(not agree|disagree|agree|yes|no|true|false)", re.I
)
_BOXED_VERDICT = re.compile(r"boxed\s?\{(?:\\text\s?\{)?(disagree|agree|yes|no)\b", re.I)
_AGREE = re.compile(r"\b(not agree|no agreement|disagree\w{0,6}|agree\w{0,6})\b|^\W{0,6}(yes|no)\b", re.IGNORECASE)
_SELECTED = re.compile(r"\bselect(?:ed|ion)s?\W{0,6}(?:are |is |evidence |passages? |items? ){0,3}([^\n]{0,300})", re.I)
_CHOICE = re.compile(r"\bchoice[*_`]{0,3}\s?[:：=]\W{0,6}([^\n]{0,300})", re.IGNORECASE)
_CHOSEN = re.compile(
    r"\b(?:(?:my|the best) choice (?:is|are)\s|(?:choose|chose|select|pick)\s(?=(?:agent|turn)s?\s))"
    r"(?=(?P<line>[^\n.;]{0,300}))",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"(?:\b(?:not|never|cannot|neither|nobody|none|without)|n['’]t)\b[^.;:,\n]{0,40}$", re.IGNORECASE)
# What does not belong to a list of numbers: a note after one (`2 (score 9/10)`), a clause about one (`1, which gives
# the date, and 3`), a further sentence, and all from a reason on (`Agent 2, because Agent 1 is wrong in step 3`).
_NOTE = re.compile(r"(?<=\d)([*_`\])]{0,4})\s?\((?!\s?(?:and|or|also|&)\b)[^()\n]*[^\W\d][^()\n]*\)", re.IGNORECASE)
_CLAUSE = re.compile(r",? which [^,;\n]*", re.IGNORECASE)
_REASON = re.compile(
    r"(?<=[\d\])*])(?:,? (?:because|since|as(?! well)|while|whereas|but|rather than)\b|\.\s)", re.IGNORECASE
)
_NOBODY = re.compile(r"\b(?:none|nobody|no one|neither)\b", re.IGNORECASE)
_NONE = re.compile(r"\b(?:none|nothing|no (?:evidence|passages?|items?))\b", re.IGNORECASE)
_ITEM, _AGENT = (re.compile(rf"(?<![\w.])\d{{1,{digits}}}(?![\w.]*\d)") for digits in (3, 4))
_BRACKETED = re.compile(r"\[(\d{1,3})\]")


_AROUND_NAME = " *_`[]<>\t"


def read_review(text: str) -> Reading:
    """Read a peer review.

    Returns
    -------
    Reading
        `value` is the judgement of the reviewed answer, `correct` or `incorrect`, if one is given, else the
        score as text; `confidence` is the score over 10 (`Score: 8` and `8/10` are 0.8, `80%` is 0.8; a confidence
        of more than 10 is one in percent). Unparsed without a score, and if the score is below 0 or beyond its scale.
    """
    scores = list(_SCORE.finditer(text))
    judged = list(_JUDGED.finditer(text))
    if not scores:
        return Reading(None, "no score" if text.strip() else "empty reply")
    last = scores[-1]
    is_percent = last["name"].lower() == "confidence" and _value(last) > 10
    share = _share(last, 100.0 if is_percent else 10.0)
    if share is None:
        return Reading(None, f"the score {last['number']} is not from 0 to {last['scale'] or 10}")
    value = ("incorrect" if judged[-1][1].lower() in _WRONG else "correct") if judged else last["number"]
    return Reading(value, None, share)


def _value(found: re.Match[str]) -> float:
    return float(found["number"].replace("−", "-").replace(",", "."))


def _share(found: re.Match[str], scale: float) -> float | None:
    """Return a number in units of its own scale, else of a given one; None if it is below 0 or beyond the scale."""
    share = _value(found) / (100.0 if found["percent"] else float(found["scale"] or scale) or scale)
    return share if 0 <= share <= 1 else None


def read_similarity(text: str) -> Reading:
    """Read a similarity of two texts, from the last `Similarity: x`.

    Returns
    -------
    Reading
        `confidence` is the similarity in units of 1 (`0.7`, `70%`, `7/10`); `value` the number as written. Unparsed
        without a similarity, and if it is below 0 or beyond its scale.
    """
    said = list(_SIMILARITY.finditer(text))
    if not said:
        return Reading(None, "no similarity" if text.strip() else "empty reply")
    last = said[-1]
    share = _share(last, 1.0)
    if share is None:
        return Reading(None, f"the similarity {last['number']} is not from 0 to {last['scale'] or 1}")
    return Reading(last["number"], None, share)


def read_number(name: str, text: str) -> Reading:
    """Read the last `NAME: x` as the score of a review is read: `8`, `80%` and `4/5` are 0.8.

    Lines that begin with the name go first, because a name may be the end of another (`check`, `fact check`).
    """
    spelled = re.escape(name).replace("_", r"[ _-]?")
    named = rf"(?P<begins>^(?:\d\d?[.)])?[^\w\n]{{0,8}})?\b{spelled}(?: score)?{_NAMED_NUMBER}"
    said = sorted(re.finditer(named, text, re.IGNORECASE | re.MULTILINE), key=lambda found: found["begins"] is not None)
    share = _share(said[-1], 10.0) if said else None
    return Reading(None, f"no {name}") if share is None else Reading(f"{share:.6g}")


_WORD = re.compile(r"\w+")


def read_quotes(text: str, passage: str) -> Reading:
    """Read the texts between `<quote>` and `</quote>`, and whether a passage has their words in this order.

    `value` is a JSON object from quotes to 1 or 0. Capitals, space, punctuation and invisible marks do not count.
    """
    words = f" {_words(passage)} "
    quotes = {found["quote"].strip(): None for found in QUOTE.finditer(text) if found["quote"] is not None}
    plain = {quote: _words(quote) for quote in quotes}
    return Reading(json.dumps({quote: int(bool(said) and f" {said} " in words) for quote, said in plain.items()}))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(plain_characters(text).casefold()))


def read_verdict(text: str) -> Reading:
    """Read a judge's verdict, `agree` or `disagree`: the last `Verdict:`, else the last mention, else the last box."""
    ways = (_VERDICT, _AGREE, _BOXED_VERDICT)
    found = next(filter(None, (list(way.finditer(text)) for way in ways)), [])
    if not found:
        return Reading(None, "no verdict" if text.strip() else "empty reply")
    word = next(group for group in found[-1].groups() if group).lower()
    return Reading("disagree" if word.startswith(("not", "no", "disagree", "false")) else "agree")


def read_selection(text: str) -> Reading:
    """Read which numbered items were selected: `1, 3`, or an empty string for none."""
    lines = [match[1] for match in _SELECTED.finditer(text)]
    for line in reversed(lines):
        numbers = _listed(line, _ITEM, _NONE)
        if numbers:
            return Reading(", ".join(numbers))
        if _NONE.search(line) or not line.strip(" []().*"):
            return Reading("")
    numbers = list(dict.fromkeys(_BRACKETED.findall(text)))
    if numbers:
        return Reading(", ".join(numbers))
    if _NONE.search(text):
        return Reading("")
    return Reading(None, "no selection" if text.strip() else "empty reply")


def read_choice(text: str) -> Reading:
    """Read which of the numbered agents were chosen; empty: nobody.

    The last `Choice: 2` or `Choice: 1, 3` counts, else the last sentence such as `I choose Agent 2`. Numbers in the
    reason behind a choice are not chosen.
    """
    said = [match[1] for match in _CHOICE.finditer(text)] or [
        match["line"]
        for match in _CHOSEN.finditer(text)
        if not _REFUSED.search(text, max(0, match.start() - 60), match.start())
    ]
    for line in reversed(said):
        numbers = _listed(line, _AGENT, _NOBODY)
        if numbers:
            return Reading(", ".join(numbers))
        if _NOBODY.search(line):
            return Reading("")
    return Reading(None, "no choice" if text.strip() else "empty reply")


_RANKING = re.compile(r"\branking[*_`]{0,3}\s?[:：=](?P<space>\W{0,6}?)(?P<line>[^\n]+)", re.IGNORECASE)
_AGENT_WORD = re.compile(r"^(?:agent|turn)\s?(?=\d)", re.IGNORECASE)


def read_ranking(text: str) -> Reading:
    """Read the last `Ranking: 2 > 1 > 3`, the best first; commas may stand instead of `>`.

    `value` has what the line names, in its order, with `>` between.
    """
    said = list(_RANKING.finditer(text))
    if not said:
        return Reading(None, "no ranking" if text.strip() else "empty reply")
    line, below = said[-1]["line"].strip(_AROUND_NAME), text[said[-1].end() :].split("\n\n")[0]
    mark = ">" if ">" in line else ","
    if "\n" in said[-1]["space"] and mark not in line and below.strip():
        return Reading(None, "the ranking has several lines")
    names = [name.lstrip(_AROUND_NAME).rstrip(f".{_AROUND_NAME}") for name in line.split(mark)]
    if not all(names):
        return Reading(None, "a place of the ranking is empty")
    return Reading(RANKED.join(_AGENT_WORD.sub("", name) for name in names))


def _listed(line: str, number: re.Pattern[str], none: re.Pattern[str]) -> list[str]:
    """Return the numbers that a line lists, each once; none if it names nothing before the first of them."""
    kept = _REASON.split(_CLAUSE.sub("", _NOTE.sub(r"\1", line)))[0]
    first = number.search(kept)
    if first and none.search(kept, 0, first.start()):
        return []
    return list(dict.fromkeys(number.findall(kept) or number.findall(line)))


def read_text(text: str) -> Reading:
    """Take a summary or comment as it stands; an empty one is unparsed."""
    text = text.strip()
    return Reading(text) if text else Reading(None, "empty reply")
