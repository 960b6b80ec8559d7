"""The shape of who hears whom: density, reciprocity, and how much of the hearing goes to one voice."""

from __future__ import annotations

from collections import Counter

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import Graph


def graph_density(view: Graded, graph: Graph) -> float | None:
    """Kept edges over possible edges of one graph, oneself apart; None where no edge is possible."""
    possible = sum(speaker != listener for speaker in graph.speakers for listener in graph.listeners)
    return len(view.edges(graph)) / possible if possible else None


def graph_reciprocity(view: Graded, graph: Graph) -> float | None:
    """Share of kept edges u -> v for which v -> u is kept too (networkx's overall reciprocity); None without edges."""
    edges = set(view.edges(graph))
    return sum((listener, speaker) in edges for speaker, listener in edges) / len(edges) if edges else None


def density(view: Graded) -> float | None:
    """Mean density of the debate's graphs; None where debaters never heard each other directly."""
    return _mean([graph_density(view, graph) for graph in view.graphs()])


def reciprocity(view: Graded) -> float | None:
    """Mean reciprocity of the debate's graphs that have edges."""
    return _mean([graph_reciprocity(view, graph) for graph in view.graphs()])


def most_heard(view: Graded) -> float | None:
    """Share of all kept edges that start at the agent heard most: 1/n where all are heard alike, 1 for one voice."""
    times = Counter(speaker for graph in view.graphs() for speaker, _ in view.edges(graph))
    return max(times.values()) / times.total() if times else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
