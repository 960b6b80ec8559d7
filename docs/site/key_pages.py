"""The pages of keys: which form of the language stands on which page, and in which order.

A form is a mapping with keys of its own. Every form of the JSON Schema stands on exactly one page. A test
(`tests/house/test_reference.py`) finds forms that have no page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIST = "values of "
"""How the entry of a list of values begins, such as `values of keep`."""


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A page of keys.

    Attributes
    ----------
    title : str
        Its title, which begins with "Keys of" (`docs/site/static/layout.css` finds the tables by it).
    opening : str
        What the page is for, in one or two sentences.
    contents : tuple of str
        Its forms by their names in the JSON Schema. `values of KEY` places the list of the values of a key; without
        such an entry the list follows the first form that has the key.
    """

    title: str
    opening: str
    contents: tuple[str, ...]


KEY_PAGES: Mapping[str, KeyPage] = {
    "spec": KeyPage(
        "Keys of a spec",
        "A spec file, its agents, its grid and its limits.",
        ("spec", "AgentText", "LimitsText"),
    ),
    "models": KeyPage(
        "Keys of models and servers",
        "An entry of `models`, its price and its rate, and an entry of `servers` or `engines`.",
        ("ModelText", "PriceText", "ServerText", "EngineText"),
    ),
    "datasets": KeyPage(
        "Keys of datasets, knowledge and tools",
        "A `dataset`, and an entry of `datasets`, `knowledge` or `tools`.",
        ("DatasetText", "KnowledgeSourceText", "ToolText"),
    ),
    "methods": KeyPage(
        "Keys of methods",
        "An entry of `methods`: its protocol, its agents, its budget and its confidence.",
        ("MethodText", "DeferText"),
    ),
    "analysis": KeyPage(
        "Keys of analysis and planning",
        "What is tested, how sure you can be, and when a run may stop.",
        ("AnalysisText", "FamilyText", "LabelForm", "ExpectedText", "StoppingRuleText"),
    ),
    "protocol": KeyPage(
        "Keys of a protocol",
        "A protocol file, or an entry of `protocols`: roles, the schedule and recalibration.",
        (
            "protocol", "values of roles", "ModelForm", "ToolForm", "values of schedule", "LoopText",
            "CaseText", "values of recalibration",
        ),
    ),
    "steps": KeyPage(
        "Keys of a step",
        "An entry of `steps` in a protocol: who speaks, what the prompt shows, and what is read from the reply.",
        ("StepText", "SayForm", "VariantsForm", "TurnFilterText", "PassageForm", "ItemsForm"),
    ),
    "hears": KeyPage(
        "Keys of hears",
        "Who hears whom. An edge is a pair of agents: the second hears the first.",
        (
            "values of hears", "RingText", "GroupsForm", "EdgesText", "RandomEdgesText", "NetworkXForm",
            "SelectionForm", "values of topology",
        ),
    ),
    "decisions": KeyPage(
        "Keys of choices and decisions",
        "The values of `decide` in a protocol, a `choose` item, and the values of `keep`.",
        (
            "values of decide", "BallotForm",
            "ChooseText", "values of keep", "TopForm", "DropBottomForm",
        ),
    ),
    "training": KeyPage(
        "Keys of training and fits",
        "An entry of `train` (which agents learn from their debates, and how) or of `learned` (functions that are "
        "fitted on debates).",
        ("TrainText", "OptimiserText", "LearnedText"),
    ),
}  # fmt: skip
"""Pages by name, in the order of the menu."""


def page_of(entry: str) -> str:
    """Return the name of the page that has a form, or a list of values.

    Raises
    ------
    RuntimeError
        It has no page, or several.
    """
    names = [name for name, page in KEY_PAGES.items() if entry in page.contents]
    if len(names) != 1:
        raise RuntimeError(
            f"{entry} is on {len(names)} pages of keys ({', '.join(names) or 'none'}): "
            "write it into the contents of one page in docs/site/key_pages.py"
        )
    return names[0]
