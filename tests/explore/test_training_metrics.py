"""Training metrics, picked from the history of a model."""

import pytest

from coterie.explore.figures import metrics_figure
from coterie.explore.training import read_history, read_training_metrics

HISTORY = [
    {"phase": "warm-up", "loss": 3.0},
    {
        "phase": "stage 1",
        "loss": 2.0,
        "changed": 1.0,
        "mean_votes": -0.5,
        "view_weight_0": 0.75,
        "view_weight_1": 0.25,
    },
    {"phase": "stage 2", "loss": 1.0, "changed": 0.25, "mean_votes": 1.0, "routed": 40, "hard_share": 0.1},
]


def values(measures):
    return {one.name: one.values for one in measures}


def test_shares_and_amounts_begin_with_the_first_measurement_and_losses_are_not_among_them():
    found = read_training_metrics(read_history(HISTORY), ["left", "right"])
    assert (found.first, found.steps) == (2, 2)
    assert values(found.shares) == {
        "Changed rows": [1.0, 0.25],
        "Neighbour agreement": [0.25, 1.0],
        "Hard negatives": [None, 0.1],
        "Weight of left": [0.75, None],
        "Weight of right": [0.25, None],
    }
    assert values(found.amounts) == {"Routed rows": [None, 40.0]}
    assert all(one.meaning.endswith(".") for one in (*found.shares, *found.amounts))


def test_a_measurement_that_is_only_an_amount_can_be_the_first():
    found = read_training_metrics(read_history([{"loss": 1.0}, {"routed": 3}, {"changed": 0.5}]), ["X"])
    assert (found.first, found.steps) == (2, 2)
    assert values(found.shares) == {"Changed rows": [None, 0.5]}


def test_the_weight_of_a_single_view_is_left_out():
    assert read_training_metrics(read_history([{"view_weight_0": 1.0}]), ["X"]) is None


def test_a_history_without_measurements_has_none():
    assert read_training_metrics(read_history([{"loss": 1.0}]), ["a", "b"]) is None
    assert read_training_metrics(read_history([]), ["a", "b"]) is None


def test_the_figure_has_a_line_for_each_share_over_the_epochs_measured():
    figure = metrics_figure(read_training_metrics(read_history(HISTORY), ["<b>", "right"]))
    assert len(figure["data"]) == 5
    assert all(line["x"] == [2, 3] for line in figure["data"])
    assert figure["data"][2]["y"] == [None, 0.1]
    assert figure["layout"]["xaxis"]["range"] == [1.5, 3.5]
    assert figure["layout"]["xaxis"]["dtick"] == 1
    assert figure["layout"]["yaxis"]["range"] == pytest.approx([0, 1], abs=0.05)
    assert len({line["line"]["color"] for line in figure["data"]}) == 5
    assert "Weight of &lt;b&gt;" in figure["data"][3]["hovertemplate"]
