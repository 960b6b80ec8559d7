"""A spec builds on others: what wins, where values then are, and what goes round in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.language.inheritance import merge, read_extended
from cortexdsl.language.reader import parse
from tests.language.sheets import SMALL, load


def test_mappings_merge_down_to_entries_and_lists_are_replaced() -> None:
    base = parse("models: {a: {model: x, top_p: 1}, b: {model: y}}\nagents: [1, 2]\nseed: 1", "base")
    over = parse("models: {a: {top_p: 0.5}}\nagents: [3]", "over")
    assert merge(base, over).plain() == {
        "models": {"a": {"model": "x", "top_p": 0.5}, "b": {"model": "y"}},
        "agents": [3],
        "seed": 1,
    }


def test_the_value_of_a_setting_is_replaced_whole() -> None:
    """{top: 3} over {drop_bottom: 2} is {top: 3}: a form of one key would be broken by merging."""
    base = parse("methods: {m: {keep: {drop_bottom: 2}, roles: {judge: 1}, prompts: {a: x}}}", "base")
    over = parse("methods: {m: {keep: {top: 3}, roles: {critic: 2}, prompts: {a: y}}}", "over")
    method = merge(base, over).plain()["methods"]["m"]
    assert method == {"keep": {"top": 3}, "roles": {"judge": 1, "critic": 2}, "prompts": {"a": "y"}}


def test_families_of_two_files_are_joined() -> None:
    base = parse("analysis: {families: {a: {to: x, compare: [y]}}}", "base")
    over = parse("analysis: {families: {a: {to: z}, b: {to: x, compare: [z]}}}", "over")
    assert merge(base, over).plain()["analysis"]["families"] == {
        "a": {"to": "z", "compare": ["y"]},
        "b": {"to": "x", "compare": ["z"]},
    }


def test_later_files_win_and_the_spec_wins_over_all(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "extends: [_one.yaml, _two.yaml]\nseed: 3\n" + SMALL.replace("seed: 7\n", "").replace("replicates: 3\n", ""),
        _one="seed: 1\nreplicates: 1\n",
        _two="seed: 2\nreplicates: 2\n",
    )
    assert (spec.text.seed, spec.text.replicates) == (3, 2)
    assert spec.where(("replicates",)) == f"{tmp_path / '_two.yaml'}:2:13"
    assert [file.name for file in spec.files] == ["_one.yaml", "_two.yaml", "spec.yaml"]


def test_a_mistake_in_a_part_is_placed_in_the_part(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, "extends: _part.yaml\n" + SMALL.replace("replicates: 3\n", ""), _part="\nreplicates: 0\n")
    assert caught.value.problems[0].where == f"{tmp_path / '_part.yaml'}:2:13"


def test_relative_paths_begin_at_the_file_that_says_them(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "data.yaml").write_text("dataset: {file: exam.csv}\n")
    spec = load(tmp_path, "extends: parts/data.yaml\n" + SMALL.replace("dataset: {name: arithmetic, size: 100}\n", ""))
    assert spec.datasets["exam"].path == str(tmp_path / "parts" / "exam.csv")


def test_a_part_that_two_parts_share_is_no_circle(tmp_path: Path) -> None:
    for name, text in {"_a": "extends: _c.yaml", "_b": "extends: _c.yaml", "_c": "seed: 5"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "s.yaml").write_text("extends: [_a.yaml, _b.yaml]\n")
    node, files = read_extended(tmp_path / "s.yaml")
    assert node.plain() == {"seed": 5}
    assert [file.name for file in files] == ["_c.yaml", "_a.yaml", "_b.yaml", "s.yaml"]


def test_circles_show_their_chain(tmp_path: Path) -> None:
    for name, text in {"a": "extends: b.yaml", "b": "x: 1\nextends: [../here/a.yaml]"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path.parent / "here").unlink(missing_ok=True)
    (tmp_path.parent / "here").symlink_to(tmp_path)
    with pytest.raises(SpecError, match=r"a\.yaml -> .*b\.yaml -> .*a\.yaml") as caught:
        read_extended(tmp_path / "a.yaml")
    assert caught.value.problems[0].where == f"{tmp_path / 'b.yaml'}:2:11"
    (tmp_path / "self.yaml").write_text("extends: self.yaml")
    with pytest.raises(SpecError, match="circle"):
        read_extended(tmp_path / "self.yaml")


@pytest.mark.parametrize("written", ["5", "[]x", "[5]", "{a: b}", "missing.yaml", "''"])
def test_what_cannot_be_extended(tmp_path: Path, written: str) -> None:
    (tmp_path / "s.yaml").write_text(f"extends: {written}\n")
    with pytest.raises(SpecError) as caught:
        read_extended(tmp_path / "s.yaml")
    assert caught.value.problems[0].where.startswith(f"{tmp_path / 's.yaml'}:1:")


def merged_dataset(base: str, over: str) -> object:
    """What the dataset of a file is that extends another."""
    return merge(parse(base, "first/base.yaml"), parse(over, "second/over.yaml")).plain()


@pytest.mark.parametrize("over", ["{file: a.csv}", "{name: gsm8k}", "{hub: a/b}"])
def test_a_dataset_of_other_questions_inherits_nothing(over: str) -> None:
    """The size of 20 was meant for the generated questions: of a file it would drop rows without a word."""
    base = "dataset: {name: arithmetic, size: 20, stratify: x}"
    assert merged_dataset(base, f"dataset: {over}") == parse(f"dataset: {over}", "x").plain()
    several = merged_dataset(base.replace("dataset: ", "datasets: {a: ") + "}", f"datasets: {{a: {over}}}")
    assert several == parse(f"datasets: {{a: {over}}}", "x").plain()


@pytest.mark.parametrize("over", ["{size: 10}", "{name: gsm8k, size: 10}"])
def test_a_dataset_of_the_same_questions_inherits_the_rest(over: str) -> None:
    found = merged_dataset("dataset: {name: gsm8k, split: train, size: 20}", f"dataset: {over}")
    assert found == {"dataset": {"name": "gsm8k", "split": "train", "size": 10}}


def test_one_path_in_two_folders_is_two_files() -> None:
    """Paths begin at the file that names them."""
    text = "dataset: {file: a.csv%s}"
    assert merged_dataset(text % ", size: 20", text % "") == {"dataset": {"file": "a.csv"}}
    here = merge(parse(text % ", size: 20", "x/base.yaml"), parse(text % "", "x/over.yaml"))
    assert here.plain() == {"dataset": {"file": "a.csv", "size": 20}}
