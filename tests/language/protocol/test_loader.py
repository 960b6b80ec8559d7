"""Protocols are found by name, and a wrong one is told everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.language.protocol.loader import builtin_names, load_protocol, protocol_of
from cortexdsl.language.reader import parse
from tests.language.sheets import marked

PUBLISHED = [
    "cortexdebate", "multi-llm", "mad-summary", "reconcile", "chateval", "peer-review", "group", "neighbor", "voting",
    "madke", "acc", "persona", "standard", "cot", "reflection", "self-consistency", "rag",
]  # fmt: skip

SMALL = """\
settings: {rounds: 2, keep: mean}
roles: {debater: everyone, judge: extra}
steps:
  answer: {role: debater, prompt: common/answer.j2}
  revise: {role: debater, hears: {weight: confidence, keep: $keep}, prompt: my/revise.j2}
  judge: {role: judge, hears: debater, reads: verdict, prompt: my/judge.j2}
schedule: [answer, {repeat: $rounds, until: approved, do: [revise, judge]}]
decide: majority
"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_method_is_built_in_and_sound(name: str) -> None:
    assert name in builtin_names()
    assert load_protocol(name).text.title


def test_the_small_protocol_is_sound() -> None:
    protocol = protocol_of("small", parse(SMALL, "p.yaml"))
    assert {name: node.plain() for name, node in protocol.settings.items()} == {"rounds": 2, "keep": "mean"}


def test_a_setting_gives_no_value_to_the_key_of_its_name() -> None:
    text = SMALL.replace("{rounds: 2,", "{rounds: 2, quote: answer,")
    with pytest.raises(SpecError, match=r"settings\.quote: .*\n.*quote: \$quote in the protocol"):
        protocol_of("small", parse(text, "p.yaml"))


def test_names_are_looked_up_in_the_spec_then_built_in_then_as_files(tmp_path: Path) -> None:
    inline = {"voting": parse(SMALL, "spec.yaml")}
    assert load_protocol("voting", inline).text.settings == {"rounds": 2, "keep": "mean"}
    (tmp_path / "mine.yaml").write_text(SMALL)
    assert load_protocol("./mine.yaml", folder=tmp_path).name == "mine"
    with pytest.raises(SpecError, match="did you mean voting"):
        load_protocol("votng")


@pytest.mark.parametrize(
    ("old", "new", "what", "remedy"),
    [  # ^ marks the place that is told
        ("keep: $keep", "keep: ^$kep", "there is no setting kep", "did you mean keep?"),
        ("keep: mean}", "keep: ^meen}", "keep is 'meen'", "did you mean mean?"),
        ("keep: mean}", "keep: mean, ^depth: 1}", "no word uses this setting", "$depth"),
        ("keep: mean}", "keep: mean, ^agents: x}", "a method says this itself", "otherwise"),
        ("rounds: 2", "rounds: ^-2", "rounds is -2", "at least 0"),
        ("{role: debater, prompt", "{role: ^debatr, prompt", "there is no role debatr", "did you mean debater?"),
        ("hears: debater", "hears: ^x", "there is no role x", "debater"),
        ("judge: extra}", "judge: extra, ^critic: 2}", "nobody speaks", "remove"),
        (
            "hears: debater,",
            "hears: debater, shows: ^about_me,",
            "judge is told what is about it, and no turn is",
            "write each: edge in the words of step revise (p.yaml:5:3)",
        ),
        ("do: [revise, judge]", "do: [^judg, revise, judge]", "there is no step judg", "did you mean judge?"),
        (
            "  judge: {role",
            "  ^more: {role: judge, prompt: x.j2}\n  judge: {role",
            "never comes to this step",
            "add it",
        ),
        ("reads: verdict", "reads: comment", "approved is a judge's verdict", "reads: verdict"),
        (
            "decide: majority",
            "decide: ^judge",
            "no step of judge reads an answer",
            "reads: answer, or write decide: debater",
        ),
        (
            "decide: majority",
            "decide: majority\nvoters: ^[judge]",
            "no step of judge reads an answer",
            "write voters: [debater], whose steps do, or leave voters out",
        ),
        ("decide: majority", "decide: ^boss", "there is no role boss", "judge"),
        ("weight: confidence", "weight: mean_score", "mean_score needs reviews", "reads: review"),
        ("until: approved", "until: ^aproved", "'aproved' is not a time to end", "did you mean approved?"),
        ("decide: majority", "decide: ^majorty", "there is no role majorty", "did you mean majority?"),
        ("prompt: my/judge.j2", "prompt: ^/etc/passwd", "'/etc/passwd'", "below prompts/"),
    ],
)
def test_what_is_unsound_is_told_in_its_place(old: str, new: str, what: str, remedy: str) -> None:
    assert SMALL.count(old) == 1, old
    text = SMALL.replace(old, new)
    plain, where = marked(text)
    with pytest.raises(SpecError) as caught:
        protocol_of("small", parse(plain, "p.yaml"))
    (told,) = caught.value.problems
    assert what in told.what
    assert remedy in told.remedy
    if "^" in text:
        assert told.where == f"p.yaml:{where}"


