"""Every word of the language is used by a shipped protocol or spec, or by an example that a test checks."""

from __future__ import annotations

from benchmarks.house.language_size import fixed_values, places, places_of_protocols, unused

NOT_YET_USED = {
    "BallotForm.tie",
    "VoteText.tie",
    "ToolText.function",
    "ToolText.seconds",
    "AnalysisText.correction",
    "AnalysisText.alpha",
    "BatchSettingsText.requests",
    "BatchSettingsText.tokens",
    "BatchSettingsText.wait",
    "BinText.above",
    "BinText.through",
    "ConditionForm.where",
    "DatasetText.config",
    "DatasetText.revision",
    "DatasetText.ids",
    "DatasetText.id",
    "DatasetText.context",
    "DatasetText.cluster",
    "DatasetText.images",
    "DatasetText.group",
    "DatasetText.labels",
    "DatasetText.gold",
    "DatasetText.records",
    "DatasetText.reading",
    "DatasetText.shuffle_options",
    "DatasetText.delimiter",
    "DatasetText.encoding",
    "DatasetText.decimal",
    "DatasetText.drop_unanswered",
    "DropBottomForm.above",
    "ExpectedText.accuracy",
    "KnowledgeText.api_base",
    "LimitsText.seconds",
    "LimitsText.failed",
    "MajorityForm.majority",
    "ModelText.context",
    "ModelText.timeout",
    "ModelText.stream",
    "ModelText.deterministic",
    "ModelText.batch",
    "ModelText.drop",
    "ModelText.system_role",
    "OptimiserText.beta",
    "OptimiserText.alpha",
    "OptimiserText.at_once",
    "OptimiserText.seed",
    "PriceText.cached",
    "PriceText.cache_write",
    "PriceText.cache_write_1h",
    "QuestionsText.dataset",
    "QuestionsText.path",
    "QuestionsText.subset",
    "QuestionsText.seed",
    "ServerText.url",
    "ServerText.ready",
    "ServerText.seconds",
    "StepModelForm.top_p",
    "StepText.placebo",
    "TopForm.above",
    "TrainText.opening",
    "TrainText.guide",
    "TurnFilterText.about",
    "WeightedForm.weighted",
}
"""Places that nothing uses. Give a new word an example in specs/examples/, and take out of here what has one."""
MOST = {"places": 280, "places of a protocol": 92, "keys": 212, "fixed values": 90}
"""A new word makes the language harder to learn, so it replaces another one, or is worth a larger number here."""


def test_every_place_is_used() -> None:
    assert {f"{form}.{key}" for form, key in unused()} - NOT_YET_USED == set()


def test_the_language_does_not_grow_by_itself() -> None:
    counts = {
        "places": len(places()),
        "places of a protocol": len(places_of_protocols()),
        "keys": len({key for _, key in places()}),
        "fixed values": len(fixed_values()),
    }
    assert {what: count for what, count in counts.items() if count > MOST[what]} == {}
