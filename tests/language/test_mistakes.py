"""Every mistake in a spec is told where it is, what it is, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.sheets import SMALL, place, problems, told_at_mark

MISTAKES = [  # what of the small spec is replaced ("": added at its end), by what; ^ marks the place that is told
    ("", "^titel: x", "unknown key titel", "did you mean title?"),
    ("", "^rounds: 5", "unknown key rounds", "protocol: debate, rounds: 5"),
    ("", '^claims: ["accuracy(a) > accuracy(b)"]', "unknown key claims", "under `hypotheses`"),
    ("", "^seeds: [1, 2]", "unknown key seeds", "replicates: 5"),
    ("", "limits: {^cals: 5}", "unknown key limits.cals", "did you mean calls?"),
    ("", "limits: {calls: ^no}", "limits.calls is 'no'; a whole number is needed", ""),
    ("", "limits: {calls: ^2.5}", "limits.calls is 2.5; a whole number is needed", ""),
    ("", "limits: {calls: ^true}", "limits.calls is true; a whole number is needed", ""),
    ("", "limits: {dollars: ^true}", "limits.dollars is true; a number is needed", ""),
    ("", "limits: {dollars: ^-1}", "limits.dollars is -1", "at least 0"),
    ("", "limits: {connections: ^0}", "limits.connections is 0", "at least 1"),
    ("", "expected: {spread: {^input_tokns: 0.5}}", "no claim or metric input_tokns", "did you mean input_tokens?"),
    ("", "expected: {spread: {accuracy per input_tokens: ^0}}", "accuracy per input_tokens is 0", "more than 0"),
    ("", "expected: {differences: {^sprse: 0.1}}", "there is no claim or method sprse", "did you mean sparse?"),
    ("", "shard_size: ^0", "shard_size is 0", "at least 1"),
    ("", "shard_size: ^auto", "shard_size is 'auto'", "remove shard_size"),
    ("", "teams: {pair: [ann, ^bbo]}", "there is no agent bbo", "did you mean bob?"),
    ("", "teams: {pair: ^[]}", "teams.pair is empty", ""),
    ("", "teams: {pair: ^evryone}", "teams.pair is 'evryone'", "did you mean everyone?"),
    ("", "teams: {^everyone: [ann]}", "everyone is a word of the language", "rename"),
    ("", "grid: {^sprase: {keep: [mean]}}", "there is no method sprase", "did you mean sparse?"),
    ("", "grid: ^[{method: sparse, vary: {keep: [mean]}}]", "a mapping of methods", "{METHOD: [{...}, {...}]}"),
    ("", "grid: {^x: [{keep: [mean]}]}", "there is no method x", "sparse"),
    ("", "analysis: {judge: ^{model: small}}", "analysis.judge is ", "write judge: small"),
    ("", "stopping: {^fewest: 50}", "unknown key", "write min_questions: 50"),
    ("", "stopping: {^alpha: 0.1}", "unknown key", "write analysis: {alpha: 0.1}"),
    ("", "grid: {sparse: {keep: ^mean}}", "grid.sparse.keep is 'mean'; a list is needed", "[mean]"),
    ("", "grid: {sparse: {keep: ^[]}}", "an axis has no values", "at least one"),
    ("", "grid: {sparse: {^kep: [mean]}}", "no setting knows the axis kep", "did you mean keep?"),
    ("", "grid: {sparse: {^depth: [1]}}", "no setting knows the axis depth", "rounds, until, weight, keep"),
    ("", "grid: {sparse: {keep: [mean, {top: 1}, ^mean]}}", "holds mean twice", "once"),
    ("", "grid: {sparse: {keep: [{top: ^0}]}}", "keep.top is 0", "at least 1"),
    ("", "grid: {sparse: {keep: [{drop_bottom: ^3}]}}", "leave nobody to hear", "at most 2"),
    ("", "grid: {sparse: {keep: [^meen]}}", "keep is 'meen'", "did you mean mean?"),
    ("", "grid: {sparse: {agents: [^pair]}}", "there is no team pair", "everyone"),
    ("", "grid: {sparse: {^models.smal.skill: [0.5]}}", "nothing is called 'smal'", "did you mean small?"),
    ("", "grid: {sparse: {^models.small.skil: [0.5]}}", "a model has no 'skil'", "did you mean skill?"),
    ("", "grid: {sparse: {models.small.skill: [^2]}}", "models.small.skill is 2", "at most 1"),
    ("", "grid: {sparse: {^prompts.revize: [a.j2]}}", "nothing is called 'revize'", "did you mean revise?"),
    ("", "analysis: {metrics: ^[]}", "analysis.metrics is empty", ""),
    ("", "analysis: {families: {a: ^{compare: [sparse]}}}", "analysis.families.a.to is missing", "to: ..."),
    ("", "analysis: {families: {a: {compare: [^sprse], to: full}}}", "there is no method sprse", "sparse?"),
    ("", "analysis: {families: {a: {compare: [sparse], to: ^ful}}}", "there is no method ful", "full?"),
    ("", "analysis: {families: {a: {compare: ^gird, to: full}}}", "'gird' is not a set of cells", "grid.AXIS"),
    ("", "analysis: {correction: ^bonferoni}", "'bonferoni'", "holm"),
    ("", "analysis: {judge: ^strong}", "there is no model strong", "small"),
    ("", "analysis: {alpha: ^5}", "analysis.alpha is 5", "less than 1"),
    ("", "hypotheses: [^accuracy(sparse) > accuracy(ful)]", "no method or cell ful", "full?"),
    ("", "hypotheses: [^accuracy(sparse) is good]", "accuracy(sparse) is good", ""),
    ("", "hypotheses: [^'accuracy(sparse[rounds]) increasing']", "has no axis rounds", "no grid"),
    ("", "hypotheses: [^accuracy(sparse) > accuracy(full) on gsm8k]", "no dataset gsm8k", "arithmetic"),
    ("", "hypotheses: ^accuracy(sparse) > accuracy(full)", "hypotheses is", "write ["),
    ("", "knowledge: {wiki: {^corpsu: FILE}}", "corpsu", "corpus"),
    ("model: builtin/solver", "model: ^oobabooga/http://evil.example/v1", "the name of a model holds an address",
     "write api_base:"),
    ("", "servers: {a: {command: x, env: URL}, b: {command: y, env: ^URL}}", "the server a is called", ""),
    ("", "servers: {a: ^{command: serve}}", "servers.a.env is missing", ""),
    ("", "protocols: {mine: ^{steps: {a: {role: debater, prompt: x.j2}}, decide: first}}",
     "protocols.mine.schedule is missing", ""),
    ("seed: 7", "seed: ^-1", "seed is -1", "at least 0"),
    ("seed: 7", "seed: ^1.5", "seed is 1.5; a whole number", ""),
    ("seed: 7", "seed: ^99999999999999999999999", "seed is 99999999999999999999999", ""),
    ("replicates: 3", "replicates: ^0", "replicates is 0", "at least 1"),
    ("replicates: 3", "replicates: ^1_000_000", "replicates is 1000000", "at most 10,000"),
    ("replicates: 3", "replicates: ^true", "replicates is true; a whole number is needed", ""),
    ("replicates: 3", "replicates: ^'3'", "replicates is '3'; a whole number", "without quotes"),
    ("replicates: 3", "replicates: ^03", "replicates is '03'; a whole number", "leading zeros"),
    ("title: Does sparse debate beat full debate?", "title: ^5", "title is 5; a text is needed", '"5"'),
    ("dataset: {name: arithmetic, size: 100", "dataset: ^{size: 100", "one source, and this one has none", ""),
    ("name: arithmetic, size: 100", "name: arithmetic, size: ^0", "dataset.size is 0", "at least 1"),
    ("name: arithmetic, size: 100", "name: arithmetic, shuffle_options: ^no",
     "dataset.shuffle_options is 'no'; true or false is needed", "write false"),
    ("name: arithmetic, size: 100", "file: ^env:CORTEXDSL_NO_SUCH", "CORTEXDSL_NO_SUCH is not set", "export"),
    ("name: arithmetic, size: 100", "name: arithmetic, ^reading: strict", "unknown key", "write strict: true"),
    ("dataset: {name: arithmetic, size: 100", "dataset: ^{name: arithmetic, ids: [a, a]", "an id is listed twice", ""),
    ("skill: 0.55", "^skil: 0.55", "unknown key models.small.skil", "did you mean skill?"),
    ("skill: 0.55", "skill: ^55", "models.small.skill is 55", "at most 1"),
    ("skill: 0.55", "temperature: ^warm", "temperature is 'warm'; a number is needed", ""),
    ("skill: 0.55", "^top_k: 5", "unknown key models.small.top_k", "options: {top_k: ...}"),
    ("skill: 0.55", "^seed: 5", "unknown key models.small.seed", "the seed of the spec"),
    ("skill: 0.55", "options: ^{seed: 5}", "seed is not an option", "the spec's seed"),
    ("skill: 0.55", "options: ^{fallbacks: [x/y]}", "fallbacks is not an option", "declare each as an entry of models"),
    ("skill: 0.55", "options: ^{mock_response: hi}", "mock_response is not an option", "no model would answer"),
    ("skill: 0.55", "options: ^{num_retries: 3}", "num_retries is not an option", "tried again already"),
    ("skill: 0.55", "price: ^{input: 1}", "models.small.price.output is missing", ""),
    ("  small: {model: builtin/solver", "  small: ^{model: builtin/solvr",
     "there is no model builtin/solvr", "builtin/solver"),
    ("  small: {model: builtin/solver", "  small: ^{model: openai/x",
     "skill is a parameter of builtin/solver alone", ""),
    ("model: builtin/solver, skill: 0.55", "model: openai/x, api_base: ^localhost", "not an address", "http://"),
    ("model: builtin/solver, skill: 0.55", "model: openai/x, api_base: ^'env:'", "no name of a variable", "env:"),
    ("parameters: 0.5e9", "parameters: ^-1", "models.small.parameters is -1", "more than 0"),
    ("parameters: 0.5e9", "parameters: ^7.6b", "parameters is '7.6b'; a number is needed", ""),
    ("{name: ann, model: small}", "^{name: ann}", "agents[1].model is missing", ""),
    ("{name: ann, model: small}", "{name: ann, model: ^smal}", "there is no model smal", "did you mean small?"),
    ("{name: bob, model: small}", "{name: ^ann, model: small}", "a second agent is called ann", "rename"),
    ("{name: ann, model: small}", "{name: ^a/b, model: small}", "agents[1].name is 'a/b'", "a name has"),
    ("{protocol: cortexdebate, rounds: 2}", "^{rounds: 2}", "either a protocol or extends another method", ""),
    ("{protocol: cortexdebate, rounds: 2}", "^{protcol: cortexdebate}", "either a protocol or extends another method",
     "did you mean protocol instead of protcol?"),
    ("cortexdebate, rounds", "^cortexdebte, rounds", "there is no protocol cortexdebte", "cortexdebate?"),
    ("cortexdebate, rounds: 2", "cortexdebate, ^ruonds: 2", "no setting ruonds", "did you mean rounds?"),
    ("cortexdebate, rounds: 2", "cortexdebate, rounds: ^-1", "methods.sparse.rounds is -1", "at least 0"),
    ("cortexdebate, rounds: 2", "cortexdebate, rounds: ^1e6", "sparse.rounds is 1000000", "at most"),
    ("cortexdebate, rounds: 2", "cortexdebate, rounds: ^true", "sparse.rounds is true; a whole", ""),
    ("cortexdebate, rounds: 2", "cortexdebate, rounds: ^$x", "'$x' is not a value", "not another setting"),
    ("cortexdebate, rounds: 2", "cortexdebate, keep: ^top", "keep: top needs a value", "{top: k}"),
    ("cortexdebate, rounds: 2", "cortexdebate, keep: {top: ^0}", "keep.top is 0", "at least 1"),
    ("cortexdebate, rounds: 2", "cortexdebate, keep: ^{tpo: 1}", 'keep is {"tpo": 1}', "did you mean top?"),
    ("cortexdebate, rounds: 2", "cortexdebate, keep: {drop_bottom: ^3}", "leave nobody", "at most 2"),
    ("cortexdebate, rounds: 2", "cortexdebate, weight: ^credability",
     "no factor is called credability", "did you mean credibility?"),
    ("cortexdebate, rounds: 2", "cortexdebate, weight: ^'confidence *'", "is not an expression", ""),
    ("cortexdebate, rounds: 2", "cortexdebate, weight: ^'__import__(1)'", "there is no function __import__", ""),
    ("cortexdebate, rounds: 2", "cortexdebate, recalibration: ^{steps: [0.8, 0.6, 0.3]}", "steps is not", "{0: 0.3"),
    ("cortexdebate, rounds: 2", "cortexdebate, recalibration: ^cortex", "recalibration is 'cortex'", "none"),
    ("cortexdebate, rounds: 2", "cortexdebate, ^participation: heard", "no setting participation",
     "write (round - 1) * (n_agents - 1) - times_hearing in the weight"),
    ("cortexdebate, rounds: 2", "cortexdebate, roles: {^judge: 1}", "no role judge", "debater"),
    ("cortexdebate, rounds: 2", "cortexdebate, roles: {debater: [ann, ^bbo]}", "no agent bbo", "bob?"),
    ("cortexdebate, rounds: 2", "cortexdebate, roles: {debater: ^9}", "is 9, and the team has 4", ""),
    ("cortexdebate, rounds: 2", "cortexdebate, prompts: {^revize: a.j2}", "no step revize", "revise?"),
    ("cortexdebate, rounds: 2", "cortexdebate, prompts: {revise: ^../a.j2}", "'../a.j2'", "below prompts/"),
    ("cortexdebate, rounds: 2", "cortexdebate, agents: ^pair", "there is no team pair", "everyone"),
    ("cortexdebate, rounds: 2", "cortexdebate, agents: ^[]", "methods.sparse.agents is empty", ""),
    ("cortexdebate, rounds: 2", "cortexdebate, agents: [^eve]", "there is no agent eve", "ann"),
    ("cortexdebate, rounds: 2", "group, groups: ^5", "5 groups, and 4 agents", "at most 4"),
    ("cortexdebate, rounds: 2", "group, groups: ^[2, 1]", "add up to 3, and 4 agents", ""),
    ("cortexdebate, rounds: 2", "group, groups: ^0", "groups is 0", "at least 1"),
    ("cortexdebate, rounds: 2", "group, rounds_per_stage: ^0",
     "with rounds: 3, rounds_per_stage: 0 divides by 0", "another value"),
    ("  sparse: {protocol: cortexdebate, rounds: 2", "  sparse: ^{protocol: acc, agents: [ann]",
     "the team has 1", "add agents"),
    ("cortexdebate, rounds: 2", "self-consistency, budget: ^calls(sparse)", "cannot match itself", ""),
    ("cortexdebate, rounds: 2", "self-consistency, budget: ^calls(fll)", "there is no method fll", "full?"),
    ("cortexdebate, rounds: 2", "self-consistency, budget: ^cals(full)", "cals is not a unit", "did you mean calls?"),
    ("cortexdebate, rounds: 2", "self-consistency, budget: ^full", "not a budget", "budget: calls(full)"),
    ("cortexdebate, rounds: 2", "self-consistency, budget: ^{calls: full}", "one text", "budget: calls(full)"),
    ("{protocol: cortexdebate, rounds: 2}", "^{protocol: cortexdebate, grow: rounds}", "there is none", "budget:"),
    ("cortexdebate, rounds: 2", "self-consistency, ^match: {calls: full}", "unknown key", "write budget: calls(full)"),
    ("cortexdebate, rounds: 2", "moa, ^match: {dollars: full, grow: layers}", "unknown key",
     "write budget: dollars(full), grow: layers"),
    ("cortexdebate, rounds: 2", "cortexdebate, ^team: pair", "unknown key methods.sparse.team", "write agents: pair"),
    ("cortexdebate, rounds: 2", "cortexdebate, agents: ^ann", "there is no team ann", "write [ann]"),
    ("protocol: multi-llm, rounds: 2", "^like: sparse", "unknown key methods.full.like", "write extends: sparse"),
    ("cortexdebate, rounds: 2", "voting, budget: ^calls(full)", "voting has no such setting", ""),
    ("multi-llm, rounds: 2}", "multi-llm, rounds: 2}\n  ^FULL: {protocol: voting}", "in case alone", "rename"),
    ("multi-llm, rounds: 2}", "multi-llm, rounds: 2}\n  ^nul: {protocol: voting}", "name of a device", ""),
    ("multi-llm, rounds: 2}", "multi-llm, rounds: 2}\n  ^full: {protocol: voting}", "'full' is written twice", "14:3"),
    ("protocol: multi-llm, rounds: 2", "extends: ^sprse", "there is no method sprse", "sparse?"),
    ("protocol: multi-llm, rounds: 2", "extends: ^full", "full -> full", ""),
    ("{protocol: multi-llm, rounds: 2", "^{protocol: voting, extends: sparse", "either a protocol or", ""),
    ("protocol: multi-llm, rounds: 2", "protocol: ^./mine.yaml", "there is no file", "beside the spec"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "what", "remedy"), MISTAKES)
def test_a_mistake_is_told_in_its_place(tmp_path: Path, old: str, new: str, what: str, remedy: str) -> None:
    text = SMALL.replace(old, new) if old else SMALL + new + "\n"
    told = told_at_mark(tmp_path, text)
    assert what in told.what
    assert remedy in told.remedy


def test_a_weight_that_needs_what_a_model_does_not_say(tmp_path: Path) -> None:
    """The default weight of CortexDebate needs the sizes; the place is the method, not the built-in file."""
    (told,) = problems(tmp_path, SMALL.replace(", parameters: 0.5e9, tokens: 1.0e12", ""))
    assert "credibility needs the parameters and tokens of model small" in told.what
    assert "models: {small: {parameters: NUMBER, tokens: NUMBER}}" in told.remedy
    assert place(told) == "13:11"


def test_a_grid_has_at_most_ten_thousand_points(tmp_path: Path) -> None:
    axes = f"rounds: {list(range(200))}, shows: [last, all], memory: [none, last, all], agents: {[*range(20)]}"
    (told,) = problems(tmp_path, SMALL + f"grid: {{full: {{{axes}}}}}\n")
    assert "24,000 points" in told.what
    assert "10,000" in told.remedy


def test_questions_come_from_one_place(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, SMALL + "datasets: {a: {name: gsm8k}}\n")
    assert "either dataset or datasets" in told.what


def test_agents_are_needed(tmp_path: Path) -> None:
    agents = SMALL[SMALL.index("agents:") : SMALL.index("methods:")]
    (missing,) = problems(tmp_path, SMALL.replace(agents, ""))
    assert missing.what == "agents is missing"
    (empty,) = problems(tmp_path, SMALL.replace(agents, "agents: []\n"))
    assert (empty.what, place(empty)) == ("agents is empty", "7:9")


def test_two_methods_cannot_match_each_other(tmp_path: Path) -> None:
    matched = (
        "  a: {protocol: self-consistency, budget: calls(b)}\n  b: {protocol: self-consistency, budget: calls(a)}\n"
    )
    told = problems(tmp_path, SMALL + matched)
    assert ["matched" in problem.what for problem in told] == [True, True]


def test_a_method_that_becomes_matched_to_itself_by_extends_is_refused(tmp_path: Path) -> None:
    matched = "  a: {protocol: self-consistency, budget: calls(b)}\n  b: {extends: a, samples: 3}\n"
    assert any("cannot match itself" in problem.what for problem in problems(tmp_path, SMALL + matched))


def test_methods_that_extend_each_other_show_the_chain(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, SMALL + "  a: {extends: b}\n  b: {extends: c}\n  c: {extends: a}\n")
    assert "a -> b -> c -> a" in told.what


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_the_text(tmp_path: Path) -> None:
    text = (
        SMALL.replace("seed: 7", "sed: 7").replace("replicates: 3", "replicates: 0").replace("skill: 0.55", "skill: x")
    )
    told = problems(tmp_path, text + "limits: {calls: -1}\n")
    assert [place(problem) for problem in told] == ["2:1", "3:13", "6:41", "15:17"]


@pytest.mark.parametrize(
    "line",
    [
        "api_key: sk-proj-abcdefghijklmnopqrstuvwx",
        "api_key_env: sk-proj-abcdefghijklmnopqrstuvwx",
        "api_key_env: 'my key'",
        "options: {extra_headers: {Authorization: 'Bearer abcdefghijklmnop'}}",
        "api_base: https://user:abcdefghijklmnop@host/v1",
        "api_base: https://host/v1?key=AIzaabcdefghijklmnopqrstuvwx",
    ],
)
def test_a_key_in_a_spec_is_refused_and_never_shown(tmp_path: Path, line: str) -> None:
    text = SMALL.replace("{model: builtin/solver, skill: 0.55", "{model: openai/x, " + line)
    told = problems(tmp_path, text)
    assert told
    assert not any(part in str(problem) for problem in told for part in ("abcdefgh", "my key"))
    assert any("api_key_env" in problem.remedy or "env:NAME" in problem.remedy for problem in told)
