"""What the values of a key mean, for keys with more than three: the lists below the tables of the page of keys.

Forms with a section of their own are described by their declarations, so they are not repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a key.

    Attributes
    ----------
    more : str
        The page and heading that explain the values, relative to `docs/`.
    meanings : mapping
        Meanings by type, as in the column `value`. A meaning that begins with code replaces the type.
    """

    more: str
    meanings: Mapping[str, str] = field(default_factory=dict)


VALUES: Mapping[str, Values] = {
    "roles": Values(
        "language/protocol.md#roles",
        {
            "`everyone`": "all agents of the team.",
            "`extra`": "an agent that is not in the team, with the name of the role and the first agent's model.",
            "whole number at least 1": "the agent at this place in the team.",
            "text": "`NAME`: the agent with this name.",
            "list of texts": "`[NAMES]`: the agents with these names.",
        },
    ),
    "schedule": Values("language/protocol.md#the-schedule", {"text": "`STEP`: run the step with this name once."}),
    "decide": Values(
        "language/protocol.md#the-decision",
        {
            "`majority`": "the answer with most votes.",
            "`weighted`": "the answer with the largest sum of recalibrated confidences.",
            "`first`": "of the debaters' last answers, the one that was given first.",
            "`median`": "the median of the last answers that are numbers.",
            "`mean`": "their mean.",
            "`borda`": "the answer with most points in the latest rankings.",
            "`runoff`": "the winner of an instant runoff of the latest rankings.",
            "text": "the name of a role: the latest answer in this role.",
            "list (text or [vote by an expression](#values-of-decide))": "`[ROLE, RULE, none]`, or a part of it: the "
            "rule decides if the role gave no readable answer. With `none` there is no answer if all differ.",
        },
    ),
    "recalibration": Values(
        "language/protocol.md#recalibration",
        {
            "`none`": "confidences stay as they are.",
            "`cortexdebate`": "the same as `{0: 0.3, 0.3: keep, 0.6: 0.6, 0.8: 0.8}`.",
            "`NAME:` (`keep` or number from 0 to 1)": "`{0: 0.25, 0.5: keep}`: from each bound on, what confidences "
            "become. `keep` leaves them. The lowest bound is 0.",
            "`reconcile`": "confidences of 1 stay 1. From 0.9 they become 0.8, from 0.8 they become 0.5, above 0.6 "
            "they become 0.3, and all others become 0.1.",
        },
    ),
    "keep": Values(
        "language/protocol.md#keep",
        {
            "`mean`": "keep weights that are at least the mean: under `hears` of the edges to one listener, in "
            "`choose` of the candidates.",
            "`median`": "the same with the median instead of the mean.",
            "`mean_of_all`": "keep weights that are at least the mean of all edges. A listener that would hear nobody "
            "keeps its highest weight.",
            "`all`": "keep all weights.",
        },
    ),
    "confidence": Values(
        "language/confidence.md#confidence-of-an-answer",
        {
            "`stated`": "the confidence that the reply states.",
            "`logprob`": "the probability of the tokens that spell the answer.",
            "`verifier`": "the score that the agent's own model gives to the solution.",
            "text": "`consistency(5)`: the share of 5 further replies to the same prompt that give the same answer. "
            "`verifier(MODEL)`: the score of this entry of models.",
        },
    ),
    "placebo": Values(
        "language/controls.md#placebos",
        {
            "`none`": "nothing is replaced.",
            "`other_question`": "what the same agent said at the same point of the debate about another question.",
            "`own`": "the listener's own last reply, once for each agent that it hears.",
            "`shuffled`": "the same words in another order.",
            "`same_length`": "a further reply of the listener to its own opening prompt, cut or repeated to the "
            "same number of words.",
        },
    ),
    "by": Values(
        "learned.md#kinds",
        {
            "`logistic`": "a logistic regression with a ridge penalty.",
            "`table`": "a mean for each combination of values, shrunk to the overall mean.",
            "`isotonic`": "an increasing step function of one feature.",
            "`tree`": "a decision tree with at most four leaves.",
        },
    ),
    "topology": Values("language/protocol.md#hears", {"`everyone`": "the edges between all debaters."}),
    "prompt": Values(
        "language/protocol.md#prompt",
        {
            "text": "`FILE`: this template, for all agents.",
            "list (text or [say](#values-of-prompt))": "`[FILE, FILE]`: the first agent gets the first template, the "
            "second agent the second, and so on. If there are more agents, the list starts again.",
            "`NAME:` (text or [say](#values-of-prompt))": "`{ann: FILE, 1: FILE, judge: FILE, else: FILE}`: a template "
            "by the agent's name, position or role. `else` is for all other agents.",
        },
    ),
    "hears": Values(
        "language/protocol.md#hears",
        {
            "`nobody`": "hear nobody.",
            "`everyone`": "hear all other debaters.",
            "`self`": "hear only itself.",
            "text": "the name of a role: hear the agents that have it.",
            "list of texts": "the names of several roles.",
        },
    ),
    "shows": Values(
        "language/protocol.md#shows",
        {
            "`last`": "what each heard agent said last: an answer, a summary or a comment.",
            "`all`": "all answers, summaries and comments of the heard agents, in the order of speaking.",
            "`by_answer`": "as `last`, grouped by answer.",
            "`about_me`": "the latest turns about the listener. In a step with `each: edge`, `listener` or `group`: "
            "about the agent or group that the call is for.",
            "`evidence`": "the passages that the listener selected last; all passages if it never selects.",
        },
    ),
    "memory": Values(
        "language/protocol.md#memory",
        {
            "`none`": "nothing that the speaker said before.",
            "`last`": "the speaker's last words.",
            "`all`": "the speaker's whole conversation: what it said, and what it was shown then.",
        },
    ),
    "each": Values(
        "language/protocol.md#each",
        {
            "`edge`": "one call for each agent that the speaker hears.",
            "`pair`": "one call for each pair of the heard agents.",
            "`match`": "one call for the first two heard agents, one for the next two, and so on.",
            "`listener`": "one call for each debater. The reply is about this debater.",
            "`group`": "one call for each group of debaters, such as those of `hears: {groups: 2}`.",
            "text": "`ROLE`: one call for each heard agent of a role, and every call hears the other agents.",
        },
    ),
    "reads": Values(
        "language/protocol.md#reads",
        {
            "`answer`": "an answer and its confidence.",
            "`belief`": "an answer, and probabilities of all answers that may be right.",
            "`review`": "a score for what another agent said.",
            "`verdict`": "agree or disagree.",
            "`choice`": "one or more of the agents that were shown, by number.",
            "`ranking`": "agents, turns or answers in order, the best first.",
            "`selection`": "numbers of passages.",
            "`quotes`": "the text, and its quotes, which are looked up in the passage.",
            "`similarity`": "how similar two turns are.",
            "`summary`": "the text, as a summary.",
            "`comment`": "the text, as a comment.",
            "text": "after the first value: a number with this name that the reply states.",
        },
    ),
}
"""Keys with more than three values. Each list follows the first table that has a key of this name."""

