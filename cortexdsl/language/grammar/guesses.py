"""Keys of other tools that people try, and what to write here instead. None of them is accepted."""

from __future__ import annotations

from collections.abc import Mapping

_ROUNDS = ("n_rounds", "num_rounds", "max_rounds", "turns", "max_turns")
_AGENTS = ("n_agents", "num_agents", "agent_count", "number_of_agents")
_DECISIONS = ("aggregate", "aggregator", "aggregation", "vote", "decision")
_GRAPHS = ("graph", "topology", "listens", "listens_to", "communication", "connections", "neighbors")
_PROMPTS = ("prompt_template", "template", "instructions", "system_prompt", "system")
_CONDITIONS, _CONDITION = ("while", "when"), "until: consensus"
_SHORT_FORMS = {"RingText": "ring", "GroupsForm": "groups", "RandomEdgesText": "random", "EdgesText": "edges"}
_SAMPLING = ("temperature", "top_p", "max_tokens")
_NAMELESS = dict.fromkeys(
    ("anonymous", "names"), "nothing: a prompt shows names only if its template writes turn.speaker"
)

GUESSES: Mapping[str, Mapping[str, str]] = {
    "SpecText": {
        **dict.fromkeys(("rounds", *_ROUNDS), "methods: {NAME: {protocol: debate, rounds: {}}}"),
        **dict.fromkeys(_AGENTS, "agents: [{name: ann, model: NAME}, ...], one entry for each agent"),
        **dict.fromkeys((*_DECISIONS, "decide"), "methods: {NAME: {protocol: debate, decide: {}}}"),
        **dict.fromkeys(("graph", "topology", "hears"), "methods: {NAME: {protocol: debate, topology: {}}}"),
        **dict.fromkeys(("model", "llm"), "models: {NAME: {model: {}}}, and NAME in the entry of each agent"),
        **dict.fromkeys(_CONDITIONS, f"methods: {{NAME: {{protocol: debate, {_CONDITION}}}}}"),
        **dict.fromkeys(_PROMPTS, "methods: {NAME: {protocol: debate, prompts: {STEP: {}}}}"),
        "provider": "models: {NAME: {model: {}/MODEL}}",
        **{key: f"models: {{NAME: {{{key}: {{}}}}}}" for key in _SAMPLING},
        "judge": "analysis: {judge: {}} if it grades answers, or methods: {NAME: {protocol: mad-judge}} if it debates",
    },
    "ModelText": {
        **dict.fromkeys(("llm", "name", "model_name"), "model: {}"),
        "provider": "it before the name of the model: model: {}/NAME",
    },
    "AgentText": {
        "llm": "model: {}",
        "provider": "it in an entry of models, and name that entry: model: NAME",
        **dict.fromkeys((*_PROMPTS, "prompt", "description", "backstory"), "persona: {}"),
        "role": "roles: {{}: [NAME]} in a method, or under roles of a protocol of your own",
    },
    "ProtocolText": {
        **dict.fromkeys(_DECISIONS, "decide: {}"),
        **dict.fromkeys(("rounds", *_ROUNDS), "schedule: [answer, {repeat: {}, do: [revise]}]"),
        **dict.fromkeys(("agents", "debaters"), "roles: {debater: {}}"),
        **dict.fromkeys(_GRAPHS, "hears: {} in a step"),
    },
    "LoopText": {"when": "if: {}"},
    "until": dict.fromkeys(("consensus", "agreement", "majority"), "until: agreement >= {}"),
    "decide": {
        "weight": "decide: {vote: last * ({})} to weigh votes; if one agent decides, {choose: debater, weight: {}, "
        "keep: {top: 1}} as the last item of the schedule, and decide: majority",
        **dict.fromkeys(
            ("highest", "best", "most", "max"),
            "decide: majority, and {choose: debater, weight: {}, keep: {top: 1}} as the last item of the schedule",
        ),
    },
    **{
        form: dict.fromkeys(
            ("topology", "where", "weight", "keep"), f"{{topology: {{{key}: ...}}, where: ..., weight: ...}}"
        )
        for form, key in _SHORT_FORMS.items()
    },
    "SelectionForm": {
        "star": "{networkx: star_graph, n: 3}, where n counts the agents beside the first one, the centre",
        **dict.fromkeys(("chain", "line", "path"), "{networkx: path_graph}"),
        **_NAMELESS,
    },
    "AnalysisText": dict.fromkeys(
        ("stop", "stopping", "early_stopping"), "stopping: {min_questions: 50} at the top of the spec"
    ),
    "StepText": {
        **dict.fromkeys(_GRAPHS, "hears: {}"),
        **dict.fromkeys(_PROMPTS, "prompt: {}"),
        **dict.fromkeys(("n", "num_samples", "n_samples"), "samples: {}"),
        "answer": "reads: comment, if the reply has no answer",
        **_NAMELESS,
        **dict.fromkeys(("llm", "provider"), "model: NAME, the name of an entry of models"),
    },
    "setting": {
        **dict.fromkeys(_ROUNDS, "rounds: {}"),
        **dict.fromkeys(_AGENTS, "agents: [NAMES], the agents that debate"),
        "agent": "agents: [{}]",
        **dict.fromkeys(_DECISIONS, "protocol: debate, decide: {}; other protocols decide as their papers do"),
        **dict.fromkeys(("llm", "model", "provider"), "it in an entry of models, which agents name"),
        **dict.fromkeys(_CONDITIONS, f"{_CONDITION}, or another condition that ends the debate"),
        "metrics": "analysis: {metrics: [...]} at the top of the spec",
        **dict.fromkeys(("dataset", "datasets"), "dataset: {name: {}, size: 100} at the top of the spec"),
        **dict.fromkeys(
            (*_GRAPHS, "hears"), "protocol: debate, topology: {}; other protocols have the graphs of their papers"
        ),
        **dict.fromkeys(_PROMPTS, "prompts: {STEP: FILE}"),
        "judge": "protocol: mad-judge, roles: {judge: {model: {}}}; debates of other protocols end by a vote",
    },
}
"""By place, as in `old_words.KEYS`: keys, each with the line to write, in which `{}` stands for the value."""

_LAYOUTS = {
    "star": "{networkx: star_graph, n: 3}",
    **dict.fromkeys(("chain", "line", "path"), "{networkx: path_graph}"),
    **dict.fromkeys(("all", "full", "complete", "fully_connected"), "everyone"),
}
VALUES: Mapping[str, Mapping[str, str]] = {
    "hears": {
        **_LAYOUTS,
        "none": "nobody",
        **dict.fromkeys(("earlier", "previous", "before"), "everyone, and sequential: true"),
    },
    "topology": _LAYOUTS,
    "reads": {"none": "comment", "nothing": "comment"},
    "decide": dict.fromkeys(
        ("most-confident", "most_confident", "highest-confidence", "confidence"),
        "majority, and {choose: debater, weight: confidence, keep: {top: 1}} as the last item of the schedule of a "
        "protocol of your own",
    ),
    "protocol": {
        **dict.fromkeys(("mad", "multi-agent-debate", "round-robin"), "debate"),
        **dict.fromkeys(("single", "single-agent", "solo", "alone"), "cot, agents: [NAME]"),
    },
}
"""By key: values that people try, each with the one to write."""
