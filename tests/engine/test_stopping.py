"""Training ends when nothing moves, at a rate that has fallen to nothing."""

import math

import pytest
import torch

from coterie.engine.stopping import WINDOW_STEPS, Settling


def records(losses, changed):
    return [{"loss": loss, "changed": share} for loss, share in zip(losses, changed, strict=True)]


def naive_steady(settling, history):
    """Return the first number of epochs whose last window is level with the one before, by loops."""
    most = settling.max_epochs - math.ceil(settling.max_epochs / 4)
    for done in range(2 * settling.window, len(history) + 1):
        last, before = (
            history[done - settling.window : done],
            history[: done - settling.window][-settling.window :],
        )
        level = all(
            sum(r[name] for r in last) >= (1 - settling.losses) * sum(r[name] for r in before)
            for name in settling.watched
        )
        if level and sum(r["changed"] for r in last) <= settling.labels:
            return min(done, most)
    return most


@pytest.mark.parametrize("per_epoch", [10, 20, 50, 300])
def test_the_end_is_that_of_the_naive_loop(per_epoch):
    generator = torch.Generator().manual_seed(per_epoch)
    losses = [
        1 + math.exp(-epoch / 6) + 0.01 * float(torch.rand(1, generator=generator)) for epoch in range(60)
    ]
    changed = [0.05 * math.exp(-epoch / 4) for epoch in range(60)]
    settling, history = Settling(50, per_epoch), records(losses, changed)
    for done in range(61):
        steady = naive_steady(settling, history[:done])
        assert settling.last_epoch(history[:done]) == min(50, steady + math.ceil(steady / 3))
    assert settling.last_epoch(history) < 50


def test_neither_labels_that_change_nor_losses_that_fall_nor_records_without_them_are_settled():
    settling = Settling(40, WINDOW_STEPS)
    assert settling.last_epoch(records([1.0] * 20, [0.0] * 20)) == 3
    assert settling.last_epoch(records([1.0] * 20, [0.02] * 20)) == 40
    assert settling.last_epoch(records([0.9**epoch for epoch in range(20)], [0.0] * 20)) == 40
    assert settling.last_epoch([{"loss": 1.0}] * 20) == 40
    assert settling.last_epoch([{"loss": 1.0}] * 5 + records([1.0] * 5, [0.0] * 5)) == 8


def test_the_rate_rises_stays_and_falls_to_nothing_at_the_last_epoch():
    settling = Settling(40, 50)
    rates = [settling.rate([], epoch / 50) for epoch in range(40 * 50)]
    assert rates[0] < 0.06
    assert rates[20 : 30 * 50 + 1] == [1.0] * (30 * 50 - 19)
    assert all(one > two for one, two in zip(rates[30 * 50 :], rates[30 * 50 + 1 :], strict=False))
    assert rates[-1] < 0.002
