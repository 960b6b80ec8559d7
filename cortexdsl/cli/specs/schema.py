"""`cortexdsl schema`: print the JSON Schema of specs or protocols, for editors and other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cortexdsl.spec.schema import json_schema

SUMMARY = "print the JSON Schema of specs or protocols"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("kind", nargs="?", choices=("spec", "protocol"), default="spec", help="by default, of specs")
    parser.add_argument("--out", type=Path, help="write it to a file; an editor finds it by the first line of a spec")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    text = json.dumps(json_schema(args.kind), indent=1, ensure_ascii=False) + "\n"
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0
