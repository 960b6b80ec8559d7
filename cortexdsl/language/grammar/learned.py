"""`learned:`: functions that are fitted on the debates of other questions, for expressions to use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from cortexdsl.expressions.evaluation import earlier_key, parse
from cortexdsl.expressions.names import LEARNED, OF_AGENT, OF_DEBATE, OF_PAIR, ExpressionPlace
from cortexdsl.language.grammar.entries import StrictEntry, Text, invalid
from cortexdsl.language.grammar.expressions import expression
from cortexdsl.language.grammar.questions import DatasetText

Predicted: TypeAlias = Literal["right", "gain", "helps"]
FitKind: TypeAlias = Literal["logistic", "table", "isotonic", "tree"]

SHAPE_OF: Mapping[Predicted, str] = {"right": "confidence", "gain": "n_agents", "helps": "differs"}
"""For what is predicted, a name of expressions whose value has the same shape: of an agent, a debate, or an edge."""
_PLACE_OF: Mapping[Predicted, ExpressionPlace] = {"right": "choice", "gain": "condition", "helps": "weight"}
_OF_EDGE = ("differs", "belief")
"""The names of a pair of agents that follow from answers alone."""
CATEGORIES = ("agent", "model")
"""Features with a word as value: the name of the agent, and of its entry of models."""
_LATER = frozenset({
    "answer", "random", "mean_score", "chosen", "approved", "participation", "self_orientation", "times_hearing",
    "round", "calls", "dollars", LEARNED,
})  # fmt: skip
"""Names without a number after the opening, or with the same one in every debate."""


def feature_names() -> tuple[str, ...]:
    """Return the names that features may use."""
    return tuple(name for name in (*OF_AGENT, *OF_DEBATE) if name not in _LATER)


def _checked_feature(text: str, predicts: Predicted) -> None:
    if text in CATEGORIES:
        if predicts == "gain":
            raise invalid(f"{text} differs between the agents of a debate", "write a name of the debate: agreement")
        return
    try:
        names, keys = parse(text).names, parse(text).keys
    except ValueError:
        names, keys = frozenset(), frozenset()
    of_edge = _OF_EDGE if predicts == "helps" else ()
    for name in sorted(names.difference(of_edge)):
        if name in OF_PAIR or name in _LATER:
            is_pair = name in OF_PAIR and not of_edge
            why = "is of a pair of agents" if is_pair else "has no value after the opening that could differ"
            raise invalid(f"{name} {why}", f"features: {', '.join((*CATEGORIES, *of_edge, *feature_names()))}")
    if any(earlier_key(key) is not None for key in keys):
        raise invalid("there is no earlier value after the opening", "remove before()")
    if predicts != "helps" and ("mine(" in text or "theirs(" in text):
        raise invalid("a feature is of one agent, not of two", "remove mine() and theirs()")
    expression(_PLACE_OF[predicts])(text)


def _to_fit_on(entry: DatasetText) -> DatasetText:
    if entry.size is None and not (entry.sources or entry.ids or entry.split):
        remedy = "write size: 200, for other questions of the dataset; or name a dataset"
        raise invalid("it does not say which questions are used", remedy)
    return entry


class LearnedText(StrictEntry):
    """A function that is fitted on debates about other questions. Expressions call it `learned(NAME)`."""

    example: ClassVar[str] = "{predicts: right, from: [confidence, support], method: METHOD, questions: {size: 200}}"
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("on", "dataset", "size", "split"), "write questions: {size: 200}"),
        **dict.fromkeys(("of", "target"), "predicts: right is of an agent, gain of a debate, and helps of an edge"),
        **dict.fromkeys(("features", "names"), "write from: [NAMES]"),
        **dict.fromkeys(("folds", "crossfit"), "write fits: 4 and replicates: 4, for claims over fits"),
        **dict.fromkeys(("kind", "model"), "write by: logistic, table, isotonic or tree"),
        "protocol": "write method: NAME, a method of this spec",
        "after": "features are those after the opening: remove it",
    }

    predicts: Predicted
    """right: the probability that an agent's opening answer is right. gain: how much the debate is expected to raise
    the score of the decision over the opening. helps: the probability that a listener's next answer is right, for each
    speaker that it hears."""
    from_: tuple[Text, ...] = Field(alias="from", min_length=1, max_length=20)
    """The features: expressions, computed after the opening. For right and helps, also agent and model."""
    by: FitKind = "logistic"
    """The kind of function."""
    method: Text
    """The method of this spec whose debates are used to fit."""
    questions: Annotated[DatasetText, AfterValidator(_to_fit_on)]
    """The questions to fit on: a dataset, or keys of the experiment's dataset that are changed. None of them is a
    question of the experiment."""
    fits: int = Field(1, ge=1, le=50)
    """How many fits are made, each on its own part of the questions. Each replicate uses one, for claims over fits."""

    @model_validator(mode="after")
    def _features(self) -> Self:
        for feature in self.from_:
            _checked_feature(feature, self.predicts)
        if len(set(self.from_)) < len(self.from_):
            raise invalid("a feature is listed twice", "list each once")
        if self.by == "isotonic" and (len(self.from_) > 1 or self.from_[0] in CATEGORIES):
            raise invalid("isotonic is a function of one number", "name one feature, such as from: [confidence]")
        return self