REVIEWED = """\
settings: {rounds: 2}
roles: {debater: everyone}
steps:
  answer: {role: debater, prompt: common/answer.j2}
  review: {role: debater, hears: everyone, reads: review, prompt: my/review.j2}
  refine: {role: debater, hears: everyone, SHOWS, prompt: my/refine.j2}
schedule: [answer, {repeat: $rounds, do: [review, refine]}]
decide: DECIDE
"""


@pytest.mark.parametrize(
    ("shows", "decide", "where", "what"),
    [
        ("shows: about_me", "majority", "6:51", "refine is told what is about it, and no turn is about anybody"),
        (
            "memory: last",
            "{vote: mean_score}",
            "8:16",
            "mean_score needs reviews on somebody, and review is about nobody",
        ),
    ],
)
def test_a_review_that_lost_its_each_is_named_by_whoever_needs_it(
    shows: str, decide: str, where: str, what: str
) -> None:
    """The step that is told of it stands in line 6, or the vote in line 8; the one to be mended in line 5."""
    text = REVIEWED.replace("SHOWS", shows).replace("DECIDE", decide)
    with pytest.raises(SpecError) as caught:
        protocol_of("reviewed", parse(text, "p.yaml"))
    told = caught.value.problems[0]
    assert (told.where, what in told.what) == (f"p.yaml:{where}", True)
    assert told.remedy == "write each: edge in the words of step review (p.yaml:5:3)"
    protocol_of("reviewed", parse(text.replace("reads: review", "reads: review, each: edge"), "p.yaml"))


def test_what_is_about_groups_is_not_about_their_agents() -> None:
    """Such a prompt would show nothing."""
    text = REVIEWED.replace("SHOWS", "shows: about_me").replace("DECIDE", "majority")
    text = text.replace("everyone, reads: review", "{groups: 2}, reads: review, each: group")
    with pytest.raises(SpecError) as caught:
        protocol_of("reviewed", parse(text, "p.yaml"))
    (problem,) = caught.value.problems
    assert problem.what == "steps.refine.shows: refine is told what is about it, and no turn is about an agent"
    assert problem.remedy == "let a step have each: edge"
    protocol_of("reviewed", parse(text.replace("each: group", "each: edge"), "p.yaml"))


def test_a_protocol_without_answers_is_refused() -> None:
    text = "roles: {j: 1}\nsteps: {a: {role: j, prompt: a.j2, reads: comment}}\nschedule: [a]\ndecide: first\n"
    with pytest.raises(SpecError, match="no step reads an answer"):
        protocol_of("p", parse(text, "p.yaml"))


@pytest.mark.parametrize(
    ("bins", "said"),
    [
        ("{0.1: keep}", "no bin holds 0"),
        ("{0: keep, 0.5: 1, .5: 0}", "0.5 is there twice|a bound is there twice"),
        ("{0: keep, 1.5: 1}", "1.5 is not a confidence"),
        ("{0: keep, high: 1}", "high is not a confidence"),
        ("{0: kep}", "keep"),
        ("{0: 2}", "at most 1"),
        ("{}", "empty"),
        (
            "{bins: [{from: 0, through: 0.6, value: 0.1}, {above: 0.6, to: 1, value: keep}]}",
            r"write recalibration: \{0: 0.1, 0.6: keep\}",
        ),
    ],
)  # fmt: skip
def test_bins_cover_the_unit_interval_once(bins: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        protocol_of("p", parse(f"{SMALL}recalibration: {bins}\n", "p.yaml"))
