"""The equations of CortexDebate against values worked out apart from the code (bc with 20 digits)."""

import numpy as np
import pytest

from cortexdsl.engine import formulas


@pytest.mark.parametrize(
    ("parameters", "tokens", "expected"),
    [
        # 406.4 / 7.6e9^0.34 = 0.177613952102, 410.7 / 18e12^0.28 = 0.079808362745, with 1.69: L = 1.947422314847
        (7.6e9, 18e12, 0.513499302322),
        # 0.174543268253 + 0.083988369521 + 1.69 = 1.948531637775
        (8e9, 15e12, 0.513206960880),
        # 0.448026701443 + 0.179277052301 + 1.69 = 2.317303753744
        (0.5e9, 1e12, 0.431536003161),
    ],
)
def test_credibility_is_the_inverse_of_the_predicted_loss(parameters: float, tokens: float, expected: float) -> None:
    assert formulas.credibility([parameters], [tokens]) == pytest.approx([expected], abs=1e-12)


def test_credibility_never_reaches_the_inverse_of_the_irreducible_loss() -> None:
    """With endless parameters and tokens the loss is 1.69, and C = 1 / 1.69."""
    assert formulas.credibility([1e60], [1e60]) == pytest.approx([1 / 1.69], rel=1e-9)


@pytest.mark.parametrize(("parameters", "tokens"), [(0.0, 1e12), (1e9, 0.0), (-1e9, 1e12), (1e9, -1e12)])
def test_a_model_without_parameters_or_tokens_has_no_credibility(parameters: float, tokens: float) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        formulas.credibility([parameters], [tokens])


def test_the_smallest_model_has_a_credibility() -> None:
    """N = M = 1: L = 406.4 + 410.7 + 1.69 = 818.79."""
    assert formulas.credibility([1.0, 0.5], [1.0, 0.5])[0] == pytest.approx(1 / 818.79, rel=1e-12)


def test_where_nothing_is_known_of_any_pair_all_are_unlike() -> None:
    assert formulas.mean_of_pairs(np.zeros((3, 3)), np.zeros((3, 3))).tolist() == np.eye(3).tolist()


def test_reliability_is_the_mean_confidence_of_the_rounds_so_far() -> None:
    """Two rounds: (0.8 + 0.6) / 2 = 0.7 and (0.3 + 0.5) / 2 = 0.4."""
    assert formulas.reliability(np.array([[0.8, 0.3], [0.6, 0.5]])) == pytest.approx([0.7, 0.4])


def test_a_round_without_a_stated_confidence_is_left_out_of_the_mean() -> None:
    """0.8 and nothing average to 0.8; an agent that never stated one has 0."""
    confidences = np.array([[0.8, np.nan], [np.nan, np.nan]])
    assert formulas.reliability(confidences) == pytest.approx([0.8, 0.0])


def test_intimacy_is_one_minus_the_mean_similarity() -> None:
    """Cosines 0.2 and 0.6 average to 0.4, so that intimacy is 0.6; opposite texts have intimacy 2."""
    first, second = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([[1.0, 0.6], [0.6, 1.0]])
    mean = formulas.similarity([first, second], np.ones((2, 2), dtype=bool))
    assert mean == pytest.approx(np.array([[1.0, 0.4], [0.4, 1.0]]))
    assert formulas.intimacy(mean) == pytest.approx(np.array([[0.0, 0.6], [0.6, 0.0]]))
    assert formulas.intimacy(np.array([-1.0])) == pytest.approx([2.0])


def test_a_round_in_which_one_said_nothing_tells_nothing_of_a_pair() -> None:
    """c was silent in round 1, where its cosines are 0: a and c are .8 alike, by round 0 alone, and not .4.

    d never said anything: its similarity with each is the mean of the known pairs, (.4 + .8 + .6) / 3 = .6.
    """
    first = np.array([[1, 0.2, 0.8, 0], [0.2, 1, 0.6, 0], [0.8, 0.6, 1, 0], [0, 0, 0, 0]])
    second = np.array([[1, 0.6, 0, 0], [0.6, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    spoke = np.array([[True, True, True, False], [True, True, False, False]])
    expected = [[1, 0.4, 0.8, 0.6], [0.4, 1, 0.6, 0.6], [0.8, 0.6, 1, 0.6], [0.6, 0.6, 0.6, 1]]
    assert formulas.similarity([first, second], spoke) == pytest.approx(np.array(expected))


# u -> v means that v hears u: in this round a is heard by b and c, b by a, c by nobody.
ROUND = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=bool)


def test_participation_counts_kept_edges_out_and_in() -> None:
    spoken, heard = formulas.participation([ROUND])
    assert (spoken.tolist(), heard.tolist()) == ([2, 1, 0], [1, 1, 1])
    assert [each.tolist() for each in formulas.participation([ROUND, ROUND])] == [[4, 2, 0], [2, 2, 2]]


@pytest.mark.parametrize(
    ("rounds", "took_part", "expected"),
    [
        # (d - 1)(n - 1) - P with n = 3: round 2 has a maximum of 2, round 3 of 4
        (1, [2, 1, 0], [0, 1, 2]),
        (2, [4, 2, 0], [0, 2, 4]),
        # round 1: nobody has debated, and S is 0 for everybody
        (0, [0, 0, 0], [0, 0, 0]),
    ],
)
def test_self_orientation_is_the_debating_that_was_left_out(
    rounds: int, took_part: list[int], expected: list[int]
) -> None:
    assert formulas.self_orientation(np.array(took_part, float), rounds).tolist() == expected
