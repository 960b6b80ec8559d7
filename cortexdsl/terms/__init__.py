"""The nouns of the field, frozen: what the language builds, the engine interprets and the records keep.

Nothing here computes. Edges run from speaker to listener: `u -> v` means *v hears u*, and every matrix is
indexed `[speaker, listener]`. Rounds count from 0 (the opening). Confidences lie in [0, 1].
"""

from cortexdsl.terms.agents import Agent, Model
from cortexdsl.terms.base import EMPTY, Bools, Floats, Scalar
from cortexdsl.terms.calls import Call, Message, Reply
from cortexdsl.terms.debates import Choice, Debate, Graph, Turn
from cortexdsl.terms.experiment import Cell, Family, Limits, Match, StoppingRule, in_step
from cortexdsl.terms.graphs import (
    Edges,
    Everyone,
    Groups,
    Keep,
    NetworkX,
    Nobody,
    OfRole,
    RandomEdges,
    Ring,
    Self,
    Sparse,
    Topology,
)
from cortexdsl.terms.hands import Ask, Hands, Reader, Render, Similarity
from cortexdsl.terms.protocol import (
    NEVER,
    Beside,
    Bin,
    Choose,
    Decide,
    Each,
    Item,
    Method,
    Own,
    Reads,
    Repeat,
    Step,
    Tells,
    Told,
)
from cortexdsl.terms.questions import Dataset, Image, Question, Reading
from cortexdsl.terms.without import NOTHING, Without

__all__ = [
    "EMPTY",
    "NEVER",
    "NOTHING",
    "Agent",
    "Ask",
    "Beside",
    "Bin",
    "Bools",
    "Call",
    "Cell",
    "Choice",
    "Choose",
    "Dataset",
    "Debate",
    "Decide",
    "Each",
    "Edges",
    "Everyone",
    "Family",
    "Floats",
    "Graph",
    "Groups",
    "Hands",
    "Image",
    "Item",
    "Keep",
    "Limits",
    "Match",
    "Message",
    "Method",
    "Model",
    "NetworkX",
    "Nobody",
    "OfRole",
    "Own",
    "Question",
    "RandomEdges",
    "Reader",
    "Reading",
    "Reads",
    "Render",
    "Repeat",
    "Reply",
    "Ring",
    "Scalar",
    "Self",
    "Similarity",
    "Sparse",
    "Step",
    "StoppingRule",
    "Tells",
    "Told",
    "Topology",
    "Turn",
    "Without",
    "in_step",
]
