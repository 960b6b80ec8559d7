"""`cortexdsl explain`: draw a protocol's schedule and who hears whom."""

from __future__ import annotations

import argparse

from cortexdsl.debate.adapt import with_draws
from cortexdsl.errors import InputError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.rehearsal.explain import calls_of, explain, rehearsed
from cortexdsl.protocols.method.resolve import Choice, resolve
from cortexdsl.protocols.text.loader import load_protocol
from cortexdsl.spec.text.nodes import Mark, Node
from cortexdsl.terms import Agent, Cell, Model, Scalar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("what", help="a built-in protocol, or a spec")
    parser.add_argument("method", nargs="?", help="with a spec: a method or cell of it")
    parser.add_argument("--agents", type=int, help="of a built-in protocol: how many agents (default 4)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="of a built-in protocol: a setting"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.what.endswith((".yaml", ".yml")):
        if args.set or args.agents is not None:
            given = "--set" if args.set else "--agents"
            raise InputError(
                f"{given} is for built-in protocols; a spec has settings and agents of its own\n"
                f"    change {args.what}, or explain the protocol: cortexdsl explain PROTOCOL {given} ..."
            )
        plan = compile_spec(args.what)
        cells = [plan.cell_named(args.method)] if args.method else plan.cells
        print("\n\n".join(f"{cell.name}: {_explained(plan, cell)}" for cell in cells))
        return 0
    if args.method:
        raise InputError(
            f"explain {args.what} {args.method}: only a spec has methods\n"
            f"    write the file of the spec: cortexdsl explain specs/NAME.yaml {args.method}"
        )
    # Sizes of no real model: a weight that uses credibility needs some.
    model = Model("example", "builtin/solver", parameters=1e9, tokens=1e12)
    tools = {"library": Model("library", "tool/search")}  # as shipped protocols call theirs
    count = 4 if args.agents is None else max(1, args.agents)
    agents = {f"agent-{k}": Agent(f"agent-{k}", model) for k in range(1, count + 1)}
    mark = Mark("--set", 1, 1)
    settings = {name: Node(value, mark) for name, value in map(_setting, args.set)}
    choice = Choice("--set", Node(dict(settings), mark), tuple(agents.values()), agents, {"example": model}, tools)
    print(explain(resolve(load_protocol(args.what), choice)))
    return 0


def _explained(plan: Plan, cell: Cell) -> str:
    """Explain a cell; one that is matched has as many draws as the other's longest debate has calls."""
    budget = plan.budget_of(cell)
    if budget is None or cell.match is None:
        return explain(cell.debate)
    most = calls_of(rehearsed(budget.debate))
    said = f"as the {cell.match.unit} of {budget.name} allow, question by question; here for its longest debate"
    return explain(with_draws(cell.debate, max(1, most)), draws=said)


def _setting(text: str) -> tuple[str, Scalar]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: write NAME=VALUE, such as --set rounds=2")
    try:
        return name, int(value)
    except ValueError:
        return name, value
