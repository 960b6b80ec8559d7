"""The steps of the workflow that makes the small models: `python -m cortexdsl_tiny.zoo STEP --help`."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

from cortexdsl.errors import CortexError, InputError
from cortexdsl_tiny.folder import Folder
from cortexdsl_tiny.zoo.questions import World, arithmetic_rows, choice_rows, read_lessons, world_rows, write_lessons
from cortexdsl_tiny.zoo.recipes import FILE

LESSONS = Path(__file__).with_name("lessons.yaml")


def main() -> int:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="python -m cortexdsl_tiny.zoo", description=__doc__)
    steps = parser.add_subparsers(required=True)
    made = steps.add_parser("questions", help="write the generated datasets, the corpus and the spec of the lessons")
    made.add_argument("folder", type=Path)
    made.add_argument("--seed", type=int, required=True)
    made.add_argument("--size", type=int, required=True)
    made.set_defaults(step=_questions)
    told = steps.add_parser("lessons", help="write lessons from debates of a teacher")
    told.add_argument("folder", type=Path, help="where the questions are")
    told.add_argument("--cells", nargs="+", required=True, metavar="CELL")
    told.add_argument("--tasks", nargs="*", default=(), metavar="DATASET", help="all, if you name none")
    told.add_argument("--size", type=int, required=True)
    told.add_argument("--seed", type=int, required=True)
    told.add_argument("--held-out", action="store_true", help="about expressions that other lessons never have")
    told.add_argument("--guided", action="store_true", help="prompts that say which answer to argue for")
    told.add_argument("--out", type=Path, required=True)
    told.set_defaults(step=_lessons)
    drilled = steps.add_parser("drills", help="write lessons that are single steps")
    drilled.add_argument("--size", type=int, required=True)
    drilled.add_argument("--seed", type=int, required=True)
    drilled.add_argument("--out", type=Path, required=True)
    drilled.set_defaults(step=_drills)
    pieces = steps.add_parser("pieces", help="learn the vocabulary from lessons")
    pieces.add_argument("lessons", type=Path, nargs="+")
    pieces.add_argument("--size", type=int, default=1024)
    pieces.add_argument("--phrases", type=int, default=160)
    pieces.add_argument("--sample", type=int, default=20_000, help="lessons of each file that are read")
    pieces.add_argument("--out", type=Path, required=True)
    pieces.set_defaults(step=_pieces)
    taught = steps.add_parser("teach", help="train a model and write its folder (needs PyTorch)")
    practised = steps.add_parser("practise", help="train it further, as its recipe says (needs PyTorch)")
    practised.add_argument("--begun", type=Path, required=True, help="the folder of the model so far")
    sure = steps.add_parser("confidence", help="teach a model how often it is right (needs PyTorch)")
    sure.add_argument("--begun", type=Path, required=True, help="the folder of the model so far")
    sure.add_argument("--exam", type=Path, required=True, help="lessons that it has not seen")
    for each in (taught, practised, sure):
        each.add_argument("name", help="of a recipe")
        each.add_argument("--recipes", type=Path, default=FILE)
        each.add_argument("--lessons", nargs="+", required=True, metavar="NAME=FILE")
        each.add_argument("--pieces", type=Path, required=True)
        each.add_argument("--threads", type=int, default=1)
        each.add_argument("--out", type=Path, required=True)
        each.set_defaults(step=_teach)
    examined = steps.add_parser(
        "examine", help="ask a model lessons that it has not seen, and print how often it is right"
    )
    examined.add_argument("folder", type=Path)
    examined.add_argument("--exam", type=Path, required=True)
    examined.add_argument("--debating", type=Path, help="lessons in the midst of debates")
    examined.add_argument("--temperature", type=float, default=1.0)
    examined.add_argument("--most", type=int, default=1000)
    examined.set_defaults(step=_examine)
    shipped = steps.add_parser("ship", help="put models with their marks and cards into one folder")
    shipped.add_argument("models", type=Path, nargs="+", help="their folders")
    shipped.add_argument("--marks", type=Path, required=True, help="the folder of their marks")
    shipped.add_argument("--out", type=Path, required=True)
    shipped.set_defaults(step=_ship)
    asked = parser.parse_args()
    try:
        asked.step(asked)
    except CortexError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    return 0


def _questions(asked: argparse.Namespace) -> None:
    folder, world = asked.folder, World.made(asked.seed).with_strangers(asked.seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("arithmetic", arithmetic_rows(asked.seed, asked.size)),
        ("choice", choice_rows(asked.seed, asked.size)),
        ("world", world_rows(world, asked.seed, asked.size)),
        ("corpus", world.passages()),
    ):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / LESSONS.name).write_text(LESSONS.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "world.json").write_text(json.dumps({"seed": asked.seed}), encoding="utf-8")


def _lessons(asked: argparse.Namespace) -> None:
    from cortexdsl.plan.compiler import compile_spec  # a second, which other steps do without
    from cortexdsl_tiny.zoo.curriculum import lessons

    plan = compile_spec(str(asked.folder / LESSONS.name))
    world = World.made(json.loads((asked.folder / "world.json").read_text(encoding="utf-8"))["seed"])
    found = lessons(
        plan,
        world,
        cells=asked.cells,
        tasks=asked.tasks,
        size=asked.size,
        seed=asked.seed,
        is_held_out=asked.held_out,
        is_guided=asked.guided,
    )
    print(f"{write_lessons(asked.out, found)} lessons")


def _drills(asked: argparse.Namespace) -> None:
    from cortexdsl_tiny.zoo.curriculum import drills

    write_lessons(asked.out, drills(asked.size, asked.seed))


def _pieces(asked: argparse.Namespace) -> None:
    from cortexdsl_tiny.zoo.encoding import train_pieces

    texts = []
    for path in asked.lessons:
        for k, lesson in enumerate(read_lessons(path)):
            if k >= asked.sample:
                break
            texts += [message["content"] for message in lesson.messages] + [lesson.reply]
    train_pieces(texts, asked.size, asked.phrases).save(str(asked.out), pretty=False)


def _teach(asked: argparse.Namespace) -> None:
    from cortexdsl_tiny.zoo.teaching import practise, teach, teach_confidence  # PyTorch

    lessons = {name: Path(path) for name, _, path in (each.partition("=") for each in asked.lessons)}
    said = (asked.recipes, lessons, asked.pieces, asked.out)
    if "exam" in asked:
        teach_confidence(asked.name, asked.begun, asked.exam, *said, threads=asked.threads)
    elif "begun" in asked:
        practise(asked.name, asked.begun, *said, threads=asked.threads)
    else:
        teach(asked.name, *said, threads=asked.threads)


def _examine(asked: argparse.Namespace) -> None:
    from cortexdsl_tiny.zoo.exams import ExamReply, examine, marks, marks_in_debate

    def sat(path: Path) -> list[ExamReply]:
        lessons = list(itertools.islice(read_lessons(path), asked.most))
        return examine(Folder(asked.folder), lessons, seed=2, temperature=asked.temperature)

    found = dict(marks(sat(asked.exam)))
    if asked.debating:
        found["debating"] = marks_in_debate(sat(asked.debating))
    print(json.dumps(found, indent=2))


def _ship(asked: argparse.Namespace) -> None:
    from cortexdsl_tiny.zoo.packaging import ship

    ship(asked.models, asked.marks, asked.out)


if __name__ == "__main__":
    sys.exit(main())
