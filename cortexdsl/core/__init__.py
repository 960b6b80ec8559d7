# mypy: implicit-reexport
# ruff: noqa: F401
"""Values of the domain: what the language builds, the engine interprets and the records store.

All are frozen, and importable from here or from their modules: `agents` (models and agents), `questions`, `graphs`
(who hears whom), `keep_rules` (which weighted edges stay), `protocol` (what a debate does), `debates` (what it leaves
behind), `costs` (what its calls cost), `ports` (calls, replies, and what the engine is given), `tools` (for the
turns of agents), `experiment` (cells and limits), `metrics` (their declarations; not imported here).

Edges run from speaker to listener: `u -> v` means *v hears u*, and every matrix is indexed `[speaker, listener]`.
Rounds count from 0 (the opening). Confidences lie in [0, 1].
"""

from cortexdsl.core.agents import BATCH_PROVIDERS, FREE, Agent, Engine, Model, Price, Rate, RateLimit
from cortexdsl.core.answers import (
    QUOTE,
    canonical_value,
    equal_parts,
    list_items,
    number_of,
    quantile,
    separated,
    trimmed_mean,
)
from cortexdsl.core.confidence import (
    BY_VOTES,
    FORMER_SOURCES,
    NAMED_BINS,
    STATED,
    Bin,
    ConfidenceSource,
    DebateConfidence,
    DebateSource,
    Measure,
)
from cortexdsl.core.costs import (
    NO_COSTS,
    NO_USAGE,
    VERIFIER,
    CallCost,
    DebateCosts,
    Usage,
    in_stage,
    of_step,
)
from cortexdsl.core.debates import (
    OTHERS,
    RANKED,
    AnyCall,
    Debate,
    Deferred,
    Graph,
    Measured,
    Placebo,
    ProbeCall,
    RoleChoice,
    Stop,
    Turn,
    belief_of,
)
from cortexdsl.core.experiment import (
    FALSE_DISCOVERY,
    YES_OR_NO,
    Cell,
    Correction,
    Family,
    GrowthStep,
    KnowledgeSource,
    Label,
    Limits,
    Match,
    StoppingRule,
    proportional_questions,
)
from cortexdsl.core.graphs import (
    Edges,
    Everyone,
    Groups,
    NetworkX,
    Nobody,
    OfRole,
    RandomEdges,
    Ring,
    Self,
    Sparse,
    Topology,
)
from cortexdsl.core.keep_rules import KEEP_RULES, KEEP_TRUE, Keep
from cortexdsl.core.ports import (
    CONTENT_FILTER,
    EMPTY_REPLY,
    NO_REPLY,
    REASONING_ONLY,
    TOOL_CALLED,
    Ask,
    Call,
    Message,
    OtherQuestion,
    Ports,
    Reader,
    Render,
    Reply,
    Similarity,
    Tokens,
)
from cortexdsl.core.protocol import (
    AS_WRITTEN,
    AUDIBLE,
    ELSE,
    NEVER,
    NOTHING,
    SIMILARITY_FROM_REPLIES,
    TOOLS_PROMPT,
    Ablation,
    Beside,
    Choose,
    Decide,
    Defer,
    Each,
    ItemSplit,
    Memory,
    Method,
    PlaceboKind,
    Reads,
    Repeat,
    SchedulePart,
    Shows,
    Step,
    TurnFilter,
)
from cortexdsl.core.questions import Dataset, Image, Question, Reading
from cortexdsl.core.tools import FunctionCall, Offer, OfferedTool, ToolRequest, ToolUse
from cortexdsl.core.types import EMPTY, Bools, Floats, Scalar, by_key