SPELLINGS: Mapping[tuple[str, str], str] = {
    ("spec", "grid"): "`{METHOD: {SETTING: [VALUES]}}`; or `{METHOD: [{...}, {...}]}` for several grids of it",
    ("spec", "teams"): "`NAME:` list of agents, or `everyone`",
    ("EdgesText", "edges"): "list of `[SPEAKER, LISTENER]`",
    ("CaseText", "case"): "`$SETTING`",
    ("CaseText", "do"): "`VALUE:` list, each item [one of 4 values](#values-of-schedule)",
    ("MethodText", "grow"): "`NAME` or `{NAME: [VALUES]}`",
}
"""How the values of a key are written, by form and key, if words that follow from the schema are hard to read."""

MORE: Mapping[tuple[str, str], str] = {
    ("AnalysisText", "metrics"): "reference/metrics.md",
    ("DatasetText", "gold"): "datasets.md#your-own-file",
    ("DatasetText", "ids"): "datasets.md#sampling",
    ("DatasetText", "kind"): "grading.md#reading",
    ("DatasetText", "metric"): "grading.md#grading",
    ("DatasetText", "strict"): "grading.md#reading",
    ("DatasetText", "examples"): "grading.md#programs",
    ("DatasetText", "entry"): "grading.md#programs",
    ("ExpectedText", "correlation"): "power.md",
    ("LimitsText", "failed"): "failures.md#too-many-failures",
    ("ModelText", "drop"): "providers.md#parameters-that-a-provider-does-not-take",
    ("TrainText", "samples"): "training.md#guided-replies-and-pairs",
    ("protocol", "similarity"): "language/protocol.md#similarity",
    ("spec", "extends"): "language.md#specs-that-build-on-others",
    ("spec", "hypotheses"): "statistics.md",
}
"""The page and heading that explain a key, relative to `docs/`, by form and key."""

PAGES: Mapping[str, str] = {
    "AgentText": "language.md#models-and-agents",
    "AnalysisText": "language.md#families",
    "ChooseText": "language/protocol.md#who-speaks-who-stays",
    "DatasetText": "datasets.md",
    "DeferText": "language/confidence.md#hand-questions-on",
    "EngineText": "files.md",
    "ExpectedText": "power.md",
    "FamilyText": "language.md#families",
    "KnowledgeSourceText": "knowledge.md",
    "LimitsText": "language.md#limits",
    "MethodText": "language.md#methods",
    "ModelText": "language.md#models-and-agents",
    "OptimiserText": "training.md",
    "PriceText": "spending.md#prices",
    "ServerText": "servers.md",
    "StepText": "language/protocol.md#a-step",
    "StoppingRuleText": "language.md#stopping",
    "ToolText": "tools.md",
    "TrainText": "training.md",
    "protocol": "language/protocol.md",
    "spec": "language.md",
}
"""The page and heading that explain a form, relative to `docs/`."""
