"""Specs by name and path, cells with several names, families, limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.core import RandomEdges
from cortexdsl.errors import InputError, SpecError
from cortexdsl.plan.compiler import compile_spec, sound_experiments
from cortexdsl.plan.layout import selected_experiments
from tests.language.sheets import SMALL
from tests.plan.specs import SPEC, plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with three specs and a part."""
    monkeypatch.chdir(tmp_path)
    for name in ("specs/b.yaml", "specs/a.yaml", "specs/_part.yaml", "specs/examples/c.yaml", "own/d.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("title: none\n")
    return tmp_path


def test_without_a_wish_all_specs_directly_in_specs_run(folder: Path) -> None:
    """Sorted by name; parts and folders are left out."""
    assert selected_experiments(None) == {"a": "specs/a.yaml", "b": "specs/b.yaml"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("a", {"a": "specs/a.yaml"}),
        ("specs/a.yaml", {"a": "specs/a.yaml"}),
        ("examples/c", {"examples/c": "specs/examples/c.yaml"}),
        ("examples/c.yaml", {"examples/c": "specs/examples/c.yaml"}),
        ("own/d.yaml", {"d": "own/d.yaml"}),
        ("./own/../own/d.yaml", {"d": "own/d.yaml"}),
        ("b, a,", {"b": "specs/b.yaml", "a": "specs/a.yaml"}),
        ("a,specs/a.yaml", {"a": "specs/a.yaml"}),
    ],
)
def test_a_spec_is_found_by_name_or_path(folder: Path, asked: str, found: dict[str, str]) -> None:
    """A path is spelled in one way, since it stands in the params of jobs."""
    assert selected_experiments(asked) == found


def test_a_broken_spec_does_not_keep_the_others_from_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out and known; one that is named is not left out, and where all are broken the first one says why."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/bad.yaml").write_text("title: 5\n")
    with pytest.raises(SpecError, match="title is 5"):
        sound_experiments(None)
    Path("specs/good.yaml").write_text(SMALL)
    assert sound_experiments(None) == ({"good": "specs/good.yaml"}, {"bad": "specs/bad.yaml"})
    assert sound_experiments("bad") == ({"bad": "specs/bad.yaml"}, {})


def test_an_absolute_path_below_the_working_folder_is_the_same_spec(folder: Path) -> None:
    """Elsewhere it stays absolute."""
    assert selected_experiments(str(folder / "specs" / "a.yaml")) == {"a": "specs/a.yaml"}


def test_what_cannot_be_run_is_said_with_what_there_is(folder: Path) -> None:
    """No such spec, two for one folder of results, a name that fits no path, nothing at all."""
    with pytest.raises(InputError, match="there is no spec 'z'\n    specs: a, b, 1 in specs/examples/"):
        selected_experiments("z")
    (folder / "own" / "a.yaml").write_text("title: none\n")
    with pytest.raises(InputError, match="would both write to results/a"):
        selected_experiments("a,own/a.yaml")
    (folder / "specs" / "a b.yaml").write_text("title: none\n")
    with pytest.raises(InputError, match="'a b' cannot name an experiment"):
        selected_experiments(None)
    for path in (folder / "specs").glob("*.yaml"):
        path.unlink()
    with pytest.raises(InputError, match="write one: cortexdsl new NAME; specs: 1 in specs/examples/"):
        selected_experiments(None)


def test_points_that_repeat_a_cell_are_its_other_names(tmp_path: Path) -> None:
    """`keep: mean` is the protocol's own value, so that grid point is the method itself."""
    found = plan(tmp_path)
    assert [(cell.name, cell.aliases) for cell in found.cells] == [
        ("sparse", ("sparse[keep=mean]",)),
        ("sparse[keep=top-1]", ()),
        ("full", ()),
        ("near", ()),
        ("matched", ()),
    ]
    assert found.cell_named("sparse[keep=mean]") is found.cell("sparse")
    assert found.budget_of(found.cell("matched")) is found.cell("full")


