"""Addresses of the explorer: percent-encoding by RFC 3986, worked out by hand."""

from __future__ import annotations

from cortexdsl.records.links import experiment_link, find_link


def test_an_experiment_in_a_folder_is_one_part() -> None:
    assert experiment_link("examples/groups") == "#/x/examples%2Fgroups"


def test_the_name_of_a_grid_cell_is_encoded_and_what_is_not_set_is_left_out() -> None:
    assert find_link("q", dataset="all", cell="sparse[keep=top-1]", marks=("wrong", "tied")) == (
        "#/x/q/find?cell=sparse%5Bkeep%3Dtop-1%5D&is=wrong%2Ctied"
    )


def test_without_filters_there_is_no_question_mark() -> None:
    assert find_link("q") == "#/x/q/find"


def test_several_cells_stand_there_once_each_and_may_hold_commas() -> None:
    assert find_link("q", apart=("a,b", "c")) == "#/x/q/find?apart=a%2Cb&apart=c"
    assert find_link("q", cell=["a", "b"]) == "#/x/q/find?cell=a&cell=b"


def test_a_lone_surrogate_is_what_the_explorer_calls_it() -> None:
    assert experiment_link("\ud800") == "#/x/%EF%BF%BD"
