import pytest

from coterie.explore.training import Curve, Phase, curve_meaning, curve_title, read_history


def test_curves_have_a_gap_where_a_record_lacks_the_name():
    history = [{"loss": 1.0}, {"loss": float("nan"), "entropy": 2}, {"entropy": float("inf")}]
    assert read_history(history).curves == [
        Curve("loss", [1.0, None, None]),
        Curve("entropy", [None, 2.0, None]),
    ]


def test_counters_texts_and_flags_are_not_curves():
    history = [{"epoch": 1, "phase": "a", "note": "text", "done": True, "loss": 1.0}]
    assert [curve.name for curve in read_history(history).curves] == ["loss"]


def test_phases_are_stretches_of_positions_although_epochs_start_again():
    history = [{"epoch": 1, "phase": p} for p in ("a", "a", "b", "a")]
    assert read_history(history).phases == [Phase("a", 1, 2), Phase("b", 3, 3), Phase("a", 4, 4)]
    assert read_history([{"loss": 1.0}]).phases == []


@pytest.mark.parametrize(
    ("history", "unit"),
    [
        ([{"epoch": 0}, {"epoch": 1}], "epoch"),
        ([{"iteration": 0, "objective": 1.0}], "iteration"),
        ([{"epoch": 0}, {"sweep": 0}], "step"),
        ([], "epoch"),
    ],
)
def test_steps_are_called_by_what_the_records_count(history, unit):
    found = read_history(history)
    assert found.unit == unit
    assert unit not in [curve.name for curve in found.curves]


def test_seconds_add_up_and_are_unknown_without_records():
    assert read_history([{"seconds": 1.5}, {"loss": 1}, {"seconds": 2}]).seconds == 3.5
    assert read_history([]).seconds is None


def test_metrics_have_a_title_and_a_meaning_and_losses_have_none():
    for name in ("changed", "mean_votes", "routed", "separation_gain", "view_weight_1"):
        assert curve_meaning(name).endswith(".")
    assert curve_meaning("loss") == ""
    assert curve_title("mean_votes", []) == "neighbour agreement"
    assert curve_title("view_weight_1", ["left", "right"]) == "weight of right"
    assert curve_title("view_weight_2", ["left", "right"]) == "view weight 2"