def test_families_compare_cells_by_any_of_their_names(tmp_path: Path) -> None:
    """`grid` is every cell of a grid but the reference, `all` every cell, `grid.AXIS` those of an axis."""
    text = SPEC.replace(
        "    ablation:", "    one: {compare: all, to: near}\n    two: {compare: grid.keep, to: near}\n    ablation:"
    )
    families = {family.name: (family.compare, family.to) for family in plan(tmp_path, text).families}
    assert families == {
        "main": (("sparse", "near", "matched"), "full"),
        "one": (("sparse", "sparse[keep=top-1]", "full", "matched"), "near"),
        "two": (("sparse", "sparse[keep=top-1]"), "near"),
        "ablation": (("sparse[keep=top-1]",), "sparse"),
    }


def test_a_model_that_may_cost_money_needs_a_limit(tmp_path: Path) -> None:
    """A hosted model without an address of one's own; one's own server costs nothing, a priced one does."""
    hosted = SPEC.replace("builtin/solver, skill: 0.7,", "gpt-4o,")
    with pytest.raises(SpecError, match=r"strong.*may cost money, and the spec sets no limits"):
        plan(tmp_path, hosted)
    plan(tmp_path, hosted + "limits: {dollars: 5}\n")
    own = SPEC.replace("builtin/solver, skill: 0.7,", "openai/x, api_base: env:HERE,")
    plan(tmp_path, own)
    with pytest.raises(SpecError, match="may cost money"):
        plan(tmp_path, own.replace("15e12}", "15e12, price: {input: 1, output: 1}}"))


def test_what_is_not_in_a_plan_is_named_with_what_is(tmp_path: Path) -> None:
    """A job that asks for an unknown cell, dataset or shard is told which there are."""
    found = plan(tmp_path)
    with pytest.raises(InputError, match="there is no cell 'fll'; there are: sparse, sparse~keep=top-1, full"):
        found.cell("fll")
    with pytest.raises(InputError, match="there is no dataset 'x'; there are: arithmetic"):
        found.task("x")
    with pytest.raises(InputError, match="has no shard 'r3-s01'"):
        found.shard("arithmetic", "r3-s01")
    with pytest.raises(InputError, match="there is no spec"):
        compile_spec(str(tmp_path / "nothing.yaml"))


def test_cortexdebate_without_sizes_says_what_to_do_and_that_line_works(tmp_path: Path) -> None:
    """No provider publishes the sizes of its closed models: the error has a line to paste, the docs have it, too."""
    text = re.sub(r", parameters: [\w.]+, tokens: [\w.]+", "", SPEC)
    with pytest.raises(SpecError, match="credibility needs the parameters and tokens of model") as caught:
        plan(tmp_path, text)
    line = "weight: reliability * intimacy / (self_orientation + 1)"
    assert line in str(caught.value)
    assert "the same numbers" in str(caught.value)
    assert line in Path(__file__).parents[2].joinpath("docs", "methods", "cortexdebate.md").read_text()
    assert plan(tmp_path, text.replace("protocol: cortexdebate", f"protocol: cortexdebate, {line}")).cells


def test_a_single_judge_may_hear_debaters_by_chance(tmp_path: Path) -> None:
    """Random edges are from debaters to the speakers of a step, whatever role these have."""
    protocol = """\
protocols:
  judged:
    roles: {debater: everyone, judge: 1}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      judge: {role: judge, prompt: multi-llm/revise.j2, hears: {random: 0.5}}
    schedule: [answer, judge]
    decide: judge
"""
    spec = f"{SPEC}{protocol}".replace("methods:\n", "methods:\n  judged: {protocol: judged}\n")
    found = plan(tmp_path, spec)
    assert found.cell_named("judged").debate.steps["judge"].hears == RandomEdges(0.5)
